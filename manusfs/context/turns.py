"""What joined the window since its epoch began, in the order in which a request shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from manusfs.context.tokens import estimate, estimate_blocks
from manusfs.messages import Block
from manusfs.messages.sendable import unanswered
from manusfs.records import Part, canonical

__all__ = ["PER_TOOL", "Piece", "Setup", "Turn", "estimate_setup"]

PER_TOOL = 10
"""Tokens round a tool, and round a result."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Content of the user's side from transcript line `seq`: literal blocks, then parts to be rendered."""

    seq: int
    blocks: tuple[Block, ...] = ()
    parts: tuple[Part, ...] = ()
    place: int = 0
    """Tells the pieces of one line apart."""


@dataclass(slots=True)
class Turn:
    """An assistant turn exactly as received and what answered it. The first of an epoch has no assistant content."""

    seq: int
    content: tuple[Block, ...] = ()
    results: dict[str, list[Piece]] = field(default_factory=dict)
    """For each call of the turn, in call order; empty while the call is open."""
    failed: set[str] = field(default_factory=set)
    """Calls whose result is an error."""
    extras: list[Piece] = field(default_factory=list)
    """What follows the results: recitation, changes, the user's words."""
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Where the transcript calls a call otherwise than a request may: its id there, and those that stand for it."""

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The calls that have no result yet."""
        return tuple(call for call, pieces in self.results.items() if not pieces)

    @property
    def waiting(self) -> frozenset[str]:
        """Server calls of a paused turn whose results the next turn may bring; none once anything came between."""
        return frozenset() if self.results or self.extras else frozenset(unanswered(self.content))

    def call(self, id: str) -> str:
        """Return the id, as it is sent, of the call that the transcript calls `id`: the first of several still open."""
        names = self.names.get(id, (id,))
        return next((name for name in names if not self.results.get(name)), names[-1])

    def copy(self) -> Turn:
        """Return a copy whose growth this one does not see."""
        results = {call: list(pieces) for call, pieces in self.results.items()}
        return Turn(self.seq, self.content, results, set(self.failed), list(self.extras), self.names)


@dataclass(frozen=True, slots=True)
class Setup:
    """What every request of an epoch shares."""

    system: tuple[Block, ...] = ()
    tools: tuple[Block, ...] = ()
    model: str = ""
    max_tokens: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)
    credential: str = ""
    version: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Setup:
        """Return the setup that an epoch event tells."""
        system = data.get("system") or ()
        if isinstance(system, str):
            system = ({"type": "text", "text": system},)
        return cls(
            tuple(system),
            tuple(data.get("tools") or ()),
            data.get("model", ""),
            data.get("max_tokens", 0),
            data.get("options") or {},
            data.get("profile") or {},
            data.get("credential", ""),
            data.get("version", ""),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the members that an epoch event has of it."""
        plain = len(self.system) == 1 and self.system[0].keys() == {"type", "text"}
        return {
            "system": self.system[0]["text"] if plain else list(self.system),
            "tools": list(self.tools),
            "model": self.model,
            "options": dict(self.options),
            "max_tokens": self.max_tokens,
            "profile": dict(self.profile),
            "credential": self.credential,
            "version": self.version,
        }


def estimate_setup(setup: Setup) -> int:
    """Return the estimated tokens of system and tools, uncalibrated."""
    return estimate_blocks(setup.system) + sum(PER_TOOL + estimate(canonical(tool)) for tool in setup.tools)
