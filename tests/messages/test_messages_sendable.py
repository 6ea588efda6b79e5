"""What of a turn can be sent back, whatever a model, a server or an older transcript put into it (I3, OC-9)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from manusfs.messages import Request, validate
from manusfs.messages import sendable as s

TEXT = {"type": "text", "text": "Here it is."}
CALL = {"type": "tool_use", "id": "toolu_01", "name": "read", "input": {"ref": "notes/a.md"}}
THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
ASKED = {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "tides"}}
TOOL = {"name": "read", "input_schema": {"type": "object", "properties": {}}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01", "content": []}


def sent(*content: Any, used: tuple[str, ...] = (), waiting: tuple[str, ...] = ()) -> list[Any]:
    return list(s.said(content, used, "7", waiting=waiting).content)


def test_a_turn_that_the_api_takes_is_the_very_same_blocks() -> None:
    """I2: signatures cover every byte."""
    turn = [THOUGHT, TEXT, ASKED, FOUND, CALL, {"type": "a_later_kind", "x": 1}]
    assert all(a is b for a, b in zip(sent(*turn), turn, strict=True))


@pytest.mark.parametrize(
    "odd",
    [
        FOUND,
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_9", "content": []},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_9", "content": {}},
        {"type": "tool_result", "tool_use_id": "toolu_01", "content": "x"},
        {"type": "thinking", "thinking": "unsigned"},
        {"type": "thinking", "thinking": "unsigned", "signature": ""},
        {"type": "redacted_thinking", "data": ""},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "text", "text": None},
        {"type": "text", "text": " \n"},
        {"type": 5},
        {"text": "no type"},
        "a bare text",
        None,
        {"type": "server_tool_use", "id": "", "name": "web_search", "input": {}},
        {"type": "a_later_kind", "x": float("nan")},
    ],
)
def test_what_can_never_be_sent_back_is_left_out_and_told(odd: Any) -> None:
    """s21 and its kind: the pairing of server tools too."""
    known = s.said([odd, TEXT], (), "7")
    assert list(known.content) == [TEXT] and len(known.left_out) == 1 and known.left_out[0] is odd


def test_a_server_result_before_its_call_and_a_second_one_are_left_out() -> None:
    """I3: a pair stands in order, and once."""
    assert sent(FOUND, ASKED, TEXT) == [ASKED, TEXT]
    assert sent(ASKED, FOUND, FOUND, TEXT) == [ASKED, FOUND, TEXT]


def test_the_result_of_a_paused_turns_call_is_kept() -> None:
    """The API gives it at the beginning of the turn that goes on."""
    assert sent(FOUND, TEXT, waiting=("srvtoolu_01",)) == [FOUND, TEXT]
    assert s.unanswered([TEXT, ASKED]) == {"srvtoolu_01"} and not s.unanswered([ASKED, FOUND])


@pytest.mark.parametrize("id", ["", "a b/c", "x" * 1_500, None, 5, "toolu_used"])
def test_an_id_that_the_api_refuses_is_replaced(id: Any) -> None:
    """s12, s13: it becomes no name of a file either."""
    known = s.said([TEXT, {**CALL, "id": id}], {"toolu_used"}, "7")
    assert known.content[1] == {**CALL, "id": "call_7_1"} and list(known.names.values()) == [["call_7_1"]]


def test_two_calls_of_one_id_become_two() -> None:
    """s13."""
    assert [block["id"] for block in sent(CALL, CALL)] == ["toolu_01", "call_7_1"]
    assert s.said([{**CALL, "id": ""}] * 2, (), "7").names == {"": ["call_7_0", "call_7_1"]}


@pytest.mark.parametrize(
    ("member", "value", "expected"),
    [
        ("name", "re ad!", "re_ad_"),
        ("name", "", "unnamed"),
        ("name", "x" * 300, "x" * 128),
        ("name", None, "unnamed"),
        ("input", '{"ref": "notes/b.md"}', {"ref": "notes/b.md"}),
        ("input", '{"ref": "no', {}),
        ("input", None, {}),
        ("input", ["a"], {}),
        ("input", {"offset": float("inf")}, {}),
    ],
)
def test_a_call_that_the_api_refuses_is_made_one_that_it_takes(member: str, value: Any, expected: Any) -> None:
    """Servers for local models send such calls; the tool then answers with an error, and the run goes on."""
    assert sent({**CALL, member: value}) == [{**CALL, member: expected}]
    assert sent({name: v for name, v in CALL.items() if name != "input"}) == [{**CALL, "input": {}}]


def test_arguments_as_deep_as_a_stack_are_no_object() -> None:
    """Whoever walks them later would overflow."""
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    assert sent({**CALL, "input": {"ref": deep}}) == [{**CALL, "input": {}}]


def test_results_in_a_users_message_are_told_apart_from_its_words() -> None:
    """A transcript of another program may hold them so."""
    message = s.given([TEXT, {"type": "tool_result", "tool_use_id": "toolu_01", "content": "late", "is_error": True}])
    assert list(message.content) == [TEXT]
    assert message.results == (("toolu_01", ({"type": "text", "text": "late"},), True),)


def test_an_image_that_the_api_refuses_is_told_in_words() -> None:
    """s19: one picture over 5 MB must not end a session."""
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoA" * 500_000}
    (block,) = s.given([{"type": "image", "source": source}]).content
    assert block["type"] == "text" and "5 MB" in block["text"] and len(block["text"]) < 300


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=4) | st.sampled_from(["t1", "t2"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=5,
)
_KINDS = "text image document tool_use tool_result thinking server_tool_use web_search_tool_result x".split()
_block = st.fixed_dictionaries(
    {"type": st.sampled_from(_KINDS)},
    optional=dict.fromkeys(
        "text id name input tool_use_id content source signature thinking cache_control is_error".split(), _json
    ),
)
_ODD = st.lists(_block | _json, max_size=5)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_ODD, _ODD)
@example([ASKED], [{"type": "tool_result", "tool_use_id": "t", "content": {}}])
def test_whatever_a_turn_held_the_request_is_valid_and_doing_it_again_changes_nothing(
    turn: list[Any], answer: list[Any]
) -> None:
    """I3; what is kept is a fixed point, so that a resumed session sends what the first run sent (I2)."""
    known = s.said(turn, (), "7")
    assert s.said(known.content, (), "7").content == known.content
    content = s.ended(known.content)
    if not content or "thinking" in content[-1]["type"]:
        content.append(TEXT)
    results: list[Any] = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "x"}
        for block in content
        if block["type"] == "tool_use"
    ]
    message = s.given(s.as_blocks(answer))
    for place, (_, inner, _) in enumerate(message.results[: len(results)]):
        results[place]["content"] = list(inner)
    user = [*results, *message.content] or [TEXT]
    messages = [{"role": "user", "content": [TEXT]}, {"role": "assistant", "content": content}]
    request = Request("m", 100, (), (TOOL,), (*messages, {"role": "user", "content": user}))
    validate(request)
