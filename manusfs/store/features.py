"""What the SQLite and the file system under the index can do, for `doctor`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from manusfs.store.index_file import on_network

__all__ = ["Features", "index_features"]

# Before these releases SQLite could damage a WAL that several processes reset: sqlite.org/wal.html#walreset
_SAFE = ((3, 51, 3), (3, 50, 7), (3, 44, 6))


@dataclass(frozen=True, slots=True)
class Features:
    """What the index finds here."""

    version: str
    fts5: bool
    """False: search can't work."""
    wal_reset_fixed: bool
    """False: this build has the WAL-reset fault; the index is derived, so it is made anew if it ever strikes."""
    network: bool
    """True: the folder lies on a network file system, where the index uses no WAL."""


def index_features(folder: Path) -> Features:
    """Return what SQLite and the file system that holds `folder` can do."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
            fts5 = True
        except sqlite3.OperationalError:
            fts5 = False
    version = sqlite3.sqlite_version_info
    fixed = version >= _SAFE[0] or any(version[:2] == safe[:2] and version >= safe for safe in _SAFE)
    return Features(sqlite3.sqlite_version, fts5, fixed, on_network(folder / "index.db"))
