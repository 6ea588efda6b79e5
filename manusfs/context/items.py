"""The source blocks of a session: every block that the model saw or said, and the form in which it stands now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from manusfs.context.tokens import estimate, estimate_block, estimate_part
from manusfs.errors import BadRef
from manusfs.messages import Block
from manusfs.records import Event, Part, TextPart, part_from_json, part_to_json

__all__ = [
    "LABELS",
    "Exchange",
    "Form",
    "Item",
    "ItemKind",
    "Key",
    "Label",
    "Section",
    "block_range",
    "items_of",
    "sent",
    "shown_part",
]

Form = Literal["full", "trim", "stub", "ledger", "collapsed", "summary"]
ItemKind = Literal[
    "date", "instructions", "user", "todo", "source", "text", "thinking", "call", "other", "result", "recite", "changed"
]
Label = Literal["date", "instructions", "user", "source", "ledger", "stub", "turn", "children", "todo"]
LABELS: frozenset[str] = frozenset(get_args(Label))
_FIXED: frozenset[ItemKind] = frozenset(("date", "instructions", "user", "todo"))

Key = tuple[int, int]
"""`(seq, block)`: the transcript line and the block's place in it, as in `msg:<session>:<seq>.<block>`."""


@dataclass(frozen=True, slots=True)
class Item:
    """A source block. Its content stands in the transcript line `seq`, at place `block`."""

    seq: int
    block: int
    turn: int
    """Number of the assistant turn that it belongs to, 0 before the first."""
    kind: ItemKind
    tokens: int
    """Estimate of the block in full, uncalibrated."""
    form: Form = "full"
    group: Key | None = None
    """`(compaction, number)` of the ledger or summary that stands for it."""

    @property
    def key(self) -> Key:
        """Where the block stands in the transcript."""
        return self.seq, self.block

    @property
    def fixed(self) -> bool:
        """True for what no move changes: the opening of an epoch carries it by rules of its own."""
        return self.kind in _FIXED


@dataclass(frozen=True, slots=True)
class Exchange:
    """An assistant turn with all that answered it, as source blocks in their present form."""

    turn: int
    items: tuple[Item, ...]

    @property
    def first(self) -> int:
        """The first transcript line."""
        return self.items[0].seq

    @property
    def last(self) -> int:
        """The last transcript line."""
        return self.items[-1].seq


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an epoch's opening and what it is."""

    label: Label
    part: Part

    @classmethod
    def of(cls, data: dict[str, Any]) -> Section:
        """Return the section that a part of an `opening` tells; without a label, text is the user's."""
        label: Label = "user" if data["type"] == "text" else "source"
        if data.get("as") in LABELS:
            label = data["as"]
        return cls(label, part_from_json(data))

    def to_json(self) -> dict[str, Any]:
        """Return the part as it stands in an epoch event."""
        return {"as": self.label, **part_to_json(self.part)}


def sent(data: dict[str, Any]) -> tuple[Part, ...]:
    """Return the parts that an observation or shown event put before the model.

    `sent` holds what a turn's share of the window left of them; without it all were shown.
    """
    if "sent" in data:
        parts = data["sent"]
    elif "parts" in data:
        parts = data["parts"]
    else:
        parts = [data["part"]] if data.get("part") is not None else []
    return tuple(map(shown_part, parts or ()))


def shown_part(data: dict[str, Any]) -> Part:
    """Return a part, of one that this version does not know a word: the session must go on all the same."""
    try:
        return part_from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError, BadRef):
        return TextPart("(a part that this version of manusfs can't show; it stands in the transcript)")


def items_of(event: Event, turn: int) -> Iterator[Item]:
    """Return the source blocks of `event`, which belongs to assistant turn `turn`."""
    data = event.data
    if event.kind == "epoch":
        for i, section in enumerate(map(Section.of, data["opening"])):
            if section.label in ("date", "instructions", "user", "source", "todo"):
                # What is said about given sources, the URLs that were only named: it belongs to the user's words.
                worded = section.label == "source" and isinstance(section.part, TextPart)
                yield Item(event.seq, i, turn, "user" if worded else section.label, estimate_part(section.part))
    elif event.kind == "message":
        for i, block in enumerate(data["content"]):
            kind: ItemKind = "user" if data["role"] == "user" else _said(block)
            yield Item(event.seq, i, turn, kind, estimate_block(block))
    elif event.kind in ("observation", "shown"):
        kind = "result" if data.get("call") else "source"
        extra = estimate(data.get("notice") or "")
        for i, part in enumerate(sent(data)):
            yield Item(event.seq, i, turn, kind, estimate_part(part) + (0 if i else extra))
    elif event.kind == "recite":
        yield Item(event.seq, 0, turn, "recite", estimate(data["text"]))
    elif event.kind == "changed" and not data.get("ask_first"):
        yield Item(event.seq, 0, turn, "changed", estimate(data["text"]))


def block_range(text: str) -> tuple[Key, Key]:
    """Return the first and the last key that `12`, `12.1` or `12-97` names.

    Raises:
        BadRef: `text` is none of these.
    """
    first, dash, last = text.partition("-")
    try:
        if dash:
            return (int(first), 0), (int(last), 1 << 62)
        seq, dot, block = first.partition(".")
        return (int(seq), int(block) if dot else 0), (int(seq), int(block) if dot else 1 << 62)
    except ValueError as error:
        raise BadRef(f"not a range of blocks: {text!r}", hint="write 12, 12.1 or 12-97") from error


def _said(block: Block) -> ItemKind:
    worded = isinstance(block.get("text"), str) or block.get("type") != "text"
    called = isinstance(block.get("name"), str) and isinstance(block.get("input"), Mapping)
    if not worded or (block.get("type") == "tool_use" and not called):
        return "other"
    kinds: dict[str, ItemKind] = {
        "text": "text",
        "thinking": "thinking",
        "redacted_thinking": "thinking",
        "tool_use": "call",
    }
    return kinds.get(str(block.get("type", "")), "other")
