"""How many pictures and documents the window shows, and how large they are: the API takes only so much of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from manusfs.records import ImagePart, Part

__all__ = ["Pictures"]


@dataclass(frozen=True, slots=True)
class Pictures:
    """Pictures and documents of the epoch so far, and their bytes as base64."""

    count: int = 0
    size: int = 0

    def with_parts(self, parts: Iterable[Part]) -> Pictures:
        """Return the count after `parts` joined."""
        found = [part for part in parts if isinstance(part, ImagePart)]
        return Pictures(self.count + len(found), self.size + sum((one.size + 2) // 3 * 4 for one in found))

    def with_blocks(self, blocks: Iterable[Mapping[str, Any]]) -> Pictures:
        """Return the count after literal `blocks` joined."""
        found = [block for block in blocks if block.get("type") in ("image", "document")]
        return Pictures(self.count + len(found), self.size + sum(map(_size, found)))


def _size(block: Mapping[str, Any]) -> int:
    source = block.get("source")
    data = source.get("data") if isinstance(source, Mapping) else None
    return len(data) if isinstance(data, str) else 0
