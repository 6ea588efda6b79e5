"""What context needs of the floor below to turn parts into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from manusfs.messages import Block
from manusfs.records import Part

__all__ = ["Reader"]


class Reader(Protocol):
    """Renders parts: the same part gives the same bytes, in every process and for ever."""

    def blocks(self, parts: Sequence[Part]) -> list[Block]:
        """Return `parts` as text and image blocks, in order."""
        ...
