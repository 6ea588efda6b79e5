"""One open session while it runs: its transcript, its window, and what is counted on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from manusfs.agent.events import AgentEvent, AgentEventKind, OnEvent
from manusfs.agent.interrupt import Stop
from manusfs.agent.limits import Limits
from manusfs.agent.recite import Recital
from manusfs.agent.standing import Standing
from manusfs.agent.tree import Tree
from manusfs.agent.web import WebSearch
from manusfs.compact import Budget, Policy, load_policy
from manusfs.context import Assembler, Window
from manusfs.messages import Model, Profile
from manusfs.records import Event, Fetched
from manusfs.session import Transcript, next_child
from manusfs.tools import Delegation, ToolBox
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.memory import Workspace
    from manusfs.skills import Skills

__all__ = ["Postponed", "Running", "Stopped", "last_asked", "notice", "now", "reply_tokens"]

_MARGIN = 0.05
"""Share of the window that is kept free for the error of the token estimate."""


def notice(text: str) -> Event:
    """Return the event by which manusfs itself tells the model something."""
    return Event("changed", {"text": f"(manusfs: {text})", "paths": []})


def now() -> datetime:
    """Return the time, UTC."""
    return datetime.now(UTC)


def last_asked(events: Sequence[Event]) -> datetime | None:
    """Return when the model of a session answered last, None if it never did or nobody wrote down when."""
    for event in reversed(events):
        if event.kind == "message" and event.data.get("role") == "assistant":
            try:
                return datetime.fromisoformat(event.time)
            except ValueError:
                return None
    return None


def reply_tokens(settings: Settings, profile: Profile, window: int) -> int:
    """Return the most tokens of one reply: never more than a quarter of the window."""
    return max(1, min(settings.max_tokens, profile.max_output, window // 4))


class Stopped(Exception):
    """Ends a request half-way because the user asked for a stop; nothing of it is kept."""


class Postponed(Exception):
    """Leaves a call open: its sub-agent was stopped with the run, and goes on when that is resumed."""


@dataclass(slots=True)
class Running:
    """The state that loop and dispatch share. Only the loop's own thread touches it.

    While that waits for the calls of a turn, those of sub-agents write in it by `record`, one at a time.
    """

    workspace: Workspace
    transcript: Transcript
    model: Model
    tools: ToolBox
    settings: Settings
    limits: Limits
    recital: Recital
    stop: Stop
    on_event: OnEvent | None
    trusted: bool
    credential: str
    window: Window
    assembler: Assembler
    standing: Standing
    fetch: Callable[[str], Any]
    search_web: WebSearch | None
    call_ids: set[str] = field(default_factory=set)
    notices: list[str] = field(default_factory=list)
    """What the model is to be told after the results of its calls."""
    saved_tokens: int = 0
    """Tokens that the stubs of this session stand for beyond their own."""
    window_cap: int = 0
    """Tokens at which the provider refused a request as too long, when that was below what is known of its window."""
    warned_epoch: int = 0
    """The epoch for which the user was warned that its window fills."""
    summary_model: Model | None = None
    """Who writes summaries; None for nobody."""
    asking: bool = False
    """True while the next reply is the turn for notes before a compaction."""
    asked_at: datetime | None = None
    """When the model answered last."""
    tool_calls: int = 0
    observations: int = 0
    tree: Tree = field(default_factory=Tree)
    """What is shared with the sub-agents."""
    depth: int = 0
    """How far below the run itself: 0 for the run, 1 for its sub-agents."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Tools that are offered and refused at the call, and why: a fork has the list of its parent."""
    written: set[str] = field(default_factory=set)
    """Files that a sub-agent made or changed: others it must not touch."""
    numbers: dict[str, int] = field(default_factory=dict)
    """The numbers that the sub-agents of this turn's calls get, by call: they follow the order of the calls."""
    delegate: Callable[[Running, Delegation, str], Fetched] | None = None
    """Runs a sub-agent for a call."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held while the transcript is written."""
    skills: Skills | None = None
    """The skills that there are; None for a session that has none."""

    @property
    def session(self) -> str:
        """The session's id."""
        return self.transcript.session

    @property
    def profile(self) -> Profile:
        """What is known of the model, with the window that the settings give or the provider showed."""
        known = self.model.profile
        window = self.settings.window or known.window
        return replace(known, window=min(window, self.window_cap) if self.window_cap else window)

    @property
    def max_tokens(self) -> int:
        """Most tokens of one reply: never more than a quarter of the window."""
        return reply_tokens(self.settings, self.profile, self.profile.window)

    @property
    def hard_limit(self) -> int:
        """Tokens that a request may have: the window less the reply's reserve and the estimate's error."""
        return self.profile.window - self.max_tokens - int(self.profile.window * _MARGIN)

    @property
    def today(self) -> str:
        """The date, UTC. It stands in an epoch's opening and in reports, never in what is cached before them."""
        return now().date().isoformat()

    @property
    def budget(self) -> Budget:
        """The tokens that a request may take, and how long the provider's cache has been idle."""
        idle_s = 0.0 if self.asked_at is None else max(0.0, (now() - self.asked_at).total_seconds())
        return Budget.of(self.profile, self.max_tokens, idle_s)

    @property
    def policy(self) -> Policy:
        """The compaction policy, with the figures of the settings."""
        return load_policy(self.settings.policy, self.settings)

    def window_left(self) -> int:
        """Return the tokens that are left before the hard limit; below 0 when it is passed."""
        return self.hard_limit - self.window.tokens

    def next_number(self) -> int:
        """Return the least number that no sub-agent of the session has or is to have."""
        known = [int(name.rpartition(".")[2]) for name in self.window.children.known]
        taken = max([0, *known, *self.numbers.values()])
        return max(next_child(self.workspace.folder, self.session), taken + 1)

    def record(self, events: Sequence[Event]) -> tuple[Event, ...]:
        """Append `events` in one synced write, and let the window follow."""
        with self.lock:
            written = self.transcript.append(events)
            for event in written:
                self.window.apply(event)
                self.standing.apply(event)
        return written

    def tell(self, kind: AgentEventKind, text: str = "", **data: Any) -> None:
        """Tell the caller."""
        if self.on_event is not None:
            self.on_event(AgentEvent(kind, text, data))
