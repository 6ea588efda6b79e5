"""What the model asked to have folded, or kept in full, at the next compaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from manusfs.context.items import Key, block_range
from manusfs.errors import BadRef

__all__ = ["Wishes"]

Wish = Literal["fold", "keep"]


@dataclass(slots=True)
class Wishes:
    """The wishes of a session, by the transcript line in which they were told. They hold until a compaction stands."""

    told: dict[int, tuple[tuple[Wish, str], ...]] = field(default_factory=dict)
    """Blocks as a move names them: `12`, `12.1` or `12-97`."""

    def see(self, seq: int, data: Mapping[str, Any]) -> None:
        """Take in what a call told: `folds` and `keeps` name blocks, `pins` blocks of the call's own result."""
        found = [("fold", text) for text in _texts(data, "folds")] + [("keep", text) for text in _texts(data, "keeps")]
        if "sent" not in data:  # what was not shown is not kept
            found += [
                ("keep", f"{seq}.{block}") for block in _list(data, "pins") if isinstance(block, int) and block >= 0
            ]
        if found:
            self.told[seq] = tuple(found)  # type: ignore[arg-type]

    def after(self, seq: int) -> Iterator[tuple[Wish, tuple[Key, Key]]]:
        """Yield the wishes told behind line `seq`, oldest first, with the first and the last block of each."""
        for told in sorted(line for line in self.told if line > seq):
            for wish, blocks in self.told[told]:
                yield wish, block_range(blocks)

    def copy(self) -> Wishes:
        """Return a copy whose growth this one does not see."""
        return Wishes(dict(self.told))


def _texts(data: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the names of blocks that `data` holds under `name`; a transcript may come from anywhere."""
    for text in _list(data, name):
        try:
            block_range(text)
        except (BadRef, AttributeError, TypeError):
            continue
        yield text


def _list(data: Mapping[str, Any], name: str) -> Sequence[Any]:
    given = data.get(name)
    return given if isinstance(given, list | tuple) else ()
