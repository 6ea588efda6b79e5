"""Pieces of stored text: where they begin and end, by bytes, characters, lines or pages, and what a read gives back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from manusfs.records import BLOCK_BYTES, FileMeta, Meta, Span, sha256_hex
from manusfs.store.lines import line_of, line_span

__all__ = ["Place", "Reading", "State", "Text", "block_reader", "decoded", "line_range", "reading"]

State = Literal["stored", "unchanged", "changed", "gone"]
_ESCAPED = re.compile("[\udc80-\udcff]")


def decoded(data: bytes) -> str:
    """Return `data` as text; bytes that are no UTF-8 become U+FFFD, one each."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _ESCAPED.sub("\ufffd", data.decode("utf-8", "surrogateescape"))


def block_reader(read: Callable[[Span], bytes], total: int, keep: int = 4) -> Callable[[Span], bytes]:
    """Return `read` with the last blocks kept, so that finding borders and lines of a piece hashes its blocks once."""
    blocks: dict[int, bytes] = {}

    def block(number: int) -> bytes:
        if number not in blocks:
            while len(blocks) >= keep:
                del blocks[next(iter(blocks))]
            start = number * BLOCK_BYTES
            blocks[number] = read(Span(start, min(total, start + BLOCK_BYTES)))
        return blocks[number]

    def within(span: Span) -> bytes:
        if not span:
            return b""
        first, last = span.start // BLOCK_BYTES, (span.end - 1) // BLOCK_BYTES
        if last - first >= keep:
            return read(span)
        data = b"".join(block(number) for number in range(first, last + 1))
        return data[span.start - first * BLOCK_BYTES : span.end - first * BLOCK_BYTES]

    return within


@dataclass(frozen=True, slots=True)
class Text:
    """Stored bytes that can be read by span, with the newline count of each block of 256 KiB."""

    total: int
    read: Callable[[Span], bytes]
    newlines: tuple[int, ...]

    @classmethod
    def of(cls, data: bytes) -> Text:
        """Return a Text of bytes that are in memory."""
        counts = tuple(data.count(b"\n", at, at + BLOCK_BYTES) for at in range(0, len(data), BLOCK_BYTES))
        return cls(len(data), lambda span: data[span.start : span.end], counts)

    def border(self, offset: int) -> int:
        """Return `offset`, or where the code point begins that it would cut. Idempotent, also for bytes of no text."""
        offset = min(offset, self.total)
        if offset in (0, self.total):
            return offset
        start = max(0, offset - 3)
        around = self.read(Span(start, offset + 1))
        if around[-1] & 0xC0 != 0x80:
            return offset
        for back in range(1, len(around)):
            byte = around[-1 - back]
            if byte & 0xC0 != 0x80:
                return offset - back if _length(byte) > back else offset
        return offset

    def piece(self, start: int, *, end: int | None = None, limit: int | None = None, chars: int | None = None) -> Span:
        """Return the span of the piece from `start` on: not behind `end`, at most `limit` bytes and `chars` characters.

        Both ends stand on code-point borders. Short of the end it is never empty, whatever the limits: a reader that
        goes on at its end always gets there.
        """
        start = self.border(start)
        stop = self.total if end is None else max(start, self.border(end))
        last = stop if limit is None else min(stop, self.border(start + max(limit, 1)))
        if chars is not None:
            last = min(last, self.border(start + 4 * max(chars, 1)))
        if last <= start < stop:
            return Span(start, min(stop, self._next_border(start)))
        if chars is not None and last - start > max(chars, 1):
            last = start + _bytes_of(self.read(Span(start, last)), max(chars, 1))
        return Span(start, last)

    def line_of(self, offset: int) -> int:
        """Return the number of the line that holds `offset`, from 1; behind the end it is the last line's."""
        return line_of(self._file, self.read, offset) if self.total else 1

    def line_span(self, first: int, last: int) -> Span:
        """Return the span of the lines `first` to `last`, both included; behind the last line it is empty."""
        return line_span(self._file, self.read, first, last)

    @property
    def _file(self) -> FileMeta:
        return FileMeta("", self.total, "", (), self.newlines)

    def lines(self, span: Span) -> str:
        """Return `first-last`, the lines that `span` touches; empty for an empty span."""
        if not span:
            return ""
        return f"{self.line_of(span.start)}-{self.line_of(span.end - 1)}"

    def _next_border(self, start: int) -> int:
        return next(at for at in range(start + 1, self.total + 1) if self.border(at) == at)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a read gives: the text of `start`-`end` of the view `ref`, and where to go on."""

    ref: str
    """The view or file that was read, without a span. Of a changed source: the new observation."""
    start: int
    end: int
    total: int
    """Bytes of the whole."""
    next_offset: int | None
    """Where the next piece begins; None when nothing is left."""
    text: str
    sha256: str
    """Of the bytes `start`-`end`."""
    state: State = "stored"
    data: bytes = b""
    """The exact bytes; `text` is these as UTF-8."""
    lines: str = ""
    page: str = ""
    message: str = ""
    """Plain words when the answer is not simply what was stored."""
    view: str = "text"
    meta: Meta | None = None
    """What is known of the observation, when it is one."""
    tail: Span | None = None
    """A piece further on that should be shown too."""

    @property
    def span(self) -> Span:
        """The bytes that were read."""
        return Span(self.start, self.end)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `read --json` prints."""
        return {
            "ref": self.ref,
            "start": self.start,
            "end": self.end,
            "total": self.total,
            "next_offset": self.next_offset,
            "text": self.text,
            "sha256": self.sha256,
            "state": self.state,
        }


@dataclass(frozen=True, slots=True)
class Place:
    """Where a byte of a stored text is found by people."""

    path: str
    """The file, inside the workspace."""
    line: int
    """From 1."""
    url: str
    """Of the page; empty when it has none."""
    page: int = 0
    """Of a PDF, from 1; 0 where there are none."""


def reading(
    text: Text,
    ref: str,
    span: Span,
    *,
    state: State = "stored",
    page: str = "",
    message: str = "",
    view: str = "text",
    meta: Meta | None = None,
    tail: Span | None = None,
    numbered: bool = True,
) -> Reading:
    """Return the Reading of `span`; `numbered` says whether its lines are counted."""
    data = text.read(span)
    return Reading(
        ref=ref,
        start=span.start,
        end=span.end,
        total=text.total,
        next_offset=span.end if span.end < text.total else None,
        text=decoded(data),
        sha256=sha256_hex(data),
        state=state,
        data=data,
        lines=text.lines(span) if numbered else "",
        page=page,
        message=message,
        view=view,
        meta=meta,
        tail=tail,
    )


def line_range(lines: Sequence[int]) -> tuple[int, int | None]:
    """Return first and last of `lines`, one or two numbers; a single one goes on to the end."""
    first, *rest = lines
    return max(first, 1), (rest[0] if rest else None)


def _length(lead: int) -> int:
    """Return the bytes of the code point that begins with `lead`; 1 for what begins none."""
    if lead >= 0xF0:
        return 4 if lead <= 0xF4 else 1
    if lead >= 0xE0:
        return 3
    return 2 if lead >= 0xC2 else 1


def _bytes_of(data: bytes, chars: int) -> int:
    text = data.decode("utf-8", "surrogateescape")
    if len(text) <= chars:
        return len(data)
    return len(text[:chars].encode("utf-8", "surrogateescape"))
