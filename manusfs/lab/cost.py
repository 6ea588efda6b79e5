"""What requests cost with a prompt cache: which prefix is read from it, what is written to it, what is neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Bill", "Cache", "Prices"]

_LOOKBACK = 20
"""Blocks before a mark in which the API looks for a prefix that it has cached."""


@dataclass(frozen=True, slots=True)
class Prices:
    """In units of one uncached input token."""

    write: float = 1.25
    read: float = 0.1
    output: float = 5.0
    """Of a summary's tokens; what the agent says is the same under every policy and is not counted."""
    life_s: float = 300.0
    """How long a cached prefix lives after it was last used."""
    turn_s: float = 20.0
    """Between one request and the next."""


@dataclass(frozen=True, slots=True)
class Bill:
    """The input tokens of one request, or of many."""

    read: int = 0
    written: int = 0
    uncached: int = 0
    output: int = 0

    @property
    def input(self) -> int:
        """All input tokens."""
        return self.read + self.written + self.uncached

    def cost(self, prices: Prices) -> float:
        """Return what it costs in units of one uncached input token."""
        return self.read * prices.read + self.written * prices.write + self.uncached + self.output * prices.output

    def __add__(self, other: Bill) -> Bill:
        return Bill(
            self.read + other.read,
            self.written + other.written,
            self.uncached + other.uncached,
            self.output + other.output,
        )


@dataclass(slots=True)
class Cache:
    """A provider's prompt cache, as its documentation tells: prefixes that end at a mark, each for a while."""

    prices: Prices
    now_s: float = 0.0
    _until: dict[int, float] = field(default_factory=dict)
    """For each cached prefix the time until which it lives."""

    def send(self, prefixes: Sequence[int], ends: Sequence[int], marks: Sequence[int]) -> Bill:
        """Return the bill of a request.

        `prefixes` has a key for the prefix that ends with each block, `ends` the tokens up to there, `marks` the places
        of the blocks that carry a cache mark.
        """
        hit = max((self._hit(prefixes, mark) for mark in marks), default=-1)
        read = ends[hit] if hit >= 0 else 0
        last = ends[max(marks)] if marks else 0
        for place in (*marks, *([hit] if hit >= 0 else [])):
            self._until[prefixes[place]] = self.now_s + self.prices.life_s
        self.now_s += self.prices.turn_s
        written = max(0, last - read)
        return Bill(read, written, (ends[-1] if ends else 0) - read - written)

    def _hit(self, prefixes: Sequence[int], mark: int) -> int:
        for place in range(mark, max(-1, mark - _LOOKBACK), -1):
            if self._until.get(prefixes[place], -1.0) >= self.now_s:
                return place
        return -1
