"""A PDF that was cut or lost its directory, with a new one of the pages that are there."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

__all__ = ["rebuilt"]

_OBJECT = re.compile(rb"(?<![0-9])(\d{1,7})\s{1,4}(\d{1,5})\s{1,4}obj\b")
_HEAD_END = re.compile(rb"endobj|stream\r?\n?")
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PACKED = re.compile(rb"/Type\s*/ObjStm\b")
_HEAD = 4_000
"""A page's own dictionary is shorter than this."""
_MOST_UNPACKED = 64 << 20
_MOST_PAGES = 20_000


def rebuilt(raw: bytes) -> bytes | None:
    """Return `raw` with its packed objects unpacked and a new page tree behind it, None if no page is in it.

    Pages stand in the order of the file. A download that was cut has lost its directory, which stands at the end;
    without it no reader opens the file.
    """
    if b"/Encrypt" in raw:
        return None
    pages: dict[tuple[int, int], None] = {}
    unpacked: dict[int, bytes] = {}
    room = _MOST_UNPACKED
    for number, generation, head, start in _objects(raw):
        if _PAGE.search(head) and len(pages) < _MOST_PAGES:
            pages[number, generation] = None
        elif room > 0 and _PACKED.search(head):
            for inner, body in _inside(head, raw, start, room):
                room -= len(body)
                unpacked[inner] = body
                if _PAGE.search(body[:_HEAD]):
                    pages[inner, 0] = None
    return _with_tree(raw, list(pages), unpacked) if pages else None


def _objects(raw: bytes) -> Iterator[tuple[int, int, bytes, int]]:
    """Yield number, generation and dictionary of each object, and where its stream begins if it has one."""
    for match in _OBJECT.finditer(raw):
        end = _HEAD_END.search(raw, match.end(), match.end() + _HEAD)
        yield (
            int(match[1]),
            int(match[2]),
            raw[match.end() : end.start() if end else match.end() + _HEAD],
            end.end() if end else len(raw),
        )


def _inside(head: bytes, raw: bytes, start: int, room: int) -> Iterator[tuple[int, bytes]]:
    """Yield the objects of an object stream, as far as it is whole."""
    first = re.search(rb"/First\s+(\d{1,9})", head)
    if first is None or b"/FlateDecode" not in head:
        return
    try:
        data = zlib.decompressobj().decompress(raw[start:], min(room, 16 << 20))
    except zlib.error:
        return
    at = int(first[1])
    table = data[:at].split()
    numbers = [int(word) for word in table if word.isdigit()]
    starts = [at + offset for offset in numbers[1::2]]
    for number, begin, end in zip(numbers[::2], starts, [*starts[1:], len(data)], strict=False):
        if begin < end:
            yield number, data[begin:end]


def _with_tree(raw: bytes, pages: list[tuple[int, int]], unpacked: dict[int, bytes]) -> bytes:
    top = max([number for number, _ in pages] + list(unpacked)) + 1_000
    kids = b" ".join(b"%d %d R" % page for page in pages)
    # the first line ends the object at which the file was cut
    pieces = [raw, b"\nendstream\nendobj\n"]
    pieces += [b"%d 0 obj\n%s\nendobj\n" % (number, body) for number, body in unpacked.items()]
    pieces.append(b"%d 0 obj\n<< /Type /Catalog /Pages %d 0 R >>\nendobj\n" % (top, top + 1))
    pieces.append(b"%d 0 obj\n<< /Type /Pages /Kids [%s] /Count %d >>\nendobj\n" % (top + 1, kids, len(pages)))
    pieces.append(b"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n0\n%%%%EOF\n" % (top + 2, top))
    return b"".join(pieces)
