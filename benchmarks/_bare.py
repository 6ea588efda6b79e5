"""The bare loop that intake is measured against: the same files, folders, lines and rows, and nothing else."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from manusfs.memory.search.reindex import texts_of
from manusfs.records import Event, Source
from manusfs.session.lines import encode
from manusfs.store import Draft, ObservationRow
from manusfs.store.index_rows import checksum
from manusfs.store.index_schema import migrate
from manusfs.store.observations_files import encode_meta

__all__ = ["Bare", "Prepared", "prepare"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that is to be written of one text, made before the clock runs."""

    folder: str
    files: dict[str, bytes]
    line: bytes
    observation: tuple[Any, ...]
    chunks: tuple[Any, ...]
    title: str
    heads: list[tuple[int, str]]
    bodies: list[str]


def prepare(source: Source, raw: bytes, number: int) -> Prepared:
    """Return what the product writes of `raw`."""
    draft = Draft(source, raw, "txt", {"text": raw}, media_type="text/plain", charset="utf-8", tokens=12_000)
    files, bodies = draft.files()
    meta = draft.meta(files)
    (text,) = texts_of(meta, draft.texts)
    row = astuple(ObservationRow.of(meta, number))
    data = {"call": "toolu_1", "id": meta.id, "order": number, "ref": f"obs:{meta.id}", "source": source.key}
    line, _ = encode(Event("observation", {**data, "part": {"text": "x" * 900}}, number, "2026-01-01T00:00:00Z"))
    lengths = b"".join(length.to_bytes(2, "little") for length in text.lengths)
    return Prepared(
        meta.folder,
        {**bodies, "meta.json": encode_meta(meta)},
        line,
        (*row, checksum(row)),
        (len(text.lengths), text.owner, text.view, 0, lengths, text.marks, 0),
        text.title,
        [(at, head) for at, head in enumerate(text.heads) if head != (text.heads[at - 1] if at else "")],
        [body or "" for body in text.bodies],
    )


class Bare:
    """A folder and an index that are written by plain calls, one text at a time, each durable before the next.

    The rows of a text are committed with it, so that it can be found; with `bulk`, those of a block together.
    """

    def __init__(self, base: Path, *, bulk: bool = False) -> None:
        self._base = base
        self._bulk = bulk
        self._tmp = base / "tmp"
        self._tmp.mkdir(parents=True)
        self._log = os.open(base / "log.jsonl", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self._index = sqlite3.connect(base / "index.db", isolation_level=None)
        self._index.execute("PRAGMA journal_mode = WAL")
        self._index.execute("PRAGMA synchronous = NORMAL")
        migrate(self._index)
        self._queue: list[Prepared] = []
        self._first = 1

    def add(self, one: Prepared) -> None:
        """Write a text's files, sync and rename them, append its line; its rows follow."""
        folder = self._tmp / "next"
        folder.mkdir()
        for name, data in one.files.items():
            fd = os.open(folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            os.write(fd, data)
            os.fsync(fd)
            os.close(fd)
        _sync(folder)
        target = self._base / one.folder
        if not target.parent.is_dir():
            target.parent.mkdir(parents=True)
            _sync(target.parent.parent)
        folder.rename(target)
        _sync(target.parent)
        os.write(self._log, one.line)
        os.fsync(self._log)
        self._queue.append(one)

    def block(self, group: Sequence[Prepared]) -> None:
        """Add each of `group`."""
        for one in group:
            self.add(one)
            if not self._bulk:
                self._write_rows()
        if self._bulk:
            self._write_rows()

    def _write_rows(self) -> None:
        self._index.execute("BEGIN IMMEDIATE")
        for one in self._queue:
            marks = ",".join("?" * len(one.observation))
            self._index.execute(f"INSERT OR REPLACE INTO observations VALUES ({marks})", one.observation)
            self._index.execute("INSERT OR REPLACE INTO chunks VALUES (?,?,?,?,?,?,?,?)", (self._first, *one.chunks))
            self._index.execute("INSERT INTO titles_fts(rowid, title) VALUES (?, ?)", (self._first, one.title))
            heads = [(self._first + at, head) for at, head in one.heads]
            self._index.executemany("INSERT INTO heads_fts(rowid, head) VALUES (?, ?)", heads)
            rows = [(self._first + at, body) for at, body in enumerate(one.bodies)]
            self._index.executemany("INSERT INTO chunks_fts(rowid, body) VALUES (?, ?)", rows)
            self._first += len(rows) + 3
        self._index.execute("COMMIT")
        self._queue.clear()


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
