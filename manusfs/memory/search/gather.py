"""Which chunks hold the terms of a query, read from the posting lists at a bounded cost.

A list that is whole tells all. Of a common word only the newest chunks are read, and those that hold a rarer word too:
to rank every match of a common word is what makes a query slow (measured: 0.2 s at a million chunks), and it decides
nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from manusfs.memory.search.query import Query, Term
from manusfs.store import index_find

if TYPE_CHECKING:
    from manusfs.store import Index

__all__ = ["Gathered", "Held", "gather", "rarity"]

_PROBE = 500
"""A list that is no longer than this is read at the first look."""
_NAMED = 200
_PAIRED = 4_000
_ASKED = 4
"""Most places of a word that may be nothing but a question that was asked."""


@dataclass(slots=True)
class Held:
    """Where one term stands: in these chunks, in headings and in titles (first chunk, number after the last)."""

    term: Term
    chunks: set[int]
    sections: list[tuple[int, int]]
    titles: list[tuple[int, int]]
    newest: list[int]
    """The newest of `chunks`."""
    whole: bool = True
    """False when `chunks` are only some of those that hold it."""
    size: int = 0
    """How many chunks hold it, about."""
    weight: float = 0.0
    """How much it says: the logarithm of how few chunks hold it, as in bm25."""


@dataclass(slots=True)
class Gathered:
    """The terms of a query that stand somewhere, and which chunks may be hits."""

    held: list[Held] = field(default_factory=list)
    missing: tuple[Term, ...] = ()
    """Terms that stand nowhere, or only where somebody asked for them in a session."""
    required: set[int] | None = None
    """The chunks that hold all phrases; None when any chunk will do."""
    cut: bool = False
    """True when some list was not read to its end."""
    total: int = 0
    """How many chunks there are, about, between the two numbers."""


def gather(index: Index, query: Query, budget: int, low: int, high: int) -> Gathered:
    """Return where the terms of `query` stand between two chunk numbers, reading about `budget` places at most."""
    ends = index_find.ends(index)
    low, high = max(low, ends[0]), min(high, ends[1])
    found = Gathered()
    if high < low:
        found.missing = query.wanted
        return found
    lists = _Lists(index, _but(query), (low, high), everything=(low, high) == ends)
    if query.phrases:
        found.required = set(lists.read(" AND ".join(f"({phrase.fts})" for phrase in query.phrases), budget))
    anything = " OR ".join(term.fts for term in query.wanted)
    # Most queries name no heading and no title: one look for all of their words then saves two for each.
    named = bool(index_find.sections(index, anything, 1)), bool(index_find.titles(index, anything, 1))
    held = [_first_look(index, term, lists, named) for term in query.wanted]
    found.missing = tuple(one.term for one in held if _is_missing(index, one))
    found.held = sorted((one for one in held if one.chunks or one.sections or one.titles), key=lambda one: one.size)
    _read_on(found, lists, budget)
    found.total = high - low + 1
    for one in found.held:
        one.weight = rarity(found.total, one.size or len(one.sections) or len(one.titles))
    return found


def rarity(total: int, held: int) -> float:
    """Return how much it says to be one of the `held` of `total` chunks, as in bm25."""
    return math.log(1 + max(0.0, total - held + 0.5) / (held + 0.5))


@dataclass(frozen=True, slots=True)
class _Lists:
    """The posting lists between two chunk numbers, without the chunks that are to be left out."""

    index: Index
    but: str
    within: tuple[int, int]
    everything: bool

    def read(self, expression: str, limit: int) -> list[int]:
        """Return the numbers of the newest `limit` chunks that match, the newest first."""
        expression, (low, high) = expression + self.but, self.within
        if self.everything:
            # Bounds double the time; they are needed only where a note that is gone has left its rows at an end.
            numbers = index_find.matches(self.index, expression, limit)
            if not numbers or low <= numbers[-1] <= numbers[0] <= high:
                return numbers
        return index_find.matches(self.index, expression, limit, self.within)


def _is_missing(index: Index, one: Held) -> bool:
    if one.sections or one.titles or one.size > _ASKED:
        return False
    return all(place.owner.startswith("msg:") for place in index_find.segments(index, one.chunks).values())


def _but(query: Query) -> str:
    return f" NOT ({' OR '.join(term.fts for term in query.excluded)})" if query.excluded else ""


def _first_look(index: Index, term: Term, lists: _Lists, named: tuple[bool, bool]) -> Held:
    numbers, (low, high) = lists.read(f"({term.fts})", _PROBE), lists.within
    whole = len(numbers) < _PROBE
    size = len(numbers) if whole else len(numbers) * (high - low + 1) // (high - numbers[-1] + 1)
    return Held(
        term,
        set(numbers),
        index_find.sections(index, term.fts, _NAMED) if named[0] else [],
        index_find.titles(index, term.fts, _NAMED) if named[1] else [],
        numbers,
        whole,
        size,
    )


def _read_on(found: Gathered, lists: _Lists, budget: int) -> None:
    """Read the lists that the first look did not end, rarest first; of what is too long, what stands beside others."""
    left = budget - sum(len(one.chunks) for one in found.held)
    for one in found.held:
        if not one.whole and one.size <= left:
            numbers = lists.read(f"({one.term.fts})", left)
            one.chunks, one.newest, one.whole = set(numbers), numbers, len(numbers) < left
            one.size = len(numbers)
            left -= len(numbers)
    common = [one for one in found.held if not one.whole]
    found.cut = bool(common)
    rare = [one.term.fts for one in found.held if one.whole and one.chunks]
    for at, one in enumerate(common):
        others = rare or [other.term.fts for other in common[:at]]
        if others:
            both = f"({one.term.fts}) AND ({' OR '.join(others)})"
            one.chunks.update(lists.read(both, max(left, _PAIRED)))
    if rare and len(common) > 1:
        numbers = lists.read(f"({common[0].term.fts}) AND ({common[1].term.fts})", _PAIRED)
        common[0].chunks.update(numbers)
        common[1].chunks.update(numbers)
