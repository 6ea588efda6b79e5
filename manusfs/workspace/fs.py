"""The file-system seam: every write of the product to a workspace goes through one of these methods."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from manusfs.errors import StorageError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["FileSystem", "storage_error"]

# macOS keeps synced bytes in the drive's own cache unless it is asked by this call.
_FULL_SYNC: int = getattr(fcntl, "F_FULLFSYNC", 0)
_SYNCS = 8
"""Syncs that are waited for at the same time."""
_SLOW_S = 0.001
"""A sync that takes longer says that the disk is busy."""
_AGAIN = "then run the same command again; nothing that was acknowledged is lost"
_WHY = {
    errno.ENOSPC: ("no space is left on the disk", f"free some space, {_AGAIN}"),
    errno.EDQUOT: ("the disk quota is used up", f"free some space or raise the quota, {_AGAIN}"),
    errno.EROFS: ("the file system is read-only", "copy the workspace to a disk that can be written"),
    errno.EACCES: ("permission is missing", "check who owns the folder and its mode"),
    errno.EPERM: ("the operation is not permitted", "check who owns the folder, its mode and its attributes"),
    errno.EIO: ("the disk reports an error", "copy the workspace to another disk, then run `manusfs verify`"),
    errno.EMFILE: ("this process has too many open files", "raise the limit with `ulimit -n`"),
    errno.ENFILE: ("the system has too many open files", "close other programs, then try again"),
    errno.ENAMETOOLONG: ("the name is too long for this file system", "use a shorter name or folder"),
    errno.EFBIG: ("the file is too large", "raise the limit with `ulimit -f`, or move the workspace to another disk"),
    errno.ENOENT: ("the file or its folder is not there", "was it moved or removed meanwhile? run `manusfs verify`"),
    errno.ESTALE: ("the network file system lost the file", "mount it again, then try again"),
    errno.ENOLCK: ("the file system can't lock", "keep the workspace on a local disk"),
    errno.ENOTSUP: ("the file system does not support this", "keep the workspace on a local disk"),
}


def storage_error(error: OSError, action: str, name: str, folder_fd: int = -1) -> StorageError:
    """Return the StorageError that tells a person what `error` means: the file and the reason in plain words.

    `name` is a file name in the folder `folder_fd`; with an empty name the file is `folder_fd` itself.
    """
    why, hint = _WHY.get(error.errno or 0, (os.strerror(error.errno) if error.errno else str(error), ""))
    return StorageError(f"can't {action} {_tail(folder_fd, name)!r}: {why}", hint=hint)


def _tail(fd: int, name: str) -> str:
    """Return the last parts of a path: enough to know the file; where the workspace lies is nobody's business."""
    try:
        base = str(Path(f"/proc/self/fd/{fd}").readlink()) if fd >= 0 else ""
    except OSError:
        base = ""
    if not base:
        return name or "file"
    parts = f"{base}/{name}".strip("/").split("/")
    return f"…/{'/'.join(parts[-4:])}" if len(parts) > 4 else f"/{'/'.join(parts)}"


class FileSystem:
    """The operating system's calls, by folder descriptor and name. Tests put a failing one in its place.

    Each method raises StorageError that names the file and the reason. Three outcomes are for the caller to judge
    and come as they are: FileExistsError (also for a folder that is not empty), an OSError from `append` where nothing
    or no plain file has the name, and IsADirectoryError or NotADirectoryError from `rename`.
    """

    _pool: ThreadPoolExecutor | None = None

    def mkdir(self, dirfd: int, name: str) -> None:
        """Make the folder `name`, for the owner only."""
        try:
            os.mkdir(name, 0o700, dir_fd=dirfd)
        except FileExistsError:
            raise
        except OSError as error:
            raise storage_error(error, "make the folder", name, dirfd) from error

    def create(self, dirfd: int, name: str) -> int:
        """Return a descriptor for writing to the new file `name`, which only its owner may read."""
        try:
            return os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600, dir_fd=dirfd)
        except FileExistsError:
            raise
        except OSError as error:
            raise storage_error(error, "create", name, dirfd) from error

    def append(self, dirfd: int, name: str) -> int:
        """Return a descriptor for reading and for appending to the existing file `name`; links are not followed."""
        try:
            return os.open(name, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=dirfd)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise
            raise storage_error(error, "append to", name, dirfd) from error

    def write(self, fd: int, data: bytes | memoryview) -> None:
        """Write all of `data`, in one call of the system where that takes it whole."""
        try:
            done = os.write(fd, data)
            if done < len(data):
                self._write_rest(fd, memoryview(data)[done:])
        except OSError as error:
            raise storage_error(error, "write to", "", fd) from error

    def _write_rest(self, fd: int, rest: memoryview) -> None:
        while rest:
            done = os.write(fd, rest)
            if done == 0:
                raise OSError(errno.ENOSPC, "nothing was written")
            rest = rest[done:]

    def sync(self, fd: int) -> None:
        """Wait until the file's bytes and size are on the disk."""
        try:
            if _FULL_SYNC:
                fcntl.fcntl(fd, _FULL_SYNC)
            else:
                os.fsync(fd)
        except OSError as error:
            raise storage_error(error, "sync", "", fd) from error

    def sync_dir(self, dirfd: int) -> None:
        """Wait until the names in the folder are on the disk."""
        try:
            os.fsync(dirfd)
        except OSError as error:
            # Some network and FUSE file systems have no such call for folders and keep names safe by themselves.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise storage_error(error, "sync the folder", "", dirfd) from error

    def sync_all(self, files: Sequence[int], folders: Sequence[int] = ()) -> None:
        """Wait until all of these files and folders are on the disk, in no order.

        As soon as one of them takes long, the rest are asked for at the same time, and all waited for, so that a busy
        disk serves many in one round. Measured on ext4: that takes a third to a seventh of the time for the 24 syncs of
        8 observations, but where syncs are quick it only costs CPU.
        """
        jobs = [(self.sync, fd) for fd in files] + [(self.sync_dir, fd) for fd in folders]
        for at, (sync, fd) in enumerate(jobs, 1):
            began = time.monotonic()
            sync(fd)
            if time.monotonic() - began > _SLOW_S and at < len(jobs):
                self._together(jobs[at:])
                return

    def _together(self, jobs: Sequence[tuple[Callable[[int], None], int]]) -> None:
        from concurrent.futures import ThreadPoolExecutor, wait

        if self._pool is None:
            self._pool = ThreadPoolExecutor(_SYNCS, "sync")
        running = [self._pool.submit(sync, fd) for sync, fd in jobs[1:]]
        try:
            sync, fd = jobs[0]
            sync(fd)
            for one in running:
                one.result()
        finally:
            # Nobody may close a descriptor that is still being synced.
            wait(running)

    def close(self, fd: int) -> None:
        """Close a descriptor that was written to."""
        try:
            os.close(fd)
        except OSError as error:
            raise storage_error(error, "close", "", fd) from error

    def rename(self, src_dirfd: int, src: str, dst_dirfd: int, dst: str) -> None:
        """Give the file or folder `src` the name `dst`; a file takes the place of a file."""
        try:
            os.rename(src, dst, src_dir_fd=src_dirfd, dst_dir_fd=dst_dirfd)
        except (FileExistsError, IsADirectoryError, NotADirectoryError):
            raise
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                raise FileExistsError(errno.EEXIST, "the folder exists", dst) from error
            raise storage_error(error, "rename to", dst, dst_dirfd) from error

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file off after `size` bytes."""
        try:
            os.ftruncate(fd, size)
        except OSError as error:
            raise storage_error(error, "cut", "", fd) from error

    def unlink(self, dirfd: int, name: str) -> None:
        """Remove a temporary file."""
        try:
            os.unlink(name, dir_fd=dirfd)
        except OSError as error:
            raise storage_error(error, "remove", name, dirfd) from error

    def rmdir(self, dirfd: int, name: str) -> None:
        """Remove an empty temporary folder."""
        try:
            os.rmdir(name, dir_fd=dirfd)
        except OSError as error:
            raise storage_error(error, "remove the folder", name, dirfd) from error
