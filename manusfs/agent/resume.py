"""What must be said before a session goes on: calls that a crash left open, and where it stood."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from manusfs.agent.running import notice
from manusfs.context import fold
from manusfs.messages.sendable import as_blocks, id_text
from manusfs.records import Event, TextPart, part_to_json

__all__ = [
    "INTERRUPTED",
    "answer_so_far",
    "before_hand",
    "call_ids",
    "closing",
    "go_on",
    "last_epoch",
    "saved_tokens",
    "stands",
]

INTERRUPTED = (
    "Error: interrupted, not known whether it ran.\n"
    "Try: look at what is there (list, read, search) before you repeat the call."
)
_FINAL = ("end_turn", "stop_sequence")


def last_epoch(events: Sequence[Event]) -> Event | None:
    """Return the epoch that the session stands in, None when it never began."""
    return next((event for event in reversed(events) if event.kind == "epoch"), None)


def call_ids(events: Sequence[Event]) -> set[str]:
    """Return the ids of all calls that the session made."""
    said = (as_blocks(event.data["content"]) for event in events if event.kind == "message")
    return {id_text(block["id"]) for blocks in said for block in blocks if "id" in block}


def closing(events: Sequence[Event], but: Collection[str] = ()) -> list[Event]:
    """Return an honest result for each call that has none, but those that are made again.

    Nothing that may have had an effect is run again.
    """
    epoch = last_epoch(events)
    parts = [part_to_json(TextPart(INTERRUPTED))]
    return [
        Event("shown", {"call": call, "parts": parts, "is_error": True, "wrote": [], "reads": []})
        for call in fold(event for event in events if epoch is None or event.seq >= epoch.seq).open_calls
        if call not in but
    ]


def stands(events: Sequence[Event]) -> Event | None:
    """Return the newest event that the model sees or said, None before the first epoch."""
    kinds = ("epoch", "message", "observation", "shown", "recite", "changed")
    return next((event for event in reversed(events) if event.kind in kinds), None)


def answer_so_far(events: Sequence[Event]) -> tuple[str, bool]:
    """Return the words since the last call or user message, and whether they are the model's whole answer."""
    pieces: list[str] = []
    final = False
    for event in reversed(before_hand(events)):
        if event.kind == "message" and event.data["role"] == "assistant" and not _calls(event):
            if not pieces:
                final = event.data.get("stop_reason") in _FINAL
            pieces += [block["text"] for block in reversed(as_blocks(event.data["content"])) if _is_worded(block)]
        elif event.kind in ("message", "observation", "shown", "epoch", "recite") or (
            event.kind == "changed" and not pieces
        ):
            break
    return "\n\n".join(reversed(pieces)), final and bool(pieces)


def before_hand(events: Sequence[Event]) -> Sequence[Event]:
    """Return `events` without the compactions, undos and ends behind all that was said: they say nothing."""
    last = len(events)
    while last and _is_by_hand(events[last - 1]):
        last -= 1
    return events[:last]


def go_on(events: Sequence[Event]) -> list[Event]:
    """Return a word to go on where the model spoke last: a request must not end with its own turn."""
    last = stands(events)
    if last is None or last.kind != "message" or last.data["role"] != "assistant":
        return []
    if _calls(last) or last.data.get("stop_reason") == "pause_turn":
        return []
    return [notice("The session was resumed. Go on from where it stopped.")]


def saved_tokens(events: Sequence[Event]) -> int:
    """Return what the stubs of the session had saved when it last counted."""
    return next((int(e.data.get("stubbed_tokens", 0)) for e in reversed(events) if e.kind == "usage"), 0)


def _is_by_hand(event: Event) -> bool:
    if event.kind == "epoch":
        return event.data.get("because") in ("compaction", "undo")
    return event.kind in ("compaction", "undo", "end") or (
        event.kind == "usage" and event.data.get("purpose") == "summary"
    )


def _calls(event: Event) -> list[dict[str, Any]]:
    if event.kind != "message" or event.data.get("role") != "assistant":
        return []
    return [block for block in as_blocks(event.data["content"]) if block.get("type") == "tool_use"]


def _is_worded(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)
