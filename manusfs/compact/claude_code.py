"""The policy after Claude Code: late, one summary in eight or nine parts, the last messages and reads kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from manusfs.compact.moves import Move, Summarise, names
from manusfs.compact.policy import Birth, Budget
from manusfs.context import Exchange, Item, Key, Window, sent
from manusfs.records import ViewPart
from manusfs.workspace.settings import Settings

__all__ = ["ClaudeCode"]


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    """Compacts at 92 % of the window, or 13,000 tokens below it (CC-1, CC-19); see MECHANISMS in the docs."""

    name: str = "claude-code"
    share: float = 0.92
    reserve: int = 13_000
    """Tokens below the window; the lesser of the two counts."""
    messages: int = 5
    """Newest messages that stay word for word (CC-5)."""
    reads: int = 5
    """Newest reads of the old part that stay in the window (CC-22)."""
    read_tokens: int = 20_000
    """Most tokens of these together."""
    next_step: bool = True
    """Whether the summary may have a ninth part (CC-20)."""
    result_chars: int = 50_000
    preview_chars: int = 2_000
    message_chars: int = 200_000

    @classmethod
    def of(cls, settings: Settings) -> ClaudeCode:
        """Return the policy with the figures of `settings`."""
        return cls(
            share=settings.claude_code_share,
            reserve=settings.claude_code_reserve,
            messages=settings.claude_code_messages,
            reads=settings.claude_code_reads,
            read_tokens=settings.claude_code_read_tokens,
            next_step=settings.claude_code_next_step,
            result_chars=settings.claude_code_result_chars,
            preview_chars=settings.claude_code_preview_chars,
            message_chars=settings.claude_code_message_chars,
        )

    def mark(self, budget: Budget) -> int:
        """Return the lesser of `share` of the window and the window less `reserve`, the hard limit at most."""
        return min(int(budget.window * self.share), max(budget.window - self.reserve, budget.window // 2), budget.limit)

    def birth(self, budget: Budget) -> Birth:
        """Return how large a new result may stand (CC-17, CC-18)."""
        return Birth(self.result_chars, self.preview_chars, self.message_chars)

    def plan(self, window: Window, budget: Budget) -> list[Move]:
        """Return one summary of all but the last messages and the newest reads."""
        turns = list(window.exchanges())
        old = turns[: len(turns) - self._kept(turns)]
        attached = self._attached(window, old)
        items = [item for turn in old for item in turn.items if not item.fixed and item.key not in attached]
        if not any(item.form != "summary" for item in items):
            return []
        return [Summarise(names(items), self.name, () if self.next_step else ("Next Step",))]

    def _kept(self, turns: Sequence[Exchange]) -> int:
        """Return how many of the newest turns hold the last messages; a turn is never parted."""
        count = kept = 0
        for turn in reversed(turns):
            if count >= self.messages or not turn.turn:
                break
            count += 1 + any(item.kind in ("result", "user") for item in turn.items)
            kept += 1
        return kept

    def _attached(self, window: Window, turns: Sequence[Exchange]) -> set[Key]:
        found: dict[str, Item] = {}
        room = self.read_tokens
        for item in reversed([item for turn in turns for item in turn.items]):
            if len(found) >= self.reads:
                break
            if item.kind != "result" or item.form != "full" or item.tokens > room:
                continue
            part = sent(window.events[item.seq].data)[item.block]
            if isinstance(part, ViewPart) and part.form == "read" and (name := f"{part.ref}@{part.spans}") not in found:
                found[name] = item
                room -= item.tokens
        return {item.key for item in found.values()}
