"""Passages that say the same: found by their words in a row, so that a page seen thrice is one hit."""

from __future__ import annotations

import re

from manusfs.memory.search.fold import CJK, fold

__all__ = ["Repetitions", "words_of"]

_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_PLAIN_WORD = re.compile("[a-z0-9]+")
_ROW = 4
_ALIKE = 0.8


def words_of(text: str) -> list[str]:
    """Return the folded words of `text`, stop words too; of scripts without blanks each character."""
    folded = fold(text)
    return (_PLAIN_WORD if folded.isascii() else _WORD).findall(folded)


class Repetitions:
    """Remembers the passages that were kept."""

    def __init__(self) -> None:
        self._kept: list[set[tuple[str, ...]]] = []
        self._all: set[tuple[str, ...]] = set()

    def place(self, text: str) -> int | None:
        """Return which kept passage (from 0) says the same as `text`; None, and keep it, when none does."""
        words = words_of(text)
        if len(words) > _ROW:
            rows: set[tuple[str, ...]] = set(zip(words, words[1:], words[2:], words[3:], strict=False))
        else:
            rows = {tuple(words)}
        # One look at all rows at once: most passages share hardly any, and need no comparison with each.
        if len(rows & self._all) >= _ALIKE * len(rows):
            for at, other in enumerate(self._kept):
                shared = len(rows & other)
                if shared >= _ALIKE * (len(rows) + len(other) - shared):
                    return at
        self._kept.append(rows)
        self._all |= rows
        return None
