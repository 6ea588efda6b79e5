"""The local Messages server refuses what the API refuses: one test a rule, each a small change to a good request."""

from __future__ import annotations

import base64
import copy
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from servers.messages_api import Card, Fault, MessagesServer, echo_brain

Json = dict[str, Any]
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(32)).decode()
TOOL: Json = {
    "name": "read",
    "description": "Read.",
    "input_schema": {"type": "object", "properties": {"ref": {"type": "string"}}, "required": ["ref"]},
}
CALL: Json = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"ref": "x"}}
RESULT: Json = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "found"}]}
MARK: Json = {"type": "ephemeral"}


def text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def good() -> Json:
    body = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 1_000,
        "system": [text("Be brief.")],
        "tools": [TOOL],
        "messages": [user(text("hello")), assistant(text("ok"), CALL), user(RESULT, text("go on"))],
    }
    return copy.deepcopy(body)


@pytest.fixture(scope="module")
def server() -> Iterator[MessagesServer]:
    with MessagesServer(echo_brain, keys={"good": "acme", "other": "beta"}) as running:
        yield running


def ask(
    server: MessagesServer, body: Json | bytes, path: str = "/v1/messages", method: str = "POST", **headers: str | None
) -> tuple[int, Any]:
    """Send a request and return status and answer; a header given as None is left out."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    known = {"authorization": "Bearer good", "anthropic-version": "2026-10-21", "content-type": "application/json"}
    sent = {**known, **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    connection.request(method, path, raw, {name: value for name, value in sent.items() if value is not None})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, json.loads(data) if "json" in answer.headers["content-type"] else data.decode()


def refused(server: MessagesServer, body: Json | bytes, **headers: str | None) -> str:
    """Return the refusal of `body`, which must be one."""
    status, answer = ask(server, body, **headers)
    assert status >= 400, answer
    return f"{status} {answer['error']['type']} {answer['error']['message']}"


def test_a_good_request_is_answered(server: MessagesServer) -> None:
    status, answer = ask(server, good())
    assert status == 200
    assert answer["content"] == [text("You said: go on")]
    assert answer["stop_reason"] == "end_turn"
    assert answer["usage"]["input_tokens"] > 0


def _set(*path: Any) -> Callable[[Json], None]:
    """Return a change: everything but the last item of `path` leads to the place that gets the last item."""

    def change(body: Json) -> None:
        *places, last, value = path
        target: Any = body
        for place in places:
            target = target[place]
        target[last] = value

    return change


def _drop(name: str) -> Callable[[Json], None]:
    return lambda body: body.pop(name)


M = "messages"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
FOUR = [text(f"part {n}", cache_control=MARK) for n in range(4)]
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
CHANGES: dict[str, tuple[Callable[[Json], None], str]] = {
    "no model": (_drop("model"), "Field required"),
    "unknown model": (_set("model", "claude-nobody"), "404 not_found_error"),
    "no max_tokens": (_drop("max_tokens"), "max_tokens: Field required"),
    "max_tokens above the model's": (_set("max_tokens", 128_001), "128001 > 128000"),
    "max_tokens no number": (_set("max_tokens", "many"), "max_tokens"),
    "temperature": (_set("temperature", 0.5), "temperature: Extra inputs are not permitted"),
    "top_p": (_set("top_p", 0.5), "Extra inputs"),
    "unknown member": (_set("colour", "red"), "colour: Extra inputs"),
    "unknown member of a message": (_set(M, 0, "name", "me"), "messages.0.name: Extra inputs"),
    "unknown member of a block": (_set(M, 0, "content", 0, "colour", "red"), "text.colour: Extra inputs"),
    "no messages": (_set(M, []), "at least one message"),
    "unknown role": (_set(M, 0, "role", "tool"), "messages.0.role"),
    "assistant first": (_set(M, [assistant(text("hi")), user(text("hi"))]), 'first message must use the "user" role'),
    "empty content": (_set(M, 0, "content", []), "non-empty content"),
    "empty string": (_set(M, 0, "content", ""), "non-empty content"),
    "empty text": (_set(M, 0, "content", 0, "text", ""), "must be non-empty"),
    "blank text": (_set(M, 0, "content", 0, "text", " \n\t"), "must contain non-whitespace text"),
    "blank text of the assistant": (_set(M, 1, "content", 0, "text", "\n\n"), "must contain non-whitespace text"),
    "empty text in a result": (_set(M, 2, "content", 0, "content", 0, "text", ""), "must be non-empty"),
    "empty system text": (_set("system", [text("")]), "must be non-empty"),
    "text no string": (_set(M, 0, "content", 0, "text", 7), "valid string"),
    "unknown block": (_set(M, 0, "content", 0, "type", "video"), "does not match any of the expected tags"),
    "block without type": (_set(M, 0, "content", [{"text": "x"}]), "type: Field required"),
    "thinking in a user message": (
        _set(M, 0, "content", [{"type": "thinking", "thinking": "", "signature": "x"}]),
        "not allowed in user",
    ),
    "call in a user message": (_set(M, 0, "content", [CALL]), "not allowed in user"),
    "result in an assistant message": (_set(M, 1, "content", [RESULT]), "not allowed in assistant"),
    "document in an assistant message": (_set(M, 1, "content", [DOCUMENT, CALL]), "not allowed in assistant"),
    "citations on a user's text": (_set(M, 0, "content", 0, "citations", [{"type": "x"}]), "citations"),
    "no result": (_set(M, 2, "content", [text("go on")]), "without `tool_result` blocks"),
    "call at the end": (lambda body: body[M].pop(), "without `tool_result` blocks"),
    "result for no call": (_set(M, 1, "content", [text("ok")]), "unexpected `tool_use_id`"),
    "result of an earlier turn": (
        lambda body: body[M].extend([assistant(text("so")), user(RESULT)]),
        "unexpected `tool_use_id`",
    ),
    "two results for a call": (_set(M, 2, "content", [RESULT, RESULT]), "single result"),
    "results not first": (_set(M, 2, "content", [text("go on"), RESULT]), "must come first"),
    "two calls with one id": (_set(M, 1, "content", [CALL, CALL]), "ids must be unique"),
    "an id used again later": (lambda body: body[M].extend([assistant(CALL), user(RESULT)]), "ids must be unique"),
    "call id with a blank": (_set(M, 1, "content", 1, "id", "toolu 1"), "should match pattern"),
    "call name with a dot": (_set(M, 1, "content", 1, "name", "a.b"), "should match pattern"),
    "call input no object": (_set(M, 1, "content", 1, "input", "x"), "valid dictionary"),
    "failed result without words": (
        _set(M, 2, "content", 0, {**RESULT, "is_error": True, "content": []}),
        "cannot be empty",
    ),
    "failed result with an image": (
        _set(M, 2, "content", 0, {**RESULT, "is_error": True, "content": [IMAGE]}),
        "must be type `text`",
    ),
    "calls but no tools": (_drop("tools"), "must define tools"),
    "five marks": (_set("system", [*FOUR, text("five", cache_control=MARK)]), "A maximum of 4 blocks"),
    "four marks and the automatic one": (
        lambda body: body.update(system=FOUR, cache_control=MARK),
        "A maximum of 4 blocks",
    ),
    "a mark within a result counts": (
        lambda body: (_set("system", FOUR)(body), _set(M, 2, "content", 0, "content", 0, "cache_control", MARK)(body)),
        "A maximum of 4 blocks",
    ),
    "mark of another kind": (_set("system", 0, "cache_control", {"type": "lasting"}), "ephemeral"),
    "mark with another time": (_set("system", 0, "cache_control", {"type": "ephemeral", "ttl": "2h"}), "ephemeral"),
    "mark on empty text": (_set("system", [text("", cache_control=MARK)]), "cache_control cannot be set"),
    "a long mark after a short one": (
        _set("system", [text("a", cache_control=MARK), text("b", cache_control={**MARK, "ttl": "1h"})]),
        "must not come after",
    ),
    "tool name with a blank": (_set("tools", 0, "name", "read it"), "should match pattern"),
    "two tools of one name": (lambda body: body["tools"].append(TOOL), "must be unique"),
    "tool without schema": (_set("tools", [{"name": "read"}]), "input_schema: Field required"),
    "schema no object": (_set("tools", 0, "input_schema", {"type": "string"}), "'object'"),
    "schema with a choice at the top": (_set("tools", 0, "input_schema", "anyOf", []), "top level"),
    "schema of an unknown type": (
        _set("tools", 0, "input_schema", "properties", "ref", "type", "text"),
        "draft 2020-12",
    ),
    "schema with a bad key": (_set("tools", 0, "input_schema", "properties", "a b", {}), "Property keys"),
    "unknown member of a tool": (_set("tools", 0, "handler", "x"), "handler: Extra inputs"),
    "thinking switched off where it can't be": (
        lambda body: body.update(model="claude-opus-5-5", thinking={"type": "disabled"}),
        "is not supported for this model",
    ),
    "thinking with a budget": (_set("thinking", {"type": "enabled", "budget_tokens": 2_000}), "is not supported"),
    "unknown thinking": (_set("thinking", {"type": "deep"}), "does not match"),
    "unknown display": (_set("thinking", {"type": "adaptive", "display": "all"}), "display"),
    "forced tool on a model that always thinks": (
        lambda body: body.update(model="claude-opus-5-5", tool_choice={"type": "any"}),
        "forces tool use",
    ),
    "forced tool with thinking": (
        lambda body: body.update(thinking={"type": "adaptive"}, tool_choice={"type": "tool", "name": "read"}),
        "forces tool use",
    ),
    "choice of a tool that is not there": (_set("tool_choice", {"type": "tool", "name": "dig"}), "not found"),
    "unknown effort": (_set("output_config", {"effort": "huge"}), "effort"),
    "image that is no base64": (_set(M, 0, "content", [_broken := copy.deepcopy(IMAGE)]), "invalid base64"),
    "image of another type": (
        _set(M, 0, "content", [{"type": "image", "source": {**IMAGE["source"], "media_type": "image/gif"}}]),
        "using the image/gif media type",
    ),
    "image type that is not known": (
        _set(M, 0, "content", [{"type": "image", "source": {**IMAGE["source"], "media_type": "image/tiff"}}]),
        "media_type",
    ),
    "image too large": (
        _set(
            M, 0, "content", [{"type": "image", "source": {**IMAGE["source"], "data": PNG[:8] + "A" * 5 * 1024 * 1024}}]
        ),
        "exceeds 5 MB",
    ),
    "too many images": (_set(M, 0, "content", [IMAGE] * 101), "too many images"),
    "prefill": (lambda body: body[M].append(assistant(text("The answer is"))), "prefill"),
}
_broken["source"]["data"] = "no base64!"


@pytest.mark.parametrize("name", CHANGES)
def test_a_bad_request_is_refused(server: MessagesServer, name: str) -> None:
    change, words = CHANGES[name]
    body = good()
    change(body)
    assert words in refused(server, body)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "Input should be an object"),
        (json.dumps(good()).encode().replace(b"hello", b"hel\xfflo"), "invalid UTF-8"),
        (json.dumps(good()).encode().replace(b"hello", b"hel\\ud800lo"), "no low surrogate"),
        (json.dumps(good()).encode().replace(b'"x"', b"NaN"), "unexpected NaN"),
        (b" " * (32 * 1024 * 1024 + 1), "413 request_too_large"),
    ],
)
def test_a_body_that_is_no_clean_json_is_refused(server: MessagesServer, raw: bytes, words: str) -> None:
    assert words in refused(server, raw)


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"authorization": None}, "401 authentication_error"),
        ({"authorization": "Bearer bad"}, "401 authentication_error"),
        ({"authorization": "good"}, "401 authentication_error"),
        ({"x_api_key": "other"}, "two different keys"),
        ({"anthropic_version": None}, "anthropic-version: header is required"),
        ({"anthropic_version": "2099-01-01"}, "is not a valid version"),
        ({"content_type": "text/plain"}, "Content-Type"),
    ],
)
def test_bad_headers_are_refused(server: MessagesServer, headers: dict[str, str | None], words: str) -> None:
    assert words in refused(server, good(), **headers)


def test_the_older_version_still_takes_a_temperature_and_a_key_header(server: MessagesServer) -> None:
    body = {**good(), "temperature": 1.0}
    status, _ = ask(server, body, anthropic_version="2023-06-01", authorization=None, x_api_key="good")
    assert status == 200


def test_a_path_that_says_v1_twice_is_not_found(server: MessagesServer) -> None:
    status, answer = ask(server, good(), path="/v1/v1/messages")
    assert (status, answer["error"]["type"]) == (404, "not_found_error")


def test_plain_strings_and_neighbours_of_one_role_are_taken(server: MessagesServer) -> None:
    body = good()
    body["system"] = "Be brief."
    body["messages"] = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert ask(server, body)[0] == 200


def test_models_and_token_counts_are_answered(server: MessagesServer) -> None:
    status, listed = ask(server, b"", path="/v1/models", method="GET")
    assert status == 200
    assert "claude-sonnet-5-5" in [model["id"] for model in listed["data"]]
    assert ask(server, b"", path="/v1/models/claude-opus-5-5", method="GET")[1]["max_input_tokens"] == 1_000_000
    assert ask(server, b"", path="/v1/models/nobody", method="GET")[0] == 404
    body = good()
    body.pop("max_tokens")
    assert ask(server, body, path="/v1/messages/count_tokens")[1]["input_tokens"] > 10


def thinking_turn(server: MessagesServer, messages: list[Json], **more: Any) -> list[Json]:
    """Ask with thinking shown and return the messages with the answer and a next question."""
    status, answer = ask(server, thinking_body(messages, **more))
    assert status == 200, answer
    assert answer["content"][0]["type"] == "thinking"
    return [*messages, {"role": "assistant", "content": answer["content"]}, user(text("and then?"))]


def thinking_body(messages: list[Json], **more: Any) -> Json:
    body = {**good(), "messages": messages, "thinking": {"type": "adaptive", "display": "summarized"}}
    return {**body, "tools": [copy.deepcopy(TOOL)], **more}


@pytest.fixture
def talk(server: MessagesServer) -> list[Json]:
    """Three turns with signed thinking."""
    messages = [user(text("one"))]
    for _ in range(3):
        messages = thinking_turn(server, messages)
    return copy.deepcopy(messages)


def test_thinking_that_comes_back_exactly_is_taken(server: MessagesServer, talk: list[Json]) -> None:
    talk[2]["content"][0]["cache_control"] = MARK  # marks may move: they are no part of the prefix
    assert ask(server, thinking_body(talk))[0] == 200


def test_thinking_may_be_left_out_from_the_start_on(server: MessagesServer, talk: list[Json]) -> None:
    for message in (talk[1], talk[3]):
        message["content"] = message["content"][1:]
    assert ask(server, thinking_body(talk))[0] == 200


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda talk: talk[0]["content"][0].update(text="two"), id="an earlier message edited"),
        pytest.param(lambda talk: talk[1]["content"][1].update(text="so"), id="an earlier answer edited"),
        pytest.param(lambda talk: talk[1]["content"][0].update(thinking="no"), id="the thinking edited"),
        pytest.param(lambda talk: talk[1]["content"][0].update(signature="e30=.0"), id="the signature edited"),
        pytest.param(lambda talk: talk[3]["content"].pop(0), id="left out of the middle"),
        pytest.param(lambda talk: talk[5]["content"].pop(0), id="left out of the end"),
        pytest.param(lambda talk: talk.__delitem__(slice(0, 2)), id="earlier messages dropped"),
    ],
)
def test_thinking_is_bound_to_everything_before_it(
    server: MessagesServer, talk: list[Json], spoil: Callable[[list[Json]], Any]
) -> None:
    spoil(talk)
    assert "hinking" in refused(server, thinking_body(talk))


@pytest.mark.parametrize("member", ["system", "tools"])
def test_thinking_is_bound_to_system_and_tools(server: MessagesServer, talk: list[Json], member: str) -> None:
    body = thinking_body(talk)
    body[member].append(text("more") if member == "system" else {**TOOL, "name": "second"})
    assert "bound to a different conversation" in refused(server, body)


def test_thinking_is_bound_to_the_account_and_dropped_by_another_model(
    server: MessagesServer, talk: list[Json]
) -> None:
    words = refused(server, thinking_body(talk), authorization="Bearer other")
    assert "bound to a different account" in words
    assert ask(server, thinking_body(talk, model="claude-opus-5-5"))[0] == 200


def test_thinking_comes_back_empty_unless_it_is_asked_for(server: MessagesServer) -> None:
    body = {**thinking_body([user(text("one"))]), "thinking": {"type": "adaptive"}}
    _, answer = ask(server, body)
    assert answer["content"][0]["thinking"] == ""
    talk = [user(text("one")), {"role": "assistant", "content": answer["content"]}, user(text("two"))]
    assert ask(server, {**body, "messages": talk})[0] == 200


def test_a_prompt_above_the_window_is_too_long() -> None:
    with MessagesServer(echo_brain, window=500) as small:
        body = {**good(), "messages": [user(text("word " * 1_000))]}
        assert "prompt is too long" in refused(small, body)
        body["messages"] = [user(text("word " * 180))]
        body["max_tokens"] = 300
        assert ask(small, body)[1]["stop_reason"] == "model_context_window_exceeded"


def test_the_prompt_cache_reads_what_an_earlier_mark_kept() -> None:
    """LIBRARIES A1: order tools, system, messages; twenty blocks of lookback; a least size."""
    with MessagesServer(echo_brain) as cached:
        body = good()
        body["system"] = [text("word " * 2_000, cache_control=MARK)]
        first = ask(cached, body)[1]["usage"]
        body["messages"] = [user(text("something else", cache_control=MARK))]
        second = ask(cached, body)[1]["usage"]
        body["system"][0]["text"] = "Word " * 2_000
        third = ask(cached, body)[1]["usage"]
    assert first["cache_read_input_tokens"] == 0 < first["cache_creation_input_tokens"]
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"]
    assert third["cache_read_input_tokens"] == 0


def test_planned_faults_come_in_their_order_and_then_stop() -> None:
    with MessagesServer(echo_brain) as faulty:
        faulty.plan(Fault("429", times=2), Fault("529"), Fault("refusal"), Fault("pause_turn"))
        assert [ask(faulty, good())[0] for _ in range(3)] == [429, 429, 529]
        stops = []
        for _ in range(3):
            _, answer = ask(faulty, good())
            stops.append(answer["stop_reason"])
        assert stops == ["refusal", "pause_turn", "end_turn"]
        assert len(faulty.refused) == 3


def test_a_paused_turn_may_be_sent_back_as_it_is_and_nothing_else() -> None:
    with MessagesServer(echo_brain) as pausing:
        pausing.plan("pause_turn")
        _, answer = ask(pausing, good())
        body = good()
        body["messages"].append({"role": "assistant", "content": answer["content"]})
        assert ask(pausing, body)[0] == 200
        body["messages"][-1] = assistant(text("something else"))
        assert "prefill" in refused(pausing, body)


def test_a_window_and_a_table_of_models_can_be_given() -> None:
    with MessagesServer(echo_brain, models={"local": Card(window=1_000, thinks="manual")}) as other:
        assert ask(other, {**good(), "model": "local"})[0] == 200
        assert "404" in refused(other, good())
