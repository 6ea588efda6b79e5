"""Which passages answer a question, and how well: the scoring of the offline model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from manusfs.models.offline.passages import Passage, passages
from manusfs.models.offline.questions import Question
from manusfs.models.offline.seen import Hit, Seen, Source
from manusfs.models.offline.sentences import Sentence
from manusfs.models.offline.signs import SIGNS, counts, defines, fits, worth
from manusfs.models.offline.words import close_term, content_words, has_unspaced, terms

__all__ = ["Evidence", "Quote", "Support"]

NEAR_DUPLICATE = 0.85
_LEAST = 0.3
_NEAR_BEST = 0.6
"""A quote must score this share of the best one's to stand beside it."""
_BESIDE, _ABOVE, _ASKED, _NEAR = 0.9, 0.7, 0.9, (0.6, 0.4, 0.2)
"""How much a term of the question counts that stands not in the sentence but in the rest of the quote, in the title or
heading above it, in the paragraphs before, after, and before that: a reply holds few words of what it replies to."""
_SPEAKS = 1.3
"""What it counts that a passage is said by, or headed with, a name that the question holds."""
_HIT = 0.15
"""What it adds at most that the search found it first."""
_NAMELESS = 0.5
"""What a passage counts that holds none of the question's names, nor stands near one; of years, nor under one."""
_NAME = 0.8
"""A name of the question weighs at least this share of its weightiest word."""
_NAMED = 0.6
_FULL = 0.9
"""What a passage of the full view counts: menus and notices stand there too."""
_LISTED = 0.5
"""What a line between lines like it counts, unless it holds the kind of thing that is asked for."""
_JUST_SO = 1.2
"""What it counts that a number stands before what is counted, or that a sentence begins with what it defines."""
_CLOSE = 0.7
"""What a word counts that the question most likely spells in another way."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence as evidence for one question."""

    source: Source
    ref: str
    sentence: Sentence
    """What is quoted."""
    core: Sentence
    """The sentence in it that answers."""
    score: float
    coverage: float
    """Share of the question's weight that the sentence and what stands round it hold, 0 to 1."""
    held: float
    """Share that the quote itself, the heading above it and the title hold."""
    fits: bool
    """True if it holds the kind of thing that is asked for: a date, a number, a name."""
    another: bool = False
    """True if somebody says it who is not the one that the question names, though that one speaks too."""

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
    """"high", "medium", "low" or "none": how much of the question was found, which decides whether to look further."""
    missing: tuple[str, ...]
    """Words of the question that stand in nothing that was read."""
    meant: tuple[tuple[str, str], ...] = ()
    """Terms of the question that stand nowhere, and those that were taken for them."""
    words: int = 0
    """How many terms of the question can tell passages apart: those of a speaker's name stand at every turn."""


class Evidence:
    """Every passage that was read, ready to be asked."""

    def __init__(self, seen: Seen) -> None:
        self._passages = list(passages(seen))
        counts = Counter(term for passage in self._passages for term in passage.own | passage.above)
        total = len(self._passages)
        self._idf = {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in counts.items()}
        self._rarest = max(self._idf.values(), default=1.0)
        self._hits = {query: hits for query, within, hits in seen.searches() if not within}

    def __len__(self) -> int:
        return len(self._passages)

    def support(self, question: Question, most: int = 5) -> Support:
        """Return the best quotes for `question`, at most `most`, no near-duplicates, and how sure they are."""
        weights, meant = self._weights(question)
        hits = self._hits.get(question.query, ())
        ranked = sorted(
            (quote for one in self._passages if (quote := self._judge(one, question, weights, hits)) is not None),
            key=lambda quote: (-quote.score, quote.ref, quote.sentence.start),
        )
        best = ranked[0].score if ranked else 0.0
        good = [quote for quote in ranked if quote.score >= _NEAR_BEST * best]
        # Of two things that are compared each is told of, first of all.
        sides = [quote for side in question.sides if (quote := _of_side(ranked, side, question)) is not None]
        kept = _distinct([*sides, *good] if len(sides) > 1 else good, most)
        missing = self._missing(question)
        known = self._idf.keys() | set(question.kind)
        unseen = any(term not in known and not has_unspaced(term) for term in question.terms)
        # Of two neighbouring words without blanks some pair straddles both; a whole word that is missing is missing.
        unseen = unseen or any(has_unspaced(word) and len(word) > 2 for word in missing)
        telling = [term for term in question.terms if term not in question.names or term not in self._speakers]
        words = (
            len(telling) - sum(map(has_unspaced, telling)) // 2
        )  # a word of two characters is one pair, and half of two
        return Support(question, tuple(kept), _level(kept, unseen=unseen), missing, meant, words)

    def feedback(self, question: Question, most: int = 4) -> tuple[str, ...]:
        """Return terms that stand in the sentences nearest to `question`, to search with when it found too little."""
        weights, _ = self._weights(question)
        counts: Counter[str] = Counter()
        for passage in self._passages:
            share = self._coverage(passage, weights)
            if share >= 0.3:
                for term in passage.own:
                    if term not in weights and len(term) > 3 and not term.isdigit():
                        counts[term] += round(10 * share * self._idf.get(term, 0))
        return tuple(term for term, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])

    def _weights(self, question: Question) -> tuple[dict[str, float], tuple[tuple[str, str], ...]]:
        """Return what each term counts, and which terms were taken for a misspelt one.

        Those of the task around the question share a fifth between them.
        """
        own = {term: self._weight(term) for term in question.terms if term in self._idf or term not in question.kind}
        meant: list[tuple[str, str]] = []
        for word in self._missing(question):
            if close := close_term(word, self._vocabulary):
                meant.append((word, close))
                weight = max(own.pop(term, 0.0) for term in terms(word))
                own[terms(close)[0]] = _CLOSE * weight
        for word in self._missing(question):
            if has_unspaced(word) and len(word) > 2:
                own[terms(word)[0]] = self._rarest
        if own and (named := [term for term in question.names if term in own]):
            # A name that stands in every title still says whom the question is about.
            least = _NAME * max(own.values())
            own |= {term: max(own[term], least) for term in named}
        around = {term: self._weight(term) for term in question.context if term not in own}
        total = sum(around.values())
        scale = 0.25 * sum(own.values()) / total if total else 0.0
        return own | {term: weight * scale for term, weight in around.items()}, tuple(meant)

    @cached_property
    def _speakers(self) -> frozenset[str]:
        """Terms of all names that stand before a colon at a paragraph's beginning."""
        return frozenset(term for label in {passage.label for passage in self._passages} for term in terms(label))

    @cached_property
    def _vocabulary(self) -> list[str]:
        """All words that were read."""
        return sorted({word for passage in self._passages for word in content_words(passage.core.text)})

    def _missing(self, question: Question) -> tuple[str, ...]:
        """Return the words of `question` that stand in nothing that was read."""
        known = self._idf.keys() | set(question.kind)
        return tuple(word for word in content_words(question.text) if not known & set(terms(word)))

    def _weight(self, term: str) -> float:
        if term not in self._idf and has_unspaced(term):
            return _LEAST  # most likely it straddles two words
        return max(_LEAST, self._idf.get(term, self._rarest))

    @staticmethod
    def _coverage(passage: Passage, weights: dict[str, float], least: float = 0.0) -> float:
        """Return the share of `weights` that the passage holds; what counts less than `least` does not count."""
        total = sum(weights.values())
        held = ((weight, _share(passage, term)) for term, weight in weights.items())
        return sum(weight * share for weight, share in held if share >= least) / total if total else 0.0

    def _judge(
        self, passage: Passage, question: Question, weights: dict[str, float], hits: Sequence[Hit]
    ) -> Quote | None:
        if not any(term in passage.own or term in passage.beside for term in weights):
            return None
        coverage = self._coverage(passage, weights)
        text = passage.core.text
        right = fits(text, question.wants)
        score = coverage * (1.25 if right and question.wants in SIGNS else 1.0 if right else 0.75)
        if (question.thing and counts(text, question.thing)) or (
            question.wants == "definition" and defines(text, question.terms)
        ):
            score *= _JUST_SO
        score *= worth(text, len(text) * (3 if has_unspaced(text) else 1))
        if len(passage.own - passage.above) < 3:
            score *= 0.4  # the title again
        score *= 1 + _HIT * _hit(passage, hits)
        years = [_share(passage, name) for name in question.names if name.isdigit()]
        names = [_share(passage, name) for name in question.names if not name.isdigit()]
        if (names and max(names) < _NAMED) or (years and max(years) < _ABOVE):
            score *= _NAMELESS
        if passage.ref.endswith("/full"):
            score *= _FULL
        if passage.listed and not (right and question.wants in SIGNS):
            score *= _LISTED
        if passage.label and set(terms(passage.label)) & set(question.terms):
            score *= _SPEAKS
        held = self._coverage(passage, weights, _ABOVE)
        label = set(terms(passage.label))
        speaks = self._speakers.intersection(question.names)
        another = bool(label and speaks and not label & speaks)
        return Quote(passage.source, passage.ref, passage.quote, passage.core, score, coverage, held, right, another)


def _share(passage: Passage, term: str) -> float:
    if term in passage.own:
        return 1.0
    if term in passage.beside:
        return _BESIDE
    if term in passage.above:
        return _ABOVE
    if term in passage.asked:
        return _ASKED
    return next((share for share, near in zip(_NEAR, passage.near, strict=True) if term in near), 0.0)


def _hit(passage: Passage, hits: Sequence[Hit]) -> float:
    """Return how high up the search, which knows every text that is stored, has the passage: 1 first, 0 not at all."""
    middle = (passage.core.start + passage.core.end) // 2
    ranks = (n for n, hit in enumerate(hits) if hit.ref == passage.ref and hit.start <= middle < hit.end)
    return 1 / (1 + next(ranks, math.inf))


def _of_side(quotes: Sequence[Quote], side: Sequence[str], question: Question) -> Quote | None:
    """Return the sentence that holds the name of one `side` and most of the question's words itself."""
    about = [
        (len(own & set(question.terms)), quote) for quote in quotes if set(side) <= (own := set(terms(quote.core.text)))
    ]
    best = max(about, key=lambda item: (item[0], item[1].score), default=None)
    return None if best is None else replace(best[1], sentence=best[1].core)


def _distinct(quotes: Iterable[Quote], most: int) -> list[Quote]:
    """Return the first `most` quotes that neither overlap nor say nearly the same."""
    kept: list[Quote] = []
    for quote in quotes:
        own = set(terms(quote.sentence.text))
        if not any(_overlap(quote, other) or _alike(own, set(terms(other.sentence.text))) for other in kept):
            kept.append(quote)
        if len(kept) == most:
            break
    return kept


def _overlap(one: Quote, other: Quote) -> bool:
    return one.ref == other.ref and one.sentence.start < other.sentence.end and other.sentence.start < one.sentence.end


def _alike(one: set[str], other: set[str]) -> bool:
    if _numbers(one - other) and _numbers(other - one):
        return False  # the same with another year says something else
    return len(one & other) >= NEAR_DUPLICATE * max(1, min(len(one), len(other)))


def _numbers(of: set[str]) -> bool:
    return any(term[0].isdigit() for term in of)


def _level(quotes: Sequence[Quote], *, unseen: bool) -> str:
    """Return how sure the quotes make the answer; `unseen`: a word of the question stands in no sentence at all."""
    if not quotes:
        return "none"
    best = max(quotes, key=lambda quote: quote.score)
    levels = ("none", "low", "medium", "high")
    rank = (
        3
        if best.coverage >= 0.75 and best.held >= 0.7
        else 2
        if best.coverage >= 0.55
        else 1
        if best.coverage >= 0.35
        else 0
    )
    if unseen:
        rank = min(1, rank - 1)
    return levels[max(0, rank - (0 if best.fits else 1))]
