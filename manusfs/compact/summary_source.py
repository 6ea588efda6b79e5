"""What a summary is made from: the turns of a stretch in full, as they were shown, and more of what was not read."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from manusfs.compact.curated import curated
from manusfs.context import Caps, Exchange, Item, Reader, Window, estimate, frame_sections
from manusfs.context.carried import carried
from manusfs.context.ledger import observed
from manusfs.errors import ManusfsError
from manusfs.messages import Block
from manusfs.records import ImagePart, ObsRef, Part, Span, TextPart, ViewPart

__all__ = ["Group", "Source", "chunks", "source_of"]

_MUST = 12
"""Most refs that a record must name of itself; all others are added by code."""
_BODY_BYTES = 4_000
"""Of an observation of which only a preview was seen, this much is given to the summary's model."""


@dataclass(frozen=True, slots=True)
class Group:
    """A turn with all that answered it, as one text: never parted, so that no call stands without its result."""

    first: int
    last: int
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Source:
    """The material of a summary."""

    frame: str
    """The user's words and the plan."""
    earlier: tuple[str, ...]
    """Records that the stretch holds already."""
    groups: tuple[Group, ...]
    must: tuple[str, ...]
    """Ids of what was read last: the record has to name them."""
    ids: frozenset[str]
    """Of all observations that the stretch names."""

    @property
    def tokens(self) -> int:
        """Estimate of all of it."""
        return estimate(self.frame) + sum(map(estimate, self.earlier)) + sum(group.tokens for group in self.groups)

    @property
    def text(self) -> str:
        """All of it, to look identifiers up in."""
        return "\n".join([self.frame, *self.earlier, *(group.text for group in self.groups)])


def source_of(window: Window, items: Sequence[Item], reader: Reader, *, curate: bool, room: int) -> Source:
    """Return the material for a summary of `items`; `room` is how many tokens it may take if there is a choice.

    The turns stand as they were shown first, whatever became of them since. What stands in an earlier record is given
    as that record: it was made from the full text.
    """
    recorded = {key for item in items if item.form == "summary" and (key := item.group) is not None}
    fresh = [replace(item, form="full", group=None) for item in items if item.group not in recorded]
    exchanges = _exchanges(fresh)
    if curate:
        exchanges = curated(window, exchanges)
    groups = [group for exchange in exchanges if (group := _group(window, exchange, reader)) is not None]
    frame = _frame(window, room)
    earlier = tuple("\n".join(window.ledger(key).said) for key in sorted(recorded))
    ids, read = _named(window, exchanges)
    bare = Source(frame, earlier, tuple(groups), tuple(read[-_MUST:]), frozenset(ids))
    spare = min(room - bare.tokens, sum(group.tokens for group in groups))
    return replace(bare, groups=tuple(_with_bodies(window, groups, exchanges, reader, spare)))


def chunks(groups: Sequence[Group], count: int) -> list[list[Group]]:
    """Return `groups` in at most `count` runs of about the same tokens; no group is parted (OC-6, OC-9)."""
    share = math.ceil(sum(group.tokens for group in groups) / max(1, count))
    runs: list[list[Group]] = [[]]
    used = 0
    for group in groups:
        if runs[-1] and len(runs) < count and used + group.tokens / 2 > share * len(runs):
            runs.append([])
        runs[-1].append(group)
        used += group.tokens
    return [run for run in runs if run]


def _exchanges(items: Sequence[Item]) -> list[Exchange]:
    turns: dict[int, list[Item]] = {}
    for item in items:
        turns.setdefault(item.turn, []).append(item)
    return [Exchange(turn, tuple(found)) for turn, found in turns.items()]


def _group(window: Window, exchange: Exchange, reader: Reader) -> Group | None:
    text = _text(carried(window, exchange), reader)
    return Group(exchange.first, exchange.last, text, estimate(text)) if text else None


def _frame(window: Window, room: int) -> str:
    head, tail = frame_sections(window, Caps(tokens=max(200, room // 10)))
    parts = [section.part for section in (*head, *tail) if section.label in ("user", "todo")]
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _text(parts: Sequence[Part], reader: Reader) -> str:
    return "\n".join(_part_text(part, reader) for part in parts)


def _part_text(part: Part, reader: Reader) -> str:
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, ImagePart):
        return f"(picture {part.ref})"
    try:
        blocks = reader.blocks([part])
    except ManusfsError:
        return f"({part.ref} can't be read now)"
    return "\n".join(_block_text(block) for block in blocks if block.get("type") in ("text", "search_result"))


def _block_text(block: Block) -> str:
    """Return the words of a block; of evidence that can be cited, the pieces joined as they were cut."""
    if block["type"] == "search_result":
        return "".join(str(piece["text"]) for piece in block["content"])
    return str(block["text"])


def _named(window: Window, exchanges: Sequence[Exchange]) -> tuple[list[str], list[str]]:
    """Return the ids of the observations in `exchanges`, and of those that were read, the last read last."""
    ids: dict[str, None] = {}
    read: dict[str, None] = {}
    for seq in dict.fromkeys(item.seq for exchange in exchanges for item in exchange.items):
        data = window.events[seq].data
        if data.get("id"):
            ids[data["id"]] = None
        for ref in observed(data.get("reads") or ()):
            ids[ref.id] = None
            read.pop(ref.id, None)
            read[ref.id] = None
    return list(ids), list(read)


def _with_bodies(
    window: Window, groups: Sequence[Group], exchanges: Sequence[Exchange], reader: Reader, spare: int
) -> list[Group]:
    """Return `groups` with the beginnings of what was fetched and never read, the newest first, in `spare` tokens."""
    done: list[Group] = []
    by_first = {exchange.first: exchange for exchange in exchanges}
    seen: set[str] = set()
    for group in reversed(groups):
        more: list[str] = []
        for id in _unread(window, by_first[group.first]):
            if id in seen or spare <= 0:
                continue
            seen.add(id)
            known = window.seen.known.get(id)
            size = min((known.size if known else None) or 0, _BODY_BYTES)
            part = ViewPart("read", ObsRef(id), (Span(0, size),), (("state", "stored"), ("lines", "")))
            text = _part_text(part, reader)
            cost = estimate(text)
            if cost <= spare:
                more.append(text)
                spare -= cost
        text = "\n".join([group.text, *more])
        done.append(replace(group, text=text, tokens=estimate(text)) if more else group)
    return done[::-1]


def _unread(window: Window, exchange: Exchange) -> Collection[str]:
    """Return the ids of the observations that `exchange` brought and that nothing read."""
    found = [window.events[seq].data for seq in dict.fromkeys(item.seq for item in exchange.items)]
    return [
        data["id"]
        for data in found
        if data.get("id")
        and not data.get("is_error")
        and not window.seen.spans.get(data["id"])
        and (data.get("part") or {}).get("form") == "stub"
        and (data.get("bytes") or 0) > 0
    ]
