"""The tool that writes a note or a report."""

from __future__ import annotations

from typing import Any

from manusfs.errors import ToolError
from manusfs.records import Shown, TextPart, counted, escape, valid_text
from manusfs.tools.env import ToolEnv
from manusfs.tools.places import portable, replaced, writable
from manusfs.tools.schema import tool
from manusfs.workspace.locks import short_lock

__all__ = ["write"]


@tool(writes=True)
def write(env: ToolEnv, path: str, content: str, append: bool = False) -> Shown:
    """Write a text file under notes/ or reports/, for what you want to keep: findings, background, errors.

    Notes outlive the context: what you wrote can be read and searched again at any time, also in later sessions. Keep
    different things in different places: notes/background/, notes/findings/, notes/errors/. Give the ref of each
    source (obs:…@start-end) beside what you took from it. The whole file is replaced unless `append` is true; to
    change a part of a file use `edit`. Sources are stored by themselves: never copy whole pages into notes.

    Args:
        path: Workspace path, for example notes/findings/prices.md. Folders are made as needed.
        content: The text, Markdown by preference.
        append: Add to the end of the file in place of replacing it.
    """
    place, root = writable(env, path), env.workspace.folder.root
    data = valid_text(content).encode("utf-8")
    details: dict[str, Any] = {}
    with short_lock(root):
        old = root.read_edited(place) if root.exists(place) else None
        if old is None:
            portable(place)
        elif why := env.may_change(place):
            raise ToolError(f"can't write {place!r}: {why}", hint="choose a name of your own")
        if append and old:
            data = old + (b"" if old.endswith(b"\n") else b"\n") + data
        else:
            details = replaced(root, place, old, data)
        root.write_atomic(place, data)
    verb = "Wrote" if old is None else "Added to" if append else "Replaced"
    text = (
        f"{verb} {escape.field(place, 400)}: {counted(len(data), 'byte')}, {counted(len(data.splitlines()), 'line')}."
    )
    return Shown((TextPart(text),), (place,), details)
