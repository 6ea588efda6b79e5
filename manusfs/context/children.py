"""The register of a session's sub-agents: which were begun, how each stands, and what it came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from manusfs.records import escape

__all__ = ["Child", "Children"]

_OPEN = ("started", "resumed", "stopped")
_LINES = 40
"""Most children that are named one by one; the others are counted."""
_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Child:
    """One sub-agent as its parent's transcript tells of it."""

    session: str
    call: str = ""
    """The call of the parent that asked for it."""
    state: str = "started"
    """ "started", "resumed", "stopped" (it goes on when the parent does), "finished" or "failed"."""
    mode: str = "isolated"
    agent: str = ""
    title: str = ""
    stop: str = ""
    """Why it ended, as its own `end` event says."""
    turns: int = 0
    ref: str = ""
    """The observation that holds its result, once the parent has it."""

    @property
    def is_open(self) -> bool:
        """True if it has neither finished nor failed: a resume goes on with it."""
        return self.state in _OPEN

    @property
    def line(self) -> str:
        """What the model and people read of it, on one escaped line."""
        state = "open" if self.is_open else self.state
        words = [self.session, state if self.state != "failed" or not self.stop else f"failed ({self.stop})"]
        if self.agent:
            words.append(f"agent {escape.field(self.agent, 60)}")
        if self.mode == "fork":
            words.append("fork")
        words.append(f'"{escape.field(self.title, _TITLE_CHARS)}"')
        return " ".join([*words, self.ref] if self.ref else words)


@dataclass(slots=True)
class Children:
    """All of one session, by their names, in the order in which they were begun."""

    known: dict[str, Child] = field(default_factory=dict)
    _calls: dict[str, str] = field(default_factory=dict)

    def see(self, data: Mapping[str, Any]) -> None:
        """Take in a `child` event; one of another version, that says less, is taken as far as it goes."""
        session = str(data.get("session") or "")
        if not session or "copied" in data:
            return  # a fork's copy of its parent's register: those are no children of its own
        child = self.known.get(session) or Child(session)
        told = {name: str(data[name]) for name in ("call", "state", "mode", "agent", "title", "stop") if data.get(name)}
        turns = data.get("turns")
        self.known[session] = replace(child, **told, turns=turns if isinstance(turns, int) else child.turns)
        if told.get("call"):
            self._calls[told["call"]] = session

    def delivered(self, call: str, ref: str) -> None:
        """Take in that the call `call` brought the observation `ref`."""
        child = self.by_call(call)
        if child is not None:
            self.known[child.session] = replace(child, ref=ref)

    def by_call(self, call: str) -> Child | None:
        """Return the child that `call` asked for, None when it asked for none."""
        return self.known.get(self._calls.get(call, ""))

    @property
    def open(self) -> list[Child]:
        """Those that a resume goes on with."""
        return [child for child in self.known.values() if child.is_open]

    @property
    def counts(self) -> str:
        """How many there are, in words; "" for none."""
        if not self.known:
            return ""
        states = ["open" if child.is_open else child.state for child in self.known.values()]
        parts = [f"{states.count(state)} {state}" for state in ("finished", "failed", "open") if state in states]
        return f"{len(states)}: {', '.join(parts)}"

    def text(self) -> str:
        """Return the register as the model sees it: those that are open first, then the newest; "" for none."""
        if not self.known:
            return ""
        ordered = sorted(self.known.values(), key=lambda child: not child.is_open)
        done = [child for child in ordered if not child.is_open]
        shown = [*self.open, *done[::-1]][:_LINES]
        lines = [child.line for child in sorted(shown, key=_number)]
        if len(shown) < len(ordered):
            lines.append(f"… and {len(ordered) - len(shown)} more: list(what='sessions', within='{_family(shown)}.')")
        total = f'total="{len(ordered)}" open="{len(self.open)}"'
        return "\n".join([f'<listing of="sub-agents" {total}>', *lines, "</listing>"])

    def copy(self) -> Children:
        """Return a copy whose growth this one does not see."""
        return Children(dict(self.known), dict(self._calls))


def _number(child: Child) -> int:
    tail = child.session.rpartition(".")[2]
    return int(tail) if tail.isdecimal() else 0


def _family(children: Iterable[Child]) -> str:
    return next((escape.field(child.session.rpartition(".")[0], 60) for child in children), "")
