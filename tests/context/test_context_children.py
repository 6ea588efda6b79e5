"""The register of children as a fold of events: whatever happened, none is forgotten and none counts twice."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.context import Children, fold, later_opening
from manusfs.records import Event, TextPart

SESSION = "20261130-ab12"
STATES = ("started", "resumed", "stopped", "finished", "failed")

events = st.lists(
    st.tuples(st.integers(1, 60), st.sampled_from(STATES), st.text(max_size=30)).map(
        lambda told: {"session": f"{SESSION}.{told[0]}", "state": told[1], "call": f"c{told[0]}", "title": told[2]}
    ),
    max_size=120,
)


@settings(deadline=None)
@given(events)
def test_each_child_is_known_once_in_its_last_state_and_found_by_its_call(told: list[dict[str, Any]]) -> None:
    """Section 2.9."""
    children = Children()
    for data in told:
        children.see(data)
    last = {data["session"]: data["state"] for data in told}
    assert {name: child.state for name, child in children.known.items()} == last
    assert [child.session for child in children.open] == [
        name for name in children.known if last[name] in ("started", "resumed", "stopped")
    ]
    for data in told:
        found = children.by_call(data["call"])
        assert found is not None and found.session == data["session"]
    text = children.text()
    assert len(text.splitlines()) <= 43
    assert bool(text) is bool(told)
    # Those that are open are named before all others.
    assert all(child.session in text for child in children.open[:40])


@settings(deadline=None)
@given(st.text(max_size=200))
def test_a_title_of_anything_stays_one_escaped_line(title: str) -> None:
    """I6: a prompt may quote a page."""
    children = Children()
    children.see({"session": f"{SESSION}.1", "state": "started", "call": "c", "title": title})
    head, line, foot = children.text().split("\n")
    assert head.startswith('<listing of="sub-agents" total="1"') and foot == "</listing>"
    assert "<" not in line and line.isprintable()


def test_what_is_missing_or_copied_in_an_event_does_no_harm() -> None:
    """A line of a later version, or one that a fork has of its parent."""
    children = Children()
    for data in (
        {},
        {"session": ""},
        {"session": f"{SESSION}.9", "copied": 4},
        {"session": f"{SESSION}.1", "turns": "x"},
    ):
        children.see(data)
    assert list(children.known) == [f"{SESSION}.1"] and children.known[f"{SESSION}.1"].is_open


def test_two_hundred_children_stand_in_a_later_opening_as_forty_lines_and_a_count() -> None:
    """The register is told after a compaction, and does not grow without end."""
    first = {"n": 1, "because": "start", "system": "s", "tools": [], "model": "m", "opening": []}
    told = [Event("session", {"session": SESSION}, 1), Event("epoch", first, 2)]
    for n in range(1, 201):
        state = "started" if n == 3 else "finished"
        data = {"session": f"{SESSION}.{n}", "state": state, "call": f"c{n}", "title": f"part {n}"}
        told.append(Event("child", data, n + 2))
    sections = later_opening(fold(told))
    (part,) = [section.part for section in sections if section.label == "children"]
    assert isinstance(part, TextPart)
    lines = part.text.splitlines()
    assert lines[0] == '<listing of="sub-agents" total="200" open="1">' and len(lines) == 43
    assert f"{SESSION}.3 open" in lines[1] and f"{SESSION}.200 finished" in part.text
    assert lines[-2] == f"… and 160 more: list(what='sessions', within='{SESSION}.')"
