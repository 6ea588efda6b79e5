"""What the model asked to fold or to keep: done at the next compaction, within the budget; an undo takes it back."""

from __future__ import annotations

import random
from typing import Any

import pytest
from compact.runs import Run, performed
from compact.summarisers import good, perform
from context.conversations import call, hex_id, request_text
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.compact import PINNED_SHARE, Budget, load_policy, pinned, policy_names, reopen, undo
from manusfs.context import Window, estimate, fold
from manusfs.records import TextPart

PAGE = "the page that matters " * 60


def asked(run: Run, number: int, *parts: TextPart, **wishes: Any) -> int:
    """Let the model call for a status with wishes; return the line of the answer."""
    run.add(run.log.says(call(f"w{number}", "context_status")))
    event = run.log.shows(f"w{number}", TextPart("noted"), *parts, **wishes)
    run.add(event)
    return event.seq


def filled(policy: str = "manus", turns: int = 16, window: int = 40_000) -> Run:
    run = Run(load_policy(policy), window)
    rng = random.Random(3)
    for number in range(turns):
        run.turn(number, 1, rng)
    return run


def form(window: Window, seq: int, block: int = 0) -> str:
    item = window.item(seq, block)
    assert item is not None
    return item.form


@pytest.mark.parametrize("policy", policy_names())
def test_what_was_asked_to_be_folded_is_folded_at_the_next_compaction_and_not_before(policy: str) -> None:
    """MECHANISMS 2.18: even the newest, and nothing that was sent is edited."""
    run = filled(policy)
    run.add(run.log.says(call("x")), run.log.saw("x", hex_id(99)))
    line = len(run.log.events)
    asked(run, 1, folds=[str(line)])
    run.turn(17, 1, random.Random(1))
    before = request_text(run.request_now())
    assert form(run.window, line) == "full"
    perform(run, good)
    assert form(run.window, line) != "full"
    assert f"obs:{hex_id(99)}" in before


@pytest.mark.parametrize("policy", [name for name in policy_names() if name != "none"])
def test_what_was_asked_to_be_kept_stands_in_full_over_the_next_compaction(policy: str) -> None:
    """MECHANISMS 2.18: whatever the policy folds, by ledger or by summary; over one compaction, then as all else."""
    run = Run(load_policy(policy), 60_000)
    rng = random.Random(4)
    run.turn(0, 1, rng)
    seq = asked(run, 1, TextPart(PAGE), pins=[1])
    for number in range(2, 40):
        run.turn(number, 1, rng)
    perform(run, good)
    assert form(run.window, seq, 1) == "full" and PAGE.strip() in request_text(run.request_now())
    assert form(run.window, seq) != "full"
    for number in range(40, 90):
        run.turn(number, 1, rng)
    perform(run, good)
    assert form(run.window, seq, 1) != "full"


def test_the_newest_wishes_count_and_the_last_word_on_a_block() -> None:
    """MECHANISMS 2.18: a quarter of the limit is what can be kept."""
    run = filled()
    big = "word " * int(run.budget.limit * PINNED_SHARE * 0.6 * 100 / estimate("word " * 100))
    first = asked(run, 1, TextPart(big), pins=[1])
    second = asked(run, 2, TextPart(big), pins=[1])
    assert pinned(run.window, run.budget) == {(second, 1)}
    asked(run, 3, folds=[f"{second}.1"])
    assert pinned(run.window, run.budget) == {(first, 1)}
    asked(run, 4, folds=[f"{first}.1"], keeps=[f"{second}.1"])
    assert pinned(run.window, run.budget) == {(second, 1)}


def test_what_was_kept_gives_way_before_the_window_is_passed() -> None:
    """I4: a wish is no reason to fail."""
    run = filled(window=40_000)
    asked(run, 1, TextPart("word " * 3_000), pins=[1])
    small = Budget(run.window.setup.max_tokens + 9_000, run.window.setup.max_tokens)
    run.record(performed(run.window, load_policy("none"), small, run.reader))
    assert run.window.tokens <= small.limit


def test_an_undo_lets_the_wish_stand_again() -> None:
    """I5: the state is that without the compaction."""
    run = filled()
    seq = asked(run, 1, TextPart(PAGE), pins=[1], folds=["6"])
    run.turn(17, 1, random.Random(1))
    wished = run.window.wished()
    (event, _) = performed(run.window, run.policy, run.budget, run.reader)
    run.record(performed(run.window, run.policy, run.budget, run.reader))
    assert not run.window.wished() and (seq, 1) in wished
    run.record(undo(run.window, event.seq, Budget(10**6, 0), run.reader))
    assert run.window.wished() == wished


def test_an_epoch_that_begins_for_another_reason_does_it_too() -> None:
    """MECHANISMS 2.18: a resume with another model is the next epoch as well."""
    run = filled()
    asked(run, 1, folds=["6"])
    events = reopen(run.window, run.policy, Budget(10**6, 0), run.reader)
    assert [event.kind for event in events] == ["compaction", "epoch"]
    run.record(events)
    assert form(run.window, 6) == "stub"


NAMES = st.none() | st.integers() | st.text(max_size=6) | st.sampled_from(["3", "4-9", "5.0", "1-999"])
LISTS = st.none() | st.integers() | st.lists(NAMES, max_size=4)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["folds", "keeps", "pins"]), LISTS, max_size=3))
def test_wishes_of_any_wording_break_nothing(wishes: dict[str, Any]) -> None:
    """I3: a transcript may come from anywhere."""
    run = filled(turns=6)
    asked(run, 1, **wishes)
    run.turn(7, 1, random.Random(1))
    run.compact()
    run.request_now()
    assert fold(run.log.events) == run.window
