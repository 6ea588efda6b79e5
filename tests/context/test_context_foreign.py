"""Transcripts that hold what no request may hold: written by others, by older versions, or torn by a crash (I3)."""

from __future__ import annotations

from typing import Any

import pytest
from context.conversations import PNG, FixedReader, Log, call, flat, request_text, text, thinking

from manusfs.context import Assembler, Window, assemble, fold, later_opening
from manusfs.context.ledger import Sightings
from manusfs.messages import Block, Profile, Request, validate
from manusfs.records import TextPart

PROFILE = Profile("test")
SEARCHED = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_7", "content": []}
ASKED = {"type": "server_tool_use", "id": "srvtoolu_7", "name": "web_search", "input": {"query": "tides"}}


def started() -> Log:
    log = Log()
    log.begin()
    return log


def message(log: Log, role: str, content: Any, **more: Any) -> None:
    log.add("message", role=role, content=content, **more)


def valid(log: Log) -> Request:
    """Return the next request after the user said something more; it must be valid, as must be the next epoch's."""
    log.user("And now?")
    window = fold(log.events)
    for open_call in window.open_calls:
        window.apply(log.shows(open_call, is_error=True))
    request = assemble(window, FixedReader(), PROFILE)
    validate(request)
    _next_epoch(window)
    return request


def _next_epoch(window: Window) -> None:
    opening = [section.to_json() for section in later_opening(window)]
    log = started()
    log.events[-1].data["opening"] = opening
    validate(assemble(fold(log.events), FixedReader(), PROFILE))


def results(request: Request) -> dict[str, Any]:
    return {
        block["tool_use_id"]: block["content"]
        for entry in request.messages
        for block in entry["content"]
        if block["type"] == "tool_result"
    }


@pytest.mark.parametrize(
    "content",
    [
        [SEARCHED, text("Found.")],
        [SEARCHED],
        [ASKED, text("Looking.")],
        [ASKED],
        [{"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": []}, text("a")],
        [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}, text("a")],
        [{"type": "thinking", "thinking": "unsigned"}, text("a")],
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}],
        [{"type": "text", "text": None}],
        ["a bare text"],
        [],
        "all of it a bare text",
        None,
    ],
)
def test_an_assistant_turn_that_no_request_may_hold_makes_a_valid_request(content: Any) -> None:
    """OC-9, s21: what can't be sent stays in the transcript and is left out."""
    log = started()
    message(log, "assistant", content, stop_reason="end_turn")
    request = valid(log)
    assert "srvtoolu_7" not in request_text(request)


def test_a_server_call_and_its_result_stay_together() -> None:
    """I3: also over the pause of a turn."""
    log = started()
    message(log, "assistant", [ASKED], stop_reason="pause_turn")
    window = fold(log.events)
    assert window.waiting == {"srvtoolu_7"}
    paused = flat(assemble(window, FixedReader(), PROFILE))
    message(log, "assistant", [SEARCHED, text("Found.")], stop_reason="end_turn")
    request = valid(log)
    assert request_text(request).count("srvtoolu_7") == 2
    assert flat(request)[: len(paused)] == paused


def test_a_result_of_no_call_is_not_sent_and_stays() -> None:
    """s03: a summary cut between a call and its result; also when the result stood in a user's message."""
    log = started()
    log.shows("toolu_9", _said("late"))
    message(log, "user", [{"type": "tool_result", "tool_use_id": "toolu_9", "content": "late"}, text("next")])
    log.says(text("ok"), stop="end_turn")
    request = valid(log)
    assert "late" not in request_text(request) and "next" in request_text(request)
    assert any("late" in str(event.data) for event in log.events)


def test_a_result_in_a_users_message_answers_its_call() -> None:
    """The shape in which other programs keep their sessions."""
    log = started()
    log.says(call("t1"), call("t2"))
    answer = {"type": "tool_result", "tool_use_id": "t2", "content": [text("two")]}
    failed = {"type": "tool_result", "tool_use_id": "t1", "content": "one", "is_error": True}
    message(log, "user", [text("first words"), answer, failed, text("last words")])
    request = valid(log)
    assert results(request) == {"t1": [text("one")], "t2": [text("two")]}
    last = request.messages[-1]["content"]
    assert [block["type"] for block in last[:2]] == ["tool_result"] * 2 and last[0]["is_error"]
    assert [block["text"] for block in last[2:4]] == ["first words", "last words"]


def test_calls_without_an_id_get_one_and_their_results_in_order() -> None:
    """s13: neither result overwrites the other."""
    log = started()
    log.says(call(""), call(""))
    log.shows("", _said("one"))
    log.shows("", _said("two"))
    request = valid(log)
    assert [content[0]["text"] for content in results(request).values()] == ["one", "two"]


def test_an_id_that_was_used_before_is_given_another_name() -> None:
    """OC-9: providers exist that count their calls from 1 in every turn."""
    log = started()
    for words in ("one", "two", "three"):
        log.says(call("call_1"))
        log.shows("call_1", _said(words))
    request = valid(log)
    assert [content[0]["text"] for content in results(request).values()] == ["one", "two", "three"]


def test_two_calls_of_one_id_in_one_turn_each_get_their_result() -> None:
    """I3: the second is sent under another name, and the results are told apart by their order."""
    log = Log()
    log.begin()
    log.says(call("same", "read"), call("same", "read"))
    log.shows("same", TextPart("first"))
    log.shows("same", TextPart("second"))
    window = fold(log.events)
    assert not window.open_calls
    request = assemble(window, FixedReader(), Profile("test"))
    validate(request)
    results = [block["content"][0]["text"] for block in request.messages[-1]["content"]]
    assert results == ["first", "second"]


def test_a_call_left_open_before_a_later_turn_is_told_as_interrupted() -> None:
    """s01: never "no output", which would say that it ran."""
    log = started()
    log.says(call("t1"))
    log.says(text("Later."), stop="end_turn")
    (content,) = results(valid(log)).values()
    assert "interrupted, not known whether it ran" in content[0]["text"]


def test_a_part_that_this_version_does_not_know_is_told_in_words() -> None:
    """I9: a session of a newer version, or of another program, goes on."""
    log = started()
    log.says(call("t1"))
    odd: list[Block] = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}, {}]
    log.shows("t1", parts=odd)
    (content,) = results(valid(log)).values()
    assert all("can't show" in block["text"] for block in content)


def test_what_is_left_out_never_changes_what_was_sent() -> None:
    """I2: each request begins with the one before, whatever comes."""
    log = started()
    log.says(thinking("hm"), call("t1"), SEARCHED)
    log.shows("t1", _said("one"))
    message(log, "assistant", [SEARCHED, call("t1"), call("")])
    message(log, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "two"}])
    log.shows("", _said("three"))
    log.says(text("done"), stop="end_turn")
    log.user("more")
    window, assembler, before = fold([]), Assembler(FixedReader(), PROFILE), list[str]()
    for event in log.events:
        window.apply(event)
        if window.turns and not window.open_calls:
            now = flat(assembler.request(window))
            assert now[: len(before)] == before
            before = now
    validate(assembler.request(window))


def _said(words: str) -> TextPart:
    return TextPart(words)


@pytest.mark.parametrize("depth", [900, 100_000])
def test_arguments_nested_without_end_do_not_break_a_ledger(depth: int) -> None:
    """I9: a transcript may come from anywhere."""
    seen = Sightings()
    seen.see({"id": "a" * 12, "kind": "tool", "source": f"search {'[' * depth}{']' * depth}"})
    assert seen.line("a" * 12).startswith(f"{'a' * 12} search ")
