"""What a transcript's events say as text: the bytes behind a `msg:` ref."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from manusfs.errors import NotFound
from manusfs.records import Event, MsgRef, Part, canonical, part_from_json

__all__ = ["block_text", "event_text", "events_text"]

Render = Callable[[Part], str]


def block_text(event: Event, block: int, ref: MsgRef, render: Render) -> str:
    """Return block `block`, from 0, of `event`: its text, or the canonical JSON of what is no text.

    Raises:
        NotFound: the event has no such block.
    """
    blocks = _blocks(event, render)
    if block >= len(blocks):
        raise NotFound(
            f"{ref} names block {block}, but event {event.seq} has {len(blocks)}",
            hint=f"blocks count from 0; msg:{ref.session}:{event.seq} is the whole event",
        )
    return blocks[block]


def event_text(event: Event, render: Render) -> str:
    """Return all blocks of `event` one below the other: what an event's own ref gives."""
    return "\n".join(_blocks(event, render))


def events_text(events: Sequence[Event], render: Render) -> str:
    """Return a range of events as text for people and models, each with a line that says what it is."""
    return "\n".join(
        f"[{event.seq}] {_caption(event)}\n{event_text(event, render)}".rstrip() + "\n" for event in events
    )


def _blocks(event: Event, render: Render) -> list[str]:
    data = event.data
    if event.kind == "message":
        return [_block(block) for block in data["content"]]
    if event.kind == "observation":
        rendered = render(part_from_json(data["part"]))
        return [rendered] if not data.get("notice") else [data["notice"], rendered]
    if event.kind == "shown":
        return [render(part_from_json(part)) for part in data["parts"]]
    if event.kind == "epoch":
        return [render(part_from_json(part)) for part in data["opening"]]
    if event.kind in ("recite", "changed"):
        return [data["text"]]
    if event.kind == "compaction":
        # `whole="msg:…"` of a collapsed ledger names its place among these.
        return [str(block["text"]) for block in data.get("ledgers", ())] or [canonical(data)]
    return [canonical(data)]


def _block(block: dict[str, Any]) -> str:
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    return canonical(block)


def _caption(event: Event) -> str:
    data = event.data
    if event.kind == "message":
        return f"{data['role']}:"
    if event.kind == "observation":
        return f"{data['status']} observation {data['ref']}:"
    if event.kind == "shown":
        return "error shown:" if data.get("is_error") else "shown:"
    if event.kind == "epoch":
        return f"epoch {data['n']} opens ({data['because']}):"
    return f"{event.kind}:"
