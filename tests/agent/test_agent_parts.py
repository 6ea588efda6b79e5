"""The small parts of the agent: the pool, what is kept of a reply, limits, the budget of a turn, Ctrl-C."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.agent.budget import Offer, fit
from manusfs.agent.interrupt import Interrupt, Left
from manusfs.agent.limits import Limits
from manusfs.agent.pool import run_all
from manusfs.agent.reply import keep
from manusfs.errors import Interrupted
from manusfs.messages import Reply, Usage
from manusfs.records import Event, TextPart, part_to_json
from manusfs.workspace.settings import Settings

TEXT = {"type": "text", "text": "hello"}
THINKING = {"type": "thinking", "thinking": "", "signature": "c2ln"}


def tool_use(id: Any = "toolu_1", name: str = "read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def test_jobs_run_side_by_side_and_come_back_in_order() -> None:
    """The first job waits for the last: only side by side can they end."""
    last = threading.Event()
    jobs = [lambda: last.wait(5) and 0, lambda: 1, lambda: last.set() or 2]
    assert run_all(jobs, threads=8, stopped=lambda: False, skipped=None) == [0, 1, 2]


def test_after_a_stop_no_job_begins_and_one_that_hangs_is_left() -> None:
    """Ctrl-C: what did not finish is told as skipped, and nothing waits for ever."""
    stop, release = threading.Event(), threading.Event()

    def first() -> str:
        stop.set()
        return "done"

    jobs = [first, lambda: release.wait(30) or "late", lambda: "never"]
    results = run_all(jobs, threads=1, stopped=stop.is_set, skipped="skipped", grace_s=0.3)
    assert results == ["done", "skipped", "skipped"]
    release.set()


def test_a_reply_is_kept_exactly_as_received() -> None:
    """s17: thinking, also with empty text, goes back byte for byte."""
    kept = keep(Reply((THINKING, TEXT, tool_use()), "tool_use", id="msg_1", model="m"), set(), 7)
    assert kept.event.data["content"] == [THINKING, TEXT, tool_use()]
    assert "dropped" not in kept.event.data and "received_ids" not in kept.event.data
    assert [call.id for call in kept.calls] == ["toolu_1"]


@pytest.mark.parametrize("id", ["", None, "a b", "x" * 1500, "toolu_1", "é", 5])
def test_an_id_that_the_api_would_refuse_gets_one_of_ours(id: Any) -> None:
    """s12, s13: empty, very long, duplicate and odd ids; the one that was received is told."""
    kept = keep(Reply((tool_use(id), tool_use(id)), "tool_use"), {"toolu_1"}, 7)
    ids = [call.id for call in kept.calls]
    assert ids == ["call_7_0", "call_7_1"]
    assert [block["id"] for block in kept.event.data["content"]] == ids
    assert set(kept.event.data["received_ids"]) == set(ids)


def test_two_equal_ids_in_one_reply_differ_afterwards() -> None:
    """s13."""
    kept = keep(Reply((tool_use("same"), tool_use("same")), "tool_use"), set(), 3)
    assert [call.id for call in kept.calls] == ["same", "call_3_1"]


def test_a_call_that_the_limit_cut_off_does_not_run() -> None:
    """max_tokens: complete calls run, the last one is told as dropped."""
    kept = keep(Reply((TEXT, tool_use("a"), tool_use("b")), "max_tokens"), set(), 1)
    assert [call.id for call in kept.calls] == ["a"]
    assert kept.event.data["dropped"] == [tool_use("b")]


def test_nothing_of_a_refusal_is_kept_in_the_context() -> None:
    """refusal: an empty assistant turn is a 400; the words are told apart."""
    kept = keep(Reply((TEXT,), "refusal", stop_details={"category": "cyber"}), set(), 1)
    assert kept.event.data["content"] == []
    assert kept.event.data["dropped"] == [TEXT]
    assert kept.event.data["stop_details"] == {"category": "cyber"}


def test_a_server_tools_result_without_its_call_is_told_apart() -> None:
    """s21: pairing covers server tools as well."""
    orphan = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    paired = {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_2", "content": []}
    kept = keep(Reply((orphan, paired, result, TEXT), "end_turn"), set(), 1)
    assert kept.event.data["content"] == [paired, result, TEXT]
    assert kept.event.data["dropped"] == [orphan]


def test_limits_warn_at_80_percent_once_and_end_at_100() -> None:
    """CC-9, GN-3, section 2.17: limits are told before they are hit."""
    limits = Limits(Settings(max_turns=10, max_total_tokens=0), clock=lambda: 0.0)
    told = []
    for _ in range(9):
        limits.add(Usage(10, 10), None)
        told += limits.warnings()
    assert told == ["8 of 10 replies are used (max_turns)"]
    assert limits.reached() is None
    limits.add(Usage(10, 10), None)
    reached = limits.reached()
    assert reached is not None and reached.stop == "max_turns" and "manusfs resume" in reached.message


@pytest.mark.parametrize(
    ("settings", "stop"),
    [
        (Settings(max_turns=0, max_total_tokens=100), "max_tokens_total"),
        (Settings(max_turns=0, max_seconds=5), "max_seconds"),
        (Settings(max_turns=0, max_usd=0.5), "max_usd"),
    ],
)
def test_each_limit_has_its_stop_reason(settings: Settings, stop: str) -> None:
    """Tokens in and out, cached ones too, seconds and money."""
    time = iter([0.0, *([10.0] * 9)])
    limits = Limits(settings, clock=lambda: next(time))
    limits.add(Usage(10, 10, 40, 40), 0.5)
    reached = limits.reached()
    assert reached is not None and reached.stop == stop


def test_a_limit_of_zero_is_none() -> None:
    limits = Limits(Settings(max_turns=0), clock=lambda: 1e9)
    limits.add(Usage(10**9, 10**9), 1e9)
    assert limits.reached() is None and limits.warnings() == ()


def shown(tokens: int, call: str = "a") -> Offer:
    parts = [part_to_json(TextPart("x"))]
    data = {"call": call, "parts": parts, "is_error": False, "wrote": [], "reads": ["obs:1@0-9"]}
    return Offer(Event("shown", data), tokens)


@given(st.lists(st.integers(1, 30_000), min_size=1, max_size=12), st.integers(0, 60_000))
def test_the_results_of_a_turn_share_what_is_left(sizes: list[int], left: int) -> None:
    """CC-11, section 2.3, I4: what does not fit is sent as a ref, the largest first; the transcript has the whole."""
    offers = [shown(size) for size in sizes]
    fitted = fit(offers, left, "20261130-abcd", 12)
    least = sum(min(size, 150) for size in sizes)
    assert sum(offer.tokens for offer in fitted) <= max(left, least)
    for at, (before, after) in enumerate(zip(offers, fitted, strict=True)):
        assert after.event.data["parts"] == before.event.data["parts"]
        if "sent" in after.event.data:
            assert f"msg:20261130-abcd:{12 + at}" in after.event.data["sent"][0]["text"]
            assert after.tokens < before.tokens


def test_the_first_ctrl_c_asks_and_the_second_stops_at_once() -> None:
    stop = Interrupt()
    assert not stop.is_set()
    stop.press()
    assert stop.is_set()
    with pytest.raises(Interrupted):
        stop.press()


def test_calls_that_can_be_made_again_are_not_waited_for_like_those_that_write() -> None:
    """What writes is waited for; a page that never comes is not, once nothing else is left."""
    writing, stop, over = threading.Event(), threading.Event(), threading.Event()

    def never() -> str:
        writing.wait(60)
        stop.set()
        over.wait(120)
        return "late"

    def write() -> str:
        writing.set()
        stop.wait(60)
        return "written"

    jobs = [never, write, write]
    results = run_all(jobs, threads=2, stopped=stop.is_set, skipped="left", grace_s=90, brief={0})
    over.set()
    assert results == ["left", "written", "left"], "the third never began"


def test_a_press_leaves_a_wait_that_may_be_left_and_nothing_else() -> None:
    stop = Interrupt()
    with pytest.raises(Left), stop.leaving():
        with stop.leaving(False):
            stop.press()
        assert stop.is_set()
        with stop.leaving():
            raise AssertionError("a wait that begins after the press is not begun")
    with pytest.raises(Interrupted):
        stop.press()
    other = Interrupt()
    with pytest.raises(Left), other.leaving():
        other.press()
