"""What a reading view lacks of the page: table rows, lines of code, words, links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from manusfs.extract.seen import Seen

__all__ = ["lacks", "share_of_words"]

_LINK_TARGET = re.compile(r"\]\((?:<[^>\n]*>|[^)\s]*)\)")
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_WORDS_MISSING = 0.3


def lacks(reading: str, seen: Seen, links: int) -> tuple[str, ...]:
    """Return what `reading` leaves out of the page, in words; empty if nothing that counts.

    Counts: a row of a data table, a line of code, more than 30 % of the words, or `links` to other pages.
    """
    words = _words(reading)
    joined = f" {' '.join(words)} "
    missing_rows = sum(1 for row in seen.rows if (found := " ".join(_words(row))) and f" {found} " not in joined)
    lines = {line.rstrip() for line in reading.split("\n")}
    code = [line for _, block in seen.code for line in _inside(block) if line.strip()]
    missing_code = sum(1 for line in code if line.rstrip() not in lines)
    share = share_of_words(words, _words(seen.text))
    told = [
        f"{missing_rows} table rows" if missing_rows else "",
        f"{missing_code} lines of code" if missing_code else "",
        f"{round(100 * (1 - share))} % of the visible words" if share < 1 - _WORDS_MISSING else "",
        f"{links} links" if links else "",
    ]
    return tuple(part for part in told if part)


def share_of_words(part: Iterable[str], whole: Iterable[str]) -> float:
    """Return how much of the words of `whole` stand in `part` as well, counted with repetition; 1 if there are none."""
    wanted, got = Counter(whole), Counter(part)
    total = sum(wanted.values())
    return sum((wanted & got).values()) / total if total else 1.0


def _words(text: str) -> list[str]:
    return _WORD.findall(_LINK_TARGET.sub("]", text))


def _inside(block: str) -> list[str]:
    return block.split("\n")[1:-1]
