"""The form of an answer: what counts as the JSON of a reply, and what is said of one that does not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.agent.expects import asked, check_schema, faults, found
from manusfs.errors import ToolError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(JSON)
def test_a_value_is_found_bare_or_in_the_fence_that_models_put_round_it(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    for answer in (text, f"  {text}\n", f"```json\n{text}\n```", f"Here it is:\n```\n{text}\n```\nDone."):
        assert found(answer) == value


@settings(deadline=None)
@given(st.text(max_size=60))
def test_whatever_stands_in_an_answer_it_fits_or_the_fault_is_told(answer: str) -> None:
    """I9: no answer raises, and none passes that does not fit."""
    told = faults(answer, {"type": "object", "required": ["year"]})
    assert told and all("\n" not in line and len(line) < 400 for line in told)


@pytest.mark.parametrize("answer", ["NaN", '{"a": Infinity}', "[" * 100_000])
def test_what_only_python_takes_is_no_json(answer: str) -> None:
    assert faults(answer, {}) == ["it is no JSON"]


def test_faults_say_where_and_are_few() -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    told = faults(json.dumps([{"n": "x"}] * 50), schema)
    assert len(told) == 8 and told[0] == "at 0/n: 'x' is not of type 'integer'"


def test_a_schema_inside_a_schema_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """I7: words that are not taken are found wherever they stand, but not in values."""
    check_schema({"type": "object", "properties": {"$ref": {"enum": ["pattern"]}, "x": {"const": {"pattern": "y"}}}})
    for schema in (
        {"properties": {"a": {"pattern": "x"}}},
        {"items": {"anyOf": [{"$ref": "#/x"}]}},
        {"$defs": {"a": {"patternProperties": {}}}},
    ):
        with pytest.raises(ToolError, match="not taken"):
            check_schema(schema)


def test_the_words_of_a_schema_are_the_same_each_time() -> None:
    """I2: the order of its members in a call does not change the child's beginning."""
    assert asked({"type": "object", "required": ["b"]}) == asked({"required": ["b"], "type": "object"})
