"""What the model may ask of the next compaction: which blocks a ref names, what is asked for, what came of it."""

from __future__ import annotations

from typing import Any

from manusfs.agent.running import Running
from manusfs.compact import PINNED_SHARE
from manusfs.context import Item, Key, Window, observed_in, sent
from manusfs.records import MsgRef, ObsRef, Ref, ViewPart, counted

__all__ = ["in_full", "kept_before", "not_kept", "status"]

_READ = ("read", "whole")
_MOST_NAMED = 8


def in_full(window: Window, ref: Ref, *, read: bool = False) -> list[tuple[str, int]]:
    """Return name and tokens of each block that `ref` names and that stands in full; with `read` only its read text."""
    if isinstance(ref, MsgRef):
        if ref.session != window.session:
            return []
        items = window.between(_blocks(ref))
    elif isinstance(ref, ObsRef):
        results = [item for item in window.items if item.kind in ("result", "source")]
        items = [item for item in results if ref.id in observed_in(window, item)]
    else:
        return []
    ratio = window.meter.calibration.ratio
    found = [item for item in items if item.form == "full" and not item.fixed and item.kind != "thinking"]
    return [(f"{i.seq}.{i.block}", round(i.tokens * ratio)) for i in found if not read or _is_read(window, i)]


def status(run: Running) -> dict[str, Any]:
    """Return when the next compaction is due, and what is asked of it."""
    window, budget = run.window, run.budget
    mark = min(run.policy.mark(budget), budget.limit)
    early = ", or earlier when it pays" if hasattr(run.policy, "pays") else ""
    told: dict[str, Any] = {"next compaction": f"at {mark:,} tokens{early}"}
    wished = window.wished()
    for wish, words in (("fold", "to be folded then"), ("keep", "to be kept in full over it")):
        keys = [key for key, what in wished.items() if what == wish]
        if keys:
            told[words] = f"{counted(len(keys), 'block')}, about {_tokens(window, keys):,} tokens"
    return told | {"tokens that may be kept": f"{int(budget.limit * PINNED_SHARE):,}"} if wished else told


def kept_before(run: Running) -> list[Key]:
    """Return what the model asked to keep, before a compaction."""
    return [key for key, wish in run.window.wished().items() if wish == "keep"]


def not_kept(window: Window, keys: list[Key]) -> str:
    """Return what to tell the model of `keys` that a compaction had to fold, "" when all stand in full."""
    lost = [key for key in keys if (item := window.item(*key)) is not None and item.form != "full"]
    if not lost:
        return ""
    refs = ", ".join(str(MsgRef(window.session, *key)) for key in lost[-_MOST_NAMED:])
    more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
    what = f"{counted(len(lost), 'block')} did not fit and {'is' if len(lost) == 1 else 'are'} folded"
    return (
        f"the context was compacted. Of what you asked to keep in full, {what}: {refs}{more}. "
        "Read them by these refs when you need them."
    )


def _blocks(ref: MsgRef) -> str:
    if ref.last_seq:
        return f"{ref.seq}-{ref.last_seq}"
    return str(ref.seq) if ref.block is None else f"{ref.seq}.{ref.block}"


def _is_read(window: Window, item: Item) -> bool:
    parts = sent(window.events[item.seq].data)
    part = parts[item.block] if item.block < len(parts) else None
    return isinstance(part, ViewPart) and part.form in _READ


def _tokens(window: Window, keys: list[Key]) -> int:
    tokens = sum(item.tokens for key in keys if (item := window.item(*key)) is not None)
    return round(tokens * window.meter.calibration.ratio)
