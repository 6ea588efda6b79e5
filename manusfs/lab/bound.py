"""The clairvoyant bound: the least cost of all schedules of (epoch turn, cut) on a run, by dynamic programming."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from manusfs.lab.cost import Prices

__all__ = ["Bound", "Schedule", "Sizes", "Want", "best"]


@dataclass(frozen=True, slots=True)
class Want:
    """An observation that request `step` needs; it stands in the window while the cut is not beyond `until`."""

    step: int
    until: int
    """The latest turn that shows all of it in full; -1 when none does."""
    tokens: int
    """Of the read that brings it back."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """A run as the bound looks at it. Turn `j` is the reply of request `j` and what answered it."""

    head: int
    """System and tools."""
    task: int
    full: tuple[int, ...]
    """Tokens of each turn as it was sent first."""
    kept: tuple[int, ...]
    """Of each turn as a later epoch carries it over in full."""
    small: tuple[int, ...]
    """Of each turn in a ledger."""
    wants: tuple[Want, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Epochs as (request before which it opens, first turn that it keeps in full)."""

    epochs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """The least cost, and a schedule that has it."""

    cost: float
    schedule: Schedule


def best(sizes: Sizes, prices: Prices) -> Bound:
    """Return the least cost of all schedules in which folded turns stay folded and the newest turn is kept.

    Takes time and memory proportional to the square of the number of turns.
    """
    steps = len(sizes.full)
    if prices.turn_s > prices.life_s:
        prices = replace(prices, read=prices.write)  # nothing is found in the cache any more
    grid = _Grid(sizes, prices)
    # For each cut: the least cost of all requests from the present one on, without and with an epoch right before it.
    onward = [0.0] * (steps + 1)
    opened = [0.0] * (steps + 1)
    choice: list[list[int]] = []
    for step in range(steps - 1, -1, -1):
        best_open, at_cut = _suffix_least(opened, step)
        turns: list[int] = [-1] * (step + 1)
        later = [0.0] * (step + 1)
        for cut in range(step + 1):
            stay, leave = onward[cut], best_open[cut] if step + 1 < steps else float("inf")
            later[cut] = min(stay, leave)
            turns[cut] = at_cut[cut] if leave < stay else -1
        choice.append(turns)
        onward = [grid.appended(step, cut) + later[cut] for cut in range(step + 1)]
        opened = [grid.opened(step, cut) + later[cut] for cut in range(step + 1)]
    return Bound(onward[0] if steps else 0.0, _schedule(list(reversed(choice))))


def _suffix_least(opened: Sequence[float], last: int) -> tuple[list[float], list[int]]:
    """Return for each cut the least of `opened` from there to `last`, and which cut has it."""
    least, place = [float("inf")] * (last + 1), [-1] * (last + 1)
    running, at = float("inf"), -1
    for cut in range(min(last, len(opened) - 1), -1, -1):
        if opened[cut] < running:
            running, at = opened[cut], cut
        least[cut], place[cut] = running, at
    return least, place


def _schedule(choice: Sequence[Sequence[int]]) -> Schedule:
    epochs, cut = [], 0
    for step, turns in enumerate(choice):
        if cut < len(turns) and turns[cut] >= 0:
            cut = turns[cut]
            epochs.append((step + 1, cut))
    return Schedule(tuple(epochs))


class _Grid:
    """What request `step` costs when the turns before `cut` are folded."""

    def __init__(self, sizes: Sizes, prices: Prices) -> None:
        self.sizes, self.prices = sizes, prices
        self.small = _sums(sizes.small)
        self.full = _sums(sizes.full)
        self.kept = _sums(sizes.kept)
        steps = len(sizes.full)
        self.wants: list[list[Want]] = [[] for _ in range(steps)]
        for want in sizes.wants:
            self.wants[want.step].append(want)
        # Tokens of the extra reads of each request and those before it, by cut.
        self.reads = [
            _sums([sum(w.tokens for w in self._missed(step, cut)) for step in range(steps)]) for cut in range(steps + 1)
        ]

    def appended(self, step: int, cut: int) -> float:
        """Return the cost of a request that goes on where the one before it ended."""
        before = self._window(step - 1, cut) + self._reads_at(step - 1, cut) if step else 0
        now = self._window(step, cut)
        read = min(before, now)
        return self.prices.read * read + self.prices.write * (now - read) + self._extra(step, cut, now)

    def opened(self, step: int, cut: int) -> float:
        """Return the cost of the first request of an epoch: all but system and tools is written anew."""
        now = self._window(step, cut, opened=True)
        head = self.sizes.head
        return self.prices.read * head + self.prices.write * (now - head) + self._extra(step, cut, now)

    def _window(self, step: int, cut: int, *, opened: bool = False) -> int:
        if step < 0:
            return 0
        turns = self.kept[step] - self.kept[cut] if opened else self.full[step] - self.full[cut]
        reads = self.reads[cut][step] - self.reads[cut][min(cut, step)]
        return self.sizes.head + self.sizes.task + self.small[min(cut, step)] + max(0, turns) + reads

    def _extra(self, step: int, cut: int, window: int) -> float:
        cost = 0.0
        for want in self._missed(step, cut):
            cost += self.prices.read * window + self.prices.write * want.tokens
            window += want.tokens
        return cost

    def _reads_at(self, step: int, cut: int) -> int:
        return self.reads[cut][step + 1] - self.reads[cut][step]

    def _missed(self, step: int, cut: int) -> list[Want]:
        return [want for want in self.wants[step] if want.until < cut]


def _sums(values: Iterable[int]) -> list[int]:
    sums = [0]
    for value in values:
        sums.append(sums[-1] + value)
    return sums
