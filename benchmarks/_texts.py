"""Texts for benchmarks, the same from the same seed: words as frequent as in a language, sentences, paragraphs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

__all__ = ["SIZE", "chinese", "english"]

SIZE = 50_000
"""Bytes of a text, at least; at most a sentence more."""

_COMMON = (
    "the of and to in a is that for it was on are as with his they at be this from have or by one had not but what all "
    "were when we there can an your which their said if do will each about how up out them then she many some so these "
    "would other into has more her two like him see time could no make than first been its who now people my made over "
    "did down only way find use may water long little very after words called just where most know"
).split()
_ONSETS = (
    "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p ph pl pr qu r s sc sh sl sp st str t th tr v w wh".split()
)
_VOWELS = "a e i o u ai ea ee ie io oa ou".split()
_CODAS = ["", "", "", "n", "r", "l", "s", "t", "d", "m", "ck", "ng", "nt", "st", "rd", "ll"]
_ENDINGS = ["", "", "", "", "s", "s", "ed", "ing", "er", "ly", "tion", "ment", "al", "ity", "ness"]
_WORDS = 40_000
_TOPIC = 400
_TOPIC_SHARE = 0.35


def english(count: int, seed: int = 1) -> Iterator[str]:
    """Yield `count` distinct texts of 40,000 English-like words, as frequent as Zipf says; each has a topic."""
    source = random.Random(seed)
    words = _vocabulary(source)
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    for number in range(count):
        topic = source.sample(words[200:], _TOPIC)
        own = list(accumulate(1 / (rank + 2.7) for rank in range(_TOPIC)))
        paragraphs, size = [f"Text {number} on {' '.join(topic[:4])}"], 0
        while size < SIZE:
            paragraph = " ".join(_sentence(source, words, weights, topic, own) for _ in range(source.randint(2, 6)))
            paragraphs.append(paragraph)
            size += len(paragraph) + 2
        yield "\n\n".join(paragraphs) + "\n"


def chinese(count: int, seed: int = 1) -> Iterator[str]:
    """Yield `count` distinct texts of 20,000 words made of 3,000 Chinese characters, without blanks."""
    source = random.Random(seed)
    characters = [chr(code) for code in source.sample(range(0x4E00, 0x9FA5), 3_000)]
    frequent = list(accumulate(1 / (rank + 20) for rank in range(len(characters))))
    lengths = source.choices((1, 2, 3, 4), (15, 65, 12, 8), k=20_000)
    words = ["".join(source.choices(characters, cum_weights=frequent, k=length)) for length in lengths]
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    for number in range(count):
        paragraphs, size = [f"第{number}篇"], 0
        while size < SIZE:
            sentences = []
            for _ in range(source.randint(2, 6)):
                said = source.choices(words, cum_weights=weights, k=source.randint(6, 22))
                sentences.append("，".join(("".join(said[:8]), "".join(said[8:]))).strip("，") + "。")
            paragraphs.append("".join(sentences))
            size += 3 * len(paragraphs[-1]) + 2
        yield "\n\n".join(paragraphs) + "\n"


def _vocabulary(source: random.Random) -> list[str]:
    words = dict.fromkeys(_COMMON)
    while len(words) < _WORDS:
        # The rarer a word, the longer: one syllable for a few hundred, then two, then three.
        syllables = 1 if len(words) < 400 else 2 if len(words) < 8_000 else 3
        stem = "".join(
            source.choice(_ONSETS) + source.choice(_VOWELS) + source.choice(_CODAS) for _ in range(syllables)
        )
        words[stem + source.choice(_ENDINGS)] = None
    return list(words)


def _sentence(source: random.Random, words: list[str], weights: list[float], topic: list[str], own: list[float]) -> str:
    length = source.randint(6, 26)
    said = source.choices(words, cum_weights=weights, k=length)
    for at, word in enumerate(source.choices(topic, cum_weights=own, k=length)):
        if source.random() < _TOPIC_SHARE:
            said[at] = word
    if length > 14:
        said[length // 2] += ","
    if source.random() < 0.1:
        said[-1] = str(source.randint(1, 2_030))
    return " ".join(said).capitalize() + "."
