"""How far away a needed span is at the moment of need, and the read that brings it back."""

from __future__ import annotations

from collections.abc import Sequence

from manusfs.lab.needs import Need
from manusfs.lab.stage import Arrived, Stage
from manusfs.lab.view import View
from manusfs.records import Span

__all__ = ["READ_CHARS", "missing", "span_to_read", "where"]

READ_CHARS = 4_000
"""Characters that an extra read shows."""
_BEFORE = 200


def where(need: Need, view: View, stage: Stage, seq: int) -> str:
    """Return "visible", "read", "search", "reads" or "lost" for `need` in the request that `view` holds.

    `seq` is the transcript line of the observation; 0 for what keeps no refs at all: what such a one dropped is lost.
    """
    if view.shows(need.keys):
        return "visible"
    arrived = stage.arrived[need.observation]
    if not seq:
        return "lost"
    if arrived.returns and (view.names(arrived.id) if arrived.id else True):
        return "read"
    if need in stage.shown:
        return "search"
    return "reads" if arrived.returns and view.covers(seq) else "lost"


def missing(needs: Sequence[Need], view: View) -> dict[int, list[Need]]:
    """Return the needs that do not stand in the request, by observation."""
    groups: dict[int, list[Need]] = {}
    for need in needs:
        if not view.shows(need.keys):
            groups.setdefault(need.observation, []).append(need)
    return groups


def span_to_read(needs: Sequence[Need], arrived: Arrived) -> Span:
    """Return the piece of 4,000 characters that shows the most of `needs`, as bytes."""
    starts = sorted({max(0, need.start - _BEFORE) for need in needs})
    best = max(starts, key=lambda start: sum(start <= n.start and n.end <= start + READ_CHARS for n in needs))
    return arrived.span(best, min(len(arrived.text), best + READ_CHARS))
