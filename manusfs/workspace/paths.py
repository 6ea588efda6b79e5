"""The workspace folder held open: how a relative path is checked, and how its file is reached without leaving it."""

from __future__ import annotations

import os
import shlex
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from manusfs.errors import ManusfsError, NotFound, PathRefused, Refused
from manusfs.workspace.fs import FileSystem, storage_error
from manusfs.workspace.staging import Staging
from manusfs.workspace.tree import Folders, open_folder, opening_error

__all__ = ["Entry", "Root", "check_relative", "read_span"]

_MAX_PATH = 4096
_MAX_NAME = 255
_MAX_DEPTH = 64
_EDITED_MAX = 64 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_HINT = "give a path relative to the workspace, like notes/findings/bridge.md"


def check_relative(path: str) -> tuple[str, ...]:
    """Return the components of the workspace path `path`; `.` and doubled slashes are dropped, `%` stays as it is.

    Raises:
        PathRefused: it is empty, absolute, goes up, begins with `~`, has a backslash, NUL, control or invisible
            character, or is too long. Links are found when the path is opened, not here.
    """
    if not path.isascii() or not path.isprintable():
        if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in path):
            raise PathRefused(f"control or invisible character in the path {path[:80]!r}", hint=_HINT)
        if len(path.encode("utf-8")) > _MAX_PATH:
            raise PathRefused(f"too long a path: {path[:80]!r}…", hint=_HINT)
    if len(path) > _MAX_PATH:
        raise PathRefused(f"too long a path: {path[:80]!r}…", hint=_HINT)
    if path.startswith(("/", "~")) or "\\" in path:
        raise PathRefused(f"not a path inside the workspace: {path!r}", hint=_HINT)
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if not parts:
        raise PathRefused(f"the path {path!r} names no file", hint=_HINT)
    if ".." in parts:
        raise PathRefused(f"the path {path!r} goes up", hint=_HINT)
    if len(parts) > _MAX_DEPTH or any(len(part.encode("utf-8")) > _MAX_NAME for part in parts):
        raise PathRefused(f"too long a path: {path[:80]!r}…", hint=_HINT)
    return parts


def read_span(fd: int, start: int, end: int) -> bytes:
    """Return the bytes `start` to `end` of an open file, fewer where the file ends before.

    The system is asked for all of them at once, and memory is taken for as many: do not ask for more than there may be.
    """
    pieces: list[bytes] = []
    while start < end:
        try:
            piece = os.pread(fd, end - start, start)
        except OSError as error:
            raise storage_error(error, "read", "", fd) from error
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


@dataclass(frozen=True, slots=True)
class Entry:
    """One plain file or folder of a listing. `size` is bytes, 0 for folders."""

    name: str
    is_dir: bool
    size: int
    mtime_ns: int


class Root:
    """A workspace folder by its descriptor: it may be renamed meanwhile, and no path leads out of it.

    Every component is opened relative to the one before and without following links, so that nothing can be swapped
    in between. Only plain files with one name are opened: a hard link may be a file from outside.
    """

    def __init__(self, path: Path, fs: FileSystem | None = None) -> None:
        self.path = path
        self.fs = fs or FileSystem()
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise opening_error(error, str(path)) from error
        self.staging = Staging(self.fd, self.fs)
        self._settled: set[tuple[str, ...]] = set()

    def close(self) -> None:
        """Let go of the folder."""
        if self.fd >= 0:
            self.staging.close()
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def folders(self) -> Folders:
        """Return a keeper of folder descriptors for one piece of work."""
        return Folders(self.fd, self.fs, self._settled)

    def open_dir(self, rel: str, create: bool = False) -> int:
        """Return a descriptor of the folder `rel`, "" being the root; with `create`, made durably where missing."""
        with self.folders() as folders:
            try:
                # Opened anew, not duplicated: a duplicate would share its place in the listing and its locks.
                fd = open_folder(folders.open(_folder_parts(rel), create), ".")
            except OSError as error:
                raise storage_error(error, "open", rel) from error
            folders.sync()
            return fd

    def make_dirs(self, rel: str) -> None:
        """Make the folder `rel` and those above it, durably."""
        os.close(self.open_dir(rel, create=True))

    def open_read(self, rel: str) -> int:
        """Return a descriptor of the plain file `rel`.

        Raises:
            PathRefused: a bad path, a link in any component, a folder, a device or pipe, a file with several names.
            NotFound: nothing is there.
        """
        return self._open_file(check_relative(rel), rel, _READ)

    def _open_file(self, parts: tuple[str, ...], rel: str, flags: int) -> int:
        folder = self.fd
        fd = -1
        try:
            for part in parts[:-1]:
                inner = open_folder(folder, part)
                if folder != self.fd:
                    os.close(folder)
                folder = inner
            fd = os.open(parts[-1], flags, dir_fd=folder)
        except OSError as error:
            raise opening_error(error, rel) from error
        finally:
            if folder != self.fd:
                os.close(folder)
        return _checked(fd, rel)

    def read(self, rel: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes of the plain file `rel`, or those from `start` to `end`; a span past the end is cut."""
        fd = self.open_read(rel)
        try:
            size = os.fstat(fd).st_size
            return read_span(fd, start, size if end is None else min(end, size))
        finally:
            os.close(fd)

    def read_edited(self, rel: str, most: int = _EDITED_MAX) -> bytes:
        """Return the bytes of a file that people edit, whole: it may hold anything, and be of any size.

        Raises:
            Refused: it has more than `most` bytes.
        """
        size = self.size(rel)
        if size > most:
            raise Refused(
                f"{rel!r} has {size} bytes; the most is {most}",
                hint=f"make it shorter, or move it out and keep it whole: manusfs add {rel}",
            )
        return self.read(rel, 0, most)

    def size(self, rel: str) -> int:
        """Return the bytes of the plain file `rel`."""
        return self.entry(rel).size

    def entry(self, rel: str) -> Entry:
        """Return the plain file `rel` as it stands in a listing."""
        fd = self.open_read(rel)
        try:
            status = os.fstat(fd)
            return Entry(rel.rpartition("/")[2], False, status.st_size, status.st_mtime_ns)
        finally:
            os.close(fd)

    def exists(self, rel: str) -> bool:
        """Return True for a plain file or folder; a link, a pipe or a second name of a file is not there for us."""
        return self._kind(rel) is not None

    def is_dir(self, rel: str) -> bool:
        """Return True for a folder that is reached without links."""
        return self._kind(rel) == "folder"

    def _kind(self, rel: str) -> str | None:
        parts = _folder_parts(rel)
        if not parts:
            return "folder"
        try:
            with self.folders() as folders:
                status = os.stat(parts[-1], dir_fd=folders.open(parts[:-1], create=False), follow_symlinks=False)
        except (NotFound, PathRefused, FileNotFoundError):
            return None
        except OSError as error:
            raise storage_error(error, "look at", rel) from error
        return _kind_of(status)

    def listdir(self, rel: str = "") -> list[Entry]:
        """Return the plain files and folders of the folder `rel`, by name; what could not be opened is left out."""
        fd = self.open_dir(rel)
        try:
            return _entries(fd, rel)
        finally:
            os.close(fd)

    def walk(self, rel: str = "") -> Iterator[str]:
        """Yield the path of every plain file below the folder `rel`, sorted; no link is followed.

        Every one can be opened by its path: what lies too deep for that is left out.
        """
        fd = self.open_dir(rel)
        parts = _folder_parts(rel)
        yield from _walk(fd, "/".join(parts), len(parts))

    def write_atomic(self, rel: str, data: bytes) -> None:
        """Make `rel` hold `data`: after a crash the file is the old one or the new one, whole. Folders are made.

        A link at that place is replaced, never written through.
        """
        parts = check_relative(rel)
        tmp, name = self.staging.fd, self.staging.new_name()
        try:
            fd = self.fs.create(tmp, name)
            try:
                self.fs.write(fd, data)
                self.fs.sync(fd)
            finally:
                self.fs.close(fd)
            self._put(tmp, name, parts, rel)
        except BaseException:
            self._drop(tmp, name)
            raise

    def _put(self, tmp: int, name: str, parts: tuple[str, ...], rel: str) -> None:
        with self.folders() as folders:
            try:
                self.fs.rename(tmp, name, folders.open(parts[:-1]), parts[-1])
            except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
                raise PathRefused(f"{rel!r} is a folder", hint="choose a file name in it") from error
            folders.touch(parts[:-1])
            folders.sync()

    def _drop(self, tmp: int, name: str) -> None:
        try:
            os.stat(name, dir_fd=tmp, follow_symlinks=False)
            self.fs.unlink(tmp, name)
        except (OSError, ManusfsError):
            # The first error is what counts; the leftover goes with the next process's cleaning.
            pass

    def append_to(self, rel: str) -> int:
        """Return a descriptor for reading and appending of the existing plain file `rel`; refuses as `open_read`."""
        parts = check_relative(rel)
        with self.folders() as folders:
            try:
                fd = self.fs.append(folders.open(parts[:-1], create=False), parts[-1])
            except OSError as error:
                raise opening_error(error, rel) from error
        return _checked(fd, rel)

    def rename(self, src: str, dst: str) -> None:
        """Give what stands at `src` the path `dst`, durably. Folders of `dst` are made; a file there is replaced.

        Raises:
            PathRefused: a folder that is not empty stands at `dst`, or one of them is a file and the other a folder.
        """
        old, new = check_relative(src), check_relative(dst)
        with self.folders() as folders:
            source = folders.open(old[:-1], create=False)
            try:
                self.fs.rename(source, old[-1], folders.open(new[:-1]), new[-1])
            except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
                raise PathRefused(f"{dst!r} is taken", hint="choose another name") from error
            folders.touch(old[:-1])
            folders.touch(new[:-1])
            folders.sync()


def _folder_parts(rel: str) -> tuple[str, ...]:
    return () if rel in ("", ".", "./") else check_relative(rel)


def _checked(fd: int, rel: str) -> int:
    status = os.fstat(fd)
    if _kind_of(status) == "file":
        return fd
    os.close(fd)
    if stat.S_ISREG(status.st_mode):
        hint = f"give it one of its own: cp -p {shlex.quote(rel)} new && mv new {shlex.quote(rel)}"
        raise PathRefused(f"{rel!r} has {status.st_nlink} names (hard links)", hint=hint)
    if stat.S_ISDIR(status.st_mode):
        raise PathRefused(f"{rel!r} is a folder", hint="name a file in it")
    raise PathRefused(f"{rel!r} is no plain file")


def _kind_of(status: os.stat_result) -> str | None:
    if stat.S_ISDIR(status.st_mode):
        return "folder"
    return "file" if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 else None


def _entries(fd: int, rel: str) -> list[Entry]:
    found = []
    try:
        with os.scandir(fd) as listing:
            for item in listing:
                try:
                    status = item.stat(follow_symlinks=False)
                    check_relative(item.name)
                except (FileNotFoundError, PathRefused):
                    continue
                kind = _kind_of(status)
                if kind is not None:
                    size = status.st_size if kind == "file" else 0
                    found.append(Entry(item.name, kind == "folder", size, status.st_mtime_ns))
    except OSError as error:
        raise storage_error(error, "list", rel or "the workspace") from error
    return sorted(found, key=lambda entry: entry.name)


def _walk(fd: int, prefix: str, depth: int) -> Iterator[str]:
    try:
        for entry in _entries(fd, prefix):
            path = f"{prefix}/{entry.name}" if prefix else entry.name
            if len(path.encode("utf-8")) > _MAX_PATH:
                continue
            if not entry.is_dir:
                yield path
            elif depth + 1 < _MAX_DEPTH:
                try:
                    inner = open_folder(fd, entry.name)
                except OSError:
                    # Removed, or made a link, since it was listed: then it holds no file of ours.
                    continue
                yield from _walk(inner, path, depth + 1)
    finally:
        os.close(fd)
