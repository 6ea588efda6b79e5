"""The limits of a run: what has been used, what comes near, what ends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from manusfs.messages import Usage
from manusfs.workspace.settings import Settings

__all__ = ["Limits", "Reached"]

_WARN_AT = 0.8
_STOPS = {"max_total_tokens": "max_tokens_total"}
_FLAGS = {
    "max_turns": "--max-turns",
    "max_total_tokens": "--max-tokens-total",
    "max_seconds": "--max-seconds",
    "max_usd": "--budget",
}
# The stop reason "max_tokens" is the API's own, for one reply.
_OF_A_CHILD = {
    "max_turns": "task_turns",
    "max_total_tokens": "task_tokens",
    "max_seconds": "task_seconds",
    "max_usd": "task_usd",
}


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit that ended the run: its name as the stop reason, and what to tell people."""

    stop: str
    message: str
    above: bool = False
    """True when it is the limit of a parent: what ended goes on when that one does."""


@dataclass(slots=True)
class Limits:
    """What one call of `run` or `resume` has used. A resumed session starts at zero again.

    What a child uses counts for its parent too; children run in threads of their own.
    """

    settings: Settings
    clock: Callable[[], float] = time.monotonic
    above: Limits | None = None
    """The limits of the parent, for a child."""
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    _started: float = 0.0
    _warned: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._started = self.clock()

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Count one reply."""
        self.turns += 1
        self.spend(usage, cost_usd)

    def spend(self, usage: Usage, cost_usd: float | None) -> None:
        """Count tokens and money that are no turn of the run, as those of a summary."""
        with self._lock:
            self.usage = self.usage + usage
            if cost_usd is not None:
                self.cost_usd = (self.cost_usd or 0.0) + cost_usd
        if self.above is not None:
            self.above.spend(usage, cost_usd)

    def of_child(self) -> Limits:
        """Return the limits of a child: its own, and what is left of these."""
        s = self.settings
        own = replace(
            s,
            max_turns=s.task_turns,
            max_total_tokens=s.task_tokens,
            max_seconds=s.task_seconds,
            max_usd=s.task_usd,
        )
        return Limits(own, self.clock, self)

    def reached(self) -> Reached | None:
        """Return the first limit that is used up, None while there is room. The replies of a parent are its own."""
        for name, used, most, unit in self._table():
            if most and used >= most:
                return Reached(_STOPS.get(name, name), self._message(name, f"{_number(most)} {unit}"))
        limits = self.above
        while limits is not None:
            for name, used, most, unit in limits._table()[1:]:
                if most and used >= most:
                    told = f"the session that it belongs to reached its limit of {_number(most)} {unit}"
                    return Reached(_STOPS.get(name, name), told, above=True)
            limits = limits.above
        return None

    def _message(self, name: str, most: str) -> str:
        if self.above is not None:
            return f"it reached its limit of {most} (setting {_OF_A_CHILD[name]})"
        return (
            f"stopped at the limit of {most} (`{_FLAGS[name]}`, setting {name}); "
            "nothing is lost. `manusfs resume` goes on, with as much again"
        )

    def warnings(self) -> tuple[str, ...]:
        """Return a line for each limit of which more than 80 % is used, once each."""
        lines = []
        for name, used, most, unit in self._table():
            if most and used >= _WARN_AT * most and name not in self._warned:
                self._warned.add(name)
                lines.append(f"{_number(used)} of {_number(most)} {unit} are used ({name})")
        return tuple(lines)

    def left(self) -> dict[str, str]:
        """Return what is left of each limit that is set, for the model's own view."""
        return {name: f"{_number(max(0, most - used))} {unit}" for name, used, most, unit in self._table() if most}

    def _table(self) -> tuple[tuple[str, float, float, str], ...]:
        s, tokens = self.settings, self.usage.window + self.usage.output_tokens
        return (
            ("max_turns", self.turns, s.max_turns, "replies"),
            ("max_total_tokens", tokens, s.max_total_tokens, "tokens"),
            ("max_seconds", self.clock() - self._started, s.max_seconds, "seconds"),
            ("max_usd", self.cost_usd or 0.0, s.max_usd, "US dollars"),
        )


def _number(value: float) -> str:
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if value >= 10 else f"{value:.4g}"
