"""Events to replies without a server: what other servers do differently, and what can't be an answer."""

from __future__ import annotations

from typing import Any

import pytest

from manusfs.messages import Delta, Reply
from manusfs.models.stream import BrokenStream, Collector

START = {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 7}}}


def collected(*events: dict[str, Any], stop: str | None = "end_turn") -> Reply:
    collector = Collector()
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 3, "input_tokens": None}}
    for event in (START, *events, end, {"type": "message_stop"}):
        collector.feed(event)
    return collector.reply()


def started(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def grown(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}


def test_usage_is_a_running_total_of_which_the_last_counts() -> None:
    usage = collected(started(0, {"type": "text", "text": "hi"})).usage
    assert (usage.input_tokens, usage.output_tokens) == (7, 3)


def test_input_that_comes_with_the_start_is_taken() -> None:
    """Some local servers send a whole call in one event, and end its turn with "end_turn"."""
    reply = collected(started(0, {**CALL, "input": {"a": 1}}))
    assert reply.content[0]["input"] == {"a": 1}
    assert reply.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("said", "block", "meant"), [("stop", {"type": "text", "text": "x"}, "end_turn"), ("tool_calls", CALL, "tool_use")]
)
def test_words_that_other_servers_use_for_a_stop_are_understood(said: str, block: dict[str, Any], meant: str) -> None:
    assert collected(started(0, block), stop=said).stop_reason == meant


def test_members_that_are_not_known_are_kept_and_null_ones_are_not() -> None:
    block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}, "colour": "red", "caller": None}
    reply = collected(started(0, block), grown(0, type="input_json_delta", partial_json='{"q": "x"}'))
    whole = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}, "colour": "red"}
    assert reply.content == (whole,)


def test_an_empty_thinking_block_is_kept_with_its_signature() -> None:
    """LIBRARIES A1: also thinking blocks whose text is empty go back."""
    start = started(0, {"type": "thinking", "thinking": "", "signature": ""})
    reply = collected(
        start, grown(0, type="signature_delta", signature="abc"), started(1, {"type": "text", "text": "x"})
    )
    assert reply.content[0] == {"type": "thinking", "thinking": "", "signature": "abc"}


def test_unknown_events_and_deltas_are_passed_over() -> None:
    reply = collected(
        {"type": "news"}, started(0, {"type": "text", "text": "x"}), grown(0, type="sound_delta", sound=1)
    )
    assert reply.content == ({"type": "text", "text": "x"},)


@pytest.mark.parametrize("cut", ['{"what": "lo', "", '{"what": '])
@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_a_call_cut_by_a_limit_is_left_out_but_whole_ones_before_it_stay(cut: str, stop: str) -> None:
    second = started(1, {**CALL, "id": "t2"})
    events = (started(0, {**CALL, "input": {"a": 1}}), second, grown(1, type="input_json_delta", partial_json=cut))
    reply = collected(*events, stop=stop)
    assert [block["id"] for block in reply.content] == ["t1"]
    assert reply.stop_reason == stop


@pytest.mark.parametrize(
    "events",
    [
        (started(0, CALL), grown(0, type="input_json_delta", partial_json='{"what": ')),
        (started(0, CALL), grown(0, type="input_json_delta", partial_json="[1]")),
        (grown(3, type="text_delta", text="nowhere"),),
        (started(0, {"type": "text", "text": ""}), grown(0, type="text_delta")),
        ({"type": "content_block_start", "index": 0},),
        (started(0, {}),),
    ],
)
def test_what_can_not_be_an_answer_is_a_broken_stream(events: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(BrokenStream):
        collected(*events)


def test_an_answer_without_an_end_or_a_beginning_is_broken() -> None:
    with pytest.raises(BrokenStream):
        collected(stop=None)
    with pytest.raises(BrokenStream):
        Collector().reply()


def test_each_event_says_what_a_person_may_be_told() -> None:
    collector = Collector()
    collector.feed(START)
    assert collector.feed(started(0, CALL)) == Delta("tool", "look")
    assert collector.feed(started(1, {"type": "text", "text": "a"})) == Delta("text", "a")
    assert collector.feed(grown(1, type="text_delta", text="b")) == Delta("text", "b")
    assert collector.feed(grown(0, type="input_json_delta", partial_json="{}")) is None
