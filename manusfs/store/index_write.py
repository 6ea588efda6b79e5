"""How queued rows become rows of the database, inside one transaction."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from manusfs.store.index_rows import (
    Forget,
    MessageRow,
    NoteRow,
    ObservationRow,
    RefRow,
    Seen,
    Segment,
    SessionRow,
    Text,
    checked,
    checksum,
)

__all__ = ["count_up", "counter", "raise_to", "read_segment", "write"]

_SEGMENT_CHUNKS = 1_024
_GAP = 3
"""Unused chunk numbers between two texts, so that the neighbours of a chunk never belong to another text."""
_TABLES = {
    ObservationRow: "observations",
    NoteRow: "notes",
    SessionRow: "sessions",
    MessageRow: "messages",
    RefRow: "refs",
}


def write(connection: sqlite3.Connection, rows: Iterable[tuple[Any, tuple[Text, ...]]]) -> None:
    """Write rows and their texts; a text whose chunks are there already is left as it is, but a note's is replaced."""
    by_table: dict[type, dict[Any, tuple[Any, ...]]] = {}
    bodies: list[tuple[int, str]] = []
    heads: list[tuple[int, str]] = []
    first = start = _last_chunk(connection) + 1
    for row, texts in rows:
        if isinstance(row, Forget | NoteRow):
            _forget(connection, row.path, by_table)
        if isinstance(row, Forget):
            continue
        known = by_table.setdefault(ObservationRow, {})
        if isinstance(row, Seen | ObservationRow):
            row = _newest(connection, row, known.get(row.id))
        if row is None:
            continue
        values = tuple([getattr(row, name) for name in row.__dataclass_fields__])
        key = values[:2] if isinstance(row, RefRow) else values[0]
        by_table.setdefault(type(row), {})[key] = values
        for text in texts:
            if text.lengths and not _has(connection, text):
                first = _write_text(connection, text, first, bodies)
                heads += _sections(text, first - _GAP - len(text.lengths))
    for kind, found in by_table.items():
        _replace(connection, _TABLES[kind], found.values())
    connection.executemany("INSERT INTO chunks_fts(rowid, body) VALUES (?, ?)", bodies)
    connection.executemany("INSERT INTO heads_fts(rowid, head) VALUES (?, ?)", heads)
    if first != start:
        raise_to(connection, "chunk", first - 1)


def count_up(connection: sqlite3.Connection, name: str, by: int, floor: Callable[[], int]) -> int:
    """Return the counter `name` after adding `by` to it; `floor` gives its value where it is not known (any more)."""
    known = counter(connection, name)
    value = (floor() if known is None else known) + by
    _count(connection, name, value)
    return value


def raise_to(connection: sqlite3.Connection, name: str, value: int) -> None:
    """Make the counter `name` at least `value`."""
    _count(connection, name, max(value, counter(connection, name) or 0))


def counter(connection: sqlite3.Connection, name: str) -> int | None:
    """Return the counter `name`, or None when there is none or its row fails its check."""
    found = connection.execute("SELECT * FROM counters WHERE name = ?", (name,)).fetchone()
    return int(found[1]) if found and checksum(found[:-1]) == found[-1] else None


def _count(connection: sqlite3.Connection, name: str, value: int) -> None:
    # In place: to replace the row would write the page of its key as well, for each order that is given.
    sql = (
        "INSERT INTO counters VALUES (?, ?, ?)"
        " ON CONFLICT(name) DO UPDATE SET value = excluded.value, crc = excluded.crc"
    )
    connection.execute(sql, (name, value, checksum((name, value))))


def read_segment(values: Sequence[Any]) -> Segment | None:
    """Return the segment that a row of `chunks` tells, or None when it fails its check."""
    *row, crc = values
    first, count, owner, view, start, lengths, marks = row
    if checksum(row) != crc or len(lengths) != 2 * count:
        return None
    return Segment(first, count, owner, view, start, struct.unpack(f"<{count}H", lengths), marks)


def _last_chunk(connection: sqlite3.Connection) -> int:
    known = counter(connection, "chunk")
    if known is None and connection.execute("SELECT 1 FROM chunks LIMIT 1").fetchone():
        raise sqlite3.DatabaseError("malformed counter")
    return known or 0


def _newest(
    connection: sqlite3.Connection, row: ObservationRow | Seen, queued: tuple[Any, ...] | None
) -> ObservationRow | None:
    """Return the row with its orders and those known brought together; None for an unknown one that was seen."""
    stored = None if queued is None else ObservationRow(*queued)
    if stored is None:
        found = connection.execute("SELECT * FROM observations WHERE id = ?", (row.id,)).fetchone()
        stored = checked(ObservationRow, found) if found else None
    order, first = (row.order, row.first) if isinstance(row, Seen) else (row.latest_order, row.first_order)
    newest = stored if isinstance(row, Seen) else row
    if newest is None:
        return None
    latest = max(order, stored.latest_order if stored is not None else 0)
    firsts = [number for number in (first, stored.first_order if stored is not None else 0) if number]
    return replace(newest, latest_order=latest, first_order=min(firsts, default=0))


def _forget(connection: sqlite3.Connection, path: str, by_table: dict[type, dict[Any, tuple[Any, ...]]]) -> None:
    # The full-text rows stay behind without a place: a contentless table forgets only what it is told word for word.
    by_table.get(NoteRow, {}).pop(path, None)
    for table, column in (("notes", "path"), ("chunks", "owner"), ("refs", "place")):
        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (path,))  # noqa: S608 - our own names


def _has(connection: sqlite3.Connection, text: Text) -> bool:
    sql = "SELECT 1 FROM chunks WHERE owner = ? AND view = ? AND start = ?"
    return connection.execute(sql, (text.owner, text.view, text.start)).fetchone() is not None


def _write_text(connection: sqlite3.Connection, text: Text, first: int, bodies: list[tuple[int, str]]) -> int:
    """Add `text` with chunk numbers from `first` on; return the first number for the next text."""
    if text.title:
        connection.execute("INSERT INTO titles_fts(rowid, title) VALUES (?, ?)", (first, text.title))
    bodies.extend((first + at, body) for at, body in enumerate(text.bodies) if body is not None)
    segments, start = [], text.start
    for at in range(0, len(text.lengths), _SEGMENT_CHUNKS):
        lengths = text.lengths[at : at + _SEGMENT_CHUNKS]
        blob = struct.pack(f"<{len(lengths)}H", *lengths)
        marks = text.marks[at : at + _SEGMENT_CHUNKS]
        segments.append((first + at, len(lengths), text.owner, text.view, start, blob, marks))
        start += sum(lengths)
    _replace(connection, "chunks", segments)
    return first + len(text.lengths) + _GAP


def _sections(text: Text, first: int) -> Iterator[tuple[int, str]]:
    """Yield the first chunk and the heading of each section, and where the last one ends."""
    last = ""
    for at, head in enumerate(text.heads):
        if head != last:
            yield first + at, head
            last = head
    if last:
        yield first + len(text.heads), ""


def _replace(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    full = [(*row, checksum(row)) for row in rows]
    if not full:
        return
    marks = ", ".join("?" * len(full[0]))
    connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", full)  # noqa: S608 - our own names
