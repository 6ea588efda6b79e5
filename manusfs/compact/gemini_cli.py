"""The policy after Gemini CLI: early; a snapshot of the old part, the last 30 % kept from a user turn on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from manusfs.compact.curated import curated
from manusfs.compact.moves import Fold, Move, Summarise, names
from manusfs.compact.policy import Budget
from manusfs.context import Exchange, Item, Window
from manusfs.workspace.settings import Settings

__all__ = ["GeminiCli"]

_SMALL = 40
"""Tokens of a folded block."""


@dataclass(frozen=True, slots=True)
class GeminiCli:
    """Compacts at 70 % of the window (GC-1) and keeps the newest 30 % of the history (GC-2)."""

    name: str = "gemini-cli"
    share: float = 0.7
    keep: float = 0.3

    @classmethod
    def of(cls, settings: Settings) -> GeminiCli:
        """Return the policy with the figures of `settings`."""
        return cls(share=settings.gemini_cli_share, keep=settings.gemini_cli_keep)

    def mark(self, budget: Budget) -> int:
        """Return `share` of the window, the hard limit at most."""
        return min(int(budget.window * self.share), budget.limit)

    def plan(self, window: Window, budget: Budget) -> list[Move]:
        """Return a summary of what lies before the cut, and folds of broken replies behind it; nothing for no history.

        The cut lies where the newest `keep` of the history begins, and is moved forward to where a user speaks (GC-7).
        Where none speaks behind it, it stays between two turns: a call is never parted from its result.
        """
        turns = [turn for turn in window.exchanges() if any(not item.fixed for item in turn.items)]
        cut = self._cut(window, turns)
        items = [item for turn in turns for item in turn.items if not item.fixed]
        old = [item for item in items if item.seq < cut]
        if not any(item.form != "summary" for item in old):
            return []
        moves: list[Move] = [Summarise(names(old), self.name)]
        tail = [turn for turn in turns if turn.first >= cut]
        sound = {item.key for turn in curated(window, tail) for item in turn.items}
        broken = [item for turn in tail for item in turn.items if not item.fixed and item.key not in sound]
        return [*moves, Fold(names(broken))] if broken else moves

    def _cut(self, window: Window, turns: Sequence[Exchange]) -> int:
        """Return the first transcript line that is kept."""
        sizes = [sum(_size(item) for item in turn.items) for turn in turns]
        wanted, used, place = sum(sizes) * (1 - self.keep), 0, 0
        while place < len(turns) - 1 and used + sizes[place] <= wanted:
            used += sizes[place]
            place += 1
        if not turns:
            return 0
        border = turns[place].first
        spoken = [item.seq for item in window.user_items if item.seq >= border and item.turn]
        return spoken[0] if spoken else border


def _size(item: Item) -> int:
    if item.group is not None:
        return 0
    return item.tokens if item.form == "full" else min(item.tokens, _SMALL)
