"""A request as the laboratory looks at it: its blocks with their sizes, what stands in them, and what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from manusfs.context import estimate_block
from manusfs.lab.cost import Bill, Cache
from manusfs.lab.words import Sight, strings
from manusfs.messages import Block, Request

__all__ = ["Blocks", "Seen", "View"]


@dataclass(frozen=True, slots=True)
class Seen:
    """One block: its size, and what of the run's needs stands in it."""

    tokens: int
    keys: frozenset[int]
    refs: frozenset[str]
    ranges: frozenset[tuple[int, int]] = frozenset()
    turn: bool = False
    """True for the first block of a reply: there a thinking block would stand."""


@dataclass(slots=True)
class Blocks:
    """Every block that any policy sent in one run, looked at once. `wanted` are the keys of all needs."""

    wanted: frozenset[int]
    known: dict[int, Seen] = field(default_factory=dict)

    def look(self, key: int, block: Block) -> Seen:
        """Return what is known of `block`."""
        if key not in self.known:
            sights = [Sight.of(text) for text in _texts(block)]
            keys = frozenset[int]().union(*(sight.keys for sight in sights)) & self.wanted
            refs = frozenset[str]().union(*(sight.refs for sight in sights))
            plain = {name: value for name, value in block.items() if name != "cache_control"}
            ranges = frozenset[tuple[int, int]]().union(*(sight.ranges for sight in sights))
            self.known[key] = Seen(estimate_block(plain), keys, refs, ranges)
        return self.known[key]


@dataclass(slots=True)
class View:
    """The last request that was sent, kept up from one to the next by what differs."""

    blocks: Blocks
    cache: Cache
    head_tokens: int
    """Tokens of system and tools: the same for every policy."""
    keys: Counter[int] = field(default_factory=Counter)
    refs: Counter[str] = field(default_factory=Counter)
    ranges: Counter[tuple[int, int]] = field(default_factory=Counter)
    tokens: int = 0
    breaks: int = 0
    """Requests that did not begin with the one before."""
    invalid: int = 0
    """Replies behind a place that was edited: the thinking in them would have become invalid."""
    _keys: list[int] = field(default_factory=list)
    _replies: list[bool] = field(default_factory=list)
    _prefixes: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)
    _marks: list[int] = field(default_factory=list)

    def take(self, request: Request, *, edits: bool) -> None:
        """Look at `request`; `edits` tells that it is one history, so that a change in it invalidates what follows."""
        keys: list[int] = []
        replies: list[bool] = []
        blocks: list[Block] = []
        marks: list[int] = [0]
        for message in request.messages:
            reply = message["role"] == "assistant"
            for place, block in enumerate(message["content"]):
                keys.append(_key(block))
                blocks.append(block)
                replies.append(reply and place == 0)
                if "cache_control" in block:
                    marks.append(len(keys))
        same = _common(self._keys, keys)
        if same < len(self._keys):
            self.breaks += 1
            if edits:
                # The block that differs comes before them: a reply is never edited itself.
                self.invalid += sum(replies[same:])
            self._forget(same)
        self._grow(keys[same:], blocks[same:])
        self._replies, self._marks = replies, marks
        self.tokens = self._ends[-1]

    def send(self) -> Bill:
        """Return the bill of the request that was looked at."""
        return self.cache.send(self._prefixes, self._ends, self._marks)

    def shows(self, keys: Iterable[int]) -> bool:
        """Return True if all of `keys` stand in the request."""
        return all(self.keys[key] > 0 for key in keys)

    def names(self, id: str) -> bool:
        """Return True if the request names the observation."""
        return self.refs[id] > 0

    def covers(self, seq: int) -> bool:
        """Return True if a ledger or a summary in the request stands for transcript line `seq`."""
        return any(count > 0 and first <= seq <= last for (first, last), count in self.ranges.items())

    def _grow(self, keys: Sequence[int], blocks: Sequence[Block]) -> None:
        if not self._ends:
            self._prefixes, self._ends = [hash("head")], [self.head_tokens]
        for key, block in zip(keys, blocks, strict=True):
            seen = self.blocks.look(key, block)
            self._keys.append(key)
            self._prefixes.append(hash((self._prefixes[-1], key)))
            self._ends.append(self._ends[-1] + seen.tokens)
            self.keys.update(seen.keys)
            self.refs.update(seen.refs)
            self.ranges.update(seen.ranges)

    def _forget(self, same: int) -> None:
        for key in self._keys[same:]:
            seen = self.blocks.known[key]
            self.keys.subtract(seen.keys)
            self.refs.subtract(seen.refs)
            self.ranges.subtract(seen.ranges)
        del self._keys[same:]
        del self._prefixes[same + 1 :]
        del self._ends[same + 1 :]


def _common(before: Sequence[int], after: Sequence[int]) -> int:
    if len(before) <= len(after) and list(after[: len(before)]) == list(before):
        return len(before)
    return next(
        (at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )


def _key(block: Mapping[str, Any]) -> int:
    kind = block["type"]
    if kind == "text":
        return hash((kind, block["text"]))
    if kind == "tool_use":
        return hash((kind, block["id"], block["name"]))
    if kind == "tool_result":
        return hash((kind, block["tool_use_id"], *(_key(inner) for inner in block["content"])))
    return hash((kind, block.get("signature") or block.get("data") or block.get("thinking") or str(block)))


def _texts(block: Mapping[str, Any]) -> Iterable[str]:
    kind = block["type"]
    if kind == "text":
        yield block["text"]
    elif kind == "tool_result":
        for inner in block["content"]:
            yield from _texts(inner)
    elif kind == "tool_use":
        yield from strings(block["input"])
