"""Random sessions under policies that change in mid-run, with summarisers good and bad, and undo at random."""

from __future__ import annotations

import random

import pytest
from compact.runs import Run, check_undone
from compact.summarisers import BY, Brain, good, perform
from context.conversations import FixedReader, request_text
from context.random_sessions import play, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.compact import Budget, load_policy, policy_names, undo
from manusfs.context import Window, assemble, fold
from manusfs.errors import LimitReached, ModelError
from manusfs.messages import Profile, Request, validate

WINDOW = 60_000
BRAINS: dict[str, Brain | None] = {
    "good": good,
    "silent": lambda request: "",
    "failing": lambda request: ModelError("no key"),
    "too long": lambda request: ModelError("too long", kind="context_overflow"),
    "bad": lambda request: good(request).replace("tides", "https://invented.example/"),
    "none": None,
}
STEPS = st.tuples(turns(), st.sampled_from(policy_names()), st.sampled_from(sorted(BRAINS)), st.integers(0, 9))


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Return a session that was compacted by several policies, some of it undone."""
    run = Run(load_policy("manus"), WINDOW)
    for steps, name, brain, undone in draw(st.lists(STEPS, min_size=1, max_size=3)):
        play(run.log, steps)
        run.window = fold(run.log.events)
        run.policy = load_policy(name)
        # As if the window were nearly full: a small budget makes each policy go to work.
        run.budget = Budget(max(8_000, run.window.tokens * 5 // 4), 1_000)
        try:
            answers = BRAINS[brain]
            perform(run, answers or good, BY if answers is not None else None)
            standing = [seq for seq, on in run.window.compactions.items() if on]
            if undone < 4 and standing:
                run.record(undo(run.window, standing[undone % len(standing)], Budget(10**6, 0), run.reader))
        except LimitReached:
            pass
    return run


@settings(max_examples=80, deadline=None)
@given(runs())
def test_undoing_everything_gives_the_session_without_compaction(run: Run) -> None:
    """I5, for every policy and every outcome of a summary."""
    check_undone(run.log.events)


@settings(max_examples=80, deadline=None)
@given(runs())
def test_every_request_is_sound_and_every_line_within_reach(run: Run) -> None:
    """I1, I3, MECHANISMS 2.1: a pointer outlives every later pass, whoever made it."""
    window = fold(run.log.events)
    assert window == run.window
    request = assemble(window, FixedReader(), Profile("test"))
    if request.messages[-1]["role"] == "user":
        validate(request)
    check_reach(window, request)


def check_reach(window: Window, request: Request) -> None:
    """Each block stands in the window, in a ledger or summary, or under a range that the window names."""
    said = request_text(request)
    for exchange in window.exchanges():
        for item in exchange.items:
            if item.seq >= window.epoch_seq or item.kind in (
                "date",
                "instructions",
                "todo",
                "recite",
                "user",
                "thinking",
            ):
                continue
            if item.group is None:
                assert f"msg:{window.session}:{exchange.first}" in said
                continue
            ledger = window.ledger(item.group)
            assert ledger.first <= item.seq <= ledger.last
            assert f"msg:{window.session}:{ledger.first}-{ledger.last}" in said
            event = window.events[item.seq]
            if event.kind == "observation" and event.data.get("id"):
                assert any(event.data["id"] in line for line in ledger.lines)
                assert event.data["id"] in said or f"msg:{window.session}:{item.group[0]}.{item.group[1]}" in said


@pytest.mark.parametrize("name", policy_names())
@pytest.mark.parametrize("brain", sorted(BRAINS))
def test_any_policy_with_any_summariser_works_at_a_hundred_percent_and_beyond(name: str, brain: str) -> None:
    """MECHANISMS 2.15, I4: fits, is smaller, and is the same each time."""
    made = []
    for _ in range(2):
        run = Run(load_policy(name), 40_000)
        rng = random.Random(7)
        for number in range(0, 200, 2):
            run.turn(number, 2, rng)
        assert run.window.tokens > run.budget.window
        before, answers = run.window.tokens, BRAINS[brain]
        events, _ = perform(run, answers or good, BY if answers is not None else None)
        assert run.window.tokens <= run.budget.limit < before
        check_reach(run.window, run.request_now())
        made.append(events)
    assert made[0] == made[1]
