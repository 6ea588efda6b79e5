"""The file of the index in its folder: opened, made, locked, set aside and replaced when it must be."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manusfs.errors import ManusfsError, StorageError
from manusfs.store import index_file

if TYPE_CHECKING:
    from manusfs.workspace.folder import Folder

__all__ = ["Keeper"]

_FOLDER = ".manusfs"
_NAME = "index.db"
_ASIDE = "index.db.damaged"
_TRIES = 5
_LONGEST = 500
"""SQLite opens no file whose path is longer."""
_ROOM = "free some space or raise the limit (`ulimit -a`); what the index lacks is added by itself later"


class Keeper:
    """Holds the one connection to `.manusfs/index.db`, or to a copy in memory when that can't be written.

    A full disk or a limit of the process must not keep a person from what is there: the index is only a cache.

    Not safe for several threads by itself: the index holds its lock round every call.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[str, int, int] | None = None
        self._writable = False
        self._thorough = False
        self.in_memory = False
        """True while the index lives in this process alone."""
        self._why = ""
        """Why the file of a folder that can be written can't."""
        self.needs_rebuild = False
        self.reason = ""

    @property
    def _path(self) -> Path:
        """Where the file is now."""
        return Path(self._place())

    def _place(self) -> str:
        """Return where the file is now: SQLite opens by name, and the folder may be renamed under a run."""
        try:
            # A plain text and plain calls: this is asked for before every query.
            here = os.readlink(f"/proc/self/fd/{self._folder.root.fd}")  # noqa: PTH115
        except OSError:
            here = str(self._folder.path)
        return f"{here}/{_FOLDER}/{_NAME}"

    def reset(self) -> None:
        """Begin with an empty file, or in memory where it can't be written."""
        self.close()
        try:
            if self._can_write():
                with self._alone():
                    self._remove_leftovers()
                    self._remove(_NAME)
                    self._open_new()
                self._thorough = True
        except (sqlite3.Error, StorageError) as error:
            self._why = str(error)
        if self._connection is None:
            self._use(index_file.copy_to_memory(None), writable=True)
            self._thorough = True
        self.needs_rebuild, self.reason = True, self.reason or "asked for"

    def read(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return all rows of a query; none when there is no sound index.

        Raises:
            StorageError: the file is sound but can't be read.
        """
        connection = self._reader()
        if connection is None:
            return []
        try:
            return connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            if not index_file.is_broken(error):
                raise _failed("read", error) from error
            self._give_up(f"damaged: {error}")
            return []

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._identity, self._writable, self.in_memory, self._why = None, None, False, False, ""

    def transaction(self, work: Callable[[sqlite3.Connection], Any], *, counts: bool = False) -> Any:
        """Run `work` between BEGIN IMMEDIATE and COMMIT; a damaged file is replaced and `work` runs on the new one.

        Where the file can't be written it runs on a copy in memory, unless it `counts`: what is counted must last.

        Raises:
            StorageError: it must last and can't be written, or the file stays locked or damaged.
        """
        for attempt in range(_TRIES):
            connection = self.writer()
            if counts and self._why:
                raise StorageError(f"index {_FOLDER}/{_NAME} can't be written: {self._why}", hint=self._hint())
            try:
                with self._alone():
                    if not self._replaced():
                        return _immediately(connection, work)
            except sqlite3.Error as error:
                if index_file.is_broken(error):
                    self._give_up(f"damaged: {error}")
                elif index_file.is_kept_out(error):
                    self._keep_in_memory(error)
                elif "locked" not in str(error) and "busy" not in str(error):
                    raise _failed("written", error) from error
                time.sleep(0.05 * attempt)
        raise StorageError(
            f"index {_FOLDER}/{_NAME} can't be written: it stays locked or damaged",
            hint="end other programs that hold it open, or delete .manusfs/ and run `manusfs index rebuild`",
        )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the only writer among threads and processes; a folder in memory needs no lock."""
        if self.in_memory:
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
        self.close()
        try:
            self._use(index_file.open_file(self._path, thorough=False), writable=self._can_write())
        except FileNotFoundError:
            self.mark("missing")
        except index_file.Unusable as error:
            self.mark(error.reason)
        except sqlite3.Error:
            self._use_read_only()
        return self._connection

    def writer(self) -> sqlite3.Connection:
        """Return a connection that can be written to; the file is looked through when it is first wanted."""
        if self._connection is not None and self._writable and self._thorough and not self._replaced():
            return self._connection
        if not self._can_write():
            source = self._reader()
            self._use(index_file.copy_to_memory(source), writable=True)
        else:
            try:
                with self._alone():
                    self._open_for_writing()
            except (sqlite3.Error, StorageError, index_file.Unusable) as error:
                if isinstance(error, sqlite3.Error) and not index_file.is_kept_out(error):
                    raise _failed("opened", error) from error
                self._keep_in_memory(error)
        self._thorough = True
        assert self._connection is not None  # noqa: S101 - for the type checker
        return self._connection

    def _hint(self) -> str:
        length = len(os.fsencode(self._path.absolute()))
        return _ROOM if length < _LONGEST else f"the path of the workspace is too long ({length} bytes): move it"

    def _keep_in_memory(self, why: Exception) -> None:
        """Go on with a copy of what can be read of the file, else with an empty index that must be filled."""
        self.close()
        self._use_read_only()
        try:
            memory = index_file.copy_to_memory(self._connection)
        except sqlite3.Error as error:
            raise _failed("read", error) from error
        if self._connection is None:
            self.mark("it can't be written")
        self._why = str(why)
        self._use(memory, writable=True)

    def _open_for_writing(self) -> None:
        self.close()
        try:
            self._use(index_file.open_file(self._path, thorough=True), writable=True)
        except FileNotFoundError:
            self.mark("missing")
            self._open_new()
        except index_file.Unusable as error:
            self.mark(error.reason)
            self._set_aside(foreign=error.foreign)
            self._open_new()

    def _open_new(self) -> None:
        root = self._folder.root
        descriptor = root.open_dir(_FOLDER, create=True)
        try:
            self._remove_leftovers()
            root.fs.close(root.fs.create(descriptor, _NAME))
        except FileExistsError as error:
            raise StorageError(f"index {_FOLDER}/{_NAME} can't be opened: the folder is being moved") from error
        finally:
            os.close(descriptor)
        try:
            made = index_file.set_up(self._path)
        except BaseException:
            # Half a file would be taken for somebody else's the next time.
            self._remove_leftovers()
            self._remove(_NAME)
            raise
        self._use(made, writable=True)

    def _use_read_only(self) -> None:
        with contextlib.suppress(FileNotFoundError, index_file.Unusable, sqlite3.Error):
            self._use(index_file.open_file(self._path, thorough=False, read_only=True), writable=False)

    def _use(self, connection: sqlite3.Connection, *, writable: bool) -> None:
        if self._connection is not None and self._connection is not connection:
            self._connection.close()
        self.in_memory = not connection.execute("PRAGMA database_list").fetchone()[2]
        if not index_file.is_filled(connection):
            # Made by a process that died before it had looked at what is there.
            self.mark("not finished")
        elif self.reason == "missing":
            # Another process has made it since.
            self.needs_rebuild, self.reason = False, ""
        self._connection, self._writable = connection, writable
        self._identity = None if self.in_memory else _identity(self._place())

    def _replaced(self) -> bool:
        """True if another process has put a new file in the place of the one that is open, or the folder was moved."""
        return self._identity is not None and _identity(self._place()) != self._identity

    def _give_up(self, reason: str) -> None:
        self.mark(reason)
        self.close()
        if self._can_write():
            with self._alone():
                self._set_aside(foreign=False)

    def mark(self, reason: str) -> None:
        """Note why the index must be filled anew; the first reason stands."""
        if not self.needs_rebuild:
            self.needs_rebuild, self.reason = True, reason

    def _can_write(self) -> bool:
        root = self._folder.root
        try:
            # Not made, and so not synced, where it stands: reading a span must cost no write.
            os.close(root.open_dir(_FOLDER, create=not root.is_dir(_FOLDER)))
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
                if root.is_dir(f"{_FOLDER}/{name}"):
                    self._folder.set_aside(f"{_FOLDER}/{name}")
                else:
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


def _failed(action: str, error: sqlite3.Error) -> StorageError:
    return StorageError(f"index {_FOLDER}/{_NAME} can't be {action}: {error}", hint=_ROOM)


def _identity(place: str) -> tuple[str, int, int] | None:
    try:
        found = os.stat(place)  # noqa: PTH116
    except OSError:
        return None
    return place, found.st_dev, found.st_ino
