"""How a text is cut into passages: at headings, pages, paragraphs, rows and turns, on exact byte spans without gaps."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

__all__ = ["MOST", "TARGET", "Chunk", "chunks"]

TARGET = 500
"""Bytes that a passage should have: long enough to answer, short enough to be read whole."""

MOST = 800
"""Bytes that no passage exceeds."""

_LEAST = 120
"""A section shorter than this is joined to the one after it: a heading alone says little."""

_HEADING = re.compile(rb"\n(#{1,6})[ \t]+([^\n]*)")
_FIRST_HEADING = re.compile(rb"(#{1,6})[ \t]+([^\n]*)")
_FENCE = re.compile(rb"^[ \t]*(```+|~~~+)", re.MULTILINE)
_TURN = re.compile(
    rb"^(?:[-*] )?(?:\[[^\]\n]{1,40}\][ ]?)?(?:\*\*)?([^\s:*#|\[\]<>][^\n:*|<>]{0,39})(?:\*\*)?(?:: |\xef\xbc\x9a)",
    re.MULTILINE,
)
_ASCII_ENDS = (b". ", b"? ", b"! ", b"; ")
_SENTENCE_ENDS = (*_ASCII_ENDS, "。".encode(), "！".encode(), "？".encode(), "；".encode())
_SAMPLE = 16 * 1024


class Chunk(NamedTuple):
    """A passage: its half-open byte range, and the heading that it stands under."""

    start: int
    end: int
    head: str


def chunks(data: bytes, pages: Iterable[int] = ()) -> list[Chunk]:
    """Return the passages of `data` in order; together they are all of it, and each border is a code point's.

    `pages` are byte offsets where pages start; no passage crosses one.
    """
    headings = _headings(data)
    turns = _turns(data)
    strict = {page for page in pages if 0 < page < len(data)} | set(turns)
    borders = sorted(strict | {heading[0] for heading in headings} | {0, len(data)})
    starts = [heading[0] for heading in headings]
    ends = _ASCII_ENDS if data.isascii() else _SENTENCE_ENDS
    found: list[Chunk] = []
    for start, end in _sections(borders, strict):
        for low, high in _pieces(data, start, end, ends):
            found.append(Chunk(low, high, _head(headings, starts, low) if starts else ""))
    return found


def _sections(borders: list[int], strict: set[int]) -> Iterator[tuple[int, int]]:
    start = borders[0]
    for at, end in enumerate(borders[1:], 1):
        last = at == len(borders) - 1
        if not last and end not in strict and end - start < _LEAST and borders[at + 1] - start <= MOST:
            continue
        if end > start:
            yield start, end
        start = end


def _pieces(data: bytes, start: int, end: int, ends: tuple[bytes, ...]) -> Iterator[tuple[int, int]]:
    while end - start > MOST:
        rest = end - start
        cut = _cut(data, start, TARGET if rest > 2 * TARGET else rest // 2, ends)
        yield start, cut
        start = cut
    yield start, end


def _cut(data: bytes, start: int, target: int, ends: tuple[bytes, ...]) -> int:
    """Return where the passage from `start` ends: with a paragraph near `target`, else a line, a sentence, a word."""
    low, aim, high = start + target // 2, start + target, start + MOST
    for mark in (b"\n\n", b"\n"):
        at = data.rfind(mark, low, aim)
        if at < 0:
            at = data.find(mark, aim, high)
        if at >= 0:
            return _after_blank(data, at + len(mark), high)
    at = max([_after(data, mark, low, aim + 100) for mark in ends])
    if at < 0:
        at = _after(data, b" ", low, high)
    if at >= 0:
        return at
    cut = high
    # Back to where a code point begins; what is no UTF-8 has no such place and is cut anywhere.
    while cut > high - 4 and data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut if cut > high - 4 else high


def _after(data: bytes, mark: bytes, low: int, high: int) -> int:
    at = data.rfind(mark, low, high)
    return at if at < 0 else at + len(mark)


def _after_blank(data: bytes, at: int, high: int) -> int:
    while at < high and at < len(data) and data[at] in b"\n\r":
        at += 1
    return at


def _headings(data: bytes) -> list[tuple[int, int, str]]:
    """Return offset, level and wording of each heading that is not inside a code block."""
    if b"#" not in data:
        return []
    fences = [match.start() for match in _FENCE.finditer(data)] if b"```" in data or b"~~~" in data else []
    found = []
    first = _FIRST_HEADING.match(data)
    for match in ([first] if first else []) + list(_HEADING.finditer(data)):
        if bisect_right(fences, match.start(1)) % 2 == 0:
            found.append((match.start(1), len(match[1]), match[2].decode("utf-8", "replace").strip(" #\r")[:200]))
    return found


def _head(headings: list[tuple[int, int, str]], starts: list[int], at: int) -> str:
    """Return the heading above `at`; for a passage that begins with its own heading, the next higher one."""
    index = bisect_right(starts, at) - 1
    if index < 0:
        return ""
    offset, level, title = headings[index]
    if offset < at:
        return title
    for _, higher, wording in reversed(headings[max(0, index - 40) : index]):
        if higher < level:
            return wording
    return ""


def _turns(data: bytes) -> list[int]:
    """Return where the turns of a dialogue start; nothing when the text is none.

    A dialogue is lines that begin with one of few names, most of the lines, and longer than the fields of a record.
    """
    sample = data[:_SAMPLE]
    if sample.count(b": ") + sample.count("：".encode()) < 6:
        return []
    marks = list(_TURN.finditer(sample))
    if len(marks) < 6:
        return []
    names = [match[1] for match in marks]
    lines = sum(1 for line in sample.split(b"\n") if line.strip())
    changes = sum(1 for one, two in pairwise(names) if one != two)
    spoken = (marks[-1].start() - marks[0].start()) / (len(marks) - 1)
    if len(marks) * 2 < lines or len(set(names)) > max(2, len(names) // 5) or changes * 2 < len(names) or spoken < 45:
        return []
    speakers = set(names)
    return [match.start() for match in _TURN.finditer(data) if match[1] in speakers]
