"""One suite over every policy: it proposes, the next epoch fits, the same again is the same, undo brings back."""

from __future__ import annotations

import random

import pytest
from compact.runs import Run, performed

from manusfs.compact import Budget, Fold, Summarise, load_policy, policy_names, undo
from manusfs.context import fold
from manusfs.errors import UsageError


def filled(name: str, turns: int = 60) -> Run:
    """A session that is far above the mark of a small window."""
    run = Run(load_policy(name), 40_000)
    rng = random.Random(3)
    for number in range(0, turns, 2):
        run.turn(number, 2, rng)
    return run


@pytest.mark.parametrize("name", policy_names())
def test_a_policy_only_looks(name: str) -> None:
    """It may not change what it is shown."""
    run = filled(name)
    assert run.policy.plan(run.window, run.budget) == run.policy.plan(run.window, run.budget)
    assert run.window == fold(run.log.events)


@pytest.mark.parametrize("name", policy_names())
def test_the_next_epoch_fits_and_is_smaller(name: str) -> None:
    """MECHANISMS 2.15."""
    run = filled(name)
    before = run.window.tokens
    run.compact()
    assert run.window.epoch == 2
    assert run.window.tokens < min(before, run.policy.mark(run.budget))
    run.request()


@pytest.mark.parametrize("name", policy_names())
def test_the_same_session_compacts_to_the_same_bytes(name: str) -> None:
    """STYLE 10."""
    one, two = filled(name), filled(name)
    assert one.compact() == two.compact()
    assert one.request() == two.request()


@pytest.mark.parametrize("name", policy_names())
def test_undo_brings_every_block_back(name: str) -> None:
    """I5, MECHANISMS 2.8."""
    run = filled(name, turns=20)
    items = run.window.items
    events = run.compact()
    if not any(event.kind == "compaction" for event in events):
        return
    assert run.window.items != items
    run.record(undo(run.window, events[0].seq, run.budget, run.reader))
    assert run.window.items == items
    assert (run.window.because, run.window.epoch) == ("undo", 3)
    run.request()


@pytest.mark.parametrize("name", policy_names())
def test_a_policy_is_called_when_its_mark_is_reached_and_not_before(name: str) -> None:
    """CC-6: evaluated on every turn, by itself."""
    run = Run(load_policy(name), 40_000)
    rng, number = random.Random(1), 0
    while not run.compactions:
        tokens = run.window.tokens
        run.request()
        run.turn(number, 1, rng)
        number += 1
    assert hasattr(run.policy, "pays") or run.compactions[0][0] >= run.policy.mark(run.budget) > tokens - 1_500


def test_manus_folds_the_oldest_half_and_keeps_the_newest_in_full() -> None:
    """MA-2, MA-6: every fold keeps what brings the whole back."""
    run = filled("manus")
    move, summary = run.policy.plan(run.window, run.budget)
    assert isinstance(move, Fold) and move.form == "stub"
    assert isinstance(summary, Summarise), "only made where the fold frees too little"
    named = {item.key for item in run.window.between(move.blocks[0])}
    tokens = {True: 0, False: 0}
    for item in run.window.items:
        if item.turn:
            tokens[item.key in named] += item.tokens
    assert tokens[True] == pytest.approx(tokens[False], rel=0.1)
    assert run.window.items[-1].key not in named


def test_a_policy_that_is_not_there_is_told_with_those_that_are() -> None:
    """Third parties add theirs by entry point."""
    with pytest.raises(UsageError, match="'x'") as caught:
        load_policy("x")
    assert "manus" in caught.value.hint


def test_marks_stay_below_the_hard_limit() -> None:
    """A small window with a large reply must not have a mark that no request can reach."""
    budget = Budget(30_000, 16_000 + 1_500)
    for name in policy_names():
        assert load_policy(name).mark(budget) <= budget.limit
    assert performed(filled("none", 40).window, load_policy("none"), budget, filled("none", 40).reader)
