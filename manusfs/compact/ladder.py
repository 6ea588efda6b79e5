"""The deterministic tiers as a slope: the newest in full, older folded, older still in ledgers, the oldest collapsed.

Nothing here needs a model. Each step of the ladder is a steeper slope over less room; the last leaves one line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from manusfs.compact.moves import Fold, Move, span
from manusfs.context import Exchange, Item, Key, Window

__all__ = ["STEPS", "Slope", "slope_moves"]

_RANK = {"full": 0, "trim": 0, "stub": 1, "ledger": 2, "summary": 2, "collapsed": 3}
_LEVELS = ("full", "stub", "ledger", "collapsed")
_LINE = 45
"""Tokens of a ledger line, a little more than the aim of the design."""
_COLLAPSED_LINE = 110
_SKIPPED = ("date", "instructions", "user", "todo", "thinking", "recite")


@dataclass(frozen=True, slots=True)
class Slope:
    """Shares of the room that is left beside system, tools, the user's words and the to-do."""

    full: float
    stub: float
    ledger: float
    collapsed: float

    def rooms(self, room: int) -> tuple[float, float, float]:
        """Return the tokens for full, folded and ledger."""
        return self.full * room, self.stub * room, self.ledger * room

    def lines(self, room: int) -> int:
        """Return how many collapsed ledgers may stand, at least 1."""
        return max(1, min(12, int(self.collapsed * room / _COLLAPSED_LINE)))


STEPS = (
    Slope(0.55, 0.22, 0.12, 0.1),
    Slope(0.35, 0.2, 0.1, 0.1),
    Slope(0.2, 0.1, 0.08, 0.08),
    Slope(0.1, 0.05, 0.0, 0.05),
    Slope(0.0, 0.05, 0.0, 0.0),
    Slope(0.0, 0.0, 0.0, 0.0),
)


@dataclass(slots=True)
class _Unit:
    """Neighbouring turns that collapse to one line."""

    first: int
    last: int
    size: int
    new: bool = True


@dataclass(slots=True)
class _Plan:
    stub: list[Exchange] = field(default_factory=list)
    ledger: list[Exchange] = field(default_factory=list)
    collapsed: list[Exchange] = field(default_factory=list)
    groups: list[Key] = field(default_factory=list)
    """Ledgers that collapse."""


def slope_moves(window: Window, slope: Slope, room: int, keep: Collection[Key] = ()) -> list[Move]:
    """Return the moves that give `window` the shape of `slope` within `room` tokens (uncalibrated).

    Nothing comes back to a larger form by it. What is in `keep` stands beside the room and is not counted.
    """
    plan = _sort(window, slope.rooms(room), keep)
    moves: list[Move] = [Fold(tuple(_runs(plan.stub)))] if plan.stub else []
    if plan.ledger:
        moves.append(Fold(tuple(_runs(plan.ledger)), "ledger"))
    units = _units(window, plan)
    for unit in _joined(units, slope.lines(room)):
        if unit.new:
            moves.append(Fold((span(unit.first, unit.last),), "collapsed"))
    return moves


def _sort(window: Window, rooms: tuple[float, float, float], keep: Collection[Key]) -> _Plan:
    """Walk from the newest turn back; a tier that is full hands over to the next."""
    plan, level, used, counted = _Plan(), 0, 0.0, set[Key]()
    for exchange in reversed(list(window.exchanges())):
        loose = [i for i in exchange.items if i.group is None and i.kind not in _SKIPPED and i.key not in keep]
        groups = {item.group for item in exchange.items if item.group is not None and item.form == "ledger"}
        for group in groups - counted:
            counted.add(group)
            level, used = (2, 0.0) if level < 2 else (level, used)
            used += _LINE * (1 + len(window.ledger(group).lines))
            if level == 3 or used > rooms[2]:
                level = 3
                plan.groups.append(group)
        if not loose:
            continue
        while level < 3 and used + _cost(loose, level) > rooms[level]:
            level, used = level + 1, 0.0
        used += _cost(loose, level)
        if level and any(_RANK[item.form] < level for item in loose):
            getattr(plan, _LEVELS[level]).append(exchange)
    return plan


def _cost(items: Sequence[Item], level: int) -> float:
    if level >= 2:
        return _LINE * sum(item.kind in ("result", "source", "text") for item in items)
    return 20 + sum(_shown(item, max(level, _RANK[item.form])) for item in items)


def _shown(item: Item, rank: int) -> int:
    if rank == 0:
        return min(item.tokens, 300) if item.kind in ("call", "other") else item.tokens
    return min(item.tokens, 75)


def _units(window: Window, plan: _Plan) -> list[_Unit]:
    units = [
        _Unit(ledger.first, ledger.last, len(ledger.lines), new=key in plan.groups)
        for key, ledger in window.ledgers
        if ledger.form == "collapsed" or key in plan.groups
    ]
    exchanges = sorted(plan.collapsed, key=lambda exchange: exchange.first)
    for first, last, size in _stretches(exchanges, units):
        units.append(_Unit(first, last, size))
    return sorted(units, key=lambda unit: unit.first)


def _stretches(exchanges: Sequence[Exchange], units: Sequence[_Unit]) -> Iterator[tuple[int, int, int]]:
    """Return runs of turns that no other unit parts."""
    borders = sorted(unit.first for unit in units)
    run: list[Exchange] = []
    for exchange in exchanges:
        if run and any(run[0].first < border <= exchange.first for border in borders):
            yield run[0].first, run[-1].last, len(run)
            run = []
        run.append(exchange)
    if run:
        yield run[0].first, run[-1].last, len(run)


def _joined(units: list[_Unit], most: int) -> list[_Unit]:
    """Join neighbours, the smallest pair first, until `most` are left, with some to spare.

    Large ones are joined seldom, so that a line is written anew only a few times in the longest session.
    """
    if len(units) <= most:
        return units
    units = list(units)
    while len(units) > max(1, most * 2 // 3):
        at = min(range(len(units) - 1), key=lambda i: units[i].size + units[i + 1].size)
        left, right = units[at], units[at + 1]
        units[at : at + 2] = [_Unit(left.first, max(left.last, right.last), left.size + right.size)]
    return units


def _runs(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Return the lines of `exchanges` as a move names them, following turns joined."""
    run: list[Exchange] = []
    for exchange in sorted(exchanges, key=lambda exchange: exchange.first):
        if run and exchange.turn != run[-1].turn + 1:
            yield span(run[0].first, run[-1].last)
            run = []
        run.append(exchange)
    if run:
        yield span(run[0].first, run[-1].last)
