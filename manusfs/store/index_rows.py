"""The rows of the index as plain values, each with a checksum that finds a flipped bit.

SQLite's own checks pass most single-bit flips (147 of 400 gave wrong rows while `integrity_check` said ok), so a row
counts only when its `crc` says so; one that fails is treated as missing and is added again from the tree.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeVar

from manusfs.records import Meta

__all__ = [
    "ASKS",
    "Forget",
    "MessageRow",
    "NoteRow",
    "ObservationRow",
    "RefRow",
    "Seen",
    "Segment",
    "SessionRow",
    "Text",
    "checked",
    "checksum",
]


@dataclass(frozen=True, slots=True)
class ObservationRow:
    """What a listing says of an observation, without opening its folder."""

    id: str
    source: str
    kind: str
    host: str
    url: str
    title: str
    media_type: str
    path: str
    bytes: int
    text_bytes: int
    tokens: int
    sha256: str
    created: str
    session: str
    latest_order: int
    complete: int
    status: int
    """HTTP status; 0 for what did not come over HTTP."""
    latest_allowed: int
    first_order: int = 0
    """When it came first, by its events: listings go by it, as no clock can be trusted for that."""

    @classmethod
    def of(cls, meta: Meta, order: int, first: int = 0) -> ObservationRow:
        """Return the row of an observation whose newest `observation` event has `order`, the oldest `first`."""
        text = meta.files.get("text")
        return cls(
            meta.id,
            meta.source.key,
            meta.source.kind,
            meta.source.host,
            meta.source.url,
            meta.title,
            meta.media_type,
            meta.folder,
            meta.raw_size,
            text.size if text is not None else 0,
            meta.tokens,
            meta.raw_sha256,
            meta.created,
            meta.session,
            order,
            int(meta.complete),
            meta.http.status if meta.http is not None else 0,
            int(meta.latest_allowed),
            first or order,
        )


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note or report as it was when it was indexed."""

    path: str
    mtime_ns: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session, and how much of its transcript is in the index."""

    session: str
    purpose: str
    created: str
    title: str
    indexed_bytes: int
    indexed_seq: int


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One text block of a transcript."""

    ref: str
    session: str
    seq: int
    role: str
    time: str


@dataclass(frozen=True, slots=True)
class RefRow:
    """`target` (a ref without its span) is mentioned in `place` (a note, report or message)."""

    target: str
    place: str


class Forget(NamedTuple):
    """A note that is gone."""

    path: str


class Seen(NamedTuple):
    """An observation was seen again, at `order`; `first` is when it was seen first, 0 where that is not known."""

    id: str
    order: int
    first: int = 0


class Text(NamedTuple):
    """One text on its way into the full-text table: where it stands, and its chunks.

    `lengths` are the bytes of each chunk, in order and without gaps from `start` on; `bodies` are what is searched for
    each of them (None: not searched, as a passage that another view already has), `heads` the section each stands in,
    `marks` what is known of each beside its words, as bits (`ASKS`).
    """

    owner: str
    """`obs:<id>`, a workspace path, or `msg:<session>:<seq>.<block>`."""
    view: str
    lengths: Sequence[int]
    bodies: Sequence[str | None]
    heads: Sequence[str]
    title: str = ""
    start: int = 0
    marks: bytes = b""
    """One byte a chunk; empty where nothing is marked."""


class Segment(NamedTuple):
    """Consecutive chunks of one text: chunk `first + i` of the full-text table is `lengths[i]` bytes long."""

    first: int
    chunks: int
    owner: str
    view: str
    start: int
    lengths: tuple[int, ...]
    marks: bytes = b""


ASKS = 1
"""Mark of a chunk that ends with a question."""

_Row = TypeVar("_Row", ObservationRow, NoteRow, SessionRow, MessageRow, RefRow)


def checksum(values: Sequence[Any]) -> int:
    """Return the CRC-32 of a row's values."""
    joined = "\x1f".join([value.hex() if isinstance(value, bytes) else str(value) for value in values])
    return zlib.crc32(joined.encode("utf-8", "surrogatepass"))


def checked(kind: type[_Row], values: Sequence[Any]) -> _Row | None:
    """Return the row that `values` (its columns and `crc` last) tell, or None when the checksum does not match."""
    if len(values) != len(fields(kind)) + 1 or checksum(values[:-1]) != values[-1]:
        return None
    return kind(*values[:-1])
