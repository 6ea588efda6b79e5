"""Which sentences answer a question, and how well: the scoring of the offline model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from manusfs.models.offline.questions import Question, Wants
from manusfs.models.offline.seen import Seen, Source, Text
from manusfs.models.offline.sentences import Sentence, sentences
from manusfs.models.offline.words import content_words, has_unspaced, terms

__all__ = ["Evidence", "Quote", "Support"]

_NUMBER = (
    r"\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|million|billion)\b|"
    "[一二三四五六七八九十百千万亿两〇零]{2,}|[一二三四五六七八九十百千万亿两][个条名人年座台家倍]"
)
_MONTH = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?"
)
_SIGNS: dict[Wants, re.Pattern[str]] = {
    "number": re.compile(_NUMBER, re.IGNORECASE),
    "when": re.compile(
        rf"\b1\d{{3}}\b|\b20\d\d\b|\b(?:{_MONTH})\b|\b\d{{1,2}}[./]\d{{1,2}}\b|\bcentury\b|\d+年|\d+月|世纪",
        re.IGNORECASE,
    ),
    "who": re.compile(
        r"\b[A-Z][\w'’.-]+(?:\s+(?:of|the|de|van|von|and|&)?\s*[A-Z][\w'’.-]+)+|[\u3400-\u9fff]{2,4}(?:说|先生|女士|公司|集团)"
    ),
    "where": re.compile(
        r"\b(?:in|at|near|from|of|to|between|across|off)\s+(?:the\s+)?[A-Z]|位于|在[\u3400-\u9fff]{2,}|[省市县区国]"
    ),
    "why": re.compile(
        r"\b(?:because|due to|since|in order to|so that|as a result|caused|therefore|owing|reason|allows?|prevents?)\b"
        r"|因为|由于|因此|为了|所以|原因",
        re.IGNORECASE,
    ),
    "how": re.compile(
        r"\b(?:by|using|through|via|with|first|then|step|method|process)\b|通过|利用|采用|首先", re.IGNORECASE
    ),
    "definition": re.compile(
        r"\b(?:is|are|was|were|means|refers to|called|known as|defined)\b|是指|是|称为|即", re.IGNORECASE
    ),
}
_NOISE = re.compile(
    r"\b(?:cookies?|subscribe|sign (?:in|up)|log ?in|newsletter|all rights reserved|privacy policy|"
    r"terms of (?:use|service)|javascript|advertisement|share (?:on|this)|click here|read more)\b|©",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
NEAR_DUPLICATE = 0.85
_LEAST = 0.3
_TOPIC = 0.5
_NEAR_BEST = 0.6
"""A quote must score this share of the best one's to stand beside it."""
_IN_TITLE = 0.8
_IN_SENTENCE_BEFORE = 0.35
"""How much a term of the question counts that stands not in the sentence but beside it."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence as evidence for one question."""

    source: Source
    ref: str
    sentence: Sentence
    score: float
    coverage: float
    """Share of the question's weight that the sentence and what stands round it hold, 0 to 1."""
    fits: bool
    """True if it holds the kind of thing that is asked for: a date, a number, a name."""

    @property
    def address(self) -> str:
        """The ref with the span of the words."""
        return f"{self.ref}@{self.sentence.start}-{self.sentence.end}"


@dataclass(frozen=True, slots=True)
class Support:
    """What was found for one question."""

    question: Question
    quotes: tuple[Quote, ...]
    level: str
    """"high", "medium", "low" or "none"."""
    missing: tuple[str, ...]
    """Words of the question that stand in nothing that was read."""


@dataclass(frozen=True, slots=True)
class _Unit:
    source: Source
    ref: str
    sentence: Sentence
    own: frozenset[str]
    title: frozenset[str]
    """Terms of the source's title and of the heading above."""
    before: frozenset[str]
    """Terms of the sentence before."""


class Evidence:
    """Every sentence that was read, ready to be asked."""

    def __init__(self, seen: Seen) -> None:
        self._units = list(_units(seen))
        counts = Counter(term for unit in self._units for term in unit.own)
        total = len(self._units)
        self._idf = {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in counts.items()}
        self._rarest = max(self._idf.values(), default=1.0)
        self._topics = frozenset(term for unit in self._units for term in unit.title)

    def __len__(self) -> int:
        return len(self._units)

    def support(self, question: Question, most: int = 4) -> Support:
        """Return the best quotes for `question`, at most `most`, no near-duplicates, and how sure they are."""
        weights = self._weights(question)
        ranked = sorted(
            (quote for unit in self._units if (quote := self._judge(unit, question, weights)) is not None),
            key=lambda quote: (-quote.score, quote.ref, quote.sentence.start),
        )
        best = ranked[0].score if ranked else 0.0
        kept = _distinct((quote for quote in ranked if quote.score >= _NEAR_BEST * best), most)
        missing = tuple(word for word in content_words(question.text) if not self._idf.keys() & set(terms(word)))
        unseen = any(term not in self._idf and not has_unspaced(term) for term in question.terms)
        return Support(question, tuple(kept), _level(kept, question.wants, unseen=unseen), missing)

    def feedback(self, question: Question, most: int = 4) -> tuple[str, ...]:
        """Return terms that stand in the sentences nearest to `question`, to search with when it found too little."""
        weights = self._weights(question)
        counts: Counter[str] = Counter()
        for unit in self._units:
            share = self._coverage(unit, weights)
            if share >= 0.3:
                for term in unit.own:
                    if term not in weights and len(term) > 3 and not term.isdigit():
                        counts[term] += round(10 * share * self._idf.get(term, 0))
        return tuple(term for term, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])

    def _weights(self, question: Question) -> dict[str, float]:
        """Return what each term counts; those of the task around the question share a fifth between them."""
        own = {term: self._weight(term) for term in question.terms}
        around = {term: self._weight(term) for term in question.context}
        total = sum(around.values())
        scale = 0.25 * sum(own.values()) / total if total else 0.0
        return own | {term: weight * scale for term, weight in around.items()}

    def _weight(self, term: str) -> float:
        if term not in self._idf and has_unspaced(term):
            return _LEAST  # most likely it straddles two words
        weight = max(_LEAST, self._idf.get(term, self._rarest))
        # What a title holds is what all its sentences are about: it tells them apart no more.
        return weight * _TOPIC if term in self._topics else weight

    def _coverage(self, unit: _Unit, weights: dict[str, float]) -> float:
        total = sum(weights.values())
        if not total:
            return 0.0
        held = sum(w * self._share(unit, t) for t, w in weights.items())
        return held / total

    @staticmethod
    def _share(unit: _Unit, term: str) -> float:
        if term in unit.own:
            return 1.0
        return _IN_TITLE if term in unit.title else _IN_SENTENCE_BEFORE if term in unit.before else 0.0

    def _judge(self, unit: _Unit, question: Question, weights: dict[str, float]) -> Quote | None:
        if not any(term in unit.own for term in weights):
            return None
        coverage = self._coverage(unit, weights)
        text = unit.sentence.text
        sign = _SIGNS.get(question.wants)
        fits = sign is None or sign.search(text) is not None
        score = coverage * (1.25 if fits and sign is not None else 1.0 if fits else 0.75)
        size = len(text) * (3 if has_unspaced(text) else 1)
        score *= 0.7 if size < 25 else 0.9 if size > 400 else 1.0
        if len(unit.own - unit.title) < 3:
            score *= 0.4  # the title again
        if _NOISE.search(text) or text.endswith(("?", "？")) or text.count("](") > 2:
            score *= 0.5
        if len(_LINK.sub("", text).strip(" *|-•")) < 0.3 * len(_LINK.sub(r"\1", text)):
            score *= 0.3  # an entry of a menu
        return Quote(unit.source, unit.ref, unit.sentence, score, coverage, fits)


def _units(seen: Seen) -> Iterable[_Unit]:
    taken: set[tuple[str, int]] = set()
    for text in sorted(seen.texts, key=lambda text: (text.ref, text.start, -text.end)):
        source = seen.sources.get(text.ref.removesuffix("/full")) or Source(text.ref.removesuffix("/full"))
        title = frozenset(terms(source.title))
        before: frozenset[str] = frozenset()
        for sentence in _inside(text, source):
            own = frozenset(terms(sentence.text))
            placed = Sentence(sentence.text, text.start + sentence.start, sentence.heading, sentence.row)
            if (text.ref, placed.start) not in taken:
                taken.add((text.ref, placed.start))
                yield _Unit(source, text.ref, placed, own, title | frozenset(terms(sentence.heading)), before)
            before = own


def _inside(text: Text, source: Source) -> Sequence[Sentence]:
    """Return the sentences of `text` but for those that its borders may have cut."""
    units = list(sentences(text.text))
    if text.whole:
        return units
    if text.start > 0 and units and units[0].start < 2:
        units = units[1:]
    if (
        units
        and (not source.size or text.end < source.size)
        and not units[-1].text.endswith((".", "!", "?", "。", "！", "？", "|"))
    ):
        units = units[:-1]
    return units


def _distinct(quotes: Iterable[Quote], most: int) -> list[Quote]:
    kept: list[Quote] = []
    for quote in quotes:
        own = set(terms(quote.sentence.text))
        if not any(_alike(own, set(terms(other.sentence.text))) for other in kept):
            kept.append(quote)
        if len(kept) == most:
            break
    return kept


def _alike(one: set[str], other: set[str]) -> bool:
    return len(one & other) >= NEAR_DUPLICATE * max(1, min(len(one), len(other)))


def _level(quotes: Sequence[Quote], wants: Wants, *, unseen: bool) -> str:
    """Return how sure the quotes make the answer; `unseen`: a word of the question stands in no sentence at all."""
    if not quotes:
        return "none"
    best = max(quotes, key=lambda quote: quote.score)
    levels = ("none", "low", "medium", "high")
    rank = 3 if best.coverage >= 0.7 else 2 if best.coverage >= 0.5 else 1 if best.coverage >= 0.34 else 0
    if unseen:
        # A date or a number where one is asked for makes up for a word that the source does not use.
        rank = max(min(rank, 1), rank - 1) if wants in _SIGNS and best.fits else rank - 2
    return levels[max(0, rank - (0 if best.fits else 1))]
