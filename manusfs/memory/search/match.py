"""Where the terms of a query stand in a text: for snippets and for the best passages of one text."""

from __future__ import annotations

import re
from collections.abc import Iterable
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
        self._patterns = [re.compile(_pattern(term)) for term in self.terms]

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """Return (start, end, number of the term) of each match, in characters of `text`, by start."""
        folded, origin = fold_with_map(text)
        found = []
        for number, pattern in enumerate(self._patterns):
            for match in pattern.finditer(folded):
                start, end = match.span()
                if end == start:
                    continue
                if origin is not None:
                    start, end = origin[start], origin[end - 1] + 1
                found.append((start, end, number))
        return sorted(found)

    def counts(self, folded: str) -> dict[int, int]:
        """Return how often each term (by number) occurs in a text that `fold_plain` gave."""
        found = {}
        for number, pattern in enumerate(self._patterns):
            count = len(pattern.findall(folded))
            if count:
                found[number] = count
        return found


def _pattern(term: Term) -> str:
    if term.cjk:
        return r"\W*".join(re.escape(piece) for piece in term.pieces)
    return r"\b" + r"[\W_]+".join(_stemmed(piece) for piece in term.pieces)


@lru_cache(maxsize=4096)
def _stemmed(piece: str) -> str:
    plain = fold_plain(piece)
    if len(plain) < 4 or not plain.isalpha():
        return re.escape(plain) + (r"(?:'?s)?\b" if plain.isalpha() else r"\b")
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
        return re.escape(stem) + r"(?:e|es|ed|er|ers|ing|ings|s|y|ies|ied|ly)?\b"
    return re.escape(stem) + r"\w{0,5}\b"
