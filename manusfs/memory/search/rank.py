"""Which chunks fit a query best, by what the index knows: words, section, title, and the passages around."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from manusfs.memory.search.gather import Gathered, Held, gather
from manusfs.memory.search.query import Query, Term
from manusfs.store import ASKS, Segment, index_find

if TYPE_CHECKING:
    from manusfs.store import Index

__all__ = ["WEIGHTS", "Ranking", "Weights", "ranked"]

_BUDGET = 150
"""Places read of posting lists for each chunk that is looked at closely."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much. Measured, one by one, in `docs/search.md`; set 0 to leave a part out."""

    neighbours: tuple[tuple[int, float], ...] = ((1, 0.5), (-1, 0.3), (2, 0.3), (-2, 0.15))
    """A word counts this much for the passage so many places behind it: an answer stands beside its question."""
    head: float = 0.6
    """What a word of the heading counts for the passages of its section."""
    title: float = 0.6
    """What a word of the title counts for the passages of its text."""
    saturation: float = 1.0
    """How much of a word is half of all that it can give."""
    length: float = 0.2
    """Power of the bytes of a passage: short ones greet and thank."""
    asks: float = 0.2
    """What a passage that ends with a question loses: the answer is in the one after it."""
    lent: int = 350
    """Most bytes of a passage that may be a hit for what stands beside it alone: it is shown together with that."""
    near: int = 60
    """How many of the best are looked at for length and questions."""


WEIGHTS = Weights()


class Ranking(NamedTuple):
    """Chunk numbers with scores, best first."""

    order: list[tuple[int, float]]
    more: bool
    """True when there may be more than were asked for."""
    missing: tuple[Term, ...]
    """Terms that stand nowhere."""


def ranked(
    index: Index, query: Query, most: int, low: int = 0, high: int = 1 << 62, weights: Weights = WEIGHTS
) -> Ranking:
    """Return about `most` chunks between two numbers, best first; of equal ones the newest first."""
    found = gather(index, query, _BUDGET * most, low, high)
    scores = _by_words(found, weights, low, high)
    pool = _pool(scores, most, weights, lends=not query.phrases and not query.excluded)
    closer = [(number, _in_context(number, found.held, weights)) for number in pool]
    closer.sort(key=_best_first)
    near = _by_shape(index, closer[: weights.near], scores, weights)
    order = near + [item for item in closer[weights.near :] if item[0] in scores]
    return Ranking(order, found.cut or len(scores) > most, found.missing)


def _best_first(item: tuple[int, float]) -> tuple[float, int]:
    # Chunks are numbered in the order in which they came.
    return -round(item[1], 9), -item[0]


def _by_words(found: Gathered, weights: Weights, low: int, high: int) -> dict[int, float]:
    """Return, for each chunk that may be a hit, the sum of what its own words, heading and title say."""
    scores: dict[int, float] = {}
    for one in found.held:
        weight = one.weight
        for number in one.chunks:
            scores[number] = scores.get(number, 0.0) + weight
    if found.required is not None:
        scores = {number: score for number, score in scores.items() if number in found.required}
    names = [(one, weights.title, one.titles) for one in found.held if weights.title]
    names += [(one, weights.head, one.sections) for one in found.held if weights.head]
    if not any(spans for _, _, spans in names):
        return scores
    numbers = sorted(scores)
    for one, share, spans in names:
        for first, end in spans:
            inside = numbers[bisect_left(numbers, first) : bisect_left(numbers, end)]
            # A text that is named so and holds none of the words is found by its first passage.
            for number in inside or ([first] if low <= first <= high and found.required is None else []):
                scores[number] = scores.get(number, 0.0) + share * one.weight
    return scores


def _pool(scores: dict[int, float], most: int, weights: Weights, *, lends: bool) -> Iterable[int]:
    """Return the chunks with the best words, and those beside them; without words of their own only if one `lends`."""
    best: Collection[int] = scores
    if len(scores) > most:
        best = heapq.nlargest(most, scores, key=lambda number: (scores[number], number))
    pool = set(best)
    for distance, _ in weights.neighbours:
        pool.update(number + distance for number in best)
    return pool if lends and weights.lent else pool & scores.keys()


def _in_context(number: int, held: list[Held], weights: Weights) -> float:
    """Return the score of a chunk: each word counts once, less where it only stands beside it or above it."""
    total = 0.0
    k = weights.saturation
    for one in held:
        chunks = one.chunks
        count = 1.0 if number in chunks else 0.0
        for distance, share in weights.neighbours:
            if number - distance in chunks:
                count += share
        if one.sections and _inside(number, one.sections):
            count += weights.head
        if one.titles and _inside(number, one.titles):
            count += weights.title
        if count:
            total += one.weight * count * (k + 1) / (count + k)
    return total


def _inside(number: int, spans: list[tuple[int, int]]) -> bool:
    """Return True if one of `spans`, which come last first and do not overlap, holds `number`."""
    at = bisect_left(spans, -number, key=lambda span: -span[0])
    return at < len(spans) and spans[at][0] <= number < spans[at][1]


def _by_shape(
    index: Index, best: list[tuple[int, float]], own: Container[int], weights: Weights
) -> list[tuple[int, float]]:
    """Return `best` again, weighed by length and by whether a passage asks; what has no place any more goes."""
    places = index_find.segments(index, [number for number, _ in best])
    found = []
    for number, score in best:
        if number in places and (number in own or _length(number, places[number]) <= weights.lent):
            found.append((number, score * _shape(number, places[number], weights)))
    return sorted(found, key=_best_first)


def _length(number: int, segment: Segment) -> int:
    return segment.lengths[number - segment.first]


def _shape(number: int, segment: Segment, weights: Weights) -> float:
    shape: float = (_length(number, segment) / 500) ** weights.length
    asks = segment.marks and segment.marks[number - segment.first] & ASKS
    return shape * (1 - weights.asks) if asks else shape
