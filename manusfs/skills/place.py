"""One folder of skills: what lies in it, opened component by component, so that no path leads out of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from manusfs.errors import PathRefused
from manusfs.workspace.paths import check_relative, read_span
from manusfs.workspace.tree import open_folder, opening_error

__all__ = ["MOST_FOLDERS", "PRECEDENCE", "Found", "Kind", "Place", "bundled"]

Kind = Literal["extra", "bundled", "managed", "personal", "project", "workspace"]
PRECEDENCE: tuple[Kind, ...] = ("extra", "bundled", "managed", "personal", "project", "workspace")
"""From the weakest on: of two skills with one name, that of the later kind counts (the order is OpenClaw's)."""

MOST_FOLDERS = 10_000
"""Folders of one root that are looked at."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_MOST_DEPTH = 8
_MOST_FILES = 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """A plain file: its path in a skill's folder, and what changes when its content does."""

    path: str
    size: int
    mark: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A root that skills are looked for in. `base` may be reached through links; what lies below `base` may not."""

    kind: Kind
    base: Path
    inner: tuple[str, ...] = ()
    """The folders between `base` and the root, where these are not to be trusted either."""
    inside: bool = False
    """True for a root of another kind that lies in the workspace."""

    @property
    def guarded(self) -> bool:
        """True in a workspace: what lies there may come from a page or a stranger."""
        return self.inside or self.kind in ("project", "workspace")

    def location(self, parts: tuple[str, ...]) -> str:
        """Return how a path in this root is called: a workspace path, or the kind of root and the path in it."""
        if self.guarded:
            return "/".join((*self.inner, *parts))
        return f"{self.kind}:{'/'.join(parts)}"

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Yield a descriptor of the root.

        Raises:
            NotFound, PathRefused, StorageError: it is not there, leads through a link, or can't be opened.
        """
        fd = self._folder(())
        try:
            yield fd
        finally:
            os.close(fd)

    def names(self, root: int) -> tuple[list[tuple[str, bool]], bool]:
        """Return the names in the root that may be skills, each with whether it is a link, sorted.

        Also whether there are more of them than are looked at.
        """
        found = []
        try:
            with os.scandir(root) as listing:
                for item in listing:
                    linked = item.is_symlink()
                    if not item.name.startswith(".") and (linked or item.is_dir(follow_symlinks=False)):
                        found.append((item.name, linked))
        except OSError as error:
            raise opening_error(error, self.location(())) from error
        return sorted(found)[:MOST_FOLDERS], len(found) > MOST_FOLDERS

    def real(self, name: str, linked: bool) -> tuple[str, ...]:
        """Return the path in this root that `name` stands for: itself, or where it leads when it is a link.

        Raises:
            PathRefused: it leads out of the root, or round in a circle.
        """
        if not linked:
            return check_relative(name)
        home = os.path.realpath(self.base.joinpath(*self.inner))
        target = os.path.realpath(os.path.join(home, name))  # noqa: PTH118 (a Path would drop what realpath keeps)
        if not target.startswith(home + os.sep):
            raise PathRefused(
                f"{name!r} is a link that leads out of its folder",
                hint="name the folder that it leads to in `skills_extra_roots`",
            )
        return check_relative(target[len(home) + 1 :].replace(os.sep, "/"))

    def files(self, parts: tuple[str, ...]) -> list[Found]:
        """Return the plain files below the folder `parts`, by path; what is none, and links, are left out.

        Raises:
            PathRefused: there are more than 1,000, or they lie too deep.
        """
        found: list[Found] = []
        self._walk(self._folder(parts), "", found, _MOST_FILES, 0)
        return sorted(found, key=lambda file: file.path)

    def survey(self, parts: tuple[str, ...], names: tuple[str, ...], root: int) -> tuple[Found | None, list[Found]]:
        """Return the first of `names` that is a file in the folder `parts`, and all that counts for its approval.

        That is every file below the folder where the place is guarded, else none but the first. None and nothing when
        no such file is there.

        Raises:
            PathRefused: something else has that name, or there is too much beside it.
        """
        fd = self._folder(parts, root)
        try:
            first = self._first(fd, names)
            if first is None or not self.guarded:
                return first, [] if first is None else [first]
            fd, walked = -1, fd
            found: list[Found] = []
            self._walk(walked, "", found, _MOST_FILES, 0)
            return first, sorted(found, key=lambda file: file.path)
        finally:
            if fd >= 0:
                os.close(fd)

    def _first(self, fd: int, names: tuple[str, ...]) -> Found | None:
        for name in names:
            try:
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if not self._plain(status):
                raise PathRefused(f"{name} is {_what(status)}")
            return _found(name, status)
        return None

    def read(self, parts: tuple[str, ...], most: int, root: int | None = None) -> bytes:
        """Return the content of the plain file `parts`.

        Raises:
            NotFound, PathRefused, StorageError: it is not there, is no plain file or has more than `most` bytes.
        """
        path = "/".join(parts)
        folder = self._folder(parts[:-1], root)
        try:
            fd = os.open(parts[-1], _READ, dir_fd=folder)
        except OSError as error:
            raise opening_error(error, path) from error
        finally:
            os.close(folder)
        try:
            status = os.fstat(fd)
            if not self._plain(status):
                raise PathRefused(f"{path!r} is {_what(status)}", hint="name a plain file of the skill")
            if status.st_size > most:
                raise PathRefused(f"{path!r} has {status.st_size:,} bytes; the most is {most:,}")
            return read_span(fd, 0, status.st_size)
        finally:
            os.close(fd)

    def _plain(self, status: os.stat_result) -> bool:
        # A second name may be that of a file from outside. Where the user installs things, installers make such names.
        return stat.S_ISREG(status.st_mode) and (status.st_nlink == 1 or not self.guarded)

    def _walk(self, fd: int, prefix: str, found: list[Found], most: int, depth: int) -> None:
        try:
            with os.scandir(fd) as listing:
                for item in sorted(listing, key=lambda entry: entry.name):
                    status, path = item.stat(follow_symlinks=False), f"{prefix}{item.name}"
                    if stat.S_ISDIR(status.st_mode):
                        if depth >= _MOST_DEPTH:
                            raise PathRefused(f"its folders lie deeper than {_MOST_DEPTH}")
                        self._walk(open_folder(fd, item.name), f"{path}/", found, most, depth + 1)
                    elif self._plain(status):
                        found.append(_found(path, status))
                    if len(found) > most:
                        raise PathRefused(f"it has more than {most:,} files")
        except OSError as error:
            raise opening_error(error, prefix or ".") from error
        finally:
            os.close(fd)

    def _folder(self, parts: tuple[str, ...], root: int | None = None) -> int:
        """Return a descriptor of the folder `parts` in the root."""
        try:
            if root is None:
                fd, steps = os.open(self.base, os.O_RDONLY | os.O_DIRECTORY), (*self.inner, *parts)
            else:
                # Opened anew, not duplicated: a duplicate would share its place in the listing.
                fd, steps = open_folder(root, parts[0] if parts else "."), parts[1:]
            for part in steps:
                try:
                    inner = open_folder(fd, part)
                finally:
                    os.close(fd)
                fd = inner
            return fd
        except OSError as error:
            raise opening_error(error, self.location(parts) or ".") from error


def bundled() -> Place:
    """Return the skills that ship with manusfs."""
    return Place("bundled", Path(__file__).parents[1] / "_skills")


def _found(path: str, status: os.stat_result) -> Found:
    return Found(path, status.st_size, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


def _what(status: os.stat_result) -> str:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return f"a file with {status.st_nlink} names (hard links)"
    kinds = (
        (stat.S_ISLNK, "a link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((word for test, word in kinds if test(mode)), "no plain file")
