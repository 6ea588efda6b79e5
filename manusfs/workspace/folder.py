"""A workspace folder: making one from the template, opening one, finding the one that a person means."""

from __future__ import annotations

import os
import shlex
import tomllib
from pathlib import Path
from types import TracebackType
from typing import Self

from manusfs.errors import ConfigError, NewerFormat, NotFound, NoWorkspace, PathRefused, StorageError
from manusfs.records import FORMAT
from manusfs.workspace.fs import FileSystem, storage_error
from manusfs.workspace.lost import set_aside
from manusfs.workspace.paths import Root

__all__ = ["MARKER", "SETTINGS_MAX", "Folder", "above", "find", "template_dir"]

MARKER = "manusfs.toml"
"""The file that makes a folder a workspace."""

SETTINGS_MAX = 64 << 10
"""Bytes of the largest settings file: to parse a name of half a million parts would take minutes."""

_KEEP_NAMES = (".gitkeep", ".keep")
_OURS = frozenset(("observations", "sessions", "notes", "reports", "skills", "agents", "lost+found", ".manusfs"))
"""Folders of a workspace in which another would be in its way."""


class Folder:
    """An open workspace folder. Opening writes nothing, so that a read-only one can be read."""

    def __init__(self, root: Root) -> None:
        self.root = root

    @property
    def path(self) -> Path:
        """Where the folder was found; it may have been renamed since."""
        return self.root.path

    @property
    def fs(self) -> FileSystem:
        """The seam that all writes go through."""
        return self.root.fs

    @classmethod
    def open(cls, path: Path | str, fs: FileSystem | None = None) -> Folder:
        """Return the workspace at `path`.

        Raises:
            NoWorkspace: there is no folder or it holds no `manusfs.toml`.
            NewerFormat: a newer manusfs wrote it.
            ConfigError: `manusfs.toml` can't be read or names no format.
        """
        path = Path(path)
        try:
            root = Root(path, fs)
        except (NotFound, PathRefused) as error:
            raise _no_workspace(path) from error
        try:
            _check_format(root, path)
        except BaseException:
            root.close()
            raise
        return cls(root)

    @classmethod
    def create(cls, path: Path | str, fs: FileSystem | None = None) -> Folder:
        """Make a workspace at `path` from the template and return it; files that are there already are kept.

        `manusfs.toml` is written last: a folder that has it is whole.

        Raises:
            ConfigError: there is a workspace already, or `path` is a file, or a folder that another workspace fills.
        """
        path = Path(path)
        _check_around(path)
        _make_folder(path)
        root = Root(path, fs)
        try:
            if root.exists(MARKER):
                raise ConfigError(
                    f"there is a workspace in {str(path)!r} already",
                    hint=f"`manusfs -w {shlex.quote(str(path))} ls` shows what is in it; or choose another folder",
                )
            _copy_template(template_dir(), root)
            _sync_name(root)
        except BaseException:
            root.close()
            raise
        root.close()
        return cls.open(path, fs)

    def set_aside(self, rel: str) -> str:
        """Move what stands at `rel` to `lost+found/` and return its new path; nothing is ever deleted."""
        return set_aside(self.root, rel)

    def close(self) -> None:
        """Let go of the folder."""
        self.root.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def find(start: Path | str, explicit: Path | str | None = None, from_environment: Path | str | None = None) -> Path:
    """Return the workspace that a person means: the one named, else the environment's, else the nearest above `start`.

    Raises:
        NoWorkspace: the one named is none, or none is named and none found.
    """
    for named in (explicit, from_environment):
        if named:
            if not (Path(named) / MARKER).is_file():
                raise _no_workspace(Path(named))
            return Path(named)
    start = Path(start)
    here = start.absolute()
    for folder in (here, *here.parents):
        if (folder / MARKER).is_file():
            return folder
    raise _no_workspace(start, " or above it")


def above(path: Path | str) -> Path | None:
    """Return the nearest workspace that `path` lies in, itself not counted; None when there is none."""
    return next((folder for folder in Path(path).absolute().parents if (folder / MARKER).is_file()), None)


def template_dir() -> Path:
    """Return the folder whose content a new workspace gets: beside the package in a checkout, inside it in a wheel."""
    return _template_of(Path(__file__).parents[1])


def _template_of(package: Path) -> Path:
    for folder in (package / "_template", package.parent / "workspace_template"):
        if (folder / MARKER).is_file():
            return folder
    raise ConfigError("the workspace template is missing from this installation", hint="install manusfs again")


def _check_around(path: Path) -> None:
    outer = above(path)
    if outer is not None and (place := path.absolute().relative_to(outer).parts[0]) in _OURS:
        raise ConfigError(
            f"{str(path)!r} lies in {place}/ of the workspace {str(outer)!r}, which fills that folder itself",
            hint=f"make the new one elsewhere, or work in that one: manusfs -w {shlex.quote(str(outer))} ls",
        )


def _no_workspace(path: Path, where: str = "") -> NoWorkspace:
    outer = above(path)
    if outer is not None and path.exists() and not where:
        return NoWorkspace(
            f"{str(path)!r} is no workspace; it lies in the workspace {str(outer)!r}",
            hint=f"manusfs -w {shlex.quote(str(outer))} ls",
        )
    if path.is_file():
        return NoWorkspace(
            f"{str(path)!r} is a file, no workspace", hint="name the workspace's folder: manusfs -w DIR ls"
        )
    folder = "notes" if where else shlex.quote(str(path))
    return NoWorkspace(f"no workspace in {str(path)!r}{where}", hint=f"manusfs init {folder}")


def _check_format(root: Root, path: Path) -> None:
    try:
        found = tomllib.loads(root.read_edited(MARKER, SETTINGS_MAX).decode("utf-8")).get("format")
    except NotFound as error:
        raise _no_workspace(path) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{MARKER} of {str(path)!r} can't be read: {error}", hint="correct the file") from error
    if type(found) is not int or found < 1:
        raise ConfigError(f"{MARKER} of {str(path)!r} names no format", hint=f"it needs the line: format = {FORMAT}")
    if found > FORMAT:
        raise NewerFormat(
            f"{str(path)!r} has format {found}; this manusfs knows formats up to {FORMAT}",
            hint="pip install --upgrade manusfs",
        )


def _make_folder(path: Path) -> None:
    try:
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{str(path)!r} is a file", hint="choose a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        told = storage_error(error, "make the folder", str(path.absolute()))
        raise StorageError(str(told), hint="choose a folder in which you may write") from error


def _sync_name(root: Root) -> None:
    """Make the folder's own name durable, where its parent may be opened at all."""
    try:
        above = os.open(root.path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        root.fs.sync_dir(above)
    finally:
        os.close(above)


def _copy_template(template: Path, root: Root) -> None:
    for source in sorted(template.rglob("*")):
        rel = source.relative_to(template).as_posix()
        if source.is_dir():
            if "__pycache__" not in rel:
                root.make_dirs(rel)
        elif rel != MARKER and source.name not in _KEEP_NAMES and source.suffix != ".pyc" and not root.exists(rel):
            root.write_atomic(rel, source.read_bytes())
    root.write_atomic(MARKER, (template / MARKER).read_bytes())
