"""What a tool is given: the workspace, the network, and what only the session knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from manusfs.records import Fetched, Ref, Span
from manusfs.tools.delegation import Delegation
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.memory import Workspace
    from manusfs.skills import Skills

__all__ = ["ToolEnv"]


class ToolEnv(Protocol):
    """The environment of a call; a tool never reaches for more."""

    @property
    def workspace(self) -> Workspace:
        """The workspace of the session."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        ...

    @property
    def session(self) -> str:
        """The id of the session that asks."""
        ...

    @property
    def call(self) -> str:
        """The id of the call that is being made."""
        ...

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the session has."""
        ...

    @property
    def skills(self) -> Skills | None:
        """The skills that there are; None where the session has none."""
        ...

    @property
    def window(self) -> int:
        """Tokens of the model's window."""
        ...

    def window_left(self) -> int:
        """Return the tokens that this call may show: its share of what is left before the window's hard limit."""
        ...

    def fetch(self, url: str) -> Fetched:
        """Return what `url` answers now, guarded as every fetch is."""
        ...

    def search_web(self, query: str, count: int) -> Fetched:
        """Return the hits of the configured web search as JSON bytes."""
        ...

    def standing(self, ref: str, span: Span) -> str:
        """Return the `msg:` ref of the showing of `span` of the view `ref` that is still in the window whole, or ""."""
        ...

    def in_full(self, ref: Ref, *, read: bool = False) -> Sequence[tuple[str, int]]:
        """Return name and tokens of each block of the session that `ref` names and that stands in full in the context.

        With `read`, only those that show its text as `read` does.
        """
        ...

    def status(self) -> Mapping[str, Any]:
        """Return what the context holds and costs, in the order in which it is to be told."""
        ...

    def may_change(self, place: str) -> str:
        """Return why the file `place`, which is there, is not to be changed by this session; "" when it may be."""
        ...

    def delegate(self, order: Delegation) -> Fetched:
        """Return what a sub-agent came to, on its way to become an observation; it runs in a session of its own.

        A call that was made before a crash gets the child that it began: finished, or going on where it stopped.

        Raises:
            ToolError: it may not run, or it ended without an answer; the message says why and where its words are.
        """
        ...
