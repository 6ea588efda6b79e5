"""Where the model may write, and nowhere else."""

from __future__ import annotations

import re
from typing import Any

from manusfs.errors import PathRefused, ToolError
from manusfs.tools.env import ToolEnv
from manusfs.workspace.lost import keep_bytes
from manusfs.workspace.paths import Root, check_relative

__all__ = ["first_lines", "portable", "replaced", "writable"]

_PLACES = ("notes", "reports")
_ODD = re.compile(r'[<>:"|?*]')
_RESERVED = re.compile(
    r"(con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])\s*(\.|\Z)", re.IGNORECASE
)


def writable(env: ToolEnv, path: str) -> str:
    """Return `path` as a plain workspace path under `notes/`, `reports/` or, where the settings allow it, `skills/`.

    Raises:
        ToolError: it leads elsewhere; the message says where to write.
    """
    places = (*_PLACES, "skills") if env.settings.write_skills else _PLACES
    try:
        parts = check_relative(path)
    except PathRefused as error:
        raise ToolError(f"can't write {path!r}: {error}", hint=_where(places)) from None
    if parts == ("todo.md",):
        raise ToolError("todo.md is not written as a file", hint="use the `todo` tool")
    if len(parts) < 2 or parts[0] not in places:
        raise ToolError(f"can't write {path!r}: that is no place for your files", hint=_where(places))
    if any(part.startswith(".") for part in parts):
        raise ToolError(f"can't write {path!r}: a name with a leading dot is hidden from people", hint=_where(places))
    return "/".join(parts)


def portable(place: str) -> None:
    """Return if a new file may be called `place` on every system that the folder may be copied to.

    Raises:
        ToolError: some system refuses the name, or takes it for another.
    """
    for part in place.split("/"):
        if _ODD.search(part) or _RESERVED.match(part) or part != part.strip(". "):
            raise ToolError(
                f"can't write {place!r}: not every system takes the name {part!r}",
                hint="use letters, digits, - and _, for example notes/findings/topic.md",
            )


def replaced(root: Root, place: str, old: bytes | None, new: bytes) -> dict[str, Any]:
    """Return what a call must record of the content that it writes over: what people wrote must not vanish.

    Text goes into the transcript; what is no UTF-8 is kept in `lost+found/`.
    """
    if not old or old == new:
        return {}
    try:
        return {"replaced": {place: old.decode("utf-8")}}
    except UnicodeDecodeError:
        return {"set_aside": {place: keep_bytes(root, place.rpartition("/")[2], old)}}


def first_lines(text: str, count: int = 3, width: int = 120) -> str:
    """Return the beginning of `text` for an error message."""
    lines = [line[:width] for line in text.splitlines()[:count]]
    return "\n".join(lines) or "(empty)"


def _where(places: tuple[str, ...]) -> str:
    return f"write to a file under {', '.join(f'{place}/' for place in places)}, for example notes/findings/topic.md"
