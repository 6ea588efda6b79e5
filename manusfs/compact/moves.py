"""What a policy may propose, as plain data that stands in the transcript."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from manusfs.context import Item
from manusfs.records import Part, part_to_json

__all__ = ["AskFirst", "Fold", "Move", "Said", "Summarise", "ToFull", "names", "span", "to_json"]


@dataclass(frozen=True, slots=True)
class Fold:
    """Let `blocks` (`12`, `12.1` or `12-97`, transcript lines of the session) stand in a smaller form."""

    blocks: tuple[str, ...]
    form: Literal["trim", "stub", "ledger", "collapsed"] = "stub"
    parts: tuple[tuple[str, Part], ...] = ()
    """Of a trim: what stands for each block; given by the compactor."""


@dataclass(frozen=True, slots=True)
class ToFull:
    """Let `blocks` stand in full again."""

    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """What a model wrote for a stretch, checked and escaped."""

    lines: tuple[str, ...]
    by: str = ""
    """Attributes that say which form it has and who wrote it."""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Summarise:
    """Let a model's summary stand for `blocks`. Without a model they become a ledger.

    Behind folds in a plan it is only made when these free too little.
    """

    blocks: tuple[str, ...]
    form: str = "manus"
    """Name of the form: which parts, which wording."""
    leave_out: tuple[str, ...] = ()
    """Parts of the form that are not wanted."""
    passes: int = 1
    """In how many pieces of the same size a model goes through them before it puts these together."""
    said: Said | None = None
    """Given by the compactor."""


@dataclass(frozen=True, slots=True)
class AskFirst:
    """Give the model one turn to write notes before the other moves are made."""

    text: str


Move = Fold | ToFull | Summarise | AskFirst


def to_json(move: Move, ledger: int | None = None) -> dict[str, Any]:
    """Return the move as a compaction event holds it; `ledger` is the number of the ledger that stands for it."""
    if isinstance(move, AskFirst):
        return {"move": "ask_first", "text": move.text}
    data: dict[str, Any] = {"move": "to_full", "blocks": list(move.blocks)}
    if isinstance(move, Fold):
        data = {"move": "fold", "blocks": list(move.blocks), "form": move.form}
        if move.parts:
            data["parts"] = {name: part_to_json(part) for name, part in move.parts}
    elif isinstance(move, Summarise):
        data = {"move": "summarise", "blocks": list(move.blocks), "form": move.form}
    return data if ledger is None else {**data, "ledger": ledger}


def span(first: int, last: int) -> str:
    """Return the transcript lines from `first` to `last` as a move names them."""
    return str(first) if first == last else f"{first}-{last}"


def names(items: Iterable[Item]) -> tuple[str, ...]:
    """Return source blocks as a move names them, one by one."""
    return tuple(f"{item.seq}.{item.block}" for item in items)
