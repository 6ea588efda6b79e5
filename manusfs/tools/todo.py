"""The tool that keeps the plan."""

from __future__ import annotations

import re

from manusfs.errors import ToolError
from manusfs.records import Shown, TextPart, escape, valid_text
from manusfs.tools.env import ToolEnv
from manusfs.tools.places import replaced
from manusfs.tools.schema import tool

__all__ = ["TODO", "todo"]

TODO = "todo.md"
"""Workspace path of the plan."""


@tool(writes=True)
def todo(env: ToolEnv, items: list[str] | None = None, text: str | None = None) -> Shown:
    """Write the plan (todo.md): what is done and what is next. It is shown to you again as the work goes on.

    Make it at the start of any task of more than two steps, and write it anew whenever a step is done or the plan
    changes. Give the whole plan each time. An item that begins with "[x]" is done; any other is open.

    Args:
        items: One text a step, for example ["[x] fetch the two pages", "compare the figures", "answer"].
        text: The whole plan as Markdown, in place of `items`.
    """
    if (items is None) == (text is None):
        raise ToolError("todo takes `items` or `text`, one of the two", hint="give the whole plan as `items`")
    plan = valid_text(text) if text is not None else _checkboxes(items or [])
    data = plan.encode("utf-8")
    root = env.workspace.folder.root
    data = data if data.endswith(b"\n") else data + b"\n"
    details = replaced(root, TODO, root.read_edited(TODO) if root.exists(TODO) else None, data)
    root.write_atomic(TODO, data)
    return Shown((TextPart(f"<todo>\n{escape.body(plan).strip()}\n</todo>"),), (TODO,), details)


def _checkboxes(items: list[str]) -> str:
    lines = ["# To do", ""]
    for item in items:
        words = " ".join(valid_text(item).split())
        match = re.match(r"(?:[-*] )?\[([ xX]?)\]\s*(.*)", words)
        done, words = (match[1] in ("x", "X"), match[2]) if match else (False, words.removeprefix("- "))
        if words:
            lines.append(f"- [{'x' if done else ' '}] {words}")
    return "\n".join(lines) + "\n"
