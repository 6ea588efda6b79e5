"""What the agent's tools are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from manusfs.agent.running import Running
from manusfs.errors import ToolError
from manusfs.records import Fetched, Span
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.memory import Workspace

__all__ = ["Environment"]


class Environment:
    """A `tools.ToolEnv` over a running session. The calls of a turn read it side by side; none changes it."""

    def __init__(self, run: Running, room: int) -> None:
        """Take the session, and the tokens that each call may show."""
        self._run = run
        self._room = room

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
    def window(self) -> int:
        """Tokens of the model's window."""
        return self._run.profile.window

    def window_left(self) -> int:
        """Return the tokens that this call may show: its share of what is left of the window."""
        return self._room

    def fetch(self, url: str) -> Fetched:
        """Return what `url` answers now."""
        fetched: Fetched = self._run.fetch(url)
        return fetched

    def search_web(self, query: str, count: int) -> Fetched:
        """Return the hits of the configured web search."""
        if self._run.search_web is None:
            raise ToolError("no web search is configured", retry=False)
        return self._run.search_web(query, count)

    def standing(self, ref: str, span: Span) -> str:
        """Return the `msg:` ref of the showing of `span` that still stands in the window, or ""."""
        return self._run.standing.where(ref, span)

    def status(self) -> Mapping[str, Any]:
        """Return what the context holds and costs."""
        run = self._run
        status: dict[str, Any] = {
            "tokens in the context": f"{run.window.tokens:,} of {run.profile.window:,}",
            "tokens left before the reply's reserve": f"{max(0, run.window_left()):,}",
            "tokens saved by stubs": f"{run.saved_tokens:,}",
            "observations made in this run": run.observations,
        }
        return {**status, **{f"left of {name}": left for name, left in run.limits.left().items()}}
