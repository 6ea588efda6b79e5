"""What the local Messages server remembers or computes: thinking signatures, the prompt cache, tokens, events."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from servers.messages_blocks import Json, bad, content_of
from servers.messages_rules import Card

LOOKBACK = 20
_THOUGHTS = ("thinking", "redacted_thinking")


def plain(value: Any) -> Any:
    """Return `value` without cache marks and null members, which are no part of what the model sees."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k != "cache_control" and v is not None}
    return [plain(part) for part in value] if isinstance(value, list) else value


def canon(value: Any) -> bytes:
    """Return the bytes by which two values are compared."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


class Signer:
    """Signs thinking blocks over everything before them and finds the ones that do not belong where they stand.

    The prefix is system, tools and all earlier blocks but thinking. Each block also names the thinking block before
    it: thinking may be left out from the start of a conversation on, never from its middle.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._thought: set[bytes] = set()

    def prefix(self, body: Json) -> Any:
        """Return the running hash of `body`'s system and tools."""
        return hashlib.sha256(canon([body.get("system"), body.get("tools")]))

    def check(self, body: Json, card: Card, account: str) -> tuple[Any, str]:
        """Return the running hash at the end of the messages and the last signature; refuse what does not belong."""
        running, last, role = self.prefix(body), "", ""
        for index, message in enumerate(body["messages"]):
            if message["role"] != role:  # neighbours of one role are one turn, however they are sent
                role = message["role"]
                running.update(role.encode())
            blocks = content_of(message)
            if last and not _thinks(blocks) and self._key_of(blocks) in self._thought:
                raise bad(f"messages.{index}", "thinking blocks of this turn are missing, but earlier ones are there")
            for place, block in enumerate(blocks):
                if block["type"] in _THOUGHTS:
                    where = f"messages.{index}.content.{place}"
                    last = self._check_block(block, where, running, last, (body["model"], account, card))
                else:
                    running.update(canon(block))
        return running, last

    def sign(self, content: list[Json], body: Json, running: Any, last: str, account: str) -> list[Json]:
        """Return `content`, the answer to `body`, with every thinking block signed."""
        running, signed = running.copy(), list[Json]()
        if body["messages"][-1]["role"] != "assistant":
            running.update(b"assistant")
        display = (body.get("thinking") or {}).get("display") or "omitted"
        for block in content:
            if block["type"] in _THOUGHTS:
                if block["type"] == "thinking":
                    text = block.get("thinking", "") if display == "summarized" else ""
                    last = self._signature(running, text, body["model"], account, last)
                    block = {"type": "thinking", "thinking": text, "signature": last}
                else:
                    last = self._signature(running, "redacted", body["model"], account, last)
                    block = {"type": "redacted_thinking", "data": last}
            else:
                running.update(canon(block))
            signed.append(block)
        if _thinks(signed):
            self._thought.add(self._key_of(signed))
        return signed

    def _key_of(self, blocks: list[Json]) -> bytes:
        return hashlib.sha256(canon([block for block in blocks if block["type"] not in _THOUGHTS])).digest()

    def _signature(self, running: Any, text: str, model: str, account: str, last: str) -> str:
        head = base64.b64encode(json.dumps([model, account, _link(last)]).encode()).decode()
        return f"{head}.{self._seal(running, head, text)}"

    def _seal(self, running: Any, head: str, text: str) -> str:
        return hmac.new(self._key, running.digest() + head.encode() + text.encode(), hashlib.sha256).hexdigest()

    def _check_block(self, block: Json, where: str, running: Any, last: str, who: tuple[str, str, Card]) -> str:
        signature = block["signature"] if block["type"] == "thinking" else block["data"]
        text = block["thinking"] if block["type"] == "thinking" else "redacted"
        head, _, seal = signature.partition(".")
        refused = f"Invalid `signature` in `{block['type']}` block."
        try:
            model, account, link = json.loads(base64.b64decode(head))
        except ValueError as error:
            raise bad(where, refused) from error
        if model != who[0]:
            return last  # what another model thought is dropped without a word
        if who[2].bound_to_account and account != who[1]:
            raise bad(where, f"{refused} The block is bound to a different account.")
        if seal != self._seal(running, head, text) or (last and link != _link(last)):
            raise bad(where, f"{refused} The block is bound to a different conversation.")
        return str(signature)


def _link(signature: str) -> str:
    return hashlib.sha256(signature.encode()).hexdigest()[:16] if signature else ""


def _thinks(blocks: list[Json]) -> bool:
    return any(block["type"] in _THOUGHTS for block in blocks)


@lru_cache(maxsize=16_384)
def text_tokens(text: str) -> int:
    """Return a count near that of today's models: a token for 2.6 plain characters, for one other character."""
    plain_characters = len(text.encode("ascii", "ignore"))
    return int(plain_characters / 2.6 + (len(text) - plain_characters)) + 1 if text else 0


def tokens(value: Any) -> int:
    """Return the tokens of a request's part."""
    if isinstance(value, str):
        return text_tokens(value)
    if isinstance(value, dict):
        if value.get("type") == "image":
            return 1_600
        return 3 + sum(tokens(part) for name, part in value.items() if name not in ("cache_control", "signature"))
    return sum(tokens(part) for part in value) if isinstance(value, list) else 1


def request_tokens(body: Json) -> int:
    """Return the tokens of a whole request."""
    return tokens([body.get("tools") or [], body.get("system") or [], body["messages"]])


class PromptCache:
    """A toy of the prompt cache: each mark keeps its prefix; a mark finds the longest one kept within 20 blocks."""

    def __init__(self, minimum: int) -> None:
        self._kept: set[bytes] = set()
        self._minimum = minimum

    def usage(self, body: Json, output: int) -> Json:
        """Return what `body` costs, and keep the prefixes that it marks."""
        ends, marks = self._flatten(body)
        total = ends[-1][1] if ends else 0
        read = written = 0
        for at in marks:
            found = [size for digest, size in ends[max(0, at - LOOKBACK + 1) : at + 1] if digest in self._kept]
            read = max([read, *found])
            written = ends[at][1] if ends[at][1] >= self._minimum else written
        self._kept.update(ends[at][0] for at in marks if ends[at][1] >= self._minimum)
        created = max(0, written - read)
        return {
            "input_tokens": total - read - created,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": created,
            "cache_creation": {"ephemeral_5m_input_tokens": created, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output,
            "service_tier": "standard",
        }

    def _flatten(self, body: Json) -> tuple[list[tuple[bytes, int]], list[int]]:
        system = body.get("system") or []
        parts: list[Json] = [*(body.get("tools") or ())]
        parts += [{"type": "text", "text": system}] if isinstance(system, str) else system
        for message in body["messages"]:
            parts += [{**block, "_role": message["role"]} for block in content_of(message)]
        running, size = hashlib.sha256(), 0
        ends, marks = list[tuple[bytes, int]](), list[int]()
        for at, part in enumerate(parts):
            running.update(canon(part))
            size += tokens(part)
            ends.append((running.digest(), size))
            inner = part.get("content")
            if part.get("cache_control") or any(p.get("cache_control") for p in inner or () if isinstance(p, dict)):
                marks.append(at)
        if body.get("cache_control") and parts:
            marks.append(len(parts) - 1)
        return ends, marks


def events(message: Json) -> Iterator[Json]:
    """Yield the events by which `message` is streamed."""
    head = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    head.pop("stop_details", None)
    yield {"type": "message_start", "message": head}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        start, deltas = _streamed(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None, "container": None}
    if "stop_details" in message:
        delta["stop_details"] = message["stop_details"]
    yield {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _streamed(block: Json) -> tuple[Json, list[Json]]:
    kind = block["type"]
    if kind == "text":
        start: Json = {"type": "text", "text": "", "citations": None}
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"], 24)]
        deltas += [{"type": "citations_delta", "citation": found} for found in block.get("citations") or ()]
        return start, deltas
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"], 40)]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if kind in ("tool_use", "server_tool_use"):
        written = block.get("_cut", json.dumps(block["input"], ensure_ascii=False) if block["input"] else "")
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *_pieces(written, 17))]
        return {**{k: v for k, v in block.items() if k != "_cut"}, "input": {}}, deltas
    return block, []


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]
