"""How a window becomes a request: order, placeholders, cache marks, and what an epoch keeps exactly (I2, I3)."""

from __future__ import annotations

from typing import Any

import pytest
from context.conversations import FixedReader, Log, call, flat, hex_id, marks, request_text, text, thinking

from manusfs.context import Assembler, assemble, fold
from manusfs.errors import InvalidRequest
from manusfs.messages import Profile, Request, validate
from manusfs.records import ImagePart, ObsRef, TextPart, part_to_json

PROFILE = Profile("test")


def made(log: Log, profile: Profile = PROFILE) -> Request:
    request = assemble(fold(log.events), FixedReader(), profile)
    validate(request)
    return request


def begun() -> Log:
    log = Log()
    log.begin()
    return log


def test_results_stand_first_and_in_call_order_then_what_followed() -> None:
    """I3: results come back in another order, and the user speaks in between."""
    log = begun()
    log.says(call("a"), call("b"))
    log.user("Meanwhile: hurry.")
    log.shows("b", TextPart("second"))
    log.shows("a", TextPart("first"))
    log.add("recite", text="<todo>\n- [ ] go\n</todo>")
    content = made(log).messages[-1]["content"]
    assert [block.get("tool_use_id") for block in content] == ["a", "b", None, None]
    assert [block["text"] for block in content[2:]] == ["Meanwhile: hurry.", "<todo>\n- [ ] go\n</todo>"]


def test_assistant_turns_go_back_exactly_as_they_came() -> None:
    """s17: thinking, signature and members that nobody here knows included."""
    log = begun()
    content = [thinking("step"), {"type": "thinking", "thinking": "", "signature": "c2ln", "extra": 1}, call("a", q=1)]
    log.says(*content)
    log.shows("a", TextPart("out"))
    assert made(log).messages[1]["content"] == content


def test_an_open_call_never_reaches_a_request() -> None:
    """I3, s01."""
    log = begun()
    log.says(call("a"))
    with pytest.raises(InvalidRequest, match="a"):
        assemble(fold(log.events), FixedReader(), PROFILE)
    log.shows("a", TextPart("Error: interrupted, not known whether it ran."), is_error=True)
    assert made(log).messages[-1]["content"][0]["is_error"] is True


def test_an_orphan_result_is_not_sent_and_stays_in_the_session() -> None:
    """s03."""
    log = begun()
    log.says(text("ok"), stop="end_turn")
    orphan = log.shows("t9", TextPart("late"))
    log.user("next")
    assert "late" not in request_text(made(log))
    window = fold(log.events)
    assert window.item(orphan.seq) is not None


def test_no_output_and_no_reply_get_words() -> None:
    """GC-4, GC-11: a placeholder that is no empty text, and never one that reads as if something had been there."""
    log = begun()
    log.says(text(" "), call("a"))
    log.shows("a", TextPart(""))
    log.says(text(""), stop="end_turn")
    log.user("go on")
    request = made(log)
    assert request.messages[1]["content"] == [call("a")]
    assert request.messages[2]["content"][0]["content"] == [text("(the tool gave no output)")]
    assert request.messages[3]["content"] == [text("(no reply)")]


def test_a_turn_cut_off_in_thinking_does_not_end_in_it() -> None:
    """I3: the API refuses an assistant message whose last block is thinking."""
    log = begun()
    log.says(thinking("long"), stop="max_tokens")
    log.user("go on")
    assert made(log).messages[1]["content"] == [thinking("long"), text("(cut off here)")]


def test_a_paused_turn_and_what_continues_it_are_one_message() -> None:
    """s21: server calls and their results stay together."""
    log = begun()
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    log.says(server, stop="pause_turn")
    paused = flat(made(log))
    log.says(result, text("found"), stop="end_turn")
    log.user("thanks")
    request = made(log)
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    assert flat(request)[: len(paused)] == paused


def test_lone_surrogates_are_replaced_the_same_way_every_time() -> None:
    """s10."""
    log = begun()
    log.says(call("a", q="\ud83d"))
    log.shows("a", TextPart("fire \ud83d..."))
    request = made(log)
    assert "fire \ufffd..." in request_text(request)
    assert request.messages[1]["content"][0]["input"] == {"q": "\ufffd"}


def test_what_did_not_fit_a_turn_is_sent_as_its_ref() -> None:
    """The `sent` key of an event stands before its parts."""
    log = begun()
    log.says(call("a"), call("b"))
    log.shows("a", TextPart("x" * 9_000), sent=[part_to_json(TextPart("NOT SENT"))])
    log.saw("b", hex_id(1), sent=[part_to_json(TextPart("folded"))], notice="HTTP 404", is_error=True)
    blocks = made(log).messages[-1]["content"]
    assert blocks[0]["content"] == [text("NOT SENT")]
    assert blocks[1]["content"] == [text("HTTP 404"), text("folded")]


def test_an_error_shows_text_only() -> None:
    """I3."""
    log = begun()
    log.says(call("a"))
    log.shows("a", ImagePart(ObsRef(hex_id(1)), "image/png"), is_error=True)
    assert made(log).messages[-1]["content"][0]["content"][0]["type"] == "text"


def test_marks_stand_at_system_opening_last_and_the_one_before() -> None:
    """At most four, each on the last block of its stretch."""
    log = begun()
    opening = len(made(log).messages[0]["content"])
    assert marks(made(log)) == [(0, opening - 1)]
    for n in range(3):
        log.says(call(f"t{n}"))
        log.shows(f"t{n}", TextPart("out"))
    request = made(log)
    assert "cache_control" in request.system[-1]
    assert marks(request) == [(0, opening - 1), (4, 0), (6, 0)]


def test_the_mark_before_stands_where_the_last_one_stood() -> None:
    """So that what was written to the cache is found again."""
    log = begun()
    carried: list[Any] = []
    for n in range(4):
        log.says(call(f"t{n}"))
        log.shows(f"t{n}", TextPart("out"))
        log.add("recite", text="again")
        places = marks(made(log))
        assert set(carried) <= set(places)
        carried = [places[-1]]


def test_a_long_first_turn_gets_marks_in_between() -> None:
    """The API looks back 20 blocks from a mark."""
    log = begun()
    log.says(*(call(f"t{n}") for n in range(40)))
    for n in range(40):
        log.shows(f"t{n}", TextPart("out"))
    places = marks(made(log))
    assert (2, 39) in places and (2, 24) in places and len(places) == 3


def test_a_server_that_does_not_cache_gets_no_marks() -> None:
    """Profile.caches."""
    log = begun()
    request = made(log, Profile("local", caches=False))
    assert not marks(request) and "cache_control" not in request.system[0]


def test_later_requests_render_only_what_is_new() -> None:
    """Assembling a turn costs what changed since the turn before."""
    log = begun()
    reader, window = FixedReader(), fold([])
    assembler = Assembler(reader, PROFILE)
    for event in log.events:
        window.apply(event)
    counts = []
    for n in range(30):
        before = reader.rendered
        assembler.request(window)
        counts.append(reader.rendered - before)
        window.apply(log.says(call(f"t{n}")))
        window.apply(log.saw(f"t{n}", hex_id(n)))
    assert counts[0] == len(window.opening)
    assert set(counts[1:]) == {1}
