"""The policy that never compacts of its own accord: the baseline for measurements."""

from __future__ import annotations

from dataclasses import dataclass

from manusfs.compact.moves import Move
from manusfs.compact.policy import Budget
from manusfs.context import Window

__all__ = ["NoPolicy"]


@dataclass(frozen=True, slots=True)
class NoPolicy:
    """Lets the window grow to its hard limit; only there the compactor's own tiers keep the run alive."""

    name: str = "none"

    def mark(self, budget: Budget) -> int:
        """Return the hard limit."""
        return budget.limit

    def plan(self, window: Window, budget: Budget) -> list[Move]:
        """Return nothing."""
        return []
