"""Words of a query that stand nowhere, corrected from the vocabulary of the index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from manusfs.memory.search.query import Query, Term
from manusfs.store import index_find

if TYPE_CHECKING:
    from manusfs.store import Index

__all__ = ["corrected", "distance"]

_LEAST_LETTERS = 4
_MOST_WORDS = 4
_MOST_LOOKED_AT = 20_000
_SUFFIXES = (
    "",
    "s",
    "e",
    "ed",
    "es",
    "ing",
    "er",
    "ers",
    "ion",
    "ions",
    "ation",
    "ations",
    "ment",
    "ly",
    "al",
    "ity",
    "y",
)
"""Endings that the stemmer takes off: the vocabulary holds stems, and a slip may stand in the ending."""


def corrected(index: Index, query: Query, missing: tuple[Term, ...]) -> tuple[Query, str]:
    """Return `query` with what is near the words that stand nowhere, and a line that says so; "" when nothing is."""
    told, terms = [], list(query.terms)
    for term in [term for term in missing if term in query.terms and _may_be_a_slip(term)][:_MOST_WORDS]:
        near = _nearest(index, term.pieces[0])
        if near is not None:
            stem, word = near
            terms[terms.index(term)] = Term(f'"{stem}"', (word,))
            told.append(f"{word!r} for {term.pieces[0]!r}")
    if not told:
        return query, ""
    return replace(query, terms=tuple(terms)), f"Searched also for {', '.join(told)}, which stands nowhere."


def _may_be_a_slip(term: Term) -> bool:
    word = term.pieces[0]
    return len(term.pieces) == 1 and not term.cjk and len(word) >= _LEAST_LETTERS and word.isalpha() and word.isascii()


def _nearest(index: Index, word: str) -> tuple[str, str] | None:
    """Return the stem in the index that is nearest to `word`, the commonest first, and the word it was taken for."""
    most = 1 if len(word) < 8 else 2
    best: tuple[int, int, str, str] | None = None
    for stem, count in _like(index, word):
        wholes = [stem + suffix for suffix in _SUFFIXES]
        # The word itself is there when a question that was asked holds it.
        for whole in wholes if word not in wholes else ():
            if abs(len(whole) - len(word)) > most:
                continue
            far = distance(word, whole, most)
            found = (far, -count, stem, whole)
            if far <= most and (best is None or found < best):
                best = found
    return None if best is None else best[2:]


def _like(index: Index, word: str) -> Iterator[tuple[str, int]]:
    """Yield the stems that begin as `word` does, or as it would with two of its first letters swapped."""
    for beginning in dict.fromkeys((word[:2], word[1] + word[0], word[0] + word[2])):
        yield from index_find.vocabulary(index, beginning, _MOST_LOOKED_AT)


def distance(one: str, two: str, most: int) -> int:
    """Return how many letters must be put, taken, changed or swapped to turn `one` into `two`; at most `most` + 1."""
    before, last = list[int](), list(range(len(two) + 1))
    for at, letter in enumerate(one, 1):
        row = [at]
        for other, wanted in enumerate(two, 1):
            cost = min(last[other] + 1, row[-1] + 1, last[other - 1] + (letter != wanted))
            if at > 1 and other > 1 and letter == two[other - 2] and one[at - 2] == wanted:
                cost = min(cost, before[other - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]
