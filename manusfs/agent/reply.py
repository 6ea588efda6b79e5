"""From a reply to the assistant event: exactly what came, less what can never be sent back."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manusfs.messages import Block, Reply
from manusfs.messages.cited import worded
from manusfs.messages.sendable import ended, id_text, said
from manusfs.records import Event

__all__ = ["Call", "Kept", "keep", "usage_data"]

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_CUT = ("max_tokens", "model_context_window_exceeded")


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a reply."""

    id: str
    name: str
    arguments: object


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a reply goes on: its event, its calls, its text."""

    event: Event
    calls: tuple[Call, ...]
    text: str
    ids: frozenset[str]
    """Of all calls in it, those of server tools too: none may be used again."""


def keep(reply: Reply, used: Collection[str], seq: int, waiting: Collection[str] = ()) -> Kept:
    """Return what the transcript and the next request take of `reply`, whose event will be number `seq`.

    Blocks stand exactly as received. What could not be sent back is told apart under `dropped`: a call that the
    reply's limit cut off, all of a refusal, a server tool's result without its call, thinking without its signature.
    An id that the API would refuse (empty, used before, odd characters) gets one of ours, and `received_ids` says what
    it was; a name or arguments that it would refuse are replaced too, and `received` holds the call as it came, as JSON
    text. `waiting` are server calls of a paused turn, whose results this reply may bring.
    """
    blocks, dropped = _sendable(reply)
    known = said(blocks, used, str(seq), waiting=waiting)
    pairs = known.blocks
    dropped += known.left_out
    if reply.stop_reason != "pause_turn":
        # Only a paused turn goes on with the results of its server calls.
        over = {id(block) for block in ended(known.content)}
        pairs = tuple((sent, was) for sent, was in pairs if id(sent) in over)
        dropped += [was for sent, was in known.blocks if id(sent) not in over]
    data = {
        "role": "assistant",
        "content": [sent for sent, _ in pairs],
        "stop_reason": reply.stop_reason,
        "id": reply.id,
        "model": reply.model,
        **_as_received(pairs, dropped),
    }
    if reply.stop_details:
        data["stop_details"] = dict(reply.stop_details)
    text = worded([sent for sent, _ in pairs], str(seq))
    ids = frozenset(sent["id"] for sent, _ in pairs if sent.get("type") in _CALLS)
    calls = tuple(_asked(sent, was) for sent, was in pairs if _is_call(sent))
    return Kept(Event("message", data), calls, text, ids)


def usage_data(reply: Reply, model: str, cost_usd: float | None) -> dict[str, Any]:
    """Return the usage event's data for `reply`; `model` is who was asked, for servers that do not say."""
    return {
        "model": reply.model or model,
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "cache_creation_input_tokens": reply.usage.cache_creation_input_tokens,
        "cache_read_input_tokens": reply.usage.cache_read_input_tokens,
        "cost_usd": cost_usd,
    }


def _sendable(reply: Reply) -> tuple[list[Block], list[Block]]:
    blocks = list(reply.content)
    if reply.stop_reason == "refusal":
        return [], blocks
    dropped: list[Block] = []
    if reply.stop_reason in _CUT and blocks and _is_call(blocks[-1]):
        # The limit fell into this call or right behind it; nothing tells which, and half a call must not run.
        dropped.append(blocks.pop())
    if reply.stop_reason == "model_context_window_exceeded" and not any(map(_is_call, blocks)):
        return [], blocks + dropped
    return blocks, dropped


def _as_received(pairs: Sequence[tuple[Block, Block]], dropped: Sequence[Block]) -> dict[str, Any]:
    """Return what the event says of blocks that do not stand in it as they came."""
    calls = [(sent, was) for sent, was in pairs if _is_call(sent)]
    told = {
        "dropped": [_storable(block) for block in dropped],
        "received_ids": {sent["id"]: id_text(was.get("id")) for sent, was in calls if sent["id"] != was.get("id")},
        "received": {sent["id"]: _json(was) for sent, was in calls if {**was, "id": sent["id"]} != sent},
    }
    return {name: value for name, value in told.items() if value}


def _is_call(block: Block) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "tool_use"


def _asked(sent: Block, was: Block) -> Call:
    """Return the call as the model meant it: the name that it gave, and arguments of whatever kind."""
    arguments = was.get("input", {}) if sent["input"] == {} else sent["input"]
    return Call(sent["id"], str(was.get("name", "")), arguments)


def _storable(block: Any) -> Any:
    """Return `block` itself if a transcript line can hold it, else its JSON or wording as a text."""
    try:
        json.dumps(block, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return {"type": "json", "json": _json(block)}
    return block if isinstance(block, Mapping) else {"type": "json", "json": _json(block)}


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        return f"(a {type(value).__name__} that is no JSON)"
