"""The limits of a run: what has been used, what comes near, what ends it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit that ended the run: its name as the stop reason, and what to tell people."""

    stop: str
    message: str


@dataclass(slots=True)
class Limits:
    """What one call of `run` or `resume` has used. A resumed session starts at zero again."""

    settings: Settings
    clock: Callable[[], float] = time.monotonic
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    _started: float = 0.0
    _warned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._started = self.clock()

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Count one reply."""
        self.turns += 1
        self.spend(usage, cost_usd)

    def spend(self, usage: Usage, cost_usd: float | None) -> None:
        """Count tokens and money that are no turn of the run, as those of a summary."""
        self.usage = self.usage + usage
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd

    def reached(self) -> Reached | None:
        """Return the first limit that is used up, None while there is room."""
        for name, used, most, unit in self._table():
            if most and used >= most:
                return Reached(
                    _STOPS.get(name, name),
                    f"stopped at the limit of {_number(most)} {unit} (`{_FLAGS[name]}`, setting {name}); "
                    "nothing is lost. `manusfs resume` goes on, with as much again",
                )
        return None

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
