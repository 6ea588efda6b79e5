"""Kept turns as real calls and results where the model's profile takes them without thinking, else as fenced text."""

from __future__ import annotations

import random

import pytest
from compact.runs import Run, performed
from context.conversations import FixedReader, call, flat, hex_id, request_text, text
from context.random_sessions import play, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.agent.standing import Standing
from manusfs.compact import Budget, Fresh, load_policy, reopen, undo
from manusfs.context import Assembler, Window, assemble, filling, fold
from manusfs.messages import Profile, Request, validate
from manusfs.records import Event, Span, TextPart

PAIRS = Fresh(changes={"profile": {"name": "test", "pairs_without_thinking": True}})
ROOM = Budget(10**6, 0)


def filled(turns_made: int = 8) -> Run:
    run = Run(load_policy("manus"), 60_000)
    rng = random.Random(3)
    for number in range(0, turns_made * 2, 2):
        run.turn(number, 2, rng)
    run.add(run.log.says(text("I read on."), call("last", "read")))
    run.add(run.log.shows("last", TextPart("the newest words"), reads=[f"obs:{hex_id(1)}@0-900"]))
    return run


def kinds(request: Request) -> list[list[str]]:
    return [[block["type"] for block in message["content"]] for message in request.messages]


def test_by_default_kept_turns_are_fenced_text() -> None:
    """DESIGN 6: it cannot be verified for today's models that pairs are taken without their thinking."""
    run = filled()
    run.compact()
    assert not run.window.pairs and kinds(run.request_now())[0] == ["text"] * len(run.window.opening)
    assert len(run.request_now().messages) == 1 and "<turn ref=" in request_text(run.request_now())


def test_where_the_profile_says_so_they_stand_as_they_were_without_thinking() -> None:
    """DESIGN 6, I3: calls and results paired, no thinking, the plan at the end; what was folded stays text."""
    run = filled()
    run.add(run.log.add("recite", text="<todo>\n- [ ] step\n</todo>"))
    run.compact()
    folded = [item.key for item in run.window.items if item.form == "stub"]
    run.record(reopen(run.window, load_policy("none"), ROOM, run.reader, PAIRS))
    request = run.request_now()
    roles = [message["role"] for message in request.messages]
    assert roles == ["user", *["assistant", "user"] * len(run.window.pairs)] and len(run.window.pairs) > 1
    said = request_text(request)
    assert '"thinking"' not in said and "the newest words" in said and folded
    assert request.messages[-1]["content"][-1]["text"].startswith("<todo>")
    assert "<todo>" not in request_text(Request("m", 1, (), (), request.messages[:1]))
    assert run.window.todo.startswith("<todo>")


def test_what_follows_is_appended_and_undo_and_resume_give_the_same() -> None:
    """I2, I5: the epoch grows at its end; folded anew from the transcript it is the same window."""
    run = filled()
    run.record(reopen(run.window, load_policy("none"), ROOM, run.reader, PAIRS))
    before = flat(run.request_now())
    for number in range(40, 60, 2):
        run.turn(number, 2, random.Random(number))
        now = flat(run.request_now())
        assert now[: len(before)] == before
        before = now
    assert fold(run.log.events) == run.window
    items = run.window.items
    event, epoch = performed(run.window, load_policy("manus"), run.budget, run.reader)
    assert epoch.data["pairs"], "the profile is the epoch's: it goes on so"
    run.record((event, epoch))
    run.request_now()
    run.record(undo(run.window, event.seq, ROOM, run.reader))
    assert run.window.items == items
    run.request_now()


def test_its_size_is_what_is_sent_and_filled_by_its_own_kinds() -> None:
    """I4: pairs count like what was sent in the epoch."""
    run = filled()
    run.record(reopen(run.window, load_policy("none"), ROOM, run.reader, PAIRS))
    found = filling(run.window)
    assert found.tokens == run.window.tokens == sum(share.tokens for share in found.shares)
    text_run = filled()
    text_run.record(reopen(text_run.window, load_policy("none"), ROOM, text_run.reader))
    assert abs(run.window.tokens - text_run.window.tokens) < text_run.window.tokens * 0.15


def test_what_was_read_in_a_kept_pair_still_stands() -> None:
    """CC-15: a second look is answered with a pointer to it."""
    run = filled()
    run.record(reopen(run.window, load_policy("none"), ROOM, run.reader, PAIRS))
    standing = Standing(run.log.session)
    for event in run.log.events:
        standing.apply(event)
    assert standing.where(f"obs:{hex_id(1)}", Span(0, 900)).startswith("msg:")


@pytest.mark.parametrize("pairs", [True, False])
@settings(max_examples=60, deadline=None)
@given(turns(), turns(), st.booleans())
def test_any_history_goes_on_in_either_way(
    pairs: bool, steps: list[tuple[object, ...]], more: list[tuple[object, ...]], again: bool
) -> None:
    """I2, I3: valid, append-only, and what is folded anew is the same."""
    run = Run(load_policy("manus"), 60_000)
    play(run.log, steps)
    run.window = fold(run.log.events)
    run.record(reopen(run.window, load_policy("none"), ROOM, run.reader, PAIRS if pairs else None))
    assembler, before = Assembler(FixedReader(), Profile("test")), list[str]()
    window, done = fold(run.log.events), len(run.log.events)
    play(run.log, more)
    for event in [None, *run.log.events[done:]]:
        if event is not None:
            window.apply(event)
        before = _checked(window, assembler, before)
    assert window == fold(run.log.events)
    if again and not window.open_calls:
        for event in performed(window, load_policy("manus"), Budget(20_000, 4_000), FixedReader()):
            window.apply(Event(event.kind, event.data, window.seq + 1))
        _checked(window, Assembler(FixedReader(), Profile("test")), [])


def _checked(window: Window, assembler: Assembler, before: list[str]) -> list[str]:
    if window.open_calls:
        return before
    request = assembler.request(window)
    if request.messages[-1]["role"] == "user":
        validate(request)
    assert flat(request) == flat(assemble(window, FixedReader(), Profile("test")))
    now = flat(request)
    assert now[: len(before)] == before
    return now


def test_a_kept_turn_whose_line_is_lost_is_left_out_of_what_is_sent() -> None:
    """I3: damage to one line of a transcript never makes its session unreadable."""
    run = filled()
    run.record(reopen(run.window, load_policy("none"), ROOM, run.reader, PAIRS))
    lost, *others = run.window.pairs
    window = fold([event for event in run.log.events if event.seq != lost[0]])
    assert [turn.seq for turn in window.turns if turn.seq != window.epoch_seq] == [first for first, _ in others]
    validate(assemble(window, run.reader, Profile("test")))
