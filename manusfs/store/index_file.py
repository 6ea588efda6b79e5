"""Opening the file of the index: what is ours and whole is used, anything else is set aside."""

from __future__ import annotations

import fcntl
import sqlite3
import stat
import time
from pathlib import Path

from manusfs.store.index_schema import APPLICATION_ID, SCHEMA_VERSION, migrate

__all__ = [
    "LEFTOVERS",
    "Unusable",
    "copy_to_memory",
    "is_broken",
    "is_filled",
    "is_kept_out",
    "on_network",
    "open_file",
    "set_up",
    "wait_for",
]

_BUSY_S = 20.0
_LOCK_WAIT_S = 30.0
LEFTOVERS = ("-wal", "-shm", "-journal")
_CHECKED_BYTES = 64 << 20
# WAL needs memory shared by all who open the file, which these do not give between machines.
_NETWORK = (
    "nfs", "cifs", "smb", "9p", "afs", "ceph", "fuse", "lustre", "gluster", "gfs", "ocfs", "vboxsf", "drvfs", "beegfs",
    "prl_fs", "vmhgfs", "davfs", "virtiofs",
)  # fmt: skip


class Unusable(Exception):
    """The file is no index that can be used; `foreign` when it is a sound database of somebody else."""

    def __init__(self, reason: str, *, foreign: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.foreign = foreign


def open_file(path: Path, *, thorough: bool, read_only: bool = False) -> sqlite3.Connection:
    """Return a connection to the index at `path`; `thorough` also looks at every page of a file of up to 64 MiB.

    Raises:
        FileNotFoundError: there is none.
        Unusable: it is damaged, of another version, or not ours.
    """
    _refuse_links(path)
    if not path.exists():
        raise FileNotFoundError(path)
    connection = _connect(path, read_only=read_only)
    try:
        _tune(connection)
        _check_header(connection, path)
        if thorough and path.stat().st_size <= _CHECKED_BYTES:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                # The first line of two only says in which database.
                raise Unusable(f"damaged: {str(found).splitlines()[-1][:120]}")
    except sqlite3.Error as error:
        connection.close()
        if is_broken(error):
            raise Unusable(f"damaged: {error}") from error
        raise
    except Unusable:
        connection.close()
        raise
    return connection


def set_up(path: Path) -> sqlite3.Connection:
    """Turn the new, empty file at `path` into an index and return a connection to it."""
    _refuse_links(path)
    connection = _connect(path)
    try:
        _tune(connection)
        # Thirty small tables and indexes take a page each: at 4 KiB they would outweigh the text of a short session.
        connection.execute("PRAGMA page_size = 1024")
        mode = "DELETE" if on_network(path) else "WAL"
        connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def copy_to_memory(connection: sqlite3.Connection | None) -> sqlite3.Connection:
    """Return an index in memory with the content of `connection`, for a folder that can't be written."""
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _tune(memory)
    if connection is None:
        migrate(memory)
    else:
        connection.backup(memory)
    return memory


def is_broken(error: sqlite3.Error) -> bool:
    """Return True if `error` says that the file itself is wrong, not that it is busy or the disk is full."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return True
    signs = (
        "malformed",
        "no such table",
        "no such column",
        "unsupported file format",
        "constructor failed",
        "has no col",
    )
    return any(sign in str(error) for sign in signs)


def is_kept_out(error: sqlite3.Error) -> bool:
    """Return True if `error` says that the file can't be written or opened now: full disk, limit, rights, read-only."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    kinds = (
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
    )
    return code & 0xFF in kinds or "readonly" in str(error)


def is_filled(connection: sqlite3.Connection) -> bool:
    """Return True if somebody has added what the tree held when the index was made."""
    return connection.execute("SELECT 1 FROM counters WHERE name = 'filled'").fetchone() is not None


def wait_for(descriptor: int) -> None:
    """Hold the lock of all writers to the index, on the descriptor of `.manusfs` itself, until that is closed.

    SQLite before 3.51.3 can lose the end of a WAL when two connections write and checkpoint at the same instant;
    under this lock ours never do. After 30 s without it, SQLite's own locks must do.
    """
    until, pause = time.monotonic() + _LOCK_WAIT_S, 0.001
    while time.monotonic() < until:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        except OSError:
            # A file system without flock.
            return


def _connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    # A folder that can't be written has no place for the shared memory of a WAL: immutable reads do without.
    name = path.absolute().as_uri() + ("?mode=ro&immutable=1" if read_only else "?mode=rw")
    return sqlite3.connect(name, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, uri=True)


def _tune(connection: sqlite3.Connection) -> None:
    # A flipped bit may leave invalid UTF-8: the row's checksum finds it, a decoding error would hide the other rows.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA synchronous = NORMAL")


def _check_header(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        if path.stat().st_size == 0:
            raise Unusable("empty file")
        raise Unusable("not an index of manusfs", foreign=True)
    if version != SCHEMA_VERSION:
        raise Unusable(f"of another version ({version})")
    # A stranger's file could bring code that runs at our next insert.
    if connection.execute("SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')").fetchone()[0]:
        raise Unusable("not an index of manusfs", foreign=True)
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal" and on_network(path):
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()


def _refuse_links(path: Path) -> None:
    for candidate in (path.parent, path, *(path.with_name(path.name + suffix) for suffix in LEFTOVERS)):
        try:
            found = candidate.lstat()
        except FileNotFoundError:
            continue
        plain = stat.S_ISDIR(found.st_mode) if candidate == path.parent else stat.S_ISREG(found.st_mode)
        if not plain or (candidate != path.parent and found.st_nlink > 1):
            raise Unusable(f"{candidate.name} is a link or no plain file", foreign=True)


def on_network(path: Path) -> bool:
    """Return True if the mount that holds `path` is a network or pass-through file system; False where unknown."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    place, best, kind = str(path.resolve().parent), "", ""
    for line in mounts:
        left, _, right = line.partition(" - ")
        point = left.split()[4].encode().decode("unicode_escape") if len(left.split()) > 4 else ""
        if len(point) >= len(best) and (place == point or place.startswith(point.rstrip("/") + "/")):
            best, kind = point, right.split()[0] if right else ""
    return kind.startswith(_NETWORK)
