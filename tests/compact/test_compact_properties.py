"""Random sessions, folds and undos: what went in comes back, what is sent is well-formed (I1, I3, I5)."""

from __future__ import annotations

from compact.runs import check_undone, performed
from context.conversations import FixedReader, Log, flat, request_text
from context.random_sessions import play, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.compact import Budget, Fold, Move, ToFull, due, load_policy, room, undo
from manusfs.context import Assembler, Window, assemble, estimate_part, fold
from manusfs.errors import LimitReached
from manusfs.messages import Profile, validate
from manusfs.records import Event, TextPart, canonical, part_from_json, part_to_json

BUDGET = Budget(60_000, 4_000)
READER = FixedReader()


class Random:
    """A policy that proposes whatever it is given."""

    name = "random"

    def __init__(self, moves: list[Move]) -> None:
        self.moves = moves

    def mark(self, budget: Budget) -> int:
        return budget.limit // 3

    def plan(self, window: Window, budget: Budget) -> list[Move]:
        return self.moves


@st.composite
def moves(draw: st.DrawFn, last: int) -> list[Move]:
    """Return moves over random ranges, some of them nonsense."""
    made: list[Move] = []
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(1, last))
        blocks = (draw(st.sampled_from([f"{first}-{draw(st.integers(first, last + 9))}", f"{first}", f"{first}.0"])),)
        form = draw(st.sampled_from(["stub", "ledger", "collapsed", "full"]))
        made.append(ToFull(blocks) if form == "full" else Fold(blocks, form))  # type: ignore[arg-type]
    return made


@st.composite
def histories(draw: st.DrawFn) -> Log:
    """Return a session with compactions and undos at random."""
    log = Log()
    log.begin()
    for _ in range(draw(st.integers(1, 3))):
        play(log, draw(turns()))
        window = fold(log.events)
        for event in performed(window, Random(draw(moves(len(log.events)))), BUDGET, READER):
            window.apply(log.append(event))
        standing = [seq for seq, on in window.compactions.items() if on]
        if standing and draw(st.booleans()):
            try:
                for event in undo(window, draw(st.sampled_from(standing)), BUDGET, READER):
                    log.append(event)
            except LimitReached:
                pass
    return log


@settings(max_examples=80, deadline=None)
@given(histories())
def test_undoing_every_compaction_gives_the_session_without_any(log: Log) -> None:
    """I5."""
    check_undone(log.events)


@settings(max_examples=80, deadline=None)
@given(histories())
def test_after_any_history_the_request_is_valid_and_every_line_is_within_reach(log: Log) -> None:
    """I1, I3, MECHANISMS 2.1: in the window, in a ledger, or under a `msg:` range."""
    window = fold(log.events)
    request = assemble(window, READER, Profile("test"))
    if request.messages[-1]["role"] == "user":
        validate(request)
    said = request_text(request)
    for exchange in window.exchanges():
        for item in exchange.items:
            if item.seq >= window.epoch_seq or item.kind in ("date", "instructions", "todo", "recite"):
                continue
            if item.form in ("full", "stub") and item.kind not in ("user", "thinking", "recite"):
                assert f"msg:{window.session}:{exchange.first}" in said
            elif item.group is not None:
                ledger = window.ledger(item.group)
                assert ledger.first <= item.seq <= ledger.last
                assert f"msg:{window.session}:{ledger.first}-{ledger.last}" in said


@settings(max_examples=60, deadline=None)
@given(st.lists(turns(), min_size=1, max_size=4), st.sampled_from([9_000, 12_000, 20_000, 60_000]))
def test_any_session_goes_on_within_its_window(parts: list[list[tuple[object, ...]]], window_tokens: int) -> None:
    """I1 to I4 at every request, with compactions in between: bounded, valid, append-only, all within reach.

    Results are cut to their share of the window, as dispatch does; what was not seen yet is in full in what follows.
    """
    budget, log = Budget(window_tokens, 2_000 + window_tokens // 20), Log()
    log.begin()
    policy, profile = load_policy("manus"), Profile("test", window=window_tokens)
    window, assembler = fold(log.events), Assembler(READER, profile)
    before, epoch, done = list[str](), 0, len(log.events)
    for steps in [step for part in parts for step in part]:
        play(log, [steps])
        share: int | None = None
        for event in log.events[done:]:
            if event.kind in ("observation", "shown") and share is None:
                left = max(budget.limit - window.tokens, room(window, budget))
                share = int(left / window.meter.calibration.ratio)
            kept = fitting(event, share or 0)
            log.events[event.seq - 1] = kept
            window.apply(kept)
            share = share if share is None else share - sum(i.tokens + 20 for i in window.between(str(kept.seq)))
        if due(window, policy, budget):
            unseen = unseen_texts(window)
            for event in performed(window, policy, budget, READER):
                window.apply(log.append(event))
            said = request_text(assembler.request(window))
            # Stubs and pastes are not cut here: with them a turn may bring more than can stand.
            assert (share or 0) < 0 or all(canonical(text)[1:-1] in said for text in unseen)
        done = len(log.events)
        assert window.tokens <= budget.limit
        request = assembler.request(window)
        if request.messages[-1]["role"] == "user":
            validate(request)
        now = flat(request)
        assert epoch != window.epoch or now[: len(before)] == before
        before, epoch = now, window.epoch


def fitting(event: Event, left: int) -> Event:
    """Return a result as dispatch writes it: what does not fit stands as a ref."""
    data = event.data
    if event.kind != "shown" or sum(estimate_part(part_from_json(part)) for part in data["parts"]) + 100 <= left:
        return event
    sent = [part_to_json(TextPart(f'NOT SENT: read(ref="msg:20261130-ab12:{event.seq}")'))]
    return Event(event.kind, {**data, "sent": sent}, event.seq)


def unseen_texts(window: Window) -> list[str]:
    """Return the texts that results brought since the model spoke last."""
    found = []
    for seq, block in window.unseen:
        data = window.events[seq].data
        if "parts" in data:
            part = part_from_json(data.get("sent", data["parts"])[block])
            found += [part.text] if isinstance(part, TextPart) and part.text.strip() else []
    return found


@settings(max_examples=30, deadline=None)
@given(histories())
def test_a_resumed_session_folds_to_the_same_window(log: Log) -> None:
    """MECHANISMS 2.16: what was written is all that counts."""
    copied = Log()
    copied.events = []
    for event in log.events:
        copied.add(event.kind, **event.data)
    assert fold(copied.events) == fold(log.events)
