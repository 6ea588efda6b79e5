"""What a file was before an editor, version control or a crash changed its ends: only what its sha256 proves."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from manusfs.records import FileMeta

__all__ = ["as_it_was", "plain_ends"]

_MARK = b"\xef\xbb\xbf"
_MOST = 256 << 20
_NEWLINES = 4


def as_it_was(data: bytes, file: FileMeta) -> bytes | None:
    """Return the bytes that `file` tells of, made from `data`, which stands in its place; None when they are others.

    Line ends of another system, a byte order mark, bytes behind the end (zeros after a power cut, a second copy, a
    newline) and newlines that are missing at the end are undone.
    """
    if len(data) > _MOST:
        data = data[: file.size]
    for made in _ways(data, file.size):
        if len(made) == file.size and sha256(made).hexdigest() == file.sha256:
            return made
    return None


def plain_ends(data: bytes) -> bytes:
    """Return a text of ours with the line ends that it was written with, and nothing but one behind it."""
    return data.removeprefix(_MARK).replace(b"\r\n", b"\n").rstrip(b"\0 \t\r\n") + b"\n"


def _ways(data: bytes, size: int) -> Iterator[bytes]:
    for text in (data, data.removeprefix(_MARK)) if data.startswith(_MARK) else (data,):
        yield text[:size]
        if b"\r\n" in text:
            yield text.replace(b"\r\n", b"\n")[:size]
        elif b"\n" in text and len(text) < size:
            yield text.replace(b"\n", b"\r\n")
        if 0 < size - len(text) <= _NEWLINES:
            yield text + b"\n" * (size - len(text))
