"""Front matter: tolerant of what people write, closed to what an attacker writes (OC-19)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.skills import front_matter


def test_data_and_body_come_apart() -> None:
    """OC-19: the usual shape."""
    found = front_matter.split("---\nname: a-b\ndescription: what it does\nlist: [x, 'y']\n---\n# Title\nbody\n")
    assert found.data == {"name": "a-b", "description": "what it does", "list": ["x", "y"]}
    assert (found.body, found.problem) == ("# Title\nbody\n", "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no front matter"),
        ("# Just a page\n", "no front matter"),
        ("---", "no front matter"),
        ("---\nname: x\n", "without a closing"),
        ("---\n- a\n- b\n---\nbody\n", "no table"),
        ("---\njust words\n---\nbody\n", "no table"),
        ("---\nother: [unclosed\n---\nbody\n", "not valid YAML: line"),
        ("---\nname: a\nname: b\n---\nbody\n", "'name' stands twice"),
        ("---\nm:\n  k: 1\n  k: 2\n---\nbody\n", "'k' stands twice"),
        ("---\na: &x [1]\nb: *x\n---\nbody\n", "anchors and aliases"),
        ("---\na: !!python/object/apply:os.system ['true']\n---\nbody\n", "not valid YAML"),
        ("---\na: " + "[" * 40 + "]" * 40 + "\n---\nbody\n", "nested deeper"),
        ("---\na: [" + "1," * 6000 + "]\n---\nbody\n", "more than 5000 values"),
        ("---\na: " + "x" * 70_000 + "\n---\nbody\n", "more than 65536 characters"),
        ("---\na: " + "9" * 5_000 + "\n---\nbody\n", ""),
        ("---\n? [a]\n: b\n---\nbody\n", "is no text"),
    ],
)
def test_missing_or_broken_front_matter_gives_the_whole_text_and_says_why(text: str, why: str) -> None:
    """OC-19: ignored and told, never fatal."""
    found = front_matter.split(text)
    assert found.data == {}
    assert found.body == text
    assert why in found.problem
    assert found.problem


def test_values_with_a_colon_are_taken_as_people_mean_them() -> None:
    """OC-19: the commonest mistake in files that other agents accept."""
    found = front_matter.split("---\nname: pdf\ndescription: Use when: the user asks # really\n---\nbody\n")
    assert found.data == {"name": "pdf", "description": "Use when: the user asks # really"}
    assert found.body == "body\n"
    assert "quote them" in found.problem


def test_dates_stay_texts_and_switches_are_switches() -> None:
    found = front_matter.split("---\nday: 2024-01-02\non: true\nn: 3\nnothing:\nnan: .nan\n---\n")
    assert found.data == {"day": "2024-01-02", "True": True, "n": 3, "nothing": None, "nan": "nan"}


def test_line_ends_byte_order_marks_and_empty_tables_are_taken() -> None:
    found = front_matter.split("\ufeff---\r\nname: x\r\n---\r\nbody\r\n")
    assert (found.data, found.body) == ({"name": "x"}, "body\r\n")
    assert front_matter.split("---\n---\nbody").body == "body"
    assert front_matter.split('---\nmetadata: {"openclaw": {"os": ["linux"]}}\n---').data["metadata"] == {
        "openclaw": {"os": ["linux"]}
    }


def test_a_bomb_of_aliases_costs_nothing() -> None:
    """Aliases that would multiply to a billion are refused before anything is built of them."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    found = front_matter.split("---\n" + "\n".join(lines) + "\n---\nbody")
    assert found.data == {} and "aliases" in found.problem


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    """OC-19: whatever stands there, an answer comes back, and nothing of the text is lost."""
    for whole in (text, f"---\n{text}\n---\nbody", f"---\nname: {text}\n---\n"):
        found = front_matter.split(whole)
        assert whole.removeprefix("\ufeff").endswith(found.body)
        assert found.data or found.body == whole.removeprefix("\ufeff") or found.problem == ""


@pytest.mark.parametrize(
    ("head", "data"),
    [
        ('description: "Use "quotes" in it"\nname: x', {"description": 'Use "quotes" in it', "name": "x"}),
        ("name: [unclosed\ndescription: d", {"name": "[unclosed", "description": "d"}),
        ("name: x\n\tdescription: tabbed\ndescription: **bold** words", {"name": "x", "description": "**bold** words"}),
        ("name: x\ndescription: >\n  two\n  lines\nbad: @at", {"name": "x", "description": "two\nlines", "bad": "@at"}),
        (
            "name: x\ndisable-model-invocation: true\nbad: %x",
            {"name": "x", "disable-model-invocation": "true", "bad": "%x"},
        ),
        ('name: x\nmetadata: {"a": {"b": 1}}\nbad: `x`', {"name": "x", "metadata": '{"a": {"b": 1}}', "bad": "`x`"}),
    ],
)
def test_what_is_no_yaml_is_read_line_by_line(head: str, data: dict[str, str]) -> None:
    """OC-19: as the simplest readers of other agents do it, and told."""
    found = front_matter.split(f"---\n{head}\n---\nbody\n")
    assert (found.data, found.body) == (data, "body\n")
    assert "its lines were read one by one" in found.problem


def test_a_name_that_stands_twice_is_refused_by_every_reader() -> None:
    """Readers differ in which of the two counts."""
    found = front_matter.split("---\nname: a\nname: b\nbad: @at\n---\nbody\n")
    assert found.data == {} and "not valid YAML" in found.problem
