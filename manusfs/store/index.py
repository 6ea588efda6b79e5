"""The index: rows and full text of what the tree and the transcripts hold, for finding; never trusted for bytes."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manusfs.errors import ManusfsError, StorageError
from manusfs.records import Meta
from manusfs.store import index_file
from manusfs.store.index_rows import (
    Forget,
    MessageRow,
    NoteRow,
    ObservationRow,
    RefRow,
    Seen,
    SessionRow,
    Text,
    checked,
)

if TYPE_CHECKING:
    from manusfs.workspace.folder import Folder

__all__ = ["Index"]

_FOLDER = ".manusfs"
_NAME = "index.db"
_ASIDE = "index.db.damaged"
_FLUSH_ROWS = 4_096
_FLUSH_BYTES = 4 << 20
_TRIES = 5

Queued = ObservationRow | NoteRow | SessionRow | MessageRow | RefRow | Forget | Seen


class Index:
    """`.manusfs/index.db`, opened when it is first wanted; made anew when it is missing, damaged or not ours.

    Rows are queued and written by `flush` in one transaction; every query flushes first. It may be used by several
    threads and processes. In a folder that can't be written the rows live in memory.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._path = Path(folder.path) / _FOLDER / _NAME
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._writable = False
        self._thorough = False
        self._pending: list[tuple[Queued, tuple[Text, ...]]] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self.needs_rebuild = False
        """True when what the tree holds must be added again by `memory.search.reindex`."""
        self.reason = ""
        """One line on why: "missing", "damaged: …", "not an index of manusfs", "of another version (…)"."""
        self.recover_order: Callable[[], int] | None = None
        """Returns the greatest order that the transcripts know; asked once when the index was made anew."""

    # -- writing

    def add_observation(self, meta: Meta, order: int, texts: Iterable[Text] = ()) -> None:
        """Queue the row of an observation seen at `order`, and its texts; one that is known only gets the order."""
        self._queue(ObservationRow.of(meta, order), tuple(texts))

    def add_note(self, row: NoteRow, texts: Iterable[Text] = ()) -> None:
        """Queue a note or report as it is now; what was indexed of it before is no longer found."""
        self._queue(row, tuple(texts))

    def forget_note(self, path: str) -> None:
        """Queue that a note or report is gone."""
        self._queue(Forget(path), ())

    def note_orders(self, orders: Mapping[str, int]) -> None:
        """Queue the newest order of observations, as their transcripts tell it."""
        for id, order in orders.items():
            self._queue(Seen(id, order), ())

    def add_message(self, row: MessageRow, texts: Iterable[Text] = ()) -> None:
        """Queue a transcript block."""
        self._queue(row, tuple(texts))

    def add_session(self, row: SessionRow) -> None:
        """Queue a session and how far its transcript is indexed."""
        self._queue(row, ())

    def add_refs(self, place: str, targets: Iterable[str]) -> None:
        """Queue which refs `place` mentions."""
        for target in targets:
            self._queue(RefRow(target, place), ())

    def flush(self) -> None:
        """Write what is queued, in one transaction.

        Raises:
            StorageError: the disk is full or the file can't be written; the rows are then added at the next opening.
        """
        with self._lock:
            if not self._pending:
                return
            rows, self._pending = self._pending, []
            self._pending_rows = self._pending_bytes = 0
            from manusfs.store import index_write

            self._transaction(lambda connection: index_write.write(connection, rows))

    def next_order(self, count: int = 1) -> int:
        """Return the first of `count` orders, each above every order of the workspace; they are never given again."""
        with self._lock:
            self.ensure()
            if self.recover_order is not None and self.needs_rebuild:
                self.raise_order(self.recover_order())
            from manusfs.store import index_write

            last: int = self._transaction(lambda connection: index_write.count_up(connection, "order", count))
            return last - count + 1

    def raise_order(self, order: int) -> None:
        """Make every later order greater than `order`."""
        from manusfs.store import index_write

        with self._lock:
            self._transaction(lambda connection: index_write.raise_to(connection, "order", order))

    def ensure(self) -> bool:
        """Open the index for writing, making it if need be; return True if it must be filled from the tree."""
        with self._lock:
            self._writer()
            return self.needs_rebuild

    def reset(self) -> None:
        """Begin with an empty index; orders go on from where they were."""
        with self._lock:
            self._pending.clear()
            rows = self.select("SELECT value FROM counters WHERE name = 'order'")
            self.close()
            if self._can_write():
                with self._alone():
                    self._remove_leftovers()
                    self._remove(_NAME)
                    self._open_new()
            else:
                self._use(index_file.copy_to_memory(None), writable=True)
            self.needs_rebuild, self.reason = True, self.reason or "asked for"
            if rows:
                self.raise_order(rows[0][0])

    def rebuilt(self) -> None:
        """Note that what the tree holds has been added."""
        self.needs_rebuild, self.reason = False, ""

    # -- reading

    def locate(self, id: str) -> str | None:
        """Return the workspace path of the observation `id`, or None when the index does not know it."""
        rows = self.select("SELECT * FROM observations WHERE id = ?", (id,))
        row = checked(ObservationRow, rows[0]) if rows else None
        if row is None or not row.path.startswith("observations/") or not row.path.endswith(f"-{id}"):
            return None
        return row.path

    def latest(self, source_key: str) -> str | None:
        """Return the id of the newest good observation of a source: the greatest order, no error, not cut."""
        sql = "SELECT * FROM observations WHERE source = ? AND latest_allowed = 1 ORDER BY latest_order DESC"
        found = (checked(ObservationRow, row) for row in self.select(sql, (source_key,)))
        return next((row.id for row in found if row is not None and row.source == source_key), None)

    def observations(self) -> list[ObservationRow]:
        """Return all observations, oldest first; rows that fail their check are left out."""
        rows = self.select("SELECT * FROM observations ORDER BY latest_order, id")
        return [row for row in (checked(ObservationRow, values) for values in rows) if row is not None]

    def known_ids(self) -> set[str]:
        """Return the ids of all rows that pass their check."""
        return {row.id for row in self.observations()}

    def missing(self, ids: Iterable[str]) -> list[str]:
        """Return those of `ids` that the index has no sound row of, in their order."""
        known = self.known_ids()
        return [id for id in ids if id not in known]

    def notes(self) -> dict[str, NoteRow]:
        """Return what is indexed of notes and reports, by path."""
        rows = (checked(NoteRow, values) for values in self.select("SELECT * FROM notes"))
        return {row.path: row for row in rows if row is not None}

    def sessions(self) -> dict[str, SessionRow]:
        """Return what is indexed of sessions, by name."""
        rows = (checked(SessionRow, values) for values in self.select("SELECT * FROM sessions"))
        return {row.session: row for row in rows if row is not None}

    def mentions(self, target: str) -> list[str]:
        """Return the places that mention the ref `target`, sorted."""
        rows = self.select("SELECT * FROM refs WHERE target = ? ORDER BY place", (target,))
        return [row.place for row in (checked(RefRow, values) for values in rows) if row is not None]

    def select(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query after the queued ones are written; none when there is no sound index."""
        with self._lock:
            self.flush()
            connection = self._reader()
            if connection is None:
                return []
            try:
                return connection.execute(sql, parameters).fetchall()
            except sqlite3.Error as error:
                if not index_file.is_broken(error):
                    raise StorageError(f"index {_FOLDER}/{_NAME}: {error}") from error
                self._give_up(f"damaged: {error}")
                return []

    def close(self) -> None:
        """Write what is queued and let go of the file."""
        with self._lock:
            if self._pending:
                self.flush()
            if self._connection is not None:
                self._connection.close()
            self._connection, self._identity, self._writable = None, None, False

    # -- the file

    def _queue(self, row: Queued, texts: tuple[Text, ...]) -> None:
        with self._lock:
            self._pending.append((row, texts))
            self._pending_rows += 1 + sum(len(text.lengths) for text in texts)
            self._pending_bytes += sum(sum(text.lengths) for text in texts)
            if self._pending_rows >= _FLUSH_ROWS or self._pending_bytes >= _FLUSH_BYTES:
                self.flush()

    def _transaction(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """Run `work` between BEGIN IMMEDIATE and COMMIT; a damaged file is replaced and `work` runs on the new one."""
        for attempt in range(_TRIES):
            connection = self._writer()
            try:
                with self._alone():
                    if not self._replaced():
                        return _immediately(connection, work)
            except sqlite3.Error as error:
                if index_file.is_broken(error):
                    self._give_up(f"damaged: {error}")
                elif "readonly" in str(error):
                    self._use(index_file.copy_to_memory(connection), writable=True)
                elif "locked" not in str(error) and "busy" not in str(error):
                    raise StorageError(f"index {_FOLDER}/{_NAME} can't be written: {error}") from error
                time.sleep(0.05 * attempt)
        raise StorageError(
            f"index {_FOLDER}/{_NAME} can't be written: it stays locked or damaged",
            hint="end other programs that hold it open, or delete .manusfs/ and run `manusfs index rebuild`",
        )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the only writer among threads and processes; a folder in memory needs no lock."""
        if not self._can_write():
            yield
            return
        descriptor = self._folder.root.open_dir(_FOLDER, create=True)
        try:
            index_file.wait_for(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _reader(self) -> sqlite3.Connection | None:
        if self._connection is not None and not self._replaced():
            return self._connection
        self._drop()
        try:
            self._use(index_file.open_file(self._path, thorough=False), writable=self._can_write())
        except FileNotFoundError:
            self._mark("missing")
        except index_file.Unusable as error:
            self._mark(error.reason)
        except sqlite3.Error:
            self._use_read_only()
        return self._connection

    def _writer(self) -> sqlite3.Connection:
        if self._connection is not None and self._writable and self._thorough and not self._replaced():
            return self._connection
        if not self._can_write():
            source = self._reader()
            self._use(index_file.copy_to_memory(source), writable=True)
        else:
            with self._alone():
                self._open_for_writing()
        self._thorough = True
        assert self._connection is not None  # noqa: S101 - for the type checker
        return self._connection

    def _open_for_writing(self) -> None:
        self._drop()
        try:
            self._use(index_file.open_file(self._path, thorough=True), writable=True)
        except FileNotFoundError:
            self._mark("missing")
            self._open_new()
        except index_file.Unusable as error:
            self._mark(error.reason)
            self._set_aside(foreign=error.foreign)
            self._open_new()

    def _open_new(self) -> None:
        root = self._folder.root
        descriptor = root.open_dir(_FOLDER, create=True)
        try:
            self._remove_leftovers()
            root.fs.close(root.fs.create(descriptor, _NAME))
        finally:
            os.close(descriptor)
        self._use(index_file.set_up(self._path), writable=True)

    def _use_read_only(self) -> None:
        with contextlib.suppress(FileNotFoundError, index_file.Unusable, sqlite3.Error):
            self._use(index_file.open_file(self._path, thorough=False, read_only=True), writable=False)

    def _use(self, connection: sqlite3.Connection, *, writable: bool) -> None:
        if self._connection is not None and self._connection is not connection:
            self._connection.close()
        in_memory = not connection.execute("PRAGMA database_list").fetchone()[2]
        self._connection, self._writable = connection, writable
        self._identity = None if in_memory else _identity(self._path)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._identity, self._writable = None, None, False

    def _replaced(self) -> bool:
        """True if another process has put a new file in the place of the one that is open."""
        return self._identity is not None and _identity(self._path) != self._identity

    def _give_up(self, reason: str) -> None:
        self._mark(reason)
        self._drop()
        if self._can_write():
            with self._alone():
                self._set_aside(foreign=False)

    def _mark(self, reason: str) -> None:
        if not self.needs_rebuild:
            self.needs_rebuild, self.reason = True, reason

    def _can_write(self) -> bool:
        try:
            os.close(self._folder.root.open_dir(_FOLDER, create=True))
        except (ManusfsError, OSError):
            return False
        return os.access(self._path.parent, os.W_OK) and (not self._path.exists() or os.access(self._path, os.W_OK))

    def _set_aside(self, *, foreign: bool) -> None:
        """Move the file away: somebody else's to lost+found/, what was ours beside it."""
        self._remove_leftovers()
        with contextlib.suppress(FileNotFoundError, ManusfsError):
            if foreign:
                self._folder.set_aside(f"{_FOLDER}/{_NAME}")
            else:
                self._remove(_ASIDE)
                self._folder.root.rename(f"{_FOLDER}/{_NAME}", f"{_FOLDER}/{_ASIDE}")

    def _remove_leftovers(self) -> None:
        # Journals of an index that is gone must not be replayed into the next one.
        for suffix in index_file.LEFTOVERS:
            self._remove(_NAME + suffix)

    def _remove(self, name: str) -> None:
        root = self._folder.root
        descriptor = root.open_dir(_FOLDER)
        try:
            with contextlib.suppress(FileNotFoundError, ManusfsError):
                root.fs.unlink(descriptor, name)
        finally:
            os.close(descriptor)


def _immediately(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], Any]) -> Any:
    # A deferred transaction that reads before it writes loses against others however long it waits.
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return result


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
