"""The window as a function of events: what it holds, counts and gives back on undo."""

from __future__ import annotations

import pytest
from context.conversations import FixedReader, Log, call, hex_id, text

from manusfs.context import assemble, fold
from manusfs.context.items import block_range
from manusfs.errors import BadRef
from manusfs.messages import Profile
from manusfs.records import Event, TextPart


def begun() -> Log:
    log = Log()
    log.begin()
    return log


def test_the_window_tells_session_epoch_and_open_calls() -> None:
    """DESIGN 2: window."""
    log = begun()
    log.says(text("I look."), call("a"), call("b"))
    log.shows("a", TextPart("out"))
    window = fold(log.events)
    assert (window.session, window.epoch, window.because) == ("20261130-ab12", 1, "start")
    assert window.open_calls == ("b",)
    assert [item.kind for item in window.items] == ["date", "instructions", "user", "text", "call", "call", "result"]
    assert {item.form for item in window.items} == {"full"}


def test_kinds_of_later_versions_are_left_alone() -> None:
    """Additive changes of the format."""
    log = begun()
    before = fold(log.events)
    before.apply(Event("weather", {"sun": 1}, 3))  # type: ignore[arg-type]
    assert before.seq == 3 and before.turns == fold(log.events).turns


def test_size_is_the_last_bill_and_an_estimate_of_what_came_since() -> None:
    """DESIGN 6, Tokens."""
    log = begun()
    log.says(call("a"))
    log.bill(5_000, 100)
    assert fold(log.events).tokens == 5_100
    log.shows("a", TextPart("word " * 1_000))
    grown = fold(log.events).tokens
    assert 5_100 + 1_000 < grown < 5_100 + 8_000


def test_a_bill_before_its_message_counts_the_same() -> None:
    """The order of usage and message in a transcript is the agent's choice."""
    early, late = begun(), begun()
    early.bill(5_000, 100)
    early.says(call("a"))
    late.says(call("a"))
    late.bill(5_000, 100)
    for log in (early, late):
        log.shows("a", TextPart("out"))
    assert fold(early.events).tokens == fold(late.events).tokens


def test_a_refused_reply_does_not_count_its_output() -> None:
    """The bill of a refusal has no message."""
    log = begun()
    log.bill(5_000, 700)
    log.user("Then this.")
    log.says(text("ok"), stop="end_turn")
    assert fold(log.events).tokens < 5_100


def test_bills_of_summaries_and_empty_bills_do_not_move_the_window() -> None:
    """A summary is another request; a server without usage says 0."""
    log = begun()
    before = fold(log.events).tokens
    log.add("usage", model="small", input_tokens=90_000, output_tokens=5, purpose="summary")
    log.bill(0, 0)
    assert fold(log.events).tokens == before


def test_a_server_that_bills_only_what_it_did_not_cache_does_not_make_the_window_look_empty() -> None:
    """I4."""
    log = begun()
    log.says(call("a"))
    log.shows("a", TextPart("word " * 40_000))
    log.says(text("ok"), stop="end_turn")
    log.bill(3, 1)
    assert fold(log.events).tokens > 15_000


def test_estimates_follow_the_bills_within_a_few_turns() -> None:
    """A tokenizer that makes 1.4 times as many tokens is learned."""
    log = begun()
    real = 0
    for n in range(6):
        before = fold(log.events)
        real = round(before.meter.estimated * 1.4)
        log.says(call(f"t{n}"))
        log.bill(real, 0)
        log.shows(f"t{n}", TextPart(f"words and more of them {n} " * 400))
    window = fold(log.events)
    assert window.tokens == pytest.approx(window.meter.estimated * 1.4, rel=0.03)
    assert window.meter.calibration.ratio == pytest.approx(1.4, rel=0.1)


def test_another_model_is_calibrated_anew() -> None:
    """Each family counts differently."""
    log = begun()
    log.says(text("a"))
    log.bill(fold(log.events).meter.estimated * 2, 0)
    assert fold(log.events).meter.calibration.ratio > 1.1
    log.says(text("b"))
    log.bill(5, 0, model="other")
    assert fold(log.events).meter.calibration.model == "other"


def test_a_paste_stands_in_the_users_message_by_its_stub() -> None:
    """An observation without a call is the user's."""
    log = begun()
    log.says(text("ready"), stop="end_turn")
    log.saw("", hex_id(1), kind="user", source="user:paste")
    log.user("What of this?")
    content = assemble(fold(log.events), FixedReader(), Profile("test")).messages[-1]["content"]
    assert content[0]["text"].startswith("<observation") and content[1]["text"] == "What of this?"


def test_an_undone_compaction_gives_its_blocks_back_to_the_move_before() -> None:
    """DESIGN 6: a block takes its newest move that is not undone."""
    log = begun()
    log.says(call("a"))
    seen = log.saw("a", hex_id(1))
    first = log.add("compaction", policy="p", moves=[{"move": "fold", "blocks": [f"{seen.seq}"], "form": "stub"}])
    second = log.add("compaction", policy="p", moves=[{"move": "to_full", "blocks": [f"{seen.seq}.0"]}])
    third = log.add("compaction", policy="p", moves=[{"move": "fold", "blocks": ["1-99"], "form": "stub"}])
    forms = []
    for undone in (None, third.seq, first.seq, second.seq, second.seq):
        if undone is not None:
            log.add("undo", compaction=undone)
        item = fold(log.events).item(seen.seq)
        forms.append(item.form if item else "")
    assert forms == ["stub", "full", "full", "full", "full"]
    log.add("undo", compaction=12345)
    assert fold(log.events).compactions == {first.seq: False, second.seq: False, third.seq: False}


def test_what_the_user_said_is_never_moved() -> None:
    """MECHANISMS 2.6."""
    log = begun()
    log.add("compaction", policy="p", moves=[{"move": "fold", "blocks": ["1-99"], "form": "stub"}])
    assert {item.form for item in fold(log.events).items} == {"full"}


def test_a_fork_does_not_touch_its_window() -> None:
    """The compactor tries epochs on copies."""
    log = begun()
    log.says(call("a"))
    window, same = fold(log.events), fold(log.events)
    fork = window.fork()
    fork.apply(log.saw("a", hex_id(1)))
    fork.apply(log.add("compaction", policy="p", moves=[{"move": "fold", "blocks": ["1-99"], "form": "stub"}]))
    assert window == same != fork


@pytest.mark.parametrize("odd", ["", "a", "1-", "1.a", "-"])
def test_odd_ranges_of_blocks_are_refused(odd: str) -> None:
    """Moves come from a transcript, which may come from a stranger."""
    with pytest.raises(BadRef):
        block_range(odd)
