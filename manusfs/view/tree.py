"""A session with all that it delegated: which sub-agents there are, how each stands, and what the whole came to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from manusfs.context import Child, Children
from manusfs.errors import ManusfsError
from manusfs.records import Event
from manusfs.session import Transcript
from manusfs.session.names import numbers
from manusfs.view.steps import totals
from manusfs.workspace import Folder

__all__ = ["Branch", "tree"]

_DONE = ("end_turn", "stop_sequence", "")
_SUMS = (
    "replies",
    "calls",
    "observations",
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cost_usd",
)


@dataclass(frozen=True, slots=True)
class Branch:
    """One session of a tree."""

    session: str
    depth: int
    state: str
    """ "finished", "failed", "stopped" or "open": as its own transcript and its parent's tell it."""
    stop: str
    title: str
    agent: str
    mode: str
    ref: str
    """The observation that holds its result, for a sub-agent that handed one over."""
    totals: dict[str, Any]
    """What it came to by itself."""
    children: tuple[Branch, ...] = ()

    def walk(self) -> Iterator[Branch]:
        """Yield this session and all below it, each before those that it began."""
        yield self
        for child in self.children:
            yield from child.walk()

    def sums(self) -> dict[str, Any]:
        """Return what the whole tree came to."""
        branches = list(self.walk())
        sums = {name: sum(branch.totals.get(name, 0) for branch in branches) for name in _SUMS}
        return {"sessions": len(branches), **sums, "cost_usd": round(sums["cost_usd"], 6)}

    def to_json(self) -> dict[str, Any]:
        """Return the object that `show --tree --json` prints for this session."""
        names = ("session", "depth", "state", "stop", "title", "agent", "mode", "ref")
        told = {name: getattr(self, name) for name in names}
        return {**told, **{name: self.totals.get(name, 0) for name in _SUMS}}


def tree(folder: Folder, session: str, events: Sequence[Event]) -> Branch:
    """Return the tree below `session`, whose transcript holds `events`; what can't be read counts as nothing."""
    return _branch(folder, Child(session, title=_title(events)), events, 0)


def _branch(folder: Folder, child: Child, events: Sequence[Event], depth: int) -> Branch:
    register = Children()
    for event in events:
        if event.kind == "child":
            register.see(event.data)
        elif event.kind == "observation" and event.data.get("call"):
            register.delivered(str(event.data["call"]), str(event.data.get("ref") or ""))
    known = sorted(register.known.values(), key=lambda one: numbers(one.session))
    below = tuple(_branch(folder, one, _events(folder, one.session), depth + 1) for one in known)
    state, stop = _state(child, events, depth)
    own = totals(events)
    return Branch(
        child.session, depth, state, stop, child.title, child.agent, child.mode if depth else "", child.ref, own, below
    )


def _state(child: Child, events: Sequence[Event], depth: int) -> tuple[str, str]:
    end = events[-1] if events and events[-1].kind == "end" else None
    stop = str(end.data.get("stop", "")) if end is not None else ""
    if depth and not child.is_open:
        return child.state, child.stop or stop
    if end is None:
        return "open", ""
    return ("finished" if stop in _DONE else "stopped"), stop


def _events(folder: Folder, session: str) -> Sequence[Event]:
    try:
        with Transcript.open(folder, session) as transcript:
            return transcript.events
    except ManusfsError:
        return ()


def _title(events: Sequence[Event]) -> str:
    return str(next((event.data.get("title") or "" for event in events if event.kind == "session"), ""))
