"""How commands are named in what is said: as this person must type them, from where they are."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

__all__ = ["program", "typed", "work_in"]

_COMMAND = re.compile(r"(^|[`\n]|: |\| )manusfs (-w\b|--help\b|[a-z]+\b)")
_PLACELESS = frozenset({"init", "demo", "completion", "doctor"})
_WORKSPACE = {"": ""}
"""The folder that commands must be given with `-w`, under the empty name; empty when they find it by themselves."""


def work_in(folder: str) -> None:
    """Let commands that are named from now on say `-w folder`; empty: they find the workspace by themselves."""
    _WORKSPACE[""] = folder


def typed(text: str) -> str:
    """Return `text` with each command in it as it can be typed here: the program's path, and the workspace.

    Hints are written as `manusfs resume` all over the package, which knows neither.
    """
    return _COMMAND.sub(_replaced, text)


def program() -> str:
    """Return how the program is called: by its name if that finds it, else by its path."""
    called = Path(sys.argv[0] if sys.argv else "")
    if called.name == "__main__.py" and called.parent.name == "manusfs":
        return "python -m manusfs"
    if called.name != "manusfs":
        return "manusfs"
    import shutil

    found = shutil.which("manusfs")
    try:
        if found is None or not called.samefile(found):
            near = os.path.relpath(called)
            return shlex.quote(str(called.absolute()) if near.startswith("..") else near)
    except (OSError, ValueError):
        pass
    return "manusfs"


def _replaced(match: re.Match[str]) -> str:
    before, command = match[1], match[2]
    folder = _WORKSPACE[""]
    place = f"-w {shlex.quote(folder)} " if folder and command[0] != "-" and command not in _PLACELESS else ""
    return f"{before}{program()} {place}{command}"
