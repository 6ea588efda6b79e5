"""The history without what went wrong: a run of replies counts only if all of them are sound (GC-3, GC-4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from manusfs.context import Exchange, Window

__all__ = ["curated", "is_sound"]

_MODEL = ("text", "thinking", "call", "other")


def curated(window: Window, exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Return `exchanges` without the runs of replies in which one is broken; what users said is never left out.

    A run is what the model said until someone answered: a reply with results ends its run.
    """
    kept: list[Exchange] = []
    for run in _runs(exchanges):
        sound = all(is_sound(window, exchange) for exchange in run)
        for exchange in run:
            items = exchange.items if sound else tuple(i for i in exchange.items if i.kind not in _MODEL)
            if items:
                kept.append(Exchange(exchange.turn, items))
    return kept


def is_sound(window: Window, exchange: Exchange) -> bool:
    """Return False for a reply without content, or with a part that is empty: broken streams and empty answers."""
    replies = {item.seq for item in exchange.items if item.kind in _MODEL}
    if exchange.turn and not replies:
        return False
    for seq in replies:
        for block in window.events[seq].data["content"]:
            if not block.get("type") or (block["type"] == "text" and not str(block.get("text") or "").strip()):
                return False
    return True


def _runs(exchanges: Sequence[Exchange]) -> Iterator[list[Exchange]]:
    run: list[Exchange] = []
    for exchange in exchanges:
        run.append(exchange)
        if any(item.kind not in _MODEL for item in exchange.items):
            yield run
            run = []
    if run:
        yield run
