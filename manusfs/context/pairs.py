"""Kept turns as real calls and results, without their thinking: for models that take them so.

Where a model's profile does not say `pairs_without_thinking`, kept turns stand as fenced text (`carried.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from manusfs.context.again import Lines, stands, tokens_again, turns_again
from manusfs.context.items import Exchange
from manusfs.context.window import Window
from manusfs.records import ImagePart

__all__ = ["pair_tokens", "pair_turns"]

_LARGE_INPUT = 400
"""Tokens: a larger input, a file just written, is cut where the turn is carried as text."""


def pair_turns(window: Window) -> list[Exchange]:
    """Return the newest turns, without a gap, of which all stands in full and every call has its result."""
    found: list[Exchange] = []
    for exchange in reversed(list(window.exchanges())):
        if not _is_whole(window, exchange):
            break
        found.append(exchange)
    return found[::-1]


def pair_tokens(window: Window, pairs: Iterable[Lines]) -> int:
    """Return the uncalibrated tokens of `pairs` as they are sent."""
    return tokens_again(item for first, last in pairs for item in window.between(f"{first}-{last}"))


def _is_whole(window: Window, exchange: Exchange) -> bool:
    shown = [item for item in exchange.items if stands(item)]
    if not exchange.turn or any(item.form != "full" or item.kind in ("other", "source") for item in shown):
        return False
    if any(item.kind == "call" and item.tokens > _LARGE_INPUT for item in shown):
        return False
    content = window.events[exchange.first]
    if content.kind != "message" or not any(item.kind == "call" for item in shown):
        return False
    (turn,) = turns_again(window.events, [(exchange.first, exchange.last)], set())
    pieces = [piece for results in turn.results.values() for piece in results]
    return not turn.open_calls and not any(isinstance(part, ImagePart) for piece in pieces for part in piece.parts)
