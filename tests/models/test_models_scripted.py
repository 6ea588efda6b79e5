"""Scripted and recorded models: what they fill in, what they refuse to repeat."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from manusfs.errors import ModelError, NotFound
from manusfs.messages import Block, Reply, Request, Usage
from manusfs.models import RecordedModel, ScriptedModel, call, estimated_usage
from manusfs.records import Event


def request(*texts: str, role: str = "user") -> Request:
    blocks = [{"type": "text", "text": words} for words in texts]
    return Request("scripted", 100, (), (), ({"role": role, "content": blocks},))


def following(first: Request, reply: Reply, *, answered: bool = True) -> Request:
    """Return the request after `reply`, its calls answered."""
    ids = [block["id"] for block in reply.content if block["type"] == "tool_use"]
    results: list[Block] = [{"type": "tool_result", "tool_use_id": name, "content": "ok"} for name in ids]
    last = results if answered else [{"type": "text", "text": "go on"}]
    turns = ({"role": "assistant", "content": list(reply.content)}, {"role": "user", "content": last})
    return Request("scripted", 100, (), (), (*first.messages, *turns))


def test_a_step_is_a_text_blocks_a_reply_or_a_function() -> None:
    whole = Reply(({"type": "text", "text": "c"},), "refusal", Usage(1, 2), "m", "msg_9")
    model = ScriptedModel(["a", [call("look", what="b")], whole, lambda asked: f"{len(asked.messages)}"])
    first = model.reply(request("x"))
    assert (first.content[0]["text"], first.stop_reason, first.model) == ("a", "end_turn", "scripted")
    assert model.reply(request("x")).stop_reason == "tool_use"
    assert model.reply(request("x")) == whole
    assert model.reply(request("x")).content[0]["text"] == "1"
    assert len(model.requests) == 4


def test_an_exception_is_raised_and_the_script_goes_on_after_it() -> None:
    model = ScriptedModel([ModelError("down", transient=True), "back"])
    with pytest.raises(ModelError, match="down"):
        model.reply(request("x"))
    assert model.reply(request("x")).content[0]["text"] == "back"


def test_a_script_that_has_ended_says_so_and_one_function_never_ends() -> None:
    model = ScriptedModel(["only"])
    model.reply(request("x"))
    with pytest.raises(ModelError, match="ended after 1"):
        model.reply(request("x"))
    endless = ScriptedModel(lambda asked: "again")
    assert [endless.reply(request("x")).content[0]["text"] for _ in range(3)] == ["again"] * 3
    counted = ScriptedModel(str(n) for n in itertools.count())
    assert [counted.reply(request("x")).content[0]["text"] for _ in range(3)] == ["0", "1", "2"]


def test_ids_are_the_same_for_the_same_request_and_never_met_twice_in_a_run() -> None:
    def run() -> list[str]:
        model = ScriptedModel(lambda asked: [call("look"), call("look")])
        asked, ids = request("x"), list[str]()
        for _ in range(5):
            reply = model.reply(asked)
            ids += [block["id"] for block in reply.content]
            asked = following(asked, reply)
        return ids

    assert run() == run()
    assert len(set(run())) == 10


def test_usage_is_estimated_and_marks_do_not_count() -> None:
    marked: dict[str, Any] = {"type": "text", "text": "word " * 100, "cache_control": {"type": "ephemeral"}}
    asked = Request("m", 10, (marked,), (), ({"role": "user", "content": [{"type": "text", "text": "hi"}]},))
    reply = ScriptedModel(["answer"]).reply(asked)
    assert reply.usage == estimated_usage(asked, reply.content)
    assert 100 <= reply.usage.input_tokens <= 200
    plain = Request("m", 10, ({"type": "text", "text": "word " * 100},), (), asked.messages)
    assert estimated_usage(plain, ()).input_tokens == reply.usage.input_tokens


EVENTS = (
    Event("session", {"session": "s"}),
    Event("message", {"role": "user", "content": [{"type": "text", "text": "hi"}]}),
    Event(
        "message",
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}],
            "stop_reason": "tool_use",
            "id": "msg_1",
            "model": "claude-x",
        },
    ),
    Event("usage", {"model": "claude-x", "input_tokens": 5, "output_tokens": 2, "cost_usd": None}),
    Event("message", {"role": "assistant", "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"}),
)


def test_a_session_is_replayed_from_its_events_with_its_usage() -> None:
    model = RecordedModel.from_events(EVENTS)
    first = model.reply(request("hi"))
    assert (first.stop_reason, first.id, first.model, first.usage) == ("tool_use", "msg_1", "claude-x", Usage(5, 2))
    assert model.left == 1
    assert model.reply(following(request("hi"), first)).content[0]["text"] == "done"
    with pytest.raises(ModelError, match="ended after 2"):
        model.reply(request("hi"))


@pytest.mark.parametrize("form", ["data", "flat", "replies"])
def test_a_recording_is_a_transcript_or_a_list_of_replies(tmp_path: Path, form: str) -> None:
    lines: list[dict[str, Any]] = []
    for number, event in enumerate(EVENTS):
        if form == "data":
            lines.append({"seq": number, "kind": event.kind, "data": event.data, "crc": "0"})
        elif form == "flat":
            lines.append({"seq": number, "kind": event.kind, **event.data, "crc": "0"})
        elif event.data.get("role") == "assistant":
            lines.append({"content": event.data["content"], "stop_reason": event.data["stop_reason"]})
    file = tmp_path / "transcript.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    model = RecordedModel.from_file(file)
    assert model.left == 2
    assert model.reply(request("hi")).content == tuple(EVENTS[2].data["content"])


def test_a_file_without_replies_is_no_recording(tmp_path: Path) -> None:
    for content in ("", "{", '{"kind": "session"}\n', "[]\n"):
        (tmp_path / "x.jsonl").write_text(content)
        with pytest.raises(NotFound):
            RecordedModel.from_file(tmp_path / "x.jsonl")


def test_a_request_that_is_not_the_recorded_one_is_noticed() -> None:
    for check in (True, False):
        model = RecordedModel.from_events(EVENTS, check=check)
        first = model.reply(request("hi"))
        changed = Reply(({**first.content[0], "input": {"edited": 1}},), "tool_use")
        if check:
            with pytest.raises(ModelError, match="not the recorded one"):
                model.reply(following(request("hi"), changed))
            with pytest.raises(ModelError, match="have no result"):
                model.reply(following(request("hi"), first, answered=False))
        assert model.reply(following(request("hi"), first if check else changed)).content[0]["text"] == "done"


def test_a_request_that_opens_an_epoch_is_always_taken() -> None:
    model = RecordedModel.from_events(EVENTS)
    model.reply(request("hi"))
    assert model.reply(request("a fresh opening")).content[0]["text"] == "done"
