"""What a reading view lacks of the page: table rows, lines of code, words, links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from manusfs.extract.seen import Seen

__all__ = ["lacks", "share_of_words"]

_LINK_TARGET = re.compile(r"\]\((?:<[^>\n]*>|[^)\s]*)\)")
_IDEOGRAPHS = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
_IDEOGRAPH = re.compile(f"[{_IDEOGRAPHS}]")
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+")
_MOSTLY_ASCII = 1.2
_ASCII = bytes(range(128))
_BLANKS = bytes(byte if byte > 127 or chr(byte).isalnum() or byte == ord("_") else ord(" ") for byte in range(256))
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
    total = wanted.total()
    both = wanted.keys() & got.keys()
    return sum(map(min, map(wanted.__getitem__, both), map(got.__getitem__, both))) / total if total else 1.0


def _words(text: str) -> list[str]:
    text = _LINK_TARGET.sub("]", text) if "](" in text else text
    raw = text.encode("utf-8", "replace")
    if len(raw) > len(text) * _MOSTLY_ASCII:
        return _WORD.findall(text)
    # the same, several times faster: what is no word is made a blank, and a text is split at blanks in C
    for char in set(raw.translate(None, _ASCII).decode("utf-8")):
        if _IDEOGRAPH.match(char):
            return _WORD.findall(text)
        if not char.isalnum():
            raw = raw.replace(char.encode("utf-8"), b" ")
    return raw.translate(_BLANKS).decode("utf-8").split()


def _inside(block: str) -> list[str]:
    return block.split("\n")[1:-1]
