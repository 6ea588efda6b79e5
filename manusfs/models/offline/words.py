"""How the offline model turns text into terms that can be compared: stems, numbers, and bigrams where no blanks are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from manusfs.records.forms import plain_form

__all__ = ["STOP", "close_term", "content_terms", "content_words", "has_unspaced", "terms"]

# Scripts that are written without blanks between words: Han, kana, hangul (particles stick to words), Thai, Lao,
# Khmer, Burmese. Their terms are pairs of neighbouring characters.
_UNSPACED = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_]+(?:['’.\-][^\W_]+)*", re.UNICODE)
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")

STOP = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both but by
    can cannot could did do does doing don down during each etc ever every few for from further had has have having he
    her here hers him his how i if in into is isn it its itself just let ll may me might mine more most much must my no
    nor not of off on once one only or other our ours out over own per please re s same shall she should so some such
    t than that the their theirs them then there these they this those through to too under until up upon us ve very
    was we were what when where which while who whom whose why will with would you your yours
    mean means meant
    tell give find show say says said explain describe list name many long far often according
    der die das den dem des ein eine einer eines einem einen und oder nicht ist sind war wie was wer wo wann warum
    hat habe haben hatte hatten wird wurde wurden werden es sie er ihr ihre sein seine seit dass als auch nach über
    unter vor noch nur hoch viel viele wohin woher welchen welchem beim gibt man sich diese dieser dieses
    welche welcher welches mit von zu zur zum im in am auf für bei aus
    le la les un une des du de et ou est sont était qui que quoi quand comment pourquoi où quel quelle quels quelles
    dans sur pour par avec
    el los las unos unas y o es son era quién qué cuándo cómo dónde cuál cuáles por para con en del al
    il lo gli uno una e di da che chi come quando dove perché
    o os as um uma e do da dos das quem quando onde""".split()
)
_ALSO_ENGLISH = frozenset("die war hat man son comment come pour per chi sein due par hoch gibt".split())
"""Words of STOP that carry a meaning in an English text."""
_ENGLISH = re.compile(
    r"\b(?:the|of|is|are|was|were|do|does|did|who|what|when|where|why|how|which|to|has|have|for|with|and)\b",
    re.IGNORECASE,
)
_NOT_ENGLISH = re.compile(
    r"\b(?:der|das|den|dem|des|ein|eine|und|ist|wer|wie|wann|wo|warum|le|la|les|est|que|qui|el|los|il|che)\b",
    re.IGNORECASE,
)
# Question words and particles of Chinese and Japanese; a pair that holds one of them says little.
_STOP_UNSPACED = re.compile(
    "什么时候|什么地方|什么|甚麼|什麼|怎么|怎麼|怎样|如何|为什么|为何|為什麼|哪里|哪裡|哪儿|哪些|哪个|哪年|哪位|何时|何時|多少条|多少个|多少人|多少|几个|几年|多久|"
    "是否|请问|请|吗|呢|谁|誰|哪|了|的|是|在|和|与|及|或|有|于|之|被|把|也|都|这|那|"
    "いつ|どこ|だれ|なに|何|です|ます|でした|ました|は|が|を|に|の|と|で|も|へ|か"
)
_ADJECTIVES = (
    "long high old large big small young short tall deep heavy fast cheap wide rich strong low new hot cold great "
    "early late near few light hard easy slow thick thin dark bright close weak poor"
).split()
_DEGREES = {
    form: plain
    for plain in _ADJECTIVES
    for stem in (plain.removesuffix("e"), f"{plain}{plain[-1]}", f"{plain[:-1]}i")
    for form in (f"{stem}er", f"{stem}est")
}
"""Longer and longest are long: what is compared is told of each by itself."""
# The month, and not the verb, stands beside a number.
_DATED_MAY = re.compile(r"\d(?:st|nd|rd|th)?\.? (?:of )?May\b|\b(?:in|of|since|until|by|last|next) May\b|\bMay,? \d")


def has_unspaced(text: str) -> bool:
    """Return True if `text` holds characters of a script that is written without blanks."""
    return _UNSPACED_RUN.search(text) is not None


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    word = plain_form(_DEGREES.get(word, word))
    if word.isascii() and word.isalpha() and len(word) > 3:
        return str(_stemmer().stemWord(_one_spelling(word)))
    return word


def _one_spelling(word: str) -> str:
    """Return the American spelling of a British one, so that "colour" and "organised" meet theirs."""
    if len(word) < 6:
        return word
    word = re.sub(r"(?<=[^aeiou])our(?=(?:s|ed|ing|ite|ites|able|al|ful|hood|ly)?$)", "or", word)
    word = re.sub(r"(?<=[a-z]{3})is(?=(?:e|es|ed|ing|er|ers|ation|ations)$)", "iz", word)
    return re.sub(r"(?<=[^aeiou])re(?=s?$)", "er", word)


def close_term(term: str, vocabulary: Iterable[str]) -> str:
    """Return the word of `vocabulary` that is most likely meant by the misspelt `term`, "" when none is near enough.

    Near enough: the same first letter and one letter more, less, other or swapped; two in words of nine letters.
    """
    if len(term) < 5 or not term.isalpha() or has_unspaced(term):
        return ""
    most = 2 if len(term) >= 9 else 1
    near = [
        (distance, word)
        for word in vocabulary
        if word[:1] == term[:1] and abs(len(word) - len(term)) <= most and word.isalpha()
        if (distance := _distance(term, word)) <= most
    ]
    return min(near, default=(0, ""))[1]


def _distance(one: str, other: str) -> int:
    """Return how many letters must be put in, taken out, changed or swapped to get from one to the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _fold(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return re.sub(r"'s\b", "", text)


def terms(text: str) -> list[str]:
    """Return all terms of `text` in order: stems of words, numbers as written, pairs of unspaced characters."""
    found: list[str] = []
    for match in _RUN.finditer(_fold(text)):
        run = match[0]
        if not _UNSPACED_RUN.match(run):
            found.append(_stem(run))
            found.extend(_stem(part) for part in re.split(r"[.\-']", run) if part != run)
        elif len(run) == 1:
            found.append(run)
        else:
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
    return found


def content_words(text: str) -> list[str]:
    """Return the words of `text` that carry its meaning, as written, in order, without repeats."""
    words: list[str] = []
    dated = _DATED_MAY.search(text) is not None
    english = _ENGLISH.search(text) is not None and _NOT_ENGLISH.search(text) is None
    for match in _RUN.finditer(_fold(text)):
        run = match[0]
        if (run == "may" and dated) or (english and run in _ALSO_ENGLISH):
            words.append(run)
            continue
        pieces = _STOP_UNSPACED.split(run) if _UNSPACED_RUN.match(run) else [run]
        words.extend(piece for piece in pieces if piece and piece not in STOP and (len(piece) > 1 or piece.isdigit()))
    return list(dict.fromkeys(words))


def content_terms(text: str) -> list[str]:
    """Return the terms of `text` that carry its meaning, in order, without repeats."""
    found: list[str] = []
    for word in content_words(text):
        own = terms(word)
        found.extend(own if len(own) == 1 else (term for term in own if term not in STOP or term == word))
    return list(dict.fromkeys(found))
