"""The compactor: its ladder, what it refuses, what it writes, and undo with the numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from compact.runs import Run, performed
from context.conversations import FixedReader, Log, call, hex_id, request_text, text

from manusfs.compact import (
    AskFirst,
    Budget,
    Fold,
    Fresh,
    Move,
    Summarise,
    compact,
    due,
    load_policy,
    reopen,
    room,
    undo,
)
from manusfs.context import Window, estimate, fold
from manusfs.errors import Damaged, InvalidRequest, LimitReached, NotFound
from manusfs.messages import Block
from manusfs.records import Part, TextPart, parse_ref


class Proposes:
    """A policy of fixed moves."""

    name = "fixed"

    def __init__(self, *moves: Move, mark: int = 1 << 40) -> None:
        self.moves, self._mark = list(moves), mark

    def mark(self, budget: Budget) -> int:
        return min(self._mark, budget.limit)

    def plan(self, window: Window, budget: Budget) -> list[Move]:
        return self.moves


def filled(policy: Any, turns: int = 30, window: int = 40_000) -> Run:
    run = Run(policy, window)
    rng = random.Random(5)
    for number in range(turns):
        run.turn(number, 1, rng)
    return run


def up_to(words: str, tokens: int) -> str:
    """Return `words` as often as `tokens` hold."""
    return words * int(tokens * 100 / estimate(words * 100))


def opening(run: Run) -> str:
    return "\n".join(
        part.text for part in (section.part for section in run.window.opening) if isinstance(part, TextPart)
    )


def test_a_ledger_has_a_line_for_each_observation_with_what_was_read_of_it() -> None:
    """DESIGN 5; OC-13: enough to find it again, not the text."""
    run = Run(Proposes(Fold(("3-99",), "ledger")), 40_000)
    log = run.log
    run.add(log.says(text("I start with the first page.\nIt is long."), call("a"), call("b", "read")))
    run.add(log.saw("a", hex_id(1), title="Tides & \u202e moons <b>" + "x" * 60))
    run.add(log.shows("b", TextPart("…"), reads=[f"obs:{hex_id(1)}@0-900", f"obs:{hex_id(1)}@900-2000"]))
    run.add(log.says(text("Now I write."), call("c", "write")))
    run.add(log.shows("c", TextPart("wrote"), wrote=["notes/a.md"]))
    run.add(log.says(call("d", "bash")))
    run.add(log.saw("d", hex_id(2), kind="tool", source='bash {"cmd":"ls -l","in":["a"]}', url="", title="", size=999))
    run.add(log.says(call("e")), log.shows("e", TextPart("what the model has not seen yet")))
    run.record(performed(run.window, run.policy, Budget(1_000_000, 0), run.reader))
    said, newest = opening(run).split("</user_message>\n")[1].split("\n<turn ")
    assert "what the model has not seen yet" in newest
    assert said == (
        '<ledger refs="2" bytes="50999" from="msg:20261130-ab12:3-9">\n'
        ":3 I start with the first page. It is long.\n"
        f'{hex_id(1)} example.org "Tides &amp; moons &lt;b&gt;{"x" * 22}…" 50k read 0-2000\n'
        ":6 Now I write.\n"
        ":7 wrote notes/a.md\n"
        f'{hex_id(2)} bash "ls -l a" 999b not read\n'
        "</ledger>"
    )
    for line in said.splitlines()[2:6:3]:
        assert estimate(line) <= 60


def test_a_collapsed_ledger_is_one_line_whose_ref_brings_the_whole_back() -> None:
    """DESIGN 5, tier 3: counts by host and tool, and a `msg:` ref."""
    run = filled(Proposes(Fold(("1-9999",), "collapsed")))
    (event, _) = run.compact()
    (line,) = [line for line in opening(run).splitlines() if line.startswith("<ledger")]
    assert f'whole="msg:{run.log.session}:{event.seq}.0"/>' in line and 'of="example.org ' in line
    assert estimate(line) <= 110
    parse_ref(f"msg:{run.log.session}:{event.seq}.0")
    whole = event.data["ledgers"][0]
    assert whole["type"] == "text"
    assert all(e.data["id"] in whole["text"] for e in run.log.events if e.kind == "observation")


def test_collapsing_again_takes_over_the_lines_of_the_ledgers_it_finds() -> None:
    """Section 2.7: one read brings all of it back, however often it was folded."""
    run = filled(Proposes(Fold(("1-40",), "collapsed")))
    run.compact()
    run.policy = Proposes(Fold(("1-9999",), "collapsed"))
    (event, _) = run.compact()
    assert len(run.window.ledgers) == 1
    assert all(e.data["id"] in event.data["ledgers"][0]["text"] for e in run.log.events if e.kind == "observation")


def test_a_fold_never_brings_a_block_back_to_a_larger_form() -> None:
    """A policy may name the same turns again and again."""
    run = filled(Proposes(Fold(("1-40",), "ledger"), mark=14_000))
    run.compact()
    run.policy = Proposes(Fold(("1-50",), "stub"))
    run.compact()
    assert {item.form for item in run.window.between("3-40")} <= {"ledger", "collapsed"}


def test_nothing_is_written_when_nothing_can_be_freed() -> None:
    """GC-6: compaction never makes the context larger."""
    run = filled(Proposes(), turns=1)
    run.compact()
    assert run.compact() == ()


def test_a_compaction_with_an_open_call_is_refused() -> None:
    """DESIGN 6: only when no call is open."""
    run = filled(load_policy("manus"))
    run.add(run.log.says(call("open")))
    assert not due(run.window, run.policy, run.budget)
    with pytest.raises(InvalidRequest):
        performed(run.window, run.policy, run.budget, run.reader)


def test_summaries_are_ledgers_as_long_as_no_model_makes_them() -> None:
    """MECHANISMS 2.15: works with no model."""
    run = filled(Proposes(AskFirst("Write your notes."), Summarise(("1-40",)), mark=14_000))
    (event, _) = run.compact()
    assert [move["form"] for move in event.data["moves"]] == ["ledger"]


def test_it_works_when_the_window_is_already_over_full() -> None:
    """MECHANISMS 2.15."""
    run = filled(load_policy("manus"), turns=200)
    assert run.window.tokens > run.budget.window
    run.compact()
    run.request()


def test_one_enormous_turn_is_folded_to_refs() -> None:
    """CC-7: the last step of the ladder: truncation of kept turns to refs."""
    run = Run(load_policy("manus"), 30_000)
    run.add(run.log.says(call("a")))
    run.add(run.log.shows("a", TextPart("word " * 60_000)))
    run.compact()
    assert run.window.tokens < 5_000
    assert "msg:20261130-ab12:3-4" in request_text(run.request())


def test_a_thousand_messages_of_the_user_do_not_fill_the_window() -> None:
    """I4: capped at 10 % of the window together."""
    run = Run(load_policy("manus"), 30_000)
    for n in range(1_000):
        run.add(run.log.says(text("ok"), stop="end_turn"), run.log.user(f"Message {n}: " + "word " * 200))
    run.compact()
    run.request()
    assert run.window.tokens < 16_000


def test_what_the_model_has_not_seen_is_never_folded_while_it_fits() -> None:
    """DESIGN 6: newest results in full, else the model asks for them again until its limit of turns."""
    for size in (8_000, 11_000, 16_000, 30_000):
        run = filled(load_policy("manus"), turns=20, window=size)
        words = up_to("what was asked for ", room(run.window, run.budget))
        run.add(run.log.says(call("x")), run.log.shows("x", TextPart(words)))
        assert run.window.tokens > run.budget.limit // 3
        run.compact()
        assert words in opening(run), size
        assert run.window.unseen == frozenset({(len(run.log.events) - 3, 0), (len(run.log.events) - 2, 0)})
        run.request()
        run.add(run.log.says(call("y")))
        run.add(run.log.shows("y", TextPart(up_to("more of it ", room(run.window, run.budget)))))
        run.compact()
        assert words not in opening(run), size


def test_what_can_not_fit_even_alone_is_folded_all_the_same() -> None:
    """I4 comes first."""
    run = filled(load_policy("manus"), window=8_000)
    words = "too much to be shown " * 4_000
    run.add(run.log.says(call("x")), run.log.shows("x", TextPart(words)))
    run.compact()
    assert words not in opening(run) and f"msg:{run.log.session}:{len(run.log.events) - 2}.0" in opening(run)
    run.request()


def test_a_session_that_can_not_fit_is_told_with_the_numbers() -> None:
    """I9."""
    run = Run(load_policy("manus"), 3_000, max_tokens=2_800)
    run.add(run.log.says(call("a")), run.log.saw("a", hex_id(1)))
    with pytest.raises(LimitReached, match=r"\d+ tokens; 50 fit") as caught:
        performed(run.window, run.policy, run.budget, run.reader)
    assert caught.value.hint


def test_a_damaged_body_is_left_out_rather_than_ending_the_session() -> None:
    """The ladder goes on when an epoch can't be rendered."""

    class Broken(FixedReader):
        def blocks(self, parts: Sequence[Part]) -> list[Block]:
            if any(hex_id(29) in str(getattr(part, "ref", "")) for part in parts):
                raise Damaged("broken")
            return super().blocks(parts)

    run = filled(load_policy("manus"))
    run.add(run.log.says(call("x")), run.log.saw("x", hex_id(29)))
    run.reader = Broken()
    run.compact()
    assert f"obs:{hex_id(29)}" in opening(run) or hex_id(29) in opening(run)


def test_reopening_carries_everything_over_and_compacts_only_when_it_must() -> None:
    """DESIGN 6: resume opens a new epoch when model, key, tools or version changed."""
    run = filled(load_policy("manus"), turns=6)
    events = reopen(run.window, run.policy, run.budget, run.reader, Fresh(changes={"model": "other"}))
    assert [event.kind for event in events] == ["epoch"]
    items = run.window.items
    run.record(events)
    assert (run.window.because, run.window.setup.model, run.window.items) == ("resume", "other", items)
    run.request()
    run = filled(load_policy("manus"), turns=100)
    events = reopen(run.window, run.policy, run.budget, run.reader)
    assert [event.kind for event in events] == ["compaction", "epoch"]
    run.record(events)
    assert run.window.tokens <= run.policy.mark(run.budget)


def test_undo_refuses_with_the_numbers_when_the_window_would_not_fit() -> None:
    """DESIGN 6."""
    run = filled(load_policy("manus"), turns=200)
    (event, _) = run.compact()
    with pytest.raises(LimitReached, match=rf"\d+ tokens; {run.budget.limit:,} fit"):
        undo(run.window, event.seq, run.budget, run.reader)
    with pytest.raises(NotFound, match="99999"):
        undo(run.window, 99_999, run.budget, run.reader)


def test_any_compaction_can_be_undone_alone() -> None:
    """I5: the others stay in force."""
    run = filled(Proposes(Fold(("1-20",)), mark=20_000), turns=20)
    first = run.compact()[0]
    run.policy = Proposes(Fold(("1-30",), "ledger"), mark=20_000)
    second = run.compact()[0]
    run.record(undo(run.window, first.seq, run.budget, run.reader))
    assert {item.form for item in run.window.between("3-20")} == {"ledger"}
    run.record(undo(run.window, second.seq, run.budget, run.reader))
    assert {item.form for item in run.window.items} == {"full"}


def test_an_epoch_that_begins_above_its_mark_has_to_grow_before_the_next_attempt() -> None:
    """After a failure the same failure is not tried every turn."""
    run = Run(Proposes(mark=500), 100_000)
    run.add(run.log.says(text("a"), stop="end_turn"), run.log.user("word " * 1_500))
    run.compact()
    assert run.window.tokens > 500
    assert not due(run.window, run.policy, run.budget)
    run.add(run.log.says(text("word " * 40_000), stop="end_turn"), run.log.user("go on"))
    assert due(run.window, run.policy, run.budget)


def test_the_numbers_before_and_after_are_written_down() -> None:
    """GC-12: told, and true."""
    run = filled(load_policy("manus"))
    before = run.window.tokens
    event = run.compact()[0]
    assert event.data["before_tokens"] == before
    assert event.data["after_tokens"] == run.window.tokens
    assert event.data["policy"] == "manus"


def test_the_compactor_is_a_generator_that_asks_no_model_yet() -> None:
    """The seam for summaries."""
    run = filled(load_policy("manus"))
    steps = compact(run.window, run.policy, run.budget, run.reader)
    with pytest.raises(StopIteration):
        next(steps)


def test_two_sessions_in_one_log_format_keep_their_own_refs() -> None:
    """Refs name the session that they are of."""
    log = Log("20261201-cd34")
    log.begin()
    run = Run(Proposes(Fold(("1-99",), "collapsed")), 40_000, log=Log("20261201-cd34"))
    run.add(run.log.says(text("x " * 900), call("a")), run.log.saw("a", hex_id(1)))
    run.compact()
    assert "msg:20261201-cd34:" in opening(run) and "ab12" not in opening(run)
    assert fold(run.log.events) == run.window
