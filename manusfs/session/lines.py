"""One transcript line: how an event is written, and what can be read from bytes that may be damaged."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from manusfs.records import Event
from manusfs.workspace.sealed import SEAL_BYTES, dumps, seal, unseal

__all__ = ["Damage", "Scan", "encode", "scan"]

_START = re.compile(rb'\{"seq":\d{1,12},"time":"')
_END = re.compile(rb',"crc":"[0-9a-f]{8}"\}')
_BLANK = b"\xef\xbb\xbf \t\r\n"
"""Bytes that editors and version control put around lines: a byte order mark, blanks, line ends."""


def encode(event: Event) -> tuple[bytes, Event]:
    """Return the line of `event`, newline included, and the event as reading that line would give it."""
    data = dumps(event.data)
    head = f'"seq":{event.seq},"time":"{event.time}","kind":"{event.kind}","data":'.encode("ascii")
    # What lives on in memory must be what a resumed run loads: no tuples, no keys that are not text.
    return seal(head + data) + b"\n", Event(event.kind, json.loads(data), event.seq, event.time)


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes of a transcript that are no whole record."""

    offset: int
    length: int
    what: str

    def __str__(self) -> str:
        return f"{self.what}: {self.length} bytes at offset {self.offset}"


@dataclass(frozen=True, slots=True)
class Scan:
    """What the bytes of a transcript hold."""

    events: tuple[Event, ...]
    damage: tuple[Damage, ...]
    """Damaged places in the middle; they stay as they are."""
    size: int
    """Bytes up to the end of the last line that is worth keeping; what follows is a torn tail."""
    closed: bool
    """False when the last line worth keeping lacks its newline."""
    next_seq: int
    places: tuple[tuple[int, int], ...] = ()
    """Offset and end of each of the events."""
    lost: int = 0
    """Damaged places behind the last record that may have been records."""

    @property
    def owner(self) -> str:
        """The session whose transcript this is, by its first record; empty when that is not there."""
        first = self.events[0] if self.events else None
        return str(first.data.get("session", "")) if first is not None and first.kind == "session" else ""

    @property
    def missing(self) -> tuple[tuple[int, int], ...]:
        """First and last number of each run of records that are not there, though later ones or damaged bytes are."""
        numbers = [0, *(event.seq for event in self.events)]
        if self.lost:
            numbers.append(numbers[-1] + self.lost + 1)
        return tuple((one + 1, other - 1) for one, other in pairwise(numbers) if other > one + 1)


def scan(raw: bytes) -> Scan:
    """Return every whole record in `raw`, also one that stands behind or before rubbish on its line.

    Records come in the order of their numbers, wherever they stand; that they did not is told as damage. Of two of one
    number the first counts, the other is told and left out: two histories must not be mixed.
    """
    reader = _Reader()
    position, closed = 0, True
    while position < len(raw):
        end = raw.find(b"\n", position)
        closed = end >= 0
        line = raw[position : end if closed else len(raw)]
        if not reader.take(line, position, closed):
            return reader.scan(position, closed=True)
        position = end + 1 if closed else len(raw)
    return reader.scan(position, closed=closed)


class _Reader:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.places: list[tuple[int, int]] = []
        self.damage: list[Damage] = []
        self._lines = 0
        self._lost = 0
        self._all_lost = 0
        self._last = 0
        self._numbers: set[int] = set()

    def scan(self, size: int, *, closed: bool) -> Scan:
        """Return what was found in `size` bytes, by the numbers of the records."""
        order = sorted(range(len(self.events)), key=lambda at: self.events[at].seq)
        events, places = tuple(self.events[at] for at in order), tuple(self.places[at] for at in order)
        return Scan(events, tuple(self.damage), size, closed, self.next_seq, places, self._lost)

    @property
    def next_seq(self) -> int:
        """A number that no record had, not even one that is damaged now."""
        return max(self._last + self._lost, self._lines) + 1

    def take(self, line: bytes, offset: int, closed: bool) -> bool:
        """Take in one line; False for a torn tail, which holds no whole record."""
        value, before = unseal(line), len(self.events) + self._all_lost
        if value is not None:
            self._record(value, offset, len(line))
        else:
            found = list(_recover(line))
            if not closed and not found:
                return False
            self._rubbish(line, offset, found)
        self._lines += len(self.events) + self._all_lost > before
        return True

    def _record(self, value: dict[str, Any], offset: int, length: int) -> None:
        event = Event(value.get("kind", ""), value.get("data", {}), value.get("seq", 0), value.get("time", ""))
        if not (isinstance(event.seq, int) and isinstance(event.kind, str) and isinstance(event.data, dict)):
            self._tell(offset, length, "a record with members of the wrong kind")
            return
        if event.seq <= self._last:
            what = f"record {event.seq} out of order, after record {self._last}"
            self._tell(offset, length, what, lost=False)
            if event.seq in self._numbers or event.seq < 1:
                return
        else:
            self._last = event.seq
            self._lost = 0
        self.events.append(event)
        self.places.append((offset, offset + length))
        self._numbers.add(event.seq)

    def _rubbish(self, line: bytes, offset: int, found: list[tuple[int, int, dict[str, Any]]]) -> None:
        at = 0
        for start, end, value in found:
            if start > at:
                self._piece(line[at:start], offset + at)
            self._record(value, offset + start, end - start)
            at = end
        if at < len(line) or not line:
            self._piece(line[at:], offset + at)

    def _piece(self, piece: bytes, offset: int) -> None:
        """Tell of what is no record. What an editor or git puts at the ends of lines has cost none."""
        self._tell(offset, len(piece), _what(piece), lost=bool(piece.strip(_BLANK)))

    def _tell(self, offset: int, length: int, what: str, *, lost: bool = True) -> None:
        self.damage.append(Damage(offset, length, what))
        self._lost += lost
        self._all_lost += lost


def _what(piece: bytes) -> str:
    if not piece.strip(_BLANK):
        return "blanks round a line" if piece else "an empty line"
    return "zero bytes" if not piece.strip(b"\0") else "no whole record"


def _recover(line: bytes) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield start, end and value of each whole record inside a damaged line.

    A record is looked for only up to where the next one begins: so the cost grows with the line and no faster,
    whatever a stranger put there.
    """
    borders = [match.start() for match in _START.finditer(line)] + [len(line)]
    for start, limit in pairwise(borders):
        end, value = _whole_within(line, start, limit)
        if value is not None:
            yield start, end, value


def _whole_within(line: bytes, start: int, limit: int) -> tuple[int, dict[str, Any] | None]:
    view, crc, at = memoryview(line), 0, start
    for match in _END.finditer(line, start, limit):
        head = match.end() - SEAL_BYTES
        crc, at = zlib.crc32(view[at:head], crc), head
        if int(line[head + 7 : head + 15], 16) == crc:
            value = unseal(line[start : match.end()])
            if value is not None:
                return match.end(), value
    return 0, None
