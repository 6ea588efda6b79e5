"""Turns as they stood, read back from the transcript: what real pairs of a new epoch are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from manusfs.context.items import Item, sent
from manusfs.context.turns import PER_TOOL, Piece, Turn
from manusfs.messages.sendable import given, said
from manusfs.records import Event

__all__ = ["Lines", "stands", "tokens_again", "turns_again"]

Lines = tuple[int, int]
"""First and last transcript line of a turn."""

_THINKING = ("thinking", "redacted_thinking")
_ELSEWHERE = ("user", "thinking", "recite", "date", "instructions", "todo")
"""What a pair does not show: the opening has the user's words and the plan, thinking is bound to its epoch."""


def stands(item: Item) -> bool:
    """Return True for what a turn that is sent again still shows."""
    return item.kind not in _ELSEWHERE


def tokens_again(items: Iterable[Item]) -> int:
    """Return the uncalibrated tokens of the turns that `items` are of, as they are sent again."""
    shown = [item for item in items if stands(item)]
    return sum(item.tokens + (PER_TOOL if item.kind == "result" and not item.block else 0) for item in shown)


def turns_again(events: Mapping[int, Event], pairs: Iterable[Lines], ids: set[str]) -> Iterator[Turn]:
    """Yield the turns of `pairs` from the transcript's `events`; `ids` gains those of their calls.

    A turn whose own line is lost, as damage may leave it, can't be sent again.
    """
    for first, last in pairs:
        if first not in events:
            continue
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
