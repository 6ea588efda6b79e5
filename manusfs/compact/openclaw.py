"""The policy after OpenClaw: notes first, the oldest chunk summarised in passes, pruning while the cache is cold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from manusfs.compact.moves import AskFirst, Fold, Move, Summarise, names
from manusfs.compact.policy import Birth, Budget
from manusfs.context import Exchange, Item, Window
from manusfs.workspace.settings import Settings

__all__ = ["OpenClaw"]

ASK = (
    "(manusfs: the older part of this context will be summarised next. If something in it is not in your notes yet and "
    "will be needed, write it to notes/ now, with its refs, and bring the plan up to date. Make only these calls. If "
    "there is nothing to write down, answer with the one word: none.)"
)
_CHARS_PER_TOKEN = 2.5
_SMALL = 40
_TRIMMED = 900
"""Tokens of the head and the tail that a trim leaves."""
_TAIL_SHARE = 0.3
_TAIL_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class OpenClaw:
    """Keeps the history to half of the window (OC-5): the oldest of equal chunks is dropped after a summary (OC-6)."""

    name: str = "openclaw"
    share: float = 0.5
    parts: int = 2
    """Chunks of equal tokens; also the passes over what is dropped (OC-7)."""
    asks: bool = True
    """Whether the model gets a turn for notes first (OC-10)."""
    idle_s: float = 300.0
    """After so long without a request the provider's cache is gone, and pruning costs nothing (OC-11)."""
    trim_share: float = 0.3
    """Of the window: above it, idle, the results of older turns keep head and tail, small ones their ref."""
    clear_share: float = 0.5
    """Of the window: where that leaves more than this, they become a ledger."""
    keep_turns: int = 3
    """Newest turns that pruning leaves alone."""
    result_chars: int = 16_000
    result_share: float = 0.3

    @classmethod
    def of(cls, settings: Settings) -> OpenClaw:
        """Return the policy with the figures of `settings`."""
        return cls(
            share=settings.openclaw_share,
            parts=max(1, settings.openclaw_parts),
            asks=settings.openclaw_ask_first,
            idle_s=settings.openclaw_idle_s,
            trim_share=settings.openclaw_trim_share,
            clear_share=settings.openclaw_clear_share,
            keep_turns=settings.openclaw_keep_turns,
            result_chars=settings.openclaw_result_chars,
            result_share=settings.openclaw_result_share,
        )

    def mark(self, budget: Budget) -> int:
        """Return `share` of the window, `trim_share` once the cache is cold; the hard limit at most."""
        share = min(self.share, self.trim_share) if self._is_cold(budget) else self.share
        return min(int(budget.window * share), budget.limit)

    def birth(self, budget: Budget) -> Birth:
        """Return how large a new result may stand: head, and a tail that matters (OC-3)."""
        chars = min(self.result_chars, int(self.result_share * budget.window * _CHARS_PER_TOKEN))
        return Birth(chars, chars, tail_chars=min(_TAIL_CHARS, int(chars * _TAIL_SHARE)))

    def plan(self, window: Window, budget: Budget) -> list[Move]:
        """Return the pruning of old results while the cache is cold and that is enough; else notes, then a summary."""
        if self._is_cold(budget) and (moves := self._pruned(window, budget)):
            return moves
        turns = [turn for turn in window.exchanges() if any(not item.fixed for item in turn.items)]
        old = self._dropped(turns, int(budget.window * self.share))
        items = [item for turn in old for item in turn.items if not item.fixed]
        if not any(item.form != "summary" for item in items):
            return []
        summary = Summarise(names(items), self.name, passes=self.parts)
        return [AskFirst(ASK), summary] if self.asks else [summary]

    def _is_cold(self, budget: Budget) -> bool:
        return bool(self.idle_s) and budget.idle_s >= self.idle_s

    def _pruned(self, window: Window, budget: Budget) -> list[Move]:
        """Return the soft trim of old results and, where that is too little, the hard clear; none when all is done."""
        turns = [turn for turn in window.exchanges() if turn.turn]
        old = turns[: max(0, len(turns) - self.keep_turns)]
        results = [item for turn in old for item in turn.items if item.kind == "result"]
        full = [item for item in results if item.form == "full" and item.tokens > _SMALL]
        left = window.tokens - sum(item.tokens - (_TRIMMED if item.tokens > _TRIMMED else _SMALL) for item in full)
        moves: list[Move] = [Fold(names(full), "trim")] if full else []
        if left > budget.window * self.clear_share:
            loose = [item for item in results if item.form in ("full", "trim", "stub")]
            moves += [Fold(names(loose), "ledger")] if loose else []
            left -= sum(_TRIMMED - _SMALL for item in full if item.tokens > _TRIMMED)
        return moves if left < min(self.share * budget.window, budget.limit) else []

    def _dropped(self, turns: Sequence[Exchange], most: int) -> list[Exchange]:
        """Return the oldest chunks, as many as must go so that the rest takes at most `most` tokens, one at least."""
        sizes = [sum(map(_size, turn.items)) for turn in turns]
        total = sum(sizes)
        if len(turns) < 2:
            return []
        dropped, place = 0, 0
        for part in range(1, self.parts + 1):
            while place < len(turns) - 1 and dropped < total * part / self.parts:
                dropped += sizes[place]
                place += 1
            if total - dropped <= most:
                break
        return list(turns[:place])


def _size(item: Item) -> int:
    if item.group is not None:
        return 0
    return item.tokens if item.form == "full" else min(item.tokens, _SMALL)
