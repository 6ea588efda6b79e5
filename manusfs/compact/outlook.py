"""What a compaction comes to: what goes, in which form, what it frees, and after how many requests it has paid."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manusfs.compact.policy import Budget
from manusfs.context import Filling, Window, estimate_setup, filling, observed_in
from manusfs.records import Event

__all__ = ["Outlook", "outlook"]

_CACHE_S = 300.0
"""Seconds after which a prefix that was not used is no longer cached."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The window before and after. Costs are in units of one uncached input token."""

    before: Filling
    after: Filling
    blocks: Mapping[str, int]
    """How many blocks change to which form: stub, ledger, collapsed, summary; full for what comes back."""
    refs: int
    """Observations among them: each comes back by its ref."""
    write_tokens: int
    """What the next request has to write to the cache: all of the epoch but system and tools."""
    price: float
    """What the next request costs more than without it; below 0 it costs less."""
    saved_each: float
    """What each later request costs less."""

    caches: bool = True
    """False where the provider caches nothing: each request is paid in full."""

    @property
    def freed(self) -> int:
        """Tokens that leave the window."""
        return self.before.tokens - self.after.tokens

    @property
    def pays_after(self) -> int | None:
        """Requests after which it has paid, counting the first; None for never."""
        if self.saved_each <= 0:
            return None
        return 1 + max(0, math.ceil(self.price / self.saved_each))

    def to_json(self) -> dict[str, Any]:
        """Return the outlook as the command line prints it."""
        return {
            "before_tokens": self.before.tokens,
            "after_tokens": self.after.tokens,
            "freed_tokens": self.freed,
            "before": dict(self.before.by_kind()),
            "after": dict(self.after.by_kind()),
            "blocks": dict(self.blocks),
            "refs": self.refs,
            "write_tokens": self.write_tokens,
            "price": round(self.price, 1),
            "saved_each": round(self.saved_each, 1),
            "pays_after": self.pays_after,
        }


def outlook(window: Window, events: Sequence[Event], budget: Budget) -> Outlook:
    """Return what `events`, a compaction or an undo with its epoch, make of `window`, which does not change.

    Going on reads what was sent from the cache, while that lives; a new epoch reads system and tools, which stay the
    same, and writes the rest.
    """
    trial = window.fork()
    for event in events:
        trial.apply(event)
    changed = [now for then, now in zip(window.items, trial.items, strict=True) if then.form != now.form]
    head = min(window.tokens, round(estimate_setup(window.setup) * window.meter.calibration.ratio))
    write_tokens = max(0, trial.tokens - head)
    cold = budget.idle_s >= _CACHE_S
    going_on = (window.tokens - head) * (budget.price_write if cold else budget.price_read)
    return Outlook(
        before=filling(window),
        after=filling(trial),
        blocks=Counter(item.form for item in changed),
        refs=len({id for item in changed if item.kind in ("result", "source") for id in observed_in(window, item)}),
        write_tokens=write_tokens,
        caches=budget.price_read < budget.price_write,
        price=write_tokens * budget.price_write - going_on,
        saved_each=(window.tokens - trial.tokens) * budget.price_read,
    )
