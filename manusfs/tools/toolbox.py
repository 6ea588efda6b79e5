"""Which tools a session offers, in a fixed order, and how a call by name reaches one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from manusfs.errors import ToolError
from manusfs.messages import Block
from manusfs.records import Fetched, Shown
from manusfs.registry import Entry, Registry
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import Tool
from manusfs.workspace.settings import Settings

__all__ = ["TOOLS", "ToolBox"]

TOOLS = Registry(
    "tools",
    tuple(
        Entry(name, f"manusfs.tools.{module}:{function}")
        for name, module, function in (
            ("web_fetch", "web_fetch", "web_fetch"),
            ("web_search", "web_search", "web_search"),
            ("read", "read", "read"),
            ("search", "search", "search"),
            ("grep", "grep", "grep"),
            ("list", "listing", "list_"),
            ("write", "write", "write"),
            ("edit", "edit", "edit"),
            ("todo", "todo", "todo"),
            ("context_status", "context_status", "context_status"),
            ("task", "task", "task"),
            ("skill", "skill", "skill"),
            ("shell", "shell", "shell"),
        )
    ),
)


class ToolBox:
    """The tools of one session. Their order and wording are part of the cached prefix and never change in it."""

    def __init__(
        self, names: Sequence[str] | None = None, settings: Settings | None = None, *, skilled: bool = False
    ) -> None:
        """Take the tools called `names`, in the registry's order; None for all that `settings` make usable.

        `skilled` says that there are skills to load: without any, no tool speaks of them.
        """
        settings = settings or Settings()
        wanted = _usable(settings, skilled) if names is None else tuple(names)
        ordered = [name for name in TOOLS.names() if name in wanted]
        ordered += [name for name in wanted if name not in ordered]
        self._tools: dict[str, Tool] = {name: TOOLS.load(name) for name in ordered}

    def only(self, names: Iterable[str]) -> ToolBox:
        """Return a box with those of these tools that are called `names`, in the same order, and no other."""
        made = ToolBox(())
        made._tools = {name: tool for name, tool in self._tools.items() if name in set(names)}
        return made

    def told(self, words: Mapping[str, str]) -> ToolBox:
        """Return a box whose tools are described with what `words` adds for them."""
        made = ToolBox(())
        made._tools = {
            name: replace(tool, description=f"{tool.description}\n\n{words[name]}") if words.get(name) else tool
            for name, tool in self._tools.items()
        }
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in their order."""
        return tuple(self._tools)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The tools as they stand in a request."""
        return tuple(tool.block for tool in self._tools.values())

    def writes(self, name: str) -> bool:
        """Return True if the tool changes files; False for an unknown name."""
        return name in self._tools and self._tools[name].writes

    def again(self, name: str) -> bool:
        """Return True if a call that was left open may be made once more: it finds what it began."""
        return name in self._tools and self._tools[name].again

    def call(self, name: str, arguments: object, env: ToolEnv) -> Fetched | Shown:
        """Return what the tool `name` makes of `arguments`.

        Raises:
            ToolError: no such tool, wrong arguments, or the tool says so.
            ManusfsError: what the tool met on its way.
        """
        if name not in self._tools:
            near = difflib.get_close_matches(name, self._tools, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ToolError(f"there is no tool {name!r}.{hint} The tools are: {', '.join(self._tools)}")
        if not isinstance(arguments, Mapping):
            raise ToolError(f"the arguments of {name} must be one JSON object")
        given: dict[str, Any] = dict(arguments)
        tool = self._tools[name]
        return tool.run(env, **tool.arguments(given))


def _usable(settings: Settings, skilled: bool) -> tuple[str, ...]:
    """Return the tools that can work (OC-29): what can't is not offered."""
    searches = settings.search_provider not in ("", "none")
    of_use = {"web_search": searches, "skill": skilled, "task": settings.task_depth > 0, "shell": settings.shell}
    return tuple(name for name in TOOLS.names() if of_use.get(name, True))
