"""Kept turns as real calls and results, without their thinking: for models that take them so.

Where a model's profile does not say `pairs_without_thinking`, kept turns stand as fenced text (`carried.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from manusfs.context.items import Exchange, Item, sent
from manusfs.context.turns import PER_TOOL, Piece, Turn
from manusfs.messages.sendable import given, said
from manusfs.records import Event, ImagePart

if TYPE_CHECKING:
    from manusfs.context.window import Window

__all__ = ["Lines", "pair_tokens", "pair_turns", "turns_again"]

Lines = tuple[int, int]
"""First and last transcript line of a turn."""

_THINKING = ("thinking", "redacted_thinking")
_ELSEWHERE = ("user", "thinking", "recite", "date", "instructions", "todo")
"""What a pair does not show: the opening has the user's words and the plan, thinking is bound to its epoch."""
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
    items = [item for first, last in pairs for item in window.between(f"{first}-{last}") if _stands(item)]
    return sum(item.tokens + (PER_TOOL if item.kind == "result" and not item.block else 0) for item in items)


def turns_again(events: Mapping[int, Event], pairs: Iterable[Lines], ids: set[str]) -> Iterator[Turn]:
    """Yield the turns of `pairs` from the transcript's `events`; `ids` gains those of their calls."""
    for first, last in pairs:
        known = said(events[first].data["content"], ids, str(first))
        content = tuple(block for block in known.content if block["type"] not in _THINKING)
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        ids.update(calls)
        turn = Turn(first, content, {call: [] for call in calls}, names=known.names)
        for seq in range(first + 1, last + 1):
            if seq in events:
                _answered(turn, events[seq])
        yield turn


def _answered(turn: Turn, event: Event) -> None:
    data = event.data
    if event.kind in ("observation", "shown"):
        notice = data.get("notice") or ""
        piece = Piece(event.seq, ({"type": "text", "text": notice},) if notice else (), sent(data))
        _add(turn, data.get("call") or "", piece, failed=bool(data.get("is_error")))
    elif event.kind == "message":
        for place, (id, blocks, failed) in enumerate(given(data["content"]).results, 1):
            _add(turn, id, Piece(event.seq, blocks=blocks, place=place), failed=failed)
    elif event.kind == "changed" and not data.get("ask_first"):
        turn.extras.append(Piece(event.seq, blocks=({"type": "text", "text": data["text"]},)))


def _add(turn: Turn, call: str, piece: Piece, *, failed: bool) -> None:
    if (id := turn.call(call)) in turn.results:
        turn.results[id].append(piece)
        if failed:
            turn.failed.add(id)


def _is_whole(window: Window, exchange: Exchange) -> bool:
    shown = [item for item in exchange.items if _stands(item)]
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


def _stands(item: Item) -> bool:
    return item.kind not in _ELSEWHERE
