"""The clairvoyant bound is the least of all schedules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.lab import Prices, Sizes, Want, best
from manusfs.lab.bound import _Grid

PRICES = Prices()


def schedules(step: int, steps: int, cut: int) -> Iterator[list[int]]:
    """Every way to go on: for each request the cut of an epoch before it, -1 for none."""
    if step == steps:
        yield []
        return
    for choice in [-1, *range(cut, step)] if step else [-1]:
        for rest in schedules(step + 1, steps, cut if choice < 0 else choice):
            yield [choice, *rest]


def cost(sizes: Sizes, schedule: list[int]) -> float:
    grid, cut, total = _Grid(sizes, PRICES), 0, 0.0
    for step, choice in enumerate(schedule):
        cut = cut if choice < 0 else choice
        total += grid.appended(step, cut) if choice < 0 else grid.opened(step, cut)
    return total


small = st.integers(1, 3_000)


@st.composite
def runs(draw: st.DrawFn) -> Sizes:
    steps = draw(st.integers(1, 5))
    full = tuple(draw(st.lists(small, min_size=steps, max_size=steps)))
    wants = draw(st.lists(st.tuples(st.integers(0, steps - 1), st.integers(-1, 4), st.integers(100, 900)), max_size=4))
    found = tuple(Want(step, min(until, step - 1), tokens) for step, until, tokens in wants)
    return Sizes(1_000, 50, full, tuple(size // 2 + 1 for size in full), tuple(min(40, size) for size in full), found)


@given(runs())
@settings(max_examples=60, deadline=None)
def test_no_schedule_is_cheaper(sizes: Sizes) -> None:
    least = min(cost(sizes, schedule) for schedule in schedules(0, len(sizes.full), 0))
    assert best(sizes, PRICES).cost == pytest.approx(least)


@given(runs())
@settings(max_examples=60, deadline=None)
def test_the_schedule_that_is_given_has_the_cost_that_is_told(sizes: Sizes) -> None:
    bound = best(sizes, PRICES)
    schedule = [-1] * len(sizes.full)
    for step, cut in bound.schedule.epochs:
        schedule[step] = cut
    assert cost(sizes, schedule) == pytest.approx(bound.cost)


def test_one_large_turn_and_a_long_way_to_go_is_folded_at_once() -> None:
    sizes = Sizes(1_000, 50, (20_000, *[100] * 30), (20_000, *[100] * 30), (40,) * 31, ())
    assert best(sizes, PRICES).schedule.epochs[0] == (2, 1)
