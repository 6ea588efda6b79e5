"""Where unfinished files stand: a folder under `.manusfs/tmp/` for each process, held by flock while it lives."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import threading
import time

from manusfs.errors import ManusfsError
from manusfs.workspace.fs import FileSystem, storage_error
from manusfs.workspace.tree import Folders, open_folder, opening_error

__all__ = ["Staging"]

_PLACE = (".manusfs", "tmp")
_OLD_S = 24 * 3600


class Staging:
    """The temporary folder of one open workspace. Made when first wanted; leftovers of dead processes go then.

    Its flock says that we live: it holds across containers and ends with the process, which a process number does not.
    """

    def __init__(self, root_fd: int, fs: FileSystem) -> None:
        self._root_fd = root_fd
        self._fs = fs
        self._lock = threading.Lock()
        self._fd = -1
        self._name = ""
        self._count = 0

    @property
    def fd(self) -> int:
        """The folder's descriptor; a new folder when `.manusfs/` was deleted meanwhile."""
        with self._lock:
            if self._fd >= 0 and os.fstat(self._fd).st_nlink == 0:
                os.close(self._fd)
                self._fd = -1
            if self._fd < 0:
                self._open()
            return self._fd

    def clean(self) -> None:
        """Remove what processes that are gone have left; their successors do that too, when they first stage."""
        with Folders(self._root_fd, self._fs, set()) as folders:
            self._clean(folders.open(_PLACE))

    def new_name(self) -> str:
        """Return a name that is free in the folder."""
        with self._lock:
            self._count += 1
            return f"{self._count}-{os.urandom(4).hex()}"

    def _open(self) -> None:
        with Folders(self._root_fd, self._fs, set()) as folders:
            tmp = folders.open(_PLACE)
            self._clean(tmp)
            while self._fd < 0:
                name = f"{os.getpid()}-{os.urandom(4).hex()}"
                self._fs.mkdir(tmp, name)
                self._fd = self._claim(tmp, name)
                self._name = name

    def _claim(self, tmp: int, name: str) -> int:
        """Return the locked descriptor of our new folder, -1 when a cleaning process was quicker than our lock."""
        try:
            fd = open_folder(tmp, name)
        except FileNotFoundError:
            return -1
        except OSError as error:
            raise opening_error(error, name) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return -1
        except OSError as error:
            # A file system without flock: then others go by the age of the folder and by its process number.
            if not _can_lock(error):
                return fd
            os.close(fd)
            raise storage_error(error, "lock", name, tmp) from error
        if os.fstat(fd).st_nlink == 0:
            os.close(fd)
            return -1
        return fd

    def _clean(self, tmp: int) -> None:
        for entry in list(os.scandir(tmp)):
            try:
                if entry.is_dir(follow_symlinks=False):
                    self._clean_one(tmp, entry.name)
            except (OSError, ManusfsError):
                # A leftover that can't go now does no harm and is tried again by the next process.
                continue

    def _clean_one(self, tmp: int, name: str) -> None:
        fd = open_folder(tmp, name)
        try:
            if not _is_dead(fd, name):
                return
            for child in list(os.scandir(fd)):
                if child.is_dir(follow_symlinks=False):
                    self.remove(fd, child.name)
                else:
                    self._fs.unlink(fd, child.name)
            self._fs.rmdir(tmp, name)
        finally:
            os.close(fd)

    def remove(self, dirfd: int, name: str) -> None:
        """Remove the staged folder `name` of `dirfd` with its files."""
        fd = open_folder(dirfd, name)
        try:
            for child in list(os.scandir(fd)):
                self._fs.unlink(fd, child.name)
        finally:
            os.close(fd)
        self._fs.rmdir(dirfd, name)

    def close(self) -> None:
        """Remove our folder when nothing is left in it."""
        with self._lock:
            if self._fd < 0:
                return
            fd, self._fd = self._fd, -1
            try:
                with Folders(self._root_fd, self._fs, set()) as folders:
                    self._fs.rmdir(folders.open(_PLACE, create=False), self._name)
            except ManusfsError:
                # What is left is cleaned by the next process.
                pass
            finally:
                os.close(fd)


def _can_lock(error: OSError) -> bool:
    return error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)


def _is_dead(fd: int, name: str) -> bool:
    """Return True if nobody holds the folder any more."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return _is_old(fd) and not _runs(name)
    return True


def _is_old(fd: int) -> bool:
    return time.time() - os.fstat(fd).st_mtime > _OLD_S


def _runs(name: str) -> bool:
    match = re.match(r"(\d{1,9})-", name)
    if match is None:
        return False
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
