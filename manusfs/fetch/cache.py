"""The disk cache of HTTP bodies: holds only what may vanish, and gives back only what it put there.

It is never the memory: it evicts, and a row of it may have been planted. So it holds bytes alone, each with its sha256
that is checked at every read, and no files beside its database whose names a row could choose.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import diskcache

from manusfs.records import HttpMeta, sha256_hex

__all__ = ["CachedPage", "NoPickleDisk", "PageCache"]

_FAULTS = (sqlite3.Error, OSError, diskcache.Timeout, ValueError, TypeError, KeyError, AttributeError, AssertionError)
_FILES = ("cache.db", "cache.db-wal", "cache.db-shm", "cache.db-journal", "owner")
_SQLITE_MOST = 900_000_000
_T = TypeVar("_T")


class NoPickleDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """Plain bytes inside the database, nothing else, whatever a row says.

    A tampered row can make diskcache's own Disk (and its JSONDisk) run a pickle (CVE-2025-69872), read any file by its
    `filename`, and delete any file when the row is overwritten or evicted. Here no row leads out of the database.
    """

    def put(self, key: Any) -> tuple[Any, bool]:
        """Return the database form of `key`, a text."""
        if type(key) is not str:
            raise TypeError(f"a cache key must be a text, not {type(key).__name__}")
        return key, True

    def get(self, key: Any, raw: bool) -> Any:
        """Return `key`; one that is not a plain text is refused."""
        if not raw or type(key) is not str:
            raise ValueError("a pickled key is refused")
        return key

    def store(self, value: Any, read: bool, key: Any = None) -> tuple[int, int, None, Any]:
        """Return the database form of `value`, which must be bytes."""
        if read or type(value) is not bytes:
            raise TypeError(f"a cached value must be bytes, not {type(value).__name__}")
        return 0, diskcache.core.MODE_RAW, None, sqlite3.Binary(value)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> bytes:
        """Return the bytes of a row; one that names a file or is no plain value is refused."""
        if mode != diskcache.core.MODE_RAW or filename is not None or read or type(value) is not bytes:
            raise ValueError("a cache row that is a pickle, a text or the name of a file is refused")
        return value

    def remove(self, file_path: str) -> None:
        """Delete nothing: this cache has no files, so a row that names one is not ours."""


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A page as it was stored: what its server said, the body, and when it was last known to be current."""

    http: HttpMeta
    raw: bytes
    checked: float
    """`time.time` when the server last gave or confirmed it."""
    max_age_s: float | None = None
    """What the server allowed; None when it said nothing."""

    def is_fresh(self, most_s: float) -> bool:
        """Return True if it may be served without asking, for at most `most_s` seconds."""
        limit = most_s if self.max_age_s is None else min(most_s, self.max_age_s)
        # An age below zero is a clock that was set back: ask.
        return 0 <= time.time() - self.checked < limit


class PageCache:
    """Pages by URL and bodies by sha256, least recently used go first. Any fault of it is a miss, never an error.

    `directory` may be deleted at any time, also in use. One that was damaged, copied or made by others is emptied
    first; one that cannot be made turns the cache off. Safe for threads and processes.
    """

    def __init__(self, directory: str | os.PathLike[str], size_limit: int = 1 << 30, *, wal: bool = True) -> None:
        """Take the folder, and the most bytes in it. `wal` needs memory that a network file system does not share."""
        self._directory = Path(directory)
        self._size_limit = size_limit
        self._wal = wal
        self._cache: Any = None

    def get(self, url: str) -> CachedPage | None:
        """Return the page stored for `url`, or None."""
        meta = self._with(lambda cache: _unsealed(cache.get(f"url:{url}")))
        if meta is None:
            return None
        try:
            told = json.loads(meta)
            http = HttpMeta(**{**told["http"], "redirects": tuple(told["http"]["redirects"])})
            body = self.by_sha256(told["sha256"])
            return None if body is None else CachedPage(http, body, float(told["checked"]), told["max_age_s"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None

    def put(self, url: str, page: CachedPage) -> None:
        """Store `page` for `url`; one larger than a quarter of the cache is not stored, and an older one goes."""
        if len(page.raw) > min(self._size_limit // 4, _SQLITE_MOST):
            self.drop(url)
            return
        digest = sha256_hex(page.raw)
        told = {"http": asdict(page.http), "sha256": digest, "checked": page.checked, "max_age_s": page.max_age_s}
        meta = _sealed(json.dumps(told).encode())

        def store(cache: Any) -> None:
            body = cache.get(f"body:{digest}")
            if body is None or sha256_hex(body) != digest:
                cache.set(f"body:{digest}", page.raw)
            cache.set(f"url:{url}", meta)

        self._with(store)

    def drop(self, url: str) -> None:
        """Forget the page stored for `url`."""
        self._with(lambda cache: cache.delete(f"url:{url}"))

    def by_sha256(self, raw_sha256: str) -> bytes | None:
        """Return the body whose sha256 is `raw_sha256`, or None; what does not match it is never returned."""
        body = self._with(lambda cache: cache.get(f"body:{raw_sha256}"))
        return body if body is not None and sha256_hex(body) == raw_sha256 else None

    def _with(self, work: Callable[[Any], _T]) -> _T | None:
        """Return what `work` makes of the open cache; a damaged one is emptied and asked once more."""
        for _ in range(2):
            cache = None
            try:
                cache = self._cache or self._opened()
                return None if cache is None else work(cache)
            except _FAULTS as fault:
                if isinstance(fault, diskcache.Timeout) or "locked" in str(fault):
                    return None
                self._cache = None
                _emptied(self._directory)
            finally:
                if cache is not None:
                    # diskcache keeps a connection for each thread: one that outlives its thread is a leak, and one
                    # to a deleted folder would go on unseen.
                    _closed(cache)
        return None

    def _opened(self) -> Any:
        if not _prepared(self._directory):
            return None
        self._cache = diskcache.Cache(
            str(self._directory),
            timeout=5,
            disk=NoPickleDisk,
            size_limit=self._size_limit,
            eviction_policy="least-recently-used",
            cull_limit=10,
            statistics=0,
            tag_index=0,
            sqlite_mmap_size=0,
            sqlite_journal_mode="wal" if self._wal else "delete",
            disk_min_file_size=1 << 40,
        )
        return self._cache


def _closed(cache: Any) -> None:
    try:
        cache.close()
    except sqlite3.Error:
        pass  # nothing is lost that may not be lost


def _sealed(data: bytes) -> bytes:
    return hashlib.sha256(data).digest() + data


def _unsealed(value: bytes | None) -> bytes | None:
    if value is None or hashlib.sha256(value[32:]).digest() != value[:32]:
        return None
    return value[32:]


def _prepared(directory: Path) -> bool:
    """Make the folder ready, 0700, emptied if it is not the one that this user made here; False if it can't be."""
    if directory.is_symlink() or directory.parent.is_symlink():
        return False
    try:
        # Never more than these two: a workspace that was moved away is not made anew where it was.
        for folder in (directory.parent, directory):
            folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_ours(directory):
            _emptied(directory)
            if any(_is_there(directory / name) for name in _FILES):
                return False
            descriptor = os.open(directory / "owner", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as owner:
                owner.write(_mark(directory))
        # SQLite would make it readable for all; what it puts beside it gets the same mode.
        os.close(os.open(directory / "cache.db", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        (directory / "cache.db").chmod(0o600)
    except OSError:
        return False
    return True


def _is_ours(directory: Path) -> bool:
    """True if every file is a plain one of our own, and the folder bears the mark that was set when it was made here.

    A cache that came inside a copied folder has pages in it that somebody else may have written.
    """
    for name in _FILES:
        path = directory / name
        if _is_there(path):
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.getuid():
                return False
    try:
        return (directory / "owner").read_text("ascii") == _mark(directory)
    except (OSError, UnicodeError):
        return False


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _mark(directory: Path) -> str:
    status = directory.stat()
    return f"{status.st_ino} {os.getuid()}\n"


def _emptied(directory: Path) -> None:
    """Remove the files of a cache from `directory`, and no others: a wrong path must not cost anything."""
    for name in _FILES:
        try:
            (directory / name).unlink(missing_ok=True)
        except OSError:
            pass  # then the cache stays off
