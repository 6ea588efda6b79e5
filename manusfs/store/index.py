"""The index: rows and full text of what the tree and the transcripts hold, for finding; never trusted for bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from manusfs.records import Meta
from manusfs.store.index_keeper import Keeper
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
    checksum,
)

if TYPE_CHECKING:
    from manusfs.workspace.folder import Folder

__all__ = ["Index"]

_FLUSH_ROWS = 16_384
_FLUSH_BYTES = 4 << 20

_NEW = ("missing", "not finished")

Queued = ObservationRow | NoteRow | SessionRow | MessageRow | RefRow | Forget | Seen


class Index:
    """`.manusfs/index.db`, opened when it is first wanted; made anew when it is missing, damaged or not ours.

    Rows are queued and written by `flush` in one transaction; every query flushes first. It may be used by several
    threads and processes. In a folder that can't be written the rows live in memory.
    """

    def __init__(self, folder: Folder) -> None:
        self._keeper = Keeper(folder)
        self._lock = threading.RLock()
        self._pending: list[tuple[Queued, tuple[Text, ...]]] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self.recover_order: Callable[[], int] | None = None
        """Returns the greatest order that the transcripts know; asked once when the index was made anew."""

    @property
    def needs_rebuild(self) -> bool:
        """True when what the tree holds must be added again by `memory.search.reindex`."""
        return self._keeper.needs_rebuild

    @property
    def reason(self) -> str:
        """One line on why: "missing", "damaged: …", "not an index of manusfs", "of another version (…)"."""
        return self._keeper.reason

    @property
    def lasts(self) -> bool:
        """False while the index lives in this process alone, because its file can't be written."""
        return not self._keeper.in_memory

    # -- writing

    def add_observation(self, meta: Meta, order: int, texts: Iterable[Text] = (), *, first: int = 0) -> None:
        """Queue the row of an observation seen at `order`, first at `first`, and its texts."""
        self._queue(ObservationRow.of(meta, order, first), tuple(texts))

    def add_note(self, row: NoteRow, texts: Iterable[Text] = ()) -> None:
        """Queue a note or report as it is now; what was indexed of it before is no longer found."""
        self._queue(row, tuple(texts))

    def forget_note(self, path: str) -> None:
        """Queue that a note or report is gone."""
        self._queue(Forget(path), ())

    def note_orders(self, orders: Mapping[str, tuple[int, int]]) -> None:
        """Queue the first and the newest order of observations, as their transcripts tell them."""
        for id, (first, newest) in orders.items():
            self._queue(Seen(id, newest, first), ())

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

            self._keeper.transaction(lambda connection: index_write.write(connection, rows))

    def next_order(self, count: int = 1) -> int:
        """Return the first of `count` orders, each above every order of the workspace; they are never given again."""
        from manusfs.store import index_write

        with self._lock:
            self.ensure()
            floor = self.recover_order or (lambda: 0)
            last: int = self._keeper.transaction(
                lambda connection: index_write.count_up(connection, "order", count, floor), counts=True
            )
            if last == count and self.reason in _NEW:
                # Nothing was ever seen here, so there is nothing to fill it with.
                self.rebuilt()
            return last - count + 1

    def raise_order(self, order: int) -> None:
        """Make every later order greater than `order`."""
        from manusfs.store import index_write

        with self._lock:
            self._keeper.transaction(lambda connection: index_write.raise_to(connection, "order", order))

    def ensure(self) -> bool:
        """Open the index for writing, making it if need be; return True if it must be filled from the tree."""
        with self._lock:
            self._keeper.writer()
            return self.needs_rebuild

    def reset(self) -> None:
        """Begin with an empty index; orders go on from where they were."""
        with self._lock:
            self._pending.clear()
            self._pending_rows = self._pending_bytes = 0
            rows = self.select("SELECT * FROM counters WHERE name = 'order'")
            self._keeper.reset()
            if rows and checksum(rows[0][:-1]) == rows[0][-1]:
                self.raise_order(rows[0][1])

    def rebuilt(self) -> None:
        """Note that what the tree holds has been added."""
        from manusfs.store import index_write

        with self._lock:
            self._keeper.transaction(lambda connection: index_write.raise_to(connection, "filled", 1))
            self._keeper.needs_rebuild, self._keeper.reason = False, ""

    def found_damage(self, what: str) -> None:
        """Note that a row failed its check, so that all is made anew."""
        self._keeper.mark(f"damaged: {what}")

    # -- reading

    def locate(self, id: str) -> str | None:
        """Return the workspace path of the observation `id`, or None when the index does not know it."""
        rows = self.select("SELECT * FROM observations WHERE id = ?", (id,))
        row = checked(ObservationRow, rows[0]) if rows else None
        if row is None or not row.path.startswith("observations/") or not row.path.endswith(f"-{id}"):
            return None
        return row.path

    def latest(self, source_key: str) -> str | None:
        """Return the id of the newest good observation of a source: the greatest order, no error, not cut.

        Queued rows count and stay queued: intake asks for every source, and should not write for each.
        """
        sql = "SELECT * FROM observations WHERE source = ? AND latest_allowed = 1"
        with self._lock:
            found = [row for row, _ in self._pending if isinstance(row, ObservationRow)]
            found += [
                row for values in self._keeper.read(sql, (source_key,)) if (row := checked(ObservationRow, values))
            ]
        good = [row for row in found if row.source == source_key and row.latest_allowed]
        return max(good, key=lambda row: row.latest_order).id if good else None

    def observations(self) -> list[ObservationRow]:
        """Return all observations, oldest first; rows that fail their check are left out."""
        rows = self.select("SELECT * FROM observations ORDER BY latest_order, id")
        return [row for row in (checked(ObservationRow, values) for values in rows) if row is not None]

    def known_ids(self) -> set[str]:
        """Return the ids of all observations whose row passes its check and whose text, if any, is indexed."""
        with_text = {owner for (owner,) in self.select("SELECT DISTINCT owner FROM chunks")}
        return {row.id for row in self.observations() if not row.text_bytes or f"obs:{row.id}" in with_text}

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
            return self._keeper.read(sql, parameters)

    def close(self) -> None:
        """Write what is queued and let go of the file."""
        with self._lock:
            if self._pending:
                self.flush()
            self._keeper.close()

    def _queue(self, row: Queued, texts: tuple[Text, ...]) -> None:
        with self._lock:
            self._pending.append((row, texts))
            self._pending_rows += 1 + sum(len(text.lengths) for text in texts)
            self._pending_bytes += sum(sum(text.lengths) for text in texts)
            if self._pending_rows >= _FLUSH_ROWS or self._pending_bytes >= _FLUSH_BYTES:
                self.flush()
