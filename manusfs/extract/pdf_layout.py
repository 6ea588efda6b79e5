"""Whether the text of a page comes in the order in which people read, told from where its pieces stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["MOST_BOXES", "Box", "is_disordered"]

MOST_BOXES = 1_500
"""Of more pieces nothing is said."""
_MOST_BLOCKS = 60
_MISPLACED = 0.2
"""Share of a page's text that must stand before what is read earlier; less is a header or a footer drawn last."""
_ROWS = 6
"""So many rows that run across a gutter make two columns of them."""


@dataclass(slots=True)
class Box:
    """A piece of text and where it stands, in points from the lower left corner; grows as pieces join."""

    left: float
    bottom: float
    right: float
    top: float
    lines: int = 1
    ink: float = 0.0
    """Width of all its lines together, which stands for the amount of text."""

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.top - self.bottom


def is_disordered(pieces: Sequence[Box]) -> bool:
    """Return True if `pieces`, in the order of the text, leap back up or to a column on the left, or mix two columns.

    Meant for text that runs from left to right and from top to bottom; pages of upright text are never called so.
    """
    if len(pieces) < 2 or len(pieces) > MOST_BOXES or _is_upright(pieces):
        return False
    runs = list(_runs(pieces))
    return _mixes_columns(runs) or _leaps_back(list(_blocks(runs)))


def _is_upright(pieces: Sequence[Box]) -> bool:
    return sum(box.height > 1.5 * box.width for box in pieces) > len(pieces) / 2


def _runs(pieces: Sequence[Box]) -> Iterator[Box]:
    """Yield the lines: neighbours at the same height become one."""
    run: Box | None = None
    for box in pieces:
        if run is not None and _same_line(run, box) and -box.height < box.left - run.right < 1.5 * box.height:
            run = Box(run.left, min(run.bottom, box.bottom), max(run.right, box.right), max(run.top, box.top))
            run.ink = run.width
            continue
        if run is not None:
            yield run
        run = Box(box.left, box.bottom, box.right, box.top, ink=box.width)
    if run is not None:
        yield run


def _same_line(one: Box, other: Box) -> bool:
    shared = min(one.top, other.top) - max(one.bottom, other.bottom)
    return shared > 0.5 * min(one.height, other.height)


def _share_across(one: Box, other: Box) -> float:
    shared = min(one.right, other.right) - max(one.left, other.left)
    return shared / max(min(one.width, other.width), 0.1)


def _share_along(one: Box, other: Box) -> float:
    shared = min(one.top, other.top) - max(one.bottom, other.bottom)
    return shared / max(min(one.height, other.height), 0.1)


def _blocks(runs: Sequence[Box]) -> Iterator[Box]:
    """Yield the stretches in which line follows upon line further down."""
    block: Box | None = None
    last: Box | None = None
    for run in runs:
        below = block is not None and last is not None and run.top < last.top - 0.3 * last.height
        if block is not None and below and _share_across(block, run) > 0.1:
            block = Box(
                min(block.left, run.left),
                run.bottom,
                max(block.right, run.right),
                block.top,
                block.lines + 1,
                block.ink + run.ink,
            )
        else:
            if block is not None:
                yield block
            block = run
        last = run
    if block is not None:
        yield block


def _leaps_back(blocks: Sequence[Box]) -> bool:
    total = sum(block.ink for block in blocks)
    solid = [block for block in blocks if block.lines > 1][:_MOST_BLOCKS]
    misplaced = 0.0
    for at, block in enumerate(solid):
        misplaced += max(
            (min(block.ink, other.ink) for other in solid[:at] if _belongs_before(block, other)), default=0
        )
    return misplaced > _MISPLACED * total


def _belongs_before(block: Box, earlier: Box) -> bool:
    """Return True if people read `block` first: it stands above, or as high in a column further left."""
    if block.bottom >= earlier.top - 1 and _share_across(block, earlier) > 0.3:
        return True
    return block.right <= earlier.left + 1 and _share_along(block, earlier) > 0.5


def _mixes_columns(runs: Sequence[Box]) -> bool:
    """Return True if long pieces left and right of one gutter take turns row by row."""
    gutters = [
        (left.right + right.left) / 2
        for left, right in pairwise(runs)
        if _same_line(left, right)
        and right.left - left.right > 0.8 * left.height
        and min(left.width, right.width) > 12 * left.height
    ]
    if len(gutters) < _ROWS or len(gutters) * 2 < 0.6 * len(runs):
        return False
    middle = sorted(gutters)[len(gutters) // 2]
    near = sum(abs(gutter - middle) < 20 for gutter in gutters)
    return near > 0.8 * len(gutters)
