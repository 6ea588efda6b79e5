"""Which observation lies where, by the names of folders alone."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator

from manusfs.errors import BadRef, NotFound, PathRefused
from manusfs.workspace import Root

__all__ = ["Names", "id_of", "walk"]

_NAME = re.compile(r"-([0-9a-f]{12,64})\Z")
_DEPTHS = {"file": 1, "tool": 2, "user": 1, "web": 2}
_SHOWN = 8


def id_of(name: str) -> str | None:
    """Return the id at the end of a folder's name, None when there is none."""
    match = _NAME.search(name)
    return match[1] if match else None


def walk(root: Root) -> Iterator[tuple[str, str]]:
    """Yield id and workspace path of every observation, sorted by path; nothing is opened but folders."""
    for kind, depth in _DEPTHS.items():
        yield from _below(root, f"observations/{kind}", depth)


def _below(root: Root, rel: str, depth: int) -> Iterator[tuple[str, str]]:
    for name in _folder_names(root, rel):
        if depth > 1:
            yield from _below(root, f"{rel}/{name}", depth - 1)
        elif (id := id_of(name)) is not None:
            yield id, f"{rel}/{name}"


def _folder_names(root: Root, rel: str) -> list[str]:
    try:
        fd = root.open_dir(rel)
    except (NotFound, PathRefused):
        return []
    try:
        with os.scandir(fd) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    finally:
        os.close(fd)


class Names:
    """Where each id lies: what this process knows, else what the index says, else a walk over the names."""

    def __init__(self, root: Root, locate: Callable[[str], str | None] | None) -> None:
        self._root = root
        self._locate = locate
        self._lock = threading.Lock()
        self._paths: dict[str, str] = {}
        self._walked = False

    def find(self, id: str) -> str | None:
        """Return the path of `id`, None when no folder has that name now."""
        path = self.likely(id)
        if path is not None and self._root.is_dir(path):
            self._paths[id] = path
            return path
        return self._walk().get(id)

    def likely(self, id: str) -> str | None:
        """Return where `id` lay when somebody last looked, None when nobody knows."""
        path = self._paths.get(id)
        if path is None and self._locate is not None:
            path = self._locate(id)
        return path if path is not None and id_of(path) == id else None

    def held(self, id: str) -> str | None:
        """Return the path of `id` for one who wants to take that id: a miss costs one walk a process, not one each."""
        paths = self._paths if self._walked else self._walk()
        path = paths.get(id)
        return path if path is not None and self._root.is_dir(path) else None

    def _walk(self) -> dict[str, str]:
        with self._lock:
            paths: dict[str, str] = {}
            for id, path in walk(self._root):
                paths.setdefault(id, path)
            self._paths, self._walked = paths, True
            return paths

    def put(self, id: str, path: str) -> None:
        """Remember that `id` lies at `path`."""
        self._paths[id] = path

    def forget(self) -> None:
        """Trust nothing of what is known; the next question looks at the folders again."""
        self._walked = False
        self._paths = {}

    def complete(self, prefix: str) -> str:
        """Return the one id that begins with `prefix`.

        Raises:
            NotFound: there is none.
            BadRef: there are several; the message names some.
        """
        if _NAME.search(f"-{prefix}") and self.find(prefix) is not None:
            return prefix
        found = sorted(id for id in self._walk() if id.startswith(prefix)) if prefix else []
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFound(f"no observation {prefix!r}", hint="`manusfs ls observations` lists them")
        more = "" if len(found) <= _SHOWN else f" and {len(found) - _SHOWN} more"
        raise BadRef(f"{prefix!r} begins several ids: {', '.join(found[:_SHOWN])}{more}", hint="give more digits")
