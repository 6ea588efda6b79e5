"""Where the terms of a query stand in a text: for snippets and for the best passages of one text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from manusfs.memory.search.fold import fold_plain, fold_with_map
from manusfs.memory.search.query import Term

__all__ = ["Matcher"]

_SUFFIXES = (
    "ationally ational ations ation izing ized izes ements ement ments ment ingly edly ness ings ing ied ies ers er ed"
    " es ly s y e"
).split()


class Matcher:
    """Finds the terms of a query in texts, by word stem; close to what the full-text table's stemmer does."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(dict.fromkeys(terms))
        self._patterns = [
            (number, *_pattern(form)) for number, term in enumerate(self.terms) for form in _with_forms(term)
        ]

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """Return (start, end, number of the term) of each match, in characters of `text`, by start."""
        folded, origin = fold_with_map(text)
        found = self.folded_spans(folded)
        if origin is not None:
            found = [(origin[start], origin[end - 1] + 1, number) for start, end, number in found]
        return sorted(found)

    def folded_spans(self, folded: str) -> list[tuple[int, int, int]]:
        """Return (start, end, number of the term) of each match in a text that `fold_plain` gave, by term."""
        found = []
        for number, literal, pattern in self._patterns:
            at = folded.find(literal)
            while at >= 0:
                # A plain search for the stem first: twenty times as fast as the expression alone.
                match = pattern.match(folded, at)
                if match is not None:
                    found.append((at, match.end(), number))
                at = folded.find(literal, at + 1 if match is None else match.end())
        return found


def _with_forms(term: Term) -> Iterator[Term]:
    yield term
    yield from (Term(term.fts, (form,)) for form in term.forms)


def _pattern(term: Term) -> tuple[str, re.Pattern[str]]:
    """Return how a match begins, literally, and the expression for all of it."""
    if term.cjk:
        return fold_plain(term.pieces[0]), re.compile(
            r"\W*".join(re.escape(fold_plain(piece)) for piece in term.pieces)
        )
    stems = [_stemmed(piece) for piece in term.pieces]
    if term.begins:
        return stems[0][0], re.compile(r"\b" + stems[0][0] + r"\w*")
    return stems[0][0], re.compile(r"\b" + r"[\W_]+".join(stem + ending for stem, ending in stems))


@lru_cache(maxsize=4096)
def _stemmed(piece: str) -> tuple[str, str]:
    """Return the stem of a word, and the expression for the endings that it may have."""
    plain = fold_plain(piece)
    if len(plain) < 4 or not plain.isalpha():
        return plain, r"(?:'?s)?\b" if plain.isalpha() else r"\b"
    for suffix in _SUFFIXES:
        if plain.endswith(suffix) and len(plain) - len(suffix) >= 3:
            stem = plain[: -len(suffix)]
            break
    else:
        stem = plain
    if len(stem) > 3 and stem[-1] == stem[-2] and suffix in ("ing", "ed", "er", "ers", "ings"):
        stem = stem[:-1]
    if len(stem) <= 3:
        # Too short a stem would match half the dictionary: only the usual endings.
        return stem, r"(?:e|es|ed|er|ers|ing|ings|s|y|ies|ied|ly)?\b"
    return stem, r"\w{0,5}\b"
