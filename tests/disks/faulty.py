"""A file system that fails, half-writes or kills the process at any one of its operations."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from manusfs.workspace import FileSystem, storage_error

T = TypeVar("T")

KILLS = ("before", "after", "half")
ERRORS = ("ENOSPC", "EIO", "EMFILE", "EDQUOT", "EFBIG", "EROFS")


class Killed(BaseException):
    """The process is dead: nothing that it would have done to the disk from now on happens."""


class FaultyDisk(FileSystem):
    """Counts operations; at number `at` it does what `mode` says. Syncs cost nothing here.

    Kills: "before" and "after" the operation, "half" way through a write. Errors: the operation does not happen, but a
    write that fails with ENOSPC has written half. With `lasting`, each later operation of that name fails as well.
    """

    def __init__(self, at: int = 0, mode: str = "", lasting: bool = False) -> None:
        self.at = at
        self.mode = mode
        self.lasting = lasting
        self.count = 0
        self.names: list[str] = []
        self._dead = False

    def _point(self, name: str, act: Callable[[], T], half: Callable[[], Any] | None = None) -> T:
        if self._dead:
            raise Killed
        self.count += 1
        self.names.append(name)
        hit = self.count == self.at or (self.lasting and self.count > self.at and name == self.names[self.at - 1])
        if not hit:
            return act()
        if self.mode in KILLS:
            self._dead = True
            if self.mode == "after":
                act()
            if self.mode == "half" and half is not None:
                half()
            raise Killed
        if self.mode in ("ENOSPC", "EDQUOT", "EFBIG") and half is not None:
            half()
        raise storage_error(OSError(getattr(errno, self.mode), self.mode), name, "a file")

    def mkdir(self, dirfd: int, name: str) -> None:
        self._point("mkdir", lambda: FileSystem.mkdir(self, dirfd, name))

    def create(self, dirfd: int, name: str) -> int:
        return self._point("create", lambda: FileSystem.create(self, dirfd, name))

    def append(self, dirfd: int, name: str) -> int:
        return self._point("append", lambda: FileSystem.append(self, dirfd, name))

    def write(self, fd: int, data: bytes | memoryview) -> None:
        self._point(
            "write", lambda: FileSystem.write(self, fd, data), lambda: os.write(fd, data[: max(1, len(data) // 2)])
        )

    def sync(self, fd: int) -> None:
        self._point("sync", lambda: None)

    def sync_dir(self, dirfd: int) -> None:
        self._point("sync_dir", lambda: None)

    def sync_all(self, files: Sequence[int], folders: Sequence[int] = ()) -> None:
        # One after another, so that the order of operations is the same every time.
        for fd in files:
            self.sync(fd)
        for fd in folders:
            self.sync_dir(fd)

    def close(self, fd: int) -> None:
        if self._dead:
            os.close(fd)
            raise Killed
        FileSystem.close(self, fd)

    def rename(self, src_dirfd: int, src: str, dst_dirfd: int, dst: str) -> None:
        self._point("rename", lambda: FileSystem.rename(self, src_dirfd, src, dst_dirfd, dst))

    def truncate(self, fd: int, size: int) -> None:
        self._point("truncate", lambda: FileSystem.truncate(self, fd, size))

    def unlink(self, dirfd: int, name: str) -> None:
        self._point("unlink", lambda: FileSystem.unlink(self, dirfd, name))

    def rmdir(self, dirfd: int, name: str) -> None:
        self._point("rmdir", lambda: FileSystem.rmdir(self, dirfd, name))
