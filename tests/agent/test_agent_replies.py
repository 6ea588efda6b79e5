"""Replies that no request could hold: the run goes on, the transcript keeps them, every request is valid (I3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agent_stage import agent, assert_sound, events_of, make_workspace, results

from manusfs.context import fold
from manusfs.messages import Reply

CALL = {"type": "tool_use", "id": "toolu_1", "name": "list", "input": {}}
ASKED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tides"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
TEXT = {"type": "text", "text": "Something."}
DEEP: Any = {"ref": []}
for _ in range(90):
    DEEP = {"ref": DEEP}

ODD: dict[str, list[Any]] = {
    "an odd name": [{**CALL, "name": "re ad!"}],
    "no name": [{**CALL, "name": ""}],
    "arguments as text": [{**CALL, "input": '{"what": "notes"}'}],
    "arguments cut": [{**CALL, "input": '{"what": "no'}],
    "no arguments": [{"type": "tool_use", "id": "toolu_1", "name": "list"}],
    "arguments that are no JSON": [{**CALL, "input": {"count": float("nan")}}],
    "arguments as deep as a well": [{**CALL, "input": DEEP}],
    "no id": [{**CALL, "id": ""}, {**CALL, "id": ""}],
    "one id twice": [CALL, CALL],
    "unsigned thinking": [{"type": "thinking", "thinking": "Hm."}, CALL],
    "thinking with an empty signature": [{"type": "thinking", "thinking": "Hm.", "signature": ""}, CALL],
    "a server call alone": [ASKED, CALL],
    "a server result alone": [FOUND, CALL],
    "server pair the wrong way round": [FOUND, ASKED, CALL],
    "a result of its own": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "made up"}, CALL],
    "a picture": [{"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}, CALL],
    "a text that is none": [{"type": "text", "text": None}, CALL],
    "half a character": [{"type": "text", "text": "\ud83d"}, {**CALL, "input": {"of": "\udc00"}}],
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_reply_ends_neither_the_run_nor_the_session(tmp_path: Path, name: str) -> None:
    """OC-9, s10, s12, s13, s21: servers that speak nearly the API's language exist."""
    workspace = make_workspace(tmp_path / "w")
    running = agent(workspace, [ODD[name], "Done."])
    done = running.run("t")
    assert done.stop == "end_turn" and done.answer == "Done."
    assert_sound(running.model.requests)  # type: ignore[attr-defined]
    resumed = agent(workspace, ["Fine."])
    assert resumed.resume(done.session, "And more?").stop == "end_turn"
    assert_sound(resumed.model.requests)  # type: ignore[attr-defined]
    report = workspace.verify()
    assert report.ok, report


def test_what_was_received_stands_in_the_transcript(tmp_path: Path) -> None:
    """I1: what was sent differs from what came only where the event says so."""
    workspace = make_workspace(tmp_path / "w")
    reply = [{**CALL, "id": "", "name": "re ad!", "input": '{"ref'}, FOUND]
    session = agent(workspace, [reply, "Done."]).run("t").session
    (event,) = [e for e in events_of(workspace, session) if e.kind == "message" and e.data["stop_reason"] == "tool_use"]
    (call,) = event.data["content"]
    assert event.data["dropped"] == [FOUND] and event.data["received_ids"] == {call["id"]: ""}
    assert "re ad!" in event.data["received"][call["id"]] and call["input"] == {}


def test_a_call_with_a_name_or_arguments_that_are_none_is_answered_with_what_to_do(tmp_path: Path) -> None:
    """I9: the model learns what was wrong, in its own words."""
    workspace = make_workspace(tmp_path / "w")
    running = agent(workspace, [[{**CALL, "name": "re ad!"}, {**CALL, "id": "b", "input": ["x"]}], "Done."])
    running.run("t")
    first, second = results(running.model.requests[-1])  # type: ignore[attr-defined]
    assert "there is no tool 're ad!'" in first and "'read'" in first
    assert "must be one JSON object" in second


def test_arguments_that_came_as_text_are_taken(tmp_path: Path) -> None:
    """Some servers send the object as the text of its JSON."""
    workspace = make_workspace(tmp_path / "w")
    running = agent(workspace, [[{**CALL, "input": '{"what": "notes"}'}], "Done."])
    running.run("t")
    assert 'of="notes"' in results(running.model.requests[-1])[0]  # type: ignore[attr-defined]


def test_a_paused_turn_goes_on_with_the_result_of_its_call(tmp_path: Path) -> None:
    """I2, I3: the pair stands in one turn in the end."""
    workspace = make_workspace(tmp_path / "w")
    running = agent(workspace, [Reply((ASKED,), "pause_turn"), [FOUND, TEXT]])
    session = running.run("t").session
    resumed = agent(workspace, ["Fine."])
    resumed.resume(session, "More?")
    turn = resumed.model.requests[-1].messages[1]["content"]  # type: ignore[attr-defined]
    assert [block["type"] for block in turn] == ["server_tool_use", "web_search_tool_result", "text"]
    assert fold(events_of(workspace, session)).waiting == frozenset()


def test_a_pause_that_a_crash_ended_is_no_obstacle(tmp_path: Path) -> None:
    """What the user says next stands behind the paused turn, whose call then has no result any more."""
    workspace = make_workspace(tmp_path / "w")
    with pytest.raises(KeyError):
        agent(workspace, [Reply((TEXT, ASKED), "pause_turn"), KeyError("crash")]).run("t")
    resumed = agent(workspace, ["Fine."])
    assert resumed.resume(None, "More?").stop == "end_turn"
    assert_sound(resumed.model.requests)  # type: ignore[attr-defined]
