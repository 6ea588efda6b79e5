"""What others do by editing what was already sent: two such editors, to be measured beside the policies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from manusfs.context import estimate_block
from manusfs.messages import Block, Request

__all__ = ["ClearOldest", "Editor", "MaskOld"]

_CLEARED = "[old tool result cleared]"
_MARK = {"type": "ephemeral"}


class Editor(Protocol):
    """Changes a request that holds the whole history."""

    cleared: dict[str, int]
    """For each call whose result is gone, the bytes of that result."""

    def edit(self, request: Request) -> Request:
        """Return `request` with some results replaced. What is gone once stays gone."""
        ...


@dataclass(slots=True)
class ClearOldest:
    """Clears all results but the newest, at every request."""

    keep: int = 3
    cleared: dict[str, int] = field(default_factory=dict)

    def edit(self, request: Request) -> Request:
        """Return `request` with the newest `keep` results."""
        results = list(_results(request))
        for block in results[: max(0, len(results) - self.keep)]:
            _clear(self.cleared, block)
        return _without(request, self.cleared)


@dataclass(slots=True)
class MaskOld:
    """Masks the results beyond the newest `protect` tokens of results, in batches of `batch` tokens."""

    protect: int = 50_000
    batch: int = 30_000
    cleared: dict[str, int] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)

    def edit(self, request: Request) -> Request:
        """Return `request`, with another batch masked when it is large enough."""
        newest, old, size = 0, [], 0
        for block in reversed(list(_results(request))):
            if block["tool_use_id"] in self.cleared:
                continue
            tokens = self._size(block)
            if newest >= self.protect:
                old.append(block)
                size += tokens
            newest += tokens
        if size >= self.batch:
            for block in old:
                _clear(self.cleared, block)
        return _without(request, self.cleared)

    def _size(self, block: Block) -> int:
        id = block["tool_use_id"]
        if id not in self._sizes:
            self._sizes[id] = estimate_block({**block, "cache_control": None})
        return self._sizes[id]


def _results(request: Request) -> Iterator[Block]:
    for message in request.messages:
        for block in message["content"]:
            if block["type"] == "tool_result":
                yield block


def _clear(cleared: dict[str, int], block: Block) -> None:
    if (size := _bytes(block)) > len(_CLEARED):
        cleared.setdefault(block["tool_use_id"], size)


def _bytes(block: Block) -> int:
    return sum(len(inner.get("text", "").encode("utf-8")) for inner in block["content"])


def _without(request: Request, cleared: dict[str, int]) -> Request:
    """Return `request` with the cleared results replaced, and a cache mark where the next clearing will begin.

    The marks of an append-only history would let an editor find next to nothing in the cache.
    """
    messages = [
        {**message, "content": [_edited(block, cleared) for block in message["content"]]}
        for message in request.messages
    ]
    before: tuple[int, int] | None = None
    for at, message in enumerate(messages):
        for place, block in enumerate(message["content"]):
            if block["type"] == "tool_result" and block["tool_use_id"] not in cleared and _bytes(block) > len(_CLEARED):
                if before is not None:
                    messages[before[0]]["content"][before[1]] = {
                        **messages[before[0]]["content"][before[1]],
                        "cache_control": _MARK,
                    }
                return replace(request, messages=tuple(messages))
            before = at, place
    return replace(request, messages=tuple(messages))


def _edited(block: Block, cleared: dict[str, int]) -> Block:
    if block["type"] == "tool_result" and block["tool_use_id"] in cleared:
        return {**block, "content": [{"type": "text", "text": _CLEARED}]}
    return block
