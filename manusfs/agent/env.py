"""What the agent's tools are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from manusfs.agent import wishes
from manusfs.agent.running import Running
from manusfs.errors import ToolError
from manusfs.records import Fetched, Ref, Span
from manusfs.tools import Delegation
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.memory import Workspace
    from manusfs.skills import Skills

__all__ = ["Environment"]

_MOST_CHILDREN = 20


class Environment:
    """A `tools.ToolEnv` over a running session. The calls of a turn read it side by side; none changes it."""

    def __init__(self, run: Running, room: int, call: str = "") -> None:
        """Take the session, the tokens that each call may show, and the id of the call."""
        self._run = run
        self._room = room
        self._call = call

    def of(self, call: str) -> Environment:
        """Return the environment of one call."""
        return Environment(self._run, self._room, call)

    @property
    def workspace(self) -> Workspace:
        """The workspace of the session."""
        return self._run.workspace

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._run.settings

    @property
    def session(self) -> str:
        """The id of the session that asks."""
        return self._run.session

    @property
    def call(self) -> str:
        """The id of the call that is being made."""
        return self._call

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the session has."""
        return self._run.tools.names

    @property
    def skills(self) -> Skills | None:
        """The skills that the session has."""
        return self._run.skills

    @property
    def window(self) -> int:
        """Tokens of the model's window."""
        return self._run.profile.window

    def window_left(self) -> int:
        """Return the tokens that this call may show: its share of what is left of the window."""
        return self._room

    def fetch(self, url: str) -> Fetched:
        """Return what `url` answers now."""
        return self._run.tree.fetch(url, self._run.fetch)

    def search_web(self, query: str, count: int) -> Fetched:
        """Return the hits of the configured web search."""
        if self._run.search_web is None:
            raise ToolError("no web search is configured", retry=False)
        return self._run.search_web(query, count)

    def standing(self, ref: str, span: Span) -> str:
        """Return the `msg:` ref of the showing of `span` that still stands in the window, or ""."""
        return self._run.standing.where(ref, span)

    def in_full(self, ref: Ref, *, read: bool = False) -> Sequence[tuple[str, int]]:
        """Return name and tokens of each block that `ref` names and that stands in full in the context."""
        return wishes.in_full(self._run.window, ref, read=read)

    def delegate(self, order: Delegation) -> Fetched:
        """Return what a sub-agent came to."""
        if self._run.delegate is None:
            raise ToolError("there are no sub-agents here", retry=False, hint="do it yourself")
        return self._run.delegate(self._run, order, self._call)

    def may_change(self, place: str) -> str:
        """Return why the file `place`, which is there, is not to be changed; "" when it may be."""
        if not self._run.depth or place in self._run.written:
            return ""
        return "it was not written by you, and sub-agents change no file of others"

    def status(self) -> Mapping[str, Any]:
        """Return what the context holds and costs."""
        run = self._run
        status: dict[str, Any] = {
            "tokens in the context": f"{run.window.tokens:,} of {run.profile.window:,}",
            "tokens left before the reply's reserve": f"{max(0, run.window_left()):,}",
            "tokens saved by stubs": f"{run.saved_tokens:,}",
            "observations made in this run": run.observations,
        }
        status |= wishes.status(run)
        status |= {f"left of {name}": left for name, left in run.limits.left().items()}
        children = run.window.children
        if children.known:
            status["sub-agents"] = children.counts
            shown = sorted(children.known.values(), key=lambda child: not child.is_open)[:_MOST_CHILDREN]
            status |= {child.session: child.line.partition(" ")[2] for child in shown}
        return status
