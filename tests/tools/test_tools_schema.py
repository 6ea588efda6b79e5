"""Tools as the model is told of them, and arguments as models give them (CC-14)."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from manusfs.errors import ToolError
from manusfs.records import Shown, TextPart
from manusfs.tools import TOOLS, ToolBox, ToolEnv, tool
from manusfs.workspace.settings import Settings

ENV: Any = None


@tool
def sample(
    env: ToolEnv,
    name: str,
    count: int = 3,
    ratio: float | None = None,
    deep: bool = False,
    kind: Literal["a", "b"] = "a",
    items: list[str] | None = None,
    form: dict[str, Any] | None = None,
) -> Shown:
    """Say what was given.

    More words about it.

    Args:
        name: What it is called,
            told on two lines.
        count: How often.
    """
    return Shown((TextPart(repr((name, count, ratio, deep, kind, items, form))),))


def test_the_schema_follows_from_hints_and_docstring() -> None:
    """CC-14: the description is the docstring up to Args, each argument has its own words."""
    assert sample.block == {
        "name": "sample",
        "description": "Say what was given.\n\nMore words about it.",
        "input_schema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "What it is called, told on two lines."},
                "count": {"type": "integer", "description": "How often."},
                "ratio": {"type": "number"},
                "deep": {"type": "boolean"},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "items": {"type": "array", "items": {"type": "string"}},
                "form": {"type": "object"},
            },
            "required": ["name"],
            "additionalProperties": False,
        },
    }


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"name": "x", "count": "5"}, {"name": "x", "count": 5}),
        ({"name": "x", "count": 5.0}, {"name": "x", "count": 5}),
        ({"name": "x", "count": "1,000"}, {"name": "x", "count": 1000}),
        ({"name": "x", "count": None}, {"name": "x"}),
        ({"name": "x", "ratio": "0.5"}, {"name": "x", "ratio": 0.5}),
        ({"name": "x", "deep": "true"}, {"name": "x", "deep": True}),
        ({"name": "x", "kind": "B"}, {"name": "x", "kind": "b"}),
        ({"name": "x", "items": "one"}, {"name": "x", "items": ["one"]}),
        ({"name": "x", "form": {"a": [1]}}, {"name": "x", "form": {"a": [1]}}),
        ({"name": "x", "form": '{"a": 1}'}, {"name": "x", "form": {"a": 1}}),
    ],
)
def test_what_models_mean_is_taken(given: dict[str, Any], taken: dict[str, Any]) -> None:
    """Models write "5" for 5; refusing that costs a turn and teaches nothing."""
    assert sample.arguments(given) == taken


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "needs the argument 'name'"),
        ({"name": None}, "needs the argument 'name'"),
        ({"name": "x", "cuont": 1}, "Did you mean 'count'"),
        ({"name": "x", "zzzzzz": 1}, "It takes: name, count (optional)"),
        ({"name": 5}, "'name' must be a text, not 5"),
        ({"name": "x", "count": "many"}, "'count' must be a whole number"),
        ({"name": "x", "count": 1.5}, "'count' must be a whole number"),
        ({"name": "x", "count": True}, "'count' must be a whole number"),
        ({"name": "x", "deep": "maybe"}, "'deep' must be true or false"),
        ({"name": "x", "kind": "c"}, "one of 'a', 'b'"),
        ({"name": "x", "items": [1]}, "'items' must be a list of texts"),
        ({"name": "x", "ratio": []}, "'ratio' must be a number"),
        ({"name": "x", "form": "a"}, "'form' must be a JSON object"),
        ({"name": "x", "form": [1]}, "'form' must be a JSON object"),
        ({"name": "x", "form": '{"a":' * 100_000}, "'form' must be a JSON object"),
        ({"name": "x", "count": float("inf")}, "'count' must be a whole number"),
        ({"name": "x", "count": float("nan")}, "'count' must be a whole number"),
        ({"name": "x", "count": "9" * 5_000}, "'count' must be a whole number"),
    ],
)
def test_a_wrong_argument_is_told_with_what_to_give(given: dict[str, Any], said: str) -> None:
    """I9: a failure says what to do next."""
    with pytest.raises(ToolError) as caught:
        sample.arguments(given)
    assert said in str(caught.value)


def test_web_search_is_offered_only_with_a_provider() -> None:
    """A tool that cannot work is not in the list (OC-29)."""
    assert "web_search" not in ToolBox().names
    assert "web_search" in ToolBox(settings=Settings(search_provider="searxng")).names


def test_the_order_and_wording_of_the_tools_are_fixed() -> None:
    """I2: the tools stand in the cached prefix; the same settings give the same bytes."""
    assert ToolBox().blocks == ToolBox().blocks
    assert ToolBox(["todo", "read"]).names == ("read", "todo")
    usual = tuple(name for name in TOOLS.names() if name not in ("web_search", "skill", "shell"))
    assert ToolBox().names == usual
    assert ToolBox(skilled=True).names == (*usual, "skill")


def test_every_tool_describes_itself_and_its_arguments() -> None:
    """CC-14, OC-1: limits and paging are told up front."""
    for block in ToolBox(TOOLS.names()).blocks:
        assert len(block["description"]) > 100, block["name"]
        for name, schema in block["input_schema"]["properties"].items():
            assert schema.get("description"), (block["name"], name)


def test_an_unknown_tool_is_told_with_the_nearest_name() -> None:
    """I9."""
    with pytest.raises(ToolError, match="Did you mean 'web_fetch'"):
        ToolBox().call("webfetch", {}, ENV)
    with pytest.raises(ToolError, match="must be one JSON object"):
        ToolBox().call("read", ["x"], ENV)
