"""From the events of a streamed answer to a Reply whose blocks are what was received, member for member."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast, get_args

from manusfs.messages import Block, Delta, Reply, StopReason, Usage

__all__ = ["BrokenStream", "Collector", "tell"]

_STOP_REASONS = frozenset(get_args(StopReason))
_CUT = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
_COUNTERS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_APPENDED = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class BrokenStream(Exception):
    """The stream ended early, or said something that no answer can be made of; the turn may be asked for again."""


class Collector:
    """Collects the events of one answer. Feed it the JSON of each event, then ask for the reply."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, Block] = {}
        self._inputs: dict[int, list[str]] = {}
        self._usage: dict[str, int] = {}
        self._stop: dict[str, Any] = {}

    def feed(self, event: Mapping[str, Any]) -> Delta | None:
        """Take one event and return what a person may be told of it; kinds that are not known are passed over.

        Raises:
            BrokenStream: the event does not fit what came before it.
        """
        try:
            match event["type"]:
                case "message_start":
                    self._message = dict(event["message"])
                    self._count(self._message.get("usage"))
                case "content_block_start":
                    return self._start(event["index"], event["content_block"])
                case "content_block_delta":
                    return self._grow(event["index"], event["delta"])
                case "message_delta":
                    self._stop.update({name: value for name, value in event["delta"].items() if value is not None})
                    self._count(event.get("usage"))
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            raise BrokenStream(f"an event that does not fit what came before it: {error!r}") from error
        return None

    def reply(self) -> Reply:
        """Return the answer.

        Text blocks without a visible character are left out: the API sends one now and then, and refuses it when it
        comes back. So is a tool call whose input was cut off by a limit: it can't be run and is no valid block.

        Raises:
            BrokenStream: the answer is not complete.
        """
        reason = self._stop.get("stop_reason")
        if not self._message or not reason:
            raise BrokenStream("the stream ended before the answer did")
        finished = (self._finished(index, reason in _CUT) for index in sorted(self._blocks))
        content = tuple(block for block in finished if block is not None)
        return Reply(
            content,
            _stop_reason(reason, content),
            Usage(**{name: self._usage.get(name, 0) for name in _COUNTERS}),
            str(self._message.get("model") or ""),
            str(self._message.get("id") or ""),
            self._stop.get("stop_details") or {},
        )

    def _start(self, index: int, block: Mapping[str, Any]) -> Delta | None:
        # null stands for "not there" in every member of a block, and not every server takes it back
        self._blocks[index] = {name: value for name, value in block.items() if value is not None}
        if str(block["type"]).endswith("tool_use"):
            return Delta("tool", str(block.get("name", "")))
        return _piece(str(block["type"]), str(block.get("text") or block.get("thinking") or ""))

    def _grow(self, index: int, delta: Mapping[str, Any]) -> Delta | None:
        block, kind = self._blocks[index], delta["type"]
        if kind == "input_json_delta":
            self._inputs.setdefault(index, []).append(delta["partial_json"])
        elif kind == "citations_delta":
            block["citations"] = [*block.get("citations", ()), delta["citation"]]
        elif name := _APPENDED.get(kind):
            block[name] = block.get(name, "") + delta[name]
            return _piece(name, delta[name])
        return None

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        # the counters of a stream are running totals: a later one stands in place of an earlier one
        for name in _COUNTERS:
            value = (usage or {}).get(name)
            if isinstance(value, int):
                self._usage[name] = value

    def _finished(self, index: int, cut: bool) -> Block | None:
        block = self._blocks[index]
        if block["type"] == "text":
            return block if block.get("text", "").strip() else None
        if block["type"] == "tool_use" or index in self._inputs:
            last = cut and index == max(self._blocks)
            text = "".join(self._inputs.get(index, ()))
            found = _parsed(text, last) if text else (None if last else block.get("input", {}))
            return None if found is None else {**block, "input": found}
        return block


def tell(reply: Reply, on_delta: Callable[[Delta], None] | None) -> None:
    """Tell a whole reply as the deltas of a streamed one."""
    if on_delta is None:
        return
    for block in reply.content:
        if block.get("type") == "tool_use":
            on_delta(Delta("tool", block["name"]))
        elif (delta := _piece(block["type"], block.get(block["type"], ""))) is not None:
            on_delta(delta)


def _parsed(text: str, cut: bool) -> dict[str, Any] | None:
    """Return the input that `text` writes; None where a limit cut it off."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if cut:
            return None
        raise BrokenStream(f"the input of a tool call is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise BrokenStream("the input of a tool call is no JSON object")
    return value


def _stop_reason(reason: str, content: tuple[Block, ...]) -> StopReason:
    calls = any(block["type"] == "tool_use" for block in content)
    if reason not in _STOP_REASONS or (calls and reason == "end_turn"):
        # other servers have words of their own, and some end a turn that calls tools with "end_turn"
        return "tool_use" if calls else "end_turn"
    return cast(StopReason, reason)


def _piece(kind: str, text: str) -> Delta | None:
    if not text or kind not in ("text", "thinking"):
        return None
    return Delta("text" if kind == "text" else "thinking", text)
