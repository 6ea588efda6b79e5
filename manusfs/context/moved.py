"""A move of a compaction as it applies to one source block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from manusfs.context.items import Form, Key, shown_part
from manusfs.records import Part

__all__ = ["Moved", "form_of", "parts_of"]


@dataclass(frozen=True, slots=True)
class Moved:
    """Which compaction moved the block, to which form, and what stands for it: a ledger, or what was left of it."""

    compaction: int
    form: Form
    group: Key | None = None
    part: Part | None = None


def form_of(move: Mapping[str, Any]) -> Form | None:
    """Return the form that a move of a compaction event gives, None for one that a later version made."""
    forms: dict[str, Form | None] = {"fold": move.get("form"), "to_full": "full", "summarise": "summary"}
    return forms.get(move["move"])


def parts_of(move: Mapping[str, Any]) -> dict[Key, Part]:
    """Return what a trim left of each block."""
    parts: dict[Key, Part] = {}
    for name, data in (move.get("parts") or {}).items():
        seq, _, block = name.partition(".")
        parts[int(seq), int(block)] = shown_part(data)
    return parts
