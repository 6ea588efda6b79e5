"""From a reply to the assistant event: exactly what came, less what can never be sent back."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from manusfs.messages import Block, Reply
from manusfs.records import Event, canonical

__all__ = ["Call", "Kept", "keep", "usage_data"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,200}\Z")
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


def keep(reply: Reply, used: Collection[str], seq: int) -> Kept:
    """Return what the transcript and the next request take of `reply`, whose event will be number `seq`.

    Blocks stand exactly as received. What could not be sent back is told apart under `dropped`: a call that the
    reply's limit cut off, all of a refusal, a server tool's result without its call. An id that the
    API would refuse (empty, used before, odd characters) gets one of ours, and `received_ids` says what it was.
    """
    content, dropped = _sendable(reply)
    renamed: dict[str, str] = {}
    content = [_with_valid_id(block, {*used, *renamed}, seq, at, renamed) for at, block in enumerate(content)]
    data: dict[str, Any] = {
        "role": "assistant",
        "content": content,
        "stop_reason": reply.stop_reason,
        "id": reply.id,
        "model": reply.model,
    }
    if dropped:
        data["dropped"] = dropped
    changed = {new: old for new, old in renamed.items() if new != old}
    if changed:
        data["received_ids"] = changed
    if reply.stop_details:
        data["stop_details"] = dict(reply.stop_details)
    calls = tuple(
        Call(block["id"], str(block.get("name", "")), block.get("input", {}))
        for block in content
        if block.get("type") == "tool_use"
    )
    text = "\n\n".join(block["text"] for block in content if block.get("type") == "text" and block.get("text"))
    return Kept(Event("message", data), calls, text)


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
    if reply.stop_reason in _CUT and blocks and blocks[-1].get("type") == "tool_use":
        # The limit fell into this call or right behind it; nothing tells which, and half a call must not run.
        dropped.append(blocks.pop())
    if reply.stop_reason == "model_context_window_exceeded" and not _has_calls(blocks):
        return [], blocks + dropped
    orphans = [block for block in blocks if _is_orphan(block, blocks)]
    blanks = [block for block in blocks if block.get("type") == "text" and not str(block.get("text", "")).strip()]
    blocks = [block for block in blocks if block not in orphans and block not in blanks]
    dropped += orphans
    return blocks, dropped


def _has_calls(blocks: Sequence[Block]) -> bool:
    return any(block.get("type") == "tool_use" for block in blocks)


def _is_orphan(block: Block, blocks: Sequence[Block]) -> bool:
    kind = str(block.get("type", ""))
    if not kind.endswith("_tool_result"):
        return False
    called = {other.get("id") for other in blocks if str(other.get("type", "")).endswith("tool_use")}
    return block.get("tool_use_id") not in called


def _with_valid_id(block: Block, used: Collection[str], seq: int, at: int, renamed: dict[str, str]) -> Block:
    if block.get("type") != "tool_use":
        return block
    received = block.get("id")
    old = received if isinstance(received, str) else canonical(received)
    fits = isinstance(received, str) and _ID.match(received) and received not in used
    new = old if fits else f"call_{seq}_{at}"
    renamed[new] = old
    return block if new == received else {**block, "id": new}
