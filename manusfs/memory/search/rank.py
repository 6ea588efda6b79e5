"""Which chunks fit a query best, by what the index knows: words, section, title, and the passages around."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from manusfs.memory.search.gather import Gathered, Held, gather, rarity
from manusfs.memory.search.query import Query, Term
from manusfs.store import ASKS, Segment, index_find

if TYPE_CHECKING:
    from manusfs.store import Index

__all__ = ["WEIGHTS", "Ranking", "Weights", "ranked"]

_CLOSER = 150
"""Chunks whose surroundings are looked at, beside those around the best `Weights.near`."""
_SORTED = 3
"""Up to so many times what is wanted, sorting all is faster than keeping the largest."""
_BUDGET = 100
"""Places read of posting lists for each chunk that is looked at closely."""
_EQUALS = 40
"""Chunks of the same words that are looked at before those of other words: of a thousand rows that all say "owner" the
newest would take all places, and none be left for the rows of other files that hold another word of the query."""
_SAME = 1e-6
"""Sums that differ by less are of the same words, added in another order."""


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
    asks: float = 0.2
    """What a passage that ends with a question loses: the answer is in the one after it."""
    lent: int = 350
    """Most bytes of a passage that may be a hit for what stands beside it alone: it is shown together with that."""
    near: int = 60
    """How many of the best are looked at for that."""


WEIGHTS = Weights()


class Ranking(NamedTuple):
    """Chunk numbers with scores, best first."""

    order: list[tuple[int, float]]
    more: bool
    """True when there may be more than were asked for."""
    missing: tuple[Term, ...]
    """Terms that stand nowhere."""
    places: dict[int, Segment]
    """Where the first of them stand."""


def ranked(
    index: Index, query: Query, most: int, low: int = 0, high: int = 1 << 62, weights: Weights = WEIGHTS
) -> Ranking:
    """Return about `most` chunks between two numbers, best first; of equal ones the newest first."""
    found = gather(index, query, _BUDGET * most, low, high)
    lends = not query.phrases and not query.excluded
    titles = _title_shares(found, weights)
    scores = _by_words(found, most, (weights.head, titles), (low, high) if lends else (1, 0))
    best = _mixed(_best_first(scores)[:most] if len(scores) < _SORTED * most else _largest(scores, most))
    pool = _pool(best, scores, weights, lends=lends)
    closer = _best_first({n: round(score, 9) for n, score in _in_context(pool, found.held, weights, titles).items()})
    places = index_find.segments(index, [number for number, _ in closer[: weights.near]])
    near = _by_shape(places, closer[: weights.near], scores, weights)
    order = near + [item for item in closer[weights.near :] if item[0] in scores]
    order += [item for item in best if item[0] not in pool]
    return Ranking(order, found.cut or len(scores) > most, found.missing, places)


def _best_first(scores: dict[int, float]) -> list[tuple[int, float]]:
    """Return all of `scores`, best first, of equal ones the newest: chunks are numbered in the order they came in."""
    numbers = sorted(scores, reverse=True)
    numbers.sort(key=scores.__getitem__, reverse=True)
    return [(number, scores[number]) for number in numbers]


def _largest(scores: dict[int, float], most: int) -> list[tuple[int, float]]:
    return [(n, score) for score, n in heapq.nlargest(most, zip(scores.values(), scores.keys(), strict=True))]


def _mixed(best: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return `best` with those behind that have as many of the same score before them as need to be looked at."""
    first: list[tuple[int, float]] = []
    later: list[tuple[int, float]] = []
    equals, last = 0, math.inf
    for item in best:
        equals = equals + 1 if last - item[1] < _SAME else 1
        last = item[1]
        (first if equals <= _EQUALS else later).append(item)
    return first + later


def _title_shares(found: Gathered, weights: Weights) -> list[float]:
    """Return what each word counts in a title: no more than how few passages stand under such titles tells.

    A word in the name of a file of a thousand records says which file is meant, and of none of them that it is the one.
    """
    if not weights.title or not any(one.titles for one in found.held):
        return [0.0] * len(found.held)
    shares = []
    for one in found.held:
        told = rarity(found.total, sum(end - first for first, end in one.titles))
        shares.append(weights.title * min(1.0, told / one.weight if one.weight else 1.0))
    return shares


def _by_words(
    found: Gathered, most: int, shares: tuple[float, list[float]], bounds: tuple[int, int]
) -> dict[int, float]:
    """Return, for each chunk that may be a hit, the sum of what its own words, heading and title say.

    `shares` are what a word counts in a heading, and what each counts in a title. A text that is named so and holds
    none of the words is found by its first passage, where that is within `bounds`.
    """
    scores = _by_own(found.held, most)
    if found.required is not None:
        scores = {number: score for number, score in scores.items() if number in found.required}
    head, titles = shares
    names = [(one, share, one.titles) for one, share in zip(found.held, titles, strict=True) if share]
    names += [(one, head, one.sections) for one in found.held if head]
    if not any(spans for _, _, spans in names):
        return scores
    numbers = sorted(scores)
    for one, share, spans in names:
        for first, end in spans:
            inside = numbers[bisect_left(numbers, first) : bisect_left(numbers, end)]
            for number in inside or ([first] if bounds[0] <= first <= bounds[1] else []):
                scores[number] = scores.get(number, 0.0) + share * one.weight
    return scores


def _by_own(held: list[Held], most: int) -> dict[int, float]:
    """Return the sums of the weights of the words that chunks hold.

    Of the chunks that hold one common word and nothing else, all equal, only the newest are there: sets find those that
    hold more, so that long lists are never gone through one by one.
    """
    scores: dict[int, float] = {}
    long = [one for one in held if len(one.chunks) > most]
    for one in held:
        if len(one.chunks) <= most:
            for number in one.chunks:
                scores[number] = scores.get(number, 0.0) + one.weight
    seen = set(scores)
    several = set(scores)
    for one in long:
        several |= seen & one.chunks
        several.update(one.newest[:most])
        seen |= one.chunks
    for one in long:
        for number in several & one.chunks:
            scores[number] = scores.get(number, 0.0) + one.weight
    return scores


def _pool(best: list[tuple[int, float]], scores: Container[int], weights: Weights, *, lends: bool) -> set[int]:
    """Return the chunks with the best words, and those beside them; without words of their own only if one `lends`."""
    pool = {number for number, _ in best[:_CLOSER]}
    for number, _ in best[: weights.near]:
        for distance, _ in weights.neighbours:
            if (lends and weights.lent) or number + distance in scores:
                pool.add(number + distance)
    return pool


def _in_context(pool: set[int], held: list[Held], weights: Weights, titles: list[float]) -> dict[int, float]:
    """Return the scores of chunks: each word counts once, less where it only stands beside one or above it."""
    total = dict.fromkeys(pool, 0.0)
    # Sets are shifted and cut in one step each: to ask for every chunk and word one by one took five times as long.
    around = [(0, 1.0, pool), *((by, share, {number - by for number in pool}) for by, share in weights.neighbours)]
    k, ordered = weights.saturation, sorted(pool)
    for one, title in zip(held, titles, strict=True):
        counts: dict[int, float] = {}
        # Of a list that is known in part, neighbours would only count where it is known.
        for by, share, shifted in around if one.whole else around[:1]:
            for number in shifted & one.chunks:
                counts[number + by] = counts.get(number + by, 0.0) + share
        for share, spans in ((weights.head, one.sections), (title, one.titles)):
            for first, end in spans if share else ():
                for number in ordered[bisect_left(ordered, first) : bisect_left(ordered, end)]:
                    counts[number] = counts.get(number, 0.0) + share
        for number, count in counts.items():
            total[number] += one.weight * count * (k + 1) / (count + k)
    return total


def _by_shape(
    places: dict[int, Segment], best: list[tuple[int, float]], own: Container[int], weights: Weights
) -> list[tuple[int, float]]:
    """Return `best` again, weighed by whether a passage asks; what has no place any more goes."""
    found = []
    for number, score in best:
        if number in places and (number in own or _length(number, places[number]) <= weights.lent):
            found.append((number, score * _shape(number, places[number], weights)))
    return sorted(found, key=lambda item: (-round(item[1], 9), -item[0]))


def _length(number: int, segment: Segment) -> int:
    return segment.lengths[number - segment.first]


def _shape(number: int, segment: Segment, weights: Weights) -> float:
    asks = segment.marks and segment.marks[number - segment.first] & ASKS
    return 1 - weights.asks if asks else 1.0
