"""Escapes of untrusted text (I6)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from manusfs.records import escape

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_VALUES, st.sampled_from([None, 2]))
def test_json_for_a_terminal_is_the_same_value_without_controls(value: Any, indent: int | None) -> None:
    line = escape.in_json(json.dumps(value, ensure_ascii=False, indent=indent))
    assert json.loads(line) == value
    assert escape.terminal(line.encode("utf-8", "backslashreplace").decode("utf-8")) == line.encode(
        "utf-8", "backslashreplace"
    ).decode("utf-8")


def test_controls_that_json_lets_through_are_escaped() -> None:
    risky = "\x7f\x9b31m\u202e\u200b\U000e0041"
    line = escape.in_json(json.dumps({"title": risky}, ensure_ascii=False))
    assert line.isascii() and json.loads(line) == {"title": risky}
