"""Passages that say the same: found by their words in a row, so that a page seen thrice is one hit."""

from __future__ import annotations

import re

from manusfs.memory.search.fold import CJK, fold

__all__ = ["Repetitions"]

_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_ROW = 4
_ALIKE = 0.8


class Repetitions:
    """Remembers the passages that were kept."""

    def __init__(self) -> None:
        self._kept: list[frozenset[tuple[str, ...]]] = []

    def place(self, text: str) -> int | None:
        """Return which kept passage (from 0) says the same as `text`; None, and keep it, when none does."""
        words = _WORD.findall(fold(text))
        rows = frozenset(tuple(words[at : at + _ROW]) for at in range(max(1, len(words) - _ROW + 1)))
        for at, other in enumerate(self._kept):
            if len(rows & other) >= _ALIKE * len(rows | other):
                return at
        self._kept.append(rows)
        return None
