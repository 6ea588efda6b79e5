"""The default policy: fold the oldest half to stubs that bring it back, keep the newest results in full."""

from __future__ import annotations

from dataclasses import dataclass

from manusfs.compact.moves import Fold, Move, Summarise, span
from manusfs.compact.policy import Budget
from manusfs.context import Window
from manusfs.workspace.settings import Settings

__all__ = ["Manus"]


@dataclass(frozen=True, slots=True)
class Manus:
    """Reversible folding first; a summary only where that frees too little (MA-1, MA-2, MA-6)."""

    name: str = "manus"
    share: float = 0.5
    """Of the model's window at which to compact."""
    most: int = 128_000
    """Tokens at which to compact however large the window is."""

    @classmethod
    def of(cls, settings: Settings) -> Manus:
        """Return the policy with the figures of `settings`."""
        return cls(share=settings.manus_share, most=settings.manus_tokens)

    def mark(self, budget: Budget) -> int:
        """Return the lesser of `share` of the window and `most`, below the hard limit in any case."""
        return min(int(budget.window * self.share), self.most, budget.limit * 4 // 5)

    def plan(self, window: Window, budget: Budget) -> list[Move]:
        """Return one fold of the oldest turns that together hold half of what is there in full, then their summary."""
        turns = [
            (exchange.first, exchange.last, sum(item.tokens for item in exchange.items if item.form == "full"))
            for exchange in window.exchanges()
            if exchange.turn or any(item.kind == "source" for item in exchange.items)
        ]
        left = sum(tokens for _, _, tokens in turns) / 2
        oldest: list[tuple[int, int]] = []
        for first, last, tokens in turns[:-1]:
            if tokens and left > 0:
                oldest.append((first, last))
                left -= tokens
        if not oldest:
            return []
        return [Fold((span(oldest[0][0], oldest[-1][1]),)), Summarise((span(1, oldest[-1][1]),), self.name)]
