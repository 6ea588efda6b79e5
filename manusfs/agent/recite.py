"""The to-do, repeated at the end of the context so that it is never far away."""

from __future__ import annotations

from manusfs.agent.manifest import manifest
from manusfs.errors import ManusfsError
from manusfs.records import escape
from manusfs.tools.todo import TODO
from manusfs.workspace.paths import Root

__all__ = ["Recital", "todo_text"]

_MOST_CHARS = 4_000


def todo_text(root: Root, *, trusted: bool) -> str:
    """Return the plan as the model sees it, "" when there is none. A stranger's plan is data."""
    try:
        plan = root.read_edited(TODO).decode("utf-8", "replace").strip() if root.exists(TODO) else ""
    except ManusfsError as error:
        return f"({TODO} is not shown: {escape.field(str(error), 300)})"
    if not any(line.strip() and not line.startswith("#") for line in plan.splitlines()):
        return ""
    if len(plan) > _MOST_CHARS:
        rest = len(plan.encode("utf-8")) - len(plan[:_MOST_CHARS].encode("utf-8"))
        plan = f'{plan[:_MOST_CHARS]}\n…[{rest} more bytes: read(ref="{TODO}")]'
    tag = "todo" if trusted else 'fenced of="todo.md"'
    return f"<{tag}>\n{escape.body(plan)}\n</{tag.split()[0]}>"


class Recital:
    """Decides when the to-do is said again: when people changed it, or after `growth` tokens since it stood there."""

    def __init__(self, root: Root, growth: int, *, trusted: bool, silent: bool = False) -> None:
        """`silent` is for sub-agents: the plan is not theirs."""
        self._root = root
        self._silent = silent
        self._growth = growth
        self._trusted = trusted
        self._hash = self._now()
        self._at = 0

    def stood(self, window_tokens: int) -> None:
        """Note that the plan, as it is now, stands at the end of a window of `window_tokens`."""
        self._hash = self._now()
        self._at = window_tokens

    def due(self, window_tokens: int) -> str:
        """Return the text to recite now, "" when it is not due or there is no plan."""
        if self._silent:
            return ""
        grown = self._growth and window_tokens - self._at >= self._growth
        if not grown and self._hash == self._now():
            return ""
        self.stood(window_tokens)
        return todo_text(self._root, trusted=self._trusted)

    def _now(self) -> str:
        return manifest(self._root, [TODO]).get(TODO, "")
