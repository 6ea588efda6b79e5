"""Reading a body from the network: one coding at most, a limit on the wire and one on what it decodes to."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from io import BytesIO

import httpx

from manusfs.errors import Refused
from manusfs.fetch.urls import brief

__all__ = ["ACCEPT_ENCODING", "Body", "read_body"]

ACCEPT_ENCODING = "gzip, deflate"
_PIECE = 1 << 18
_NOT_UNPACKED = frozenset(
    "br zstd compress x-compress dcb dcz exi pack200-gzip aes128gcm x-bzip2 bzip2 xz lzma".split()
)
"""Codings there are (https://www.iana.org/assignments/http-parameters) and some more that servers use."""
_MEMBERS = 10_000
"""Most gzip members of one body: empty ones cost time, not space, so the size limits do not stop them."""


@dataclass(frozen=True, slots=True)
class Body:
    """A body after content decoding; `complete` is False when it was cut, and `notes` say where and why."""

    data: bytes
    complete: bool = True
    notes: tuple[str, ...] = ()
    coding: str = ""
    """The coding that was taken off: "gzip", "deflate" or ""."""
    broken: bool = False
    """True when the connection failed on the way: the rest may come another time."""


def read_body(response: httpx.Response, *, max_wire: int, max_body: int) -> Body:
    """Return the body of `response`, cut at `max_wire` bytes from the network or `max_body` decoded bytes.

    Memory stays near the size of what is returned. What came before a cut or a failure is kept.

    Raises:
        Refused: the body has more than one coding, or one that was not asked for.
    """
    try:
        coding, odd = _coding(response)
    except Refused:
        response.close()
        raise
    sink = _Sink(max_body)
    decoder = _Inflate(coding, sink) if coding else sink
    wire, reason, broken = 0, "", False
    try:
        for part in response.iter_raw():
            wire += len(part)
            if wire > max_wire:
                reason = f"cut at {max_wire} bytes from the network (max_wire_bytes)"
                part = part[: max_wire - wire]
            if part:
                reason = decoder.feed(part) or reason
            if reason:
                break
        else:
            reason = decoder.end()
    except httpx.TimeoutException:
        reason = f"the time for one attempt was used up after {wire} bytes (fetch_timeout_s)"
    except httpx.TransportError:
        reason, broken = f"the connection ended after {wire} bytes{_of(response)}", True
    finally:
        response.close()
    plain = isinstance(decoder, _Inflate) and decoder.plain
    notes = [f"body incomplete: {reason}"] if reason else []
    if odd:
        notes.append(f"the body was declared {odd!r}, which is no coding of bodies; taken as it came")
    if plain:
        notes.append(f"the body was declared {coding}, which it is not; kept as it came")
    if isinstance(decoder, _Inflate) and decoder.trailing:
        notes.append(f"{decoder.trailing} bytes after the end of the {coding} data were left out")
    return Body(sink.data(), not reason, tuple(notes), "" if plain else coding, broken)


def _coding(response: httpx.Response) -> tuple[str, str]:
    """Return the coding to take off, and what else the header names that is none: a charset, a made-up word."""
    named = [
        name
        for value in response.headers.get_list("content-encoding", split_commas=True)
        if (name := value.strip().lower()) and name != "identity"
    ]
    codings = [name for name in named if name in ("gzip", "x-gzip", "deflate") or name in _NOT_UNPACKED]
    where = brief(str(response.url))
    if len(codings) > 1:
        raise Refused(
            f"the body of {where!r} is wrapped in {len(codings)} codings; one is the most that is unpacked",
            hint="this is how decompression bombs are built; try another source",
        )
    if codings and codings[0] in _NOT_UNPACKED:
        raise Refused(
            f"the body of {where!r} has the coding {codings[0]!r}, which was not asked for",
            hint="the server ignores what it is asked; try another source",
        )
    odd = ", ".join(name for name in named if name not in codings)
    return codings[0].removeprefix("x-") if codings else "", odd[:40]


def _of(response: httpx.Response) -> str:
    length: str = response.headers.get("content-length", "")
    return f" of {length}" if length.isdecimal() else ""


class _Sink:
    """Collects bytes up to a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = BytesIO()

    @property
    def room(self) -> int:
        return self._limit - self._buffer.tell()

    def feed(self, part: bytes) -> str:
        """Keep `part`; return the reason when it had to be cut."""
        room = self.room
        self._buffer.write(part if len(part) <= room else part[:room])
        return f"cut at {self._limit} bytes (max_body_bytes)" if len(part) > room else ""

    def end(self) -> str:
        return ""

    def data(self) -> bytes:
        return self._buffer.getvalue()


class _Inflate:
    """Decodes gzip or deflate into a sink, never more than a piece beyond its limit."""

    def __init__(self, coding: str, sink: _Sink) -> None:
        self._coding = coding
        self._sink = sink
        self._engine: zlib._Decompress | None = None
        self._head = b""
        self._members = 0
        self.plain = False
        """True when the body turned out not to have the coding that it was declared to have."""
        self.trailing = 0

    def feed(self, part: bytes) -> str:
        """Decode `part`; return the reason when reading must stop."""
        if self.plain:
            return self._sink.feed(part)
        if self._engine is None:
            self._head += part
            if len(self._head) < 2:
                return ""
            part, self._head = self._head, b""
            self._engine = self._start(part)
            if self._engine is None:
                self.plain = True
                return self._sink.feed(part)
        return self._inflate(self._engine, part)

    def end(self) -> str:
        """Return the reason when the body stopped before its coding's end."""
        if self.plain or (self._engine is None and not self._head):
            return ""
        if self._engine is None:
            self.plain = True
            return self._sink.feed(self._head)
        return "" if self._engine.eof else f"the {self._coding} data stops before its end"

    def _start(self, head: bytes) -> zlib._Decompress | None:
        if self._coding == "gzip":
            return zlib.decompressobj(31) if head[:2] == b"\x1f\x8b" else None
        # "deflate" is zlib's format by RFC 9110, but servers also send it bare; a zlib header is told by its check.
        wrapped = head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
        try:
            zlib.decompressobj(15 if wrapped else -15).decompress(head, 1)
        except zlib.error:
            return None
        return zlib.decompressobj(15 if wrapped else -15)

    def _inflate(self, engine: zlib._Decompress, part: bytes) -> str:
        while True:
            if engine.eof:
                if not part or not self._starts_member(part):
                    return ""
                engine = self._engine = zlib.decompressobj(31)
            # One byte more than there is room for tells "just fits" from "too much".
            most = min(_PIECE, self._sink.room + 1)
            before = engine.copy()
            try:
                out = engine.decompress(part, most)
            except zlib.error:
                return self._sink.feed(_until_damage(before, part)) or f"the {self._coding} data is damaged"
            reason = self._sink.feed(out)
            if reason or self._members > _MEMBERS:
                return reason or f"cut after {_MEMBERS} {self._coding} members"
            part = engine.unused_data if engine.eof else engine.unconsumed_tail
            # A full piece may have more behind it, though all the input is taken.
            if not part and (engine.eof or len(out) < most):
                return ""

    def _starts_member(self, part: bytes) -> bool:
        """True if `part` begins the next gzip member; what follows otherwise is not part of the body."""
        if self._coding == "gzip" and not self.trailing and part[:1] == b"\x1f":
            self._members += 1
            return True
        if part.strip(b"\0"):
            self.trailing += len(part)
        return False


def _until_damage(engine: zlib._Decompress, part: bytes) -> bytes:
    """Return what `part` decodes to before it is damaged: on an error zlib gives nothing of the piece that has it."""
    out = bytearray()
    try:
        for at in range(len(part)):
            # A single byte can stand for no more than a thousand.
            out += engine.decompress(part[at : at + 1])
            if len(out) > _PIECE:
                break
    except zlib.error:
        pass
    return bytes(out)
