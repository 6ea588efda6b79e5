"""What must hold for every session: append-only, well-formed, the same however it is folded (I2, I3)."""

from __future__ import annotations

from context.conversations import FixedReader, Log, flat
from context.random_sessions import answer_open, play, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.context import Assembler, assemble, fold
from manusfs.messages import Profile, validate

PROFILE = Profile("test")


def session(steps: list[tuple[object, ...]]) -> Log:
    log = Log()
    log.begin()
    play(log, steps)
    return log


@settings(max_examples=150, deadline=None)
@given(turns())
def test_each_request_begins_with_the_one_before_and_is_well_formed(steps: list[tuple[object, ...]]) -> None:
    """I2, I3, MA-2."""
    log = session(steps)
    window, assembler, before = fold([]), Assembler(FixedReader(), PROFILE), list[str]()
    for event in log.events:
        window.apply(event)
        if not window.turns or window.open_calls:
            continue
        request = assembler.request(window)
        if request.messages[-1]["role"] == "user":
            validate(request)
        now = flat(request)
        assert now[: len(before)] == before
        before = now


@settings(max_examples=100, deadline=None)
@given(turns(), st.data())
def test_a_session_cut_anywhere_is_repaired_to_a_valid_request(
    steps: list[tuple[object, ...]], data: st.DataObject
) -> None:
    """OC-9, I3, s01: the log gains a record for each open call and loses none."""
    log = session(steps)
    log.events = log.events[: data.draw(st.integers(2, len(log.events)))]
    window = fold(log.events)
    for event in answer_open(log, window.open_calls):
        window.apply(event)
    if window.turns[-1].seq != window.epoch_seq and not window.turns[-1].results and not window.turns[-1].extras:
        window.apply(log.user("Go on."))
    validate(assemble(window, FixedReader(), PROFILE))
    assert fold(log.events) == window


@settings(max_examples=50, deadline=None)
@given(turns())
def test_an_assembler_gives_what_assembling_anew_gives(steps: list[tuple[object, ...]]) -> None:
    """STYLE 10: same events in, same bytes out."""
    log = session(steps)
    window, assembler = fold([]), Assembler(FixedReader(), PROFILE)
    for event in log.events:
        window.apply(event)
        if window.turns and not window.open_calls:
            assert assembler.request(window) == assemble(fold(log.events[: event.seq]), FixedReader(), PROFILE)


@settings(max_examples=100, deadline=None)
@given(turns())
def test_the_window_counts_what_it_holds(steps: list[tuple[object, ...]]) -> None:
    """I4: the estimate follows the request, and what was billed is never counted below half of it."""
    log = session(steps)
    window = fold(event for event in log.events if event.kind != "usage")
    assert window.tokens == window.meter.estimated
    assert window.tokens >= sum(item.tokens for item in window.items)
    billed = fold(log.events)
    assert billed.tokens >= billed.meter.estimated * 0.4
