"""The tool that changes a part of a note or a report."""

from __future__ import annotations

from manusfs.errors import ToolError
from manusfs.records import Shown, TextPart, escape, valid_text
from manusfs.tools.env import ToolEnv
from manusfs.tools.places import first_lines, replaced, writable
from manusfs.tools.schema import tool
from manusfs.workspace.locks import short_lock

__all__ = ["edit"]


@tool(writes=True)
def edit(env: ToolEnv, path: str, old: str, new: str) -> Shown:
    """Replace one passage of a file under notes/ or reports/.

    `old` must stand in the file exactly once, character for character, blanks and line ends included; take enough
    of the surrounding text to make it unique. Read the file first when you are not sure how it reads now.

    Args:
        path: Workspace path of an existing file, for example notes/findings/prices.md.
        old: The passage as it stands now.
        new: What stands there afterwards; an empty text removes the passage.
    """
    place, root = writable(env, path), env.workspace.folder.root
    if not old:
        raise ToolError("`old` is empty", hint="to add to a file use write(path, content, append=true)")
    with short_lock(root):
        if not root.exists(place):
            hint = "make it with write(path, content), or see what there is: list(what='notes')"
            raise ToolError(f"there is no file {place!r}", hint=hint)
        if why := env.may_change(place):
            raise ToolError(f"can't edit {place!r}: {why}", hint="write what you have to add to a file of your own")
        data = root.read_edited(place)
        text = data.decode("utf-8", "replace")
        found = text.count(old)
        if found == 0:
            hint = f"read the file; it begins:\n{first_lines(text)}"
            raise ToolError(f"`old` does not stand in {place} as it is written", hint=hint)
        if found > 1:
            lines = ", ".join(str(line) for line in _lines(text, old)[:10])
            hint = "take more text round the right one into `old`"
            raise ToolError(f"`old` stands {found} times in {place}, lines {lines}", hint=hint)
        fresh = valid_text(text.replace(old, new)).encode("utf-8")
        details = replaced(root, place, data, fresh)
        root.write_atomic(place, fresh)
    line = text[: text.index(old)].count("\n") + 1
    return Shown((TextPart(f"Edited {escape.field(place, 400)} at line {line}."),), (place,), details)


def _lines(text: str, old: str) -> list[int]:
    lines, at = [], text.find(old)
    while at >= 0:
        lines.append(text.count("\n", 0, at) + 1)
        at = text.find(old, at + len(old))
    return lines
