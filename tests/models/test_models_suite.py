"""One suite for every kind of model: what whoever asks one may count on. A new kind joins by one line in MODELS."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, get_args

import pytest
from servers.messages_api import MessagesServer

from manusfs.messages import Block, Delta, Model, Reply, Request, StopReason
from manusfs.models import AnthropicModel, RecordedModel, ScriptedModel, call, load

TOOLS: tuple[Block, ...] = tuple(
    {
        "name": name,
        "description": f"The tool {name}.",
        "input_schema": {"type": "object", "properties": {member: {"type": "string"}}, "required": [member]},
    }
    for name, member in (("web_fetch", "url"), ("read", "ref"), ("search", "query"))
)
TASK = "<user_message>\nWhen did the plant open? http://127.0.0.1:1/plant\n</user_message>"


def research(body: dict[str, Any]) -> tuple[list[Block], str]:
    """Fetch once, then answer."""
    if len(body["messages"]) > 1:
        return [{"type": "text", "text": "In 1987."}], "end_turn"
    arguments = {"url": "http://127.0.0.1:1/plant"}
    return [{"type": "tool_use", "id": "toolu_one", "name": "web_fetch", "input": arguments}], "tool_use"


@contextmanager
def anthropic() -> Iterator[Model]:
    with MessagesServer(research) as server:
        yield AnthropicModel("claude-sonnet-5-5", key="k", base_url=server.url)


@contextmanager
def scripted() -> Iterator[Model]:
    yield ScriptedModel([[call("web_fetch", url="http://127.0.0.1:1/plant")], "In 1987."])


@contextmanager
def recorded() -> Iterator[Model]:
    first = {"type": "tool_use", "id": "toolu_one", "name": "web_fetch", "input": {"url": "http://127.0.0.1:1/plant"}}
    yield RecordedModel([Reply((first,), "tool_use"), Reply(({"type": "text", "text": "In 1987."},), "end_turn")])


@contextmanager
def offline() -> Iterator[Model]:
    yield load("offline")


MODELS = (anthropic, scripted, recorded, offline)


@pytest.fixture(params=MODELS, ids=lambda kind: kind.__name__)
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    kind: Callable[[], Any] = request.param
    try:
        with kind() as made:
            yield made
    except ModuleNotFoundError as error:
        pytest.skip(f"not there yet: {error}")


def request_of(model: Model, *turns: Reply) -> Request:
    """Return the request that follows `turns`: each call answered by an error, as a run does when a page is gone."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": TASK}]}]
    for turn in turns:
        messages.append({"role": "assistant", "content": list(turn.content)})
        gone = [{"type": "text", "text": "Error: HTTP 404."}]
        messages.append(
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": block["id"], "content": gone, "is_error": True}
                    for block in turn.content
                    if block["type"] == "tool_use"
                ],
            }
        )
    options = {"thinking": dict(model.profile.thinking)} if model.profile.thinking else {}
    system = ({"type": "text", "text": "You are a researcher."},)
    return Request(model.profile.name, 1_000, system, TOOLS, tuple(messages), options)


def run(model: Model, most: int = 12) -> list[Reply]:
    """Return the turns of a run until the model ends it."""
    turns: list[Reply] = []
    while len(turns) < most and (not turns or turns[-1].stop_reason == "tool_use"):
        turns.append(model.reply(request_of(model, *turns)))
    return turns


def test_a_run_ends_by_itself_with_words(model: Model) -> None:
    turns = run(model)
    assert turns[-1].stop_reason == "end_turn"
    assert any(block["type"] == "text" and block["text"].strip() for block in turns[-1].content)


def test_every_block_can_go_back_as_it_is(model: Model) -> None:
    ids: list[str] = []
    for turn in run(model):
        assert turn.stop_reason in get_args(StopReason)
        assert json.loads(json.dumps(turn.content)) == list(turn.content)
        for block in turn.content:
            assert block["type"] != "text" or block["text"].strip()
            if block["type"] == "tool_use":
                assert re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
                assert isinstance(block["input"], dict)
                ids.append(block["id"])
    assert len(ids) == len(set(ids))


def test_a_turn_that_calls_says_so_and_calls_only_what_is_offered(model: Model) -> None:
    for turn in run(model):
        called = {block["name"] for block in turn.content if block["type"] == "tool_use"}
        assert (turn.stop_reason == "tool_use") == bool(called)
        assert called <= {tool["name"] for tool in TOOLS}


def test_what_is_told_while_it_comes_is_the_text_of_the_reply(model: Model) -> None:
    told: list[Delta] = []
    reply = model.reply(request_of(model), told.append)
    words = "".join(block["text"] for block in reply.content if block["type"] == "text")
    assert "".join(delta.text for delta in told if delta.kind == "text") == words
    calls = [block["name"] for block in reply.content if block["type"] == "tool_use"]
    # a model that answers at once may leave it to the loop to tell the calls
    assert [delta.text for delta in told if delta.kind == "tool"] in (calls, [])


def test_the_request_is_left_as_it_was(model: Model) -> None:
    request = request_of(model)
    before = json.dumps(request.to_json(), sort_keys=True)
    model.reply(request)
    assert json.dumps(request.to_json(), sort_keys=True) == before


def test_the_profile_has_a_name_and_a_window(model: Model) -> None:
    assert model.profile.name
    assert 0 < model.profile.max_output <= model.profile.window
