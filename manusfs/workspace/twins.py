"""Names that changed on the way: other systems write letters with accents otherwise, or without regard to case."""

from __future__ import annotations

import unicodedata

from manusfs.errors import ManusfsError
from manusfs.workspace.paths import Root, check_relative

__all__ = ["twin"]


def twin(root: Root, path: str) -> str | None:
    """Return the path that stands for `path` where it is not there itself, None when there is none or more than one.

    A name counts as the same when it is so composed or decomposed (NFC, NFD), else when it is without regard to case.
    """
    found: list[str] = []
    for part in check_relative(path):
        here = "/".join(found)
        try:
            names = [entry.name for entry in root.listdir(here)]
        except ManusfsError:
            return None
        name = part if part in names else _only(part, names)
        if name is None:
            return None
        found.append(name)
    return "/".join(found)


def _only(part: str, names: list[str]) -> str | None:
    composed = unicodedata.normalize("NFC", part)
    same = [name for name in names if unicodedata.normalize("NFC", name) == composed]
    same = same or [name for name in names if _folded(name) == _folded(part)]
    return same[0] if len(same) == 1 else None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
