"""How queued rows become rows of the database, inside one transaction."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from typing import Any

from manusfs.store.index_rows import MessageRow, NoteRow, ObservationRow, RefRow, Segment, SessionRow, Text, checksum

__all__ = ["count_up", "raise_to", "read_segment", "write"]

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
    bodies: list[tuple[int, str, str]] = []
    first = start = _counter(connection, "chunk") + 1
    for row, texts in rows:
        if isinstance(row, ObservationRow):
            row = _with_greatest_order(connection, row, by_table.get(ObservationRow, {}).get(row.id))
        elif isinstance(row, NoteRow):
            connection.execute("DELETE FROM chunks WHERE owner = ?", (row.path,))
        values = astuple(row)
        key = values[:2] if isinstance(row, RefRow) else values[0]
        by_table.setdefault(type(row), {})[key] = values
        for text in texts:
            if text.lengths and not _has(connection, text):
                first = _write_text(connection, text, first, bodies)
    for kind, found in by_table.items():
        _replace(connection, _TABLES[kind], found.values())
    connection.executemany("INSERT INTO chunks_fts(rowid, head, body) VALUES (?, ?, ?)", bodies)
    if first != start:
        raise_to(connection, "chunk", first - 1)


def count_up(connection: sqlite3.Connection, name: str, by: int) -> int:
    """Return the counter `name` after adding `by` to it."""
    raise_to(connection, name, _counter(connection, name) + by)
    return _counter(connection, name)


def raise_to(connection: sqlite3.Connection, name: str, value: int) -> None:
    """Make the counter `name` at least `value`."""
    connection.execute(
        "INSERT INTO counters(name, value) VALUES (?, ?)"
        " ON CONFLICT(name) DO UPDATE SET value = max(value, excluded.value)",
        (name, value),
    )


def read_segment(values: Sequence[Any]) -> Segment | None:
    """Return the segment that a row of `chunks` tells, or None when it fails its check."""
    *row, crc = values
    if checksum(row) != crc or len(row[5]) != 2 * row[1]:
        return None
    return Segment(*row[:5], struct.unpack(f"<{row[1]}H", row[5]))


def _counter(connection: sqlite3.Connection, name: str) -> int:
    found = connection.execute("SELECT value FROM counters WHERE name = ?", (name,)).fetchone()
    return int(found[0]) if found else 0


def _with_greatest_order(
    connection: sqlite3.Connection, row: ObservationRow, queued: tuple[Any, ...] | None
) -> ObservationRow:
    names = ObservationRow.__slots__
    at = names.index("latest_order")
    stored = queued or connection.execute("SELECT * FROM observations WHERE id = ?", (row.id,)).fetchone()
    if stored is None or (queued is None and checksum(stored[:-1]) != stored[-1]) or stored[at] <= row.latest_order:
        return row
    values = list(astuple(row))
    values[at] = stored[at]
    return ObservationRow(*values)


def _has(connection: sqlite3.Connection, text: Text) -> bool:
    sql = "SELECT 1 FROM chunks WHERE owner = ? AND view = ? AND start = ?"
    return connection.execute(sql, (text.owner, text.view, text.start)).fetchone() is not None


def _write_text(connection: sqlite3.Connection, text: Text, first: int, bodies: list[tuple[int, str, str]]) -> int:
    """Add `text` with chunk numbers from `first` on; return the first number for the next text."""
    if text.title:
        connection.execute("INSERT INTO titles_fts(rowid, title) VALUES (?, ?)", (first, text.title))
    bodies.extend(
        (first + at, head, body)
        for at, (head, body) in enumerate(zip(text.heads, text.bodies, strict=True))
        if body is not None
    )
    segments, start = [], text.start
    for at in range(0, len(text.lengths), _SEGMENT_CHUNKS):
        lengths = text.lengths[at : at + _SEGMENT_CHUNKS]
        blob = struct.pack(f"<{len(lengths)}H", *lengths)
        segments.append((first + at, len(lengths), text.owner, text.view, start, blob))
        start += sum(lengths)
    _replace(connection, "chunks", segments)
    return first + len(text.lengths) + _GAP


def _replace(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    full = [(*row, checksum(row)) for row in rows]
    marks = ", ".join("?" * len(full[0]))
    connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", full)  # noqa: S608 - our own names
