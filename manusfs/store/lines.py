"""Lines and byte offsets of a stored text: the one place that converts, by the newline counts of its blocks."""

from __future__ import annotations

from collections.abc import Callable

from manusfs.records import BLOCK_BYTES, FileMeta, Span

__all__ = ["line_of", "line_span", "line_total"]

Body = Callable[[Span], bytes]
"""Gives the bytes of a span of the file."""


def line_total(file: FileMeta, body: Body) -> int:
    """Return how many lines the text has; one without a newline at its end counts."""
    if not file.size:
        return 0
    return sum(file.newlines) + (body(Span(file.size - 1, file.size)) != b"\n")


def line_of(file: FileMeta, body: Body, offset: int) -> int:
    """Return the number, from 1, of the line that holds the byte `offset`; past the end it is the last line's."""
    offset = max(0, min(offset, file.size - 1))
    block = offset // BLOCK_BYTES
    start = block * BLOCK_BYTES
    before = sum(file.newlines[:block])
    return before + (body(Span(start, offset)).count(b"\n") if offset > start else 0) + 1


def line_span(file: FileMeta, body: Body, first: int, last: int) -> Span:
    """Return the span of the lines `first` to `last`, both included and counted from 1, newlines included.

    Lines past the end are cut off: a `first` past the end gives an empty span at the end.
    """
    start = _line_start(file, body, max(1, first))
    end = _line_start(file, body, max(first, last) + 1)
    return Span(start, max(start, end))


def _line_start(file: FileMeta, body: Body, line: int) -> int:
    """Return the offset behind newline number `line - 1`, the file's size when it has fewer."""
    wanted = line - 1
    if wanted == 0:
        return 0
    for block, count in enumerate(file.newlines):
        if wanted <= count:
            start = block * BLOCK_BYTES
            data = body(Span(start, min(start + BLOCK_BYTES, file.size)))
            return start + _nth_newline(data, wanted) + 1
        wanted -= count
    return file.size


def _nth_newline(data: bytes, wanted: int) -> int:
    """Return where newline number `wanted`, from 1, stands: by halves, as a block may be nothing but newlines."""
    low, high = 0, len(data)
    while high - low > 1:
        middle = (low + high) // 2
        count = data.count(b"\n", low, middle)
        if wanted <= count:
            high = middle
        else:
            wanted -= count
            low = middle
    return low
