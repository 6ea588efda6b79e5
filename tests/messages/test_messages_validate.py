"""The request validator against the API's documented rules (I3)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from context.conversations import PNG
from hypothesis import given
from hypothesis import strategies as st
from servers.test_servers_messages_api import CHANGES, good

from manusfs.errors import InvalidRequest
from manusfs.messages import Request, validate

USER = {"role": "user", "content": [{"type": "text", "text": "q"}]}
CALL = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "out"}]}
MARK = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "read", "description": "d", "input_schema": {"type": "object"}}


def says(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def words(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def image(**source: Any) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG, **source}}


def request(*messages: Any, **members: Any) -> Request:
    given = {"model": "m", "max_tokens": 10, "system": (), "tools": (TOOL,), "options": {}, **members}
    return Request(messages=tuple(messages), **given)


GOOD: dict[str, Callable[[], Request]] = {
    "a question": lambda: request(USER),
    "a call and its result": lambda: request(USER, says(CALL), user(RESULT)),
    "two results in another order": lambda: request(
        USER, says(CALL, {**CALL, "id": "t2"}), user({**RESULT, "tool_use_id": "t2"}, RESULT)
    ),
    "text behind results": lambda: request(USER, says(CALL), user(RESULT, words("go on"))),
    "a result as text": lambda: request(USER, says(CALL), user({**RESULT, "content": "out"})),
    "an empty result": lambda: request(USER, says(CALL), user({**RESULT, "content": []})),
    "an image in a result": lambda: request(USER, says(CALL), user({**RESULT, "content": [image()]})),
    "signed thinking": lambda: request(
        USER, says({"type": "thinking", "thinking": "", "signature": "c2ln"}, CALL), user(RESULT)
    ),
    "redacted thinking": lambda: request(USER, says({"type": "redacted_thinking", "data": "x"}, CALL), user(RESULT)),
    "a server tool and its result": lambda: request(
        USER,
        says(
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            words("ok"),
        ),
        USER,
    ),
    "a paused turn": lambda: request(
        USER, says({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})
    ),
    "four marks": lambda: request(
        user(words("a", **MARK), words("b", **MARK)), system=(words("s", **MARK),), tools=({**TOOL, **MARK},)
    ),
    "a server tool without schema": lambda: request(
        USER, tools=({"type": "web_search_20260318", "name": "web_search"},)
    ),
    "block types of later versions": lambda: request(user({"type": "container_upload", "file_id": "f"})),
}

BAD: dict[str, tuple[Callable[[], Request], str]] = {
    "no model": (lambda: request(USER, model=""), "model"),
    "no room for a reply": (lambda: request(USER, max_tokens=0), "max_tokens"),
    "temperature": (lambda: request(USER, options={"temperature": 1}), "temperature"),
    "top_p": (lambda: request(USER, options={"top_p": 1}), "top_p"),
    "top_k": (lambda: request(USER, options={"top_k": 1}), "top_k"),
    "messages in options": (lambda: request(USER, options={"messages": []}), "options.messages"),
    "a thinking budget above max_tokens": (
        lambda: request(USER, max_tokens=2000, options={"thinking": {"type": "enabled", "budget_tokens": 2000}}),
        "thinking.budget_tokens",
    ),
    "no messages": (lambda: request(), "messages"),
    "the assistant first": (lambda: request(says(words("a"))), "messages[0].role"),
    "an unknown role": (lambda: request({"role": "system", "content": [words("a")]}), "messages[0].role"),
    "two user messages": (lambda: request(USER, USER), "messages[1].role"),
    "content as text": (lambda: request({"role": "user", "content": "q"}), "messages[0].content"),
    "empty content": (lambda: request(user()), "messages[0].content"),
    "blank text": (lambda: request(user(words(" \n"))), "messages[0].content[0].text"),
    "empty text in a result": (
        lambda: request(USER, says(CALL), user({**RESULT, "content": [words("")]})),
        "messages[2].content[0].content[0].text",
    ),
    "blank text of the assistant": (lambda: request(USER, says(words("")), USER), "messages[1].content[0].text"),
    "a call without result": (lambda: request(USER, says(CALL), user(words("go"))), "messages[2]"),
    "a call at the end": (lambda: request(USER, says(CALL)), "messages[1]"),
    "a result without call": (lambda: request(USER, says(words("a")), user(RESULT)), "messages[2].content[0]"),
    "a result in the first message": (lambda: request(user(RESULT)), "messages[0].content[0]"),
    "a result for an older call": (
        lambda: request(USER, says(CALL), user(RESULT), says({**CALL, "id": "t2"}), user(RESULT)),
        "messages[4].content[0]",
    ),
    "two results for one call": (lambda: request(USER, says(CALL), user(RESULT, RESULT)), "messages[2].content[1]"),
    "a result behind text": (lambda: request(USER, says(CALL), user(words("a"), RESULT)), "messages[2].content[1]"),
    "an id used twice": (
        lambda: request(USER, says(CALL), user(RESULT), says(CALL), user(RESULT)),
        "messages[3].content[0].id",
    ),
    "an empty id": (lambda: request(USER, says({**CALL, "id": ""})), "messages[1].content[0].id"),
    "an odd id": (lambda: request(USER, says({**CALL, "id": "a b"})), "messages[1].content[0].id"),
    "an id with a newline": (lambda: request(USER, says({**CALL, "id": "a\n"})), "messages[1].content[0].id"),
    "an odd tool name": (lambda: request(USER, says({**CALL, "name": "a.b"})), "messages[1].content[0].name"),
    "input that is no object": (lambda: request(USER, says({**CALL, "input": "x"})), "messages[1].content[0].input"),
    "a server result without its call": (
        lambda: request(USER, says({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}), USER),
        "messages[1].content[0]",
    ),
    "a server call without its result": (
        lambda: request(USER, says({"type": "server_tool_use", "id": "s", "name": "w", "input": {}}, words("a")), USER),
        "messages[1]",
    ),
    "a tool_result of the assistant": (lambda: request(USER, says(RESULT), USER), "messages[1].content[0]"),
    "a call of the user": (lambda: request(user(CALL)), "messages[0].content[0]"),
    "thinking of the user": (
        lambda: request(user({"type": "thinking", "thinking": "a", "signature": "b"})),
        "messages[0].content[0]",
    ),
    "thinking without signature": (
        lambda: request(USER, says({"type": "thinking", "thinking": "a"}, words("b")), USER),
        "messages[1].content[0].signature",
    ),
    "thinking at the end": (
        lambda: request(USER, says({"type": "thinking", "thinking": "a", "signature": "b"}), USER),
        "messages[1]",
    ),
    "a document of the assistant": (
        lambda: request(USER, says({"type": "document", "source": {}}), USER),
        "messages[1].content[0]",
    ),
    "an image in an error": (
        lambda: request(USER, says(CALL), user({**RESULT, "is_error": True, "content": [image()]})),
        "messages[2].content[0].content[0]",
    ),
    "an image of no known type": (
        lambda: request(user(image(media_type="image/bmp"))),
        "messages[0].content[0].source",
    ),
    "an image that is another type": (
        lambda: request(user(image(media_type="image/gif"))),
        "messages[0].content[0].source.media_type",
    ),
    "an image that is no base64": (lambda: request(user(image(data="a b"))), "messages[0].content[0].source.data"),
    "an image above 5 MB": (
        lambda: request(user(image(data="A" * (5 * 1024 * 1024 + 4)))),
        "messages[0].content[0].source.data",
    ),
    "citations on the user's text": (
        lambda: request(user(words("a", citations=[{"type": "x"}]))),
        "messages[0].content[0].citations",
    ),
    "five marks": (lambda: request(user(*(words(str(n), **MARK) for n in range(5)))), "messages[0].content[4]"),
    "an odd mark": (
        lambda: request(user(words("a", cache_control={"type": "forever"}))),
        "messages[0].content[0].cache_control",
    ),
    "a mark on thinking": (
        lambda: request(USER, says({"type": "thinking", "thinking": "a", "signature": "b", **MARK}, words("c")), USER),
        "messages[1].content[0].cache_control",
    ),
    "the beginning of an answer at the end": (lambda: request(USER, says(words("so: "))), "messages[1]"),
    "a lone surrogate": (lambda: request(user(words("a \ud83d b"))), "messages[0].content[0].text"),
    "a lone surrogate in arguments": (
        lambda: request(USER, says({**CALL, "input": {"q": ["\ud83d"]}}), user(RESULT)),
        "messages[1].content[0].input.q[0]",
    ),
    "a value that is no JSON": (lambda: request(USER, options={"metadata": {1, 2}}), "request"),
    "more than 32 MB": (lambda: request(user(words("a" * (32 * 1024 * 1024)))), "request"),
    "a tool with an odd name": (lambda: request(USER, tools=({**TOOL, "name": "a b"},)), "tools[0].name"),
    "two tools of one name": (lambda: request(USER, tools=(TOOL, TOOL)), "tools[1].name"),
    "a tool without schema": (lambda: request(USER, tools=({"name": "a"},)), "tools[0].input_schema"),
    "blank system text": (lambda: request(USER, system=(words(" "),)), "system[0].text"),
}


def test_a_paused_turn_goes_back_as_it_came() -> None:
    """LIBRARIES A1: `pause_turn`."""
    validate(request(USER, says(words("I am searching."))), paused=True)


# What only the server can know: which models there are.
NOT_OURS = {"unknown model"}


@pytest.mark.parametrize("name", sorted(CHANGES.keys() - NOT_OURS))
def test_what_the_strict_server_refuses_is_refused_here_too(name: str) -> None:
    """I3: the two share no code, so that neither's mistake hides the other's."""
    body = good()
    change, _ = CHANGES[name]
    change(body)
    asked = {key: body.pop(key, None) for key in ("model", "max_tokens", "system", "tools", "messages")}
    with pytest.raises(InvalidRequest) as caught:
        validate(
            Request(
                asked["model"] or "",
                asked["max_tokens"] or 0,
                tuple(asked["system"] or ()),
                tuple(asked["tools"] or ()),
                tuple(asked["messages"] or ()),
                body,
            )
        )
    assert caught.value.hint


def test_a_request_that_the_strict_server_takes_is_taken_here_too() -> None:
    """I3."""
    body = good()
    validate(
        Request(body["model"], body["max_tokens"], tuple(body["system"]), tuple(body["tools"]), tuple(body["messages"]))
    )


@pytest.mark.parametrize("name", GOOD)
def test_what_the_api_takes_passes(name: str) -> None:
    """I3."""
    validate(GOOD[name]())


@pytest.mark.parametrize("name", BAD)
def test_what_the_api_refuses_is_refused_with_its_place_and_what_to_do(name: str) -> None:
    """I3."""
    make, path = BAD[name]
    with pytest.raises(InvalidRequest) as caught:
        validate(make())
    assert str(caught.value).startswith(path)
    assert caught.value.hint


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_block = _json | st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "tool_use", "tool_result", "thinking", "x_tool_result", "x"])},
    optional={
        name: _json | st.sampled_from(["t1", "a"])
        for name in ("text", "id", "name", "input", "tool_use_id", "content", "source", "signature", "cache_control")
    },
)


@given(st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.lists(_block)})))
def test_odd_input_is_refused_and_never_breaks_the_validator(messages: list[Any]) -> None:
    """I3: what comes from outside, a middleware's caller, may hold anything."""
    try:
        validate(request(*messages))
    except InvalidRequest as error:
        assert error.hint


def test_a_large_request_is_checked_for_little_more_than_its_encoding() -> None:
    """One walk and one encoding: at most a few times what the encoding alone costs."""
    turns: list[Any] = [USER]
    for n in range(300):
        turns += [
            says({**CALL, "id": f"t{n}"}),
            user({**RESULT, "tool_use_id": f"t{n}", "content": [words("word " * 500)]}),
        ]
    big = request(*turns)

    def cost(run: Callable[[], Any]) -> float:
        spent = []
        for _ in range(5):
            start = time.process_time()
            run()
            spent.append(time.process_time() - start)
        return min(spent)

    encoding = cost(lambda: json.dumps(big.to_json(), ensure_ascii=False, separators=(",", ":")).encode())
    assert cost(lambda: validate(big)) < 6 * encoding
