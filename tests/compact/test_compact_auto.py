"""The policy `auto`: its figures are settings, it looks at what stands in the window, and how it folds at length."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Literal

import pytest
from compact.runs import Run, long_run, performed
from context.conversations import FixedReader, Log, call, hex_id, text
from context.random_sessions import play, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.compact import Budget, Fold, Move, load_policy, undo
from manusfs.compact.auto import Auto
from manusfs.compact.policy import birth, words
from manusfs.context import Calibration, Window, fold
from manusfs.errors import ConfigError
from manusfs.workspace.settings import Settings, load


@dataclass(frozen=True, slots=True)
class Folds:
    """A policy that folds the lines up to `last`."""

    last: int
    form: Literal["stub", "ledger", "collapsed"]
    name: str = "folds"

    def mark(self, budget: Budget) -> int:
        return 1

    def plan(self, window: Window, budget: Budget) -> list[Move]:
        return [Fold((f"1-{self.last}",), self.form)]


def grow(run: Run, calls: int, a_turn: int) -> list[int]:
    """Fetch `calls` pages of 50 KB, so many a turn, and nothing else; return the turns in which an epoch opened."""
    opened = []
    for first in range(0, calls, a_turn):
        epoch = run.window.epoch
        run.request()
        opened += [first // a_turn] * (run.window.epoch > epoch)
        ids = [f"t{number}" for number in range(first, first + a_turn)]
        run.add(
            run.log.says(text(f"I fetch page {first} and on."), *(call(id, url=f"https://e.org/{id}") for id in ids))
        )
        for number, id in enumerate(ids, first):
            run.add(run.log.saw(id, hex_id(number)))
    run.request()
    return opened


def grown(calls: int, a_turn: int, window: int = 200_000) -> Run:
    """Return the run of so many fetches under the policy's defaults."""
    run = Run(load_policy("auto", Settings()), window)
    grow(run, calls, a_turn)
    return run


def test_its_figures_are_settings() -> None:
    given = Settings(
        auto_hope=0.5, auto_again=0.1, auto_least=0.2, auto_ledgers=0.3, auto_keep=2, auto_inline_chars=900
    )
    policy = load_policy("auto", given)
    assert policy == Auto(hope=0.5, again=0.1, least=0.2, ledgers=0.3, keep=2, inline_chars=900)
    assert load_policy("auto", Settings()) == Auto(), "the defaults are the same in both places"
    budget = Budget(200_000, 10_000)
    born, said = birth(policy, budget), words(policy, budget)
    assert born is not None and born.inline_chars == 900
    assert said is not None and (said.older_chars, said.message_chars, said.tokens) == (400, 2_000, 20_000)


@pytest.mark.parametrize("name", ["auto_again", "auto_least", "auto_ledgers"])
def test_a_share_above_one_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load(workspace={name: 1.5})


@pytest.mark.parametrize("a_turn", [1, 4])
def test_three_hundred_large_results_take_few_epochs_that_free_much(a_turn: int) -> None:
    """MECHANISMS 2.2: no model, at least 20,000 tokens an epoch, under 60,000 right after each."""
    run = grown(300, a_turn)
    assert 1 <= len(run.compactions) <= 8
    assert all(before - after >= 20_000 for before, after in run.compactions)
    assert all(after < 60_000 for _, after in run.compactions)
    assert run.peak < 120_000


@pytest.mark.slow
def test_a_thousand_large_results_one_a_turn_take_twelve_epochs() -> None:
    """Ledgers grow with the run: an epoch that freed the same each time would in the end mostly write copies."""
    run = grown(1_000, 1)
    assert 1 <= len(run.compactions) <= 12
    assert all(before - after >= 20_000 for before, after in run.compactions)
    assert all(after < 60_000 for _, after in run.compactions)
    freed = [before - after for before, after in run.compactions]
    assert freed[-1] > 1.5 * freed[0]


def test_a_window_of_a_million_tokens_is_folded_as_one_of_200_000() -> None:
    """What it costs to carry a token does not depend on how much room is left."""
    usual, large = grown(120, 1), grown(120, 1, window=1_000_000)
    assert usual.compactions == large.compactions != []


@pytest.mark.parametrize("ratio", [0.7, 1.3])
def test_a_model_that_counts_otherwise_is_folded_in_the_same_turns(ratio: float) -> None:
    """Estimates are compared with estimates: what a model counts more or less is the same in both."""
    usual, other = Run(Auto(), 200_000), Run(Auto(), 200_000)
    other.window.meter = replace(other.window.meter, calibration=Calibration(1_000 * ratio, 1_000, "test"))
    assert grow(usual, 160, 1) == grow(other, 160, 1) != []
    assert other.window.meter.calibration.ratio == ratio


def test_ledgers_collapse_before_they_take_more_than_their_share() -> None:
    policy = Auto(ledgers=0.02)
    run = Run(policy, 200_000)
    long_run(run, 300, seed=1)
    full = [ledger for _, ledger in run.window.ledgers if ledger.form == "ledger"]
    assert any(ledger.form == "collapsed" for _, ledger in run.window.ledgers)
    assert len(full) <= 2


def test_with_a_dead_cache_it_does_not_fold_a_small_session_every_turn() -> None:
    run = Run(load_policy("auto"), 200_000)
    run.budget = replace(run.budget, idle_s=1_000.0)
    for number in range(6):
        run.request()
        run.turn(10 * number + 5, 1, random.Random(number))
    assert not run.compactions


def test_asking_whether_it_pays_looks_only_at_what_stands_in_the_window() -> None:
    """The cost of a turn does not grow with the session."""
    run = grown(300, 1)
    assert run.window.oldest_full > 100, "what was folded is not looked at again"
    looked = list(run.window.exchanges(run.window.oldest_full))
    assert len(looked) < 100 and looked[-1].turn == run.window.turn


def oldest(window: Window) -> int:
    """Return the first turn with a block in full that a move can change, the slow way."""
    full = [item.turn for item in window.items if item.form == "full" and not item.fixed]
    return min(full, default=window.turn)


@settings(max_examples=60, deadline=None)
@given(turns(), st.lists(st.tuples(st.integers(1, 60), st.sampled_from(["stub", "ledger", "collapsed"])), max_size=4))
def test_the_oldest_turn_in_full_is_known_whatever_was_folded_and_undone(steps: object, folds: object) -> None:
    log, reader = Log(), FixedReader()
    log.begin()
    play(log, steps)  # type: ignore[arg-type]
    window = fold(log.events)
    assert window.oldest_full == oldest(window)
    if window.open_calls:
        return
    for last, form in folds:  # type: ignore[attr-defined]
        for event in performed(window, Folds(last, form), Budget(10**6, 0), reader):
            window.apply(log.append(event))
        assert window.oldest_full == oldest(window)
    for seq in [seq for seq, standing in window.compactions.items() if standing]:
        for event in undo(window, seq, Budget(10**6, 0), reader):
            window.apply(log.append(event))
        assert window.oldest_full == oldest(window) == oldest(fold(log.events))
