"""Folder descriptors opened one component at a time, kept for one piece of work, and which of them need a sync."""

from __future__ import annotations

import errno
import os
from types import TracebackType
from typing import Self

from manusfs.errors import ManusfsError, NotFound, PathRefused
from manusfs.workspace.fs import FileSystem, storage_error

__all__ = ["Folders", "open_folder", "opening_error"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def open_folder(dirfd: int, name: str) -> int:
    """Return a descriptor of the folder `name` in `dirfd`; a link is refused, also one that was put there just now."""
    return os.open(name, _FOLDER, dir_fd=dirfd)


def opening_error(error: OSError, path: str) -> ManusfsError:
    """Return what a failed opening of the workspace path `path` means."""
    if error.errno == errno.ENOENT:
        return NotFound(f"no such file or folder: {path!r}")
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
        return PathRefused(f"{path!r} is a link, or goes through a link or a file", hint="use a plain path")
    if error.errno in (errno.ENXIO, errno.EISDIR):
        return PathRefused(f"{path!r} is no plain file")
    if error.errno == errno.ENAMETOOLONG:
        return PathRefused(f"{path[:80]!r}… is too long a path")
    return storage_error(error, "open", path)


class Folders:
    """Folders below a root, each opened once and closed together at the end.

    `settled` remembers, over many pieces of work, which folders are known to stand durably in their parents: a folder
    that another process made and did not live to sync is synced by whoever uses it first.
    """

    def __init__(self, root_fd: int, fs: FileSystem, settled: set[tuple[str, ...]]) -> None:
        self._fs = fs
        self._settled = settled
        self._fds: dict[tuple[str, ...], int] = {(): root_fd}
        self._changed: dict[tuple[str, ...], None] = {}
        self._unsettled: list[tuple[str, ...]] = []

    def open(self, parts: tuple[str, ...], create: bool = True) -> int:
        """Return the descriptor of the folder `parts`, which stays ours. Missing ones are made when `create` says so.

        Raises:
            NotFound, PathRefused, StorageError: as the path is.
        """
        known = self._fds.get(parts)
        if known is not None:
            return known
        parent = self.open(parts[:-1], create)
        made = False
        try:
            try:
                fd = open_folder(parent, parts[-1])
            except FileNotFoundError:
                if not create:
                    raise
                made = self._make(parent, parts[-1])
                fd = open_folder(parent, parts[-1])
        except OSError as error:
            raise opening_error(error, "/".join(parts)) from error
        self._fds[parts] = fd
        if create and (made or parts not in self._settled):
            self._unsettled.append(parts)
            self._changed[parts[:-1]] = None
        return fd

    def _make(self, parent: int, name: str) -> bool:
        try:
            self._fs.mkdir(parent, name)
        except FileExistsError:
            return False
        return True

    def touch(self, parts: tuple[str, ...]) -> None:
        """Remember that a name in the folder `parts` changed."""
        self._changed[parts] = None

    def sync(self) -> None:
        """Sync every folder whose names changed, each once."""
        self._fs.sync_all((), [self._fds[parts] for parts in self._changed])
        self._changed.clear()
        self._settled.update(self._unsettled)
        self._unsettled.clear()

    def close(self) -> None:
        """Close all but the root."""
        for parts, fd in self._fds.items():
            if parts:
                os.close(fd)
        self._fds = {(): self._fds[()]}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
