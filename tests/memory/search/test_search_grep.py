"""Grep: literal by default, patterns under a time limit, refs with exact offsets."""

from __future__ import annotations

import resource
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_place import Place

from manusfs.errors import UsageError
from manusfs.memory.search import Match
from manusfs.memory.search import grep as grep_module
from manusfs.records import MsgRef, ObsRef, parse_ref


def stands(place: Place, match: Match) -> str:
    ref = parse_ref(match.ref)
    assert isinstance(ref, ObsRef)
    return place.observations.read(ref.id, ref.view, ref.span).decode()


def test_a_literal_is_found_where_it_stands(place: Place) -> None:
    place.add("héé (a+b)\nsecond (a+b) and (a+b)\n", "x")
    found = place.search.grep("(a+b)")
    assert [(match.line, match.text) for match in found] == [
        (1, "héé (a+b)"),
        (2, "second (a+b) and (a+b)"),
        (2, "second (a+b) and (a+b)"),
    ]
    assert {stands(place, match) for match in found} == {"(a+b)"}
    assert not found.stopped


def test_a_pattern_and_case_are_asked_for(place: Place) -> None:
    place.add("Total: 12\ntotal: 345\n", "x")
    assert [stands(place, match) for match in place.search.grep(r"^\w+: \d{3}$", regex=True)] == ["total: 345"]
    assert len(place.search.grep("total")) == 1
    assert len(place.search.grep("TOTAL", ignore_case=True)) == 2


def test_a_pattern_that_never_ends_is_stopped(place: Place) -> None:
    """Case f03 (F14): the standard library needs minutes for this."""
    place.add("a" * 32 + "!", "x")
    started = time.process_time()
    found = place.search.grep("(a|a)+$", regex=True)
    assert time.process_time() - started < 2
    assert list(found) == []
    assert not found.stopped or "Stopped after" in found.note


def test_the_time_limit_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grep_module, "REGEX_SECONDS", 0.2)
    place.add("a" * 40 + "!", "x")
    found = place.search.grep(r"(?:(a|aa)+)+$(?<!b)", regex=True)
    assert found.stopped
    assert "takes too long" in found.note


@pytest.mark.parametrize("pattern", ["(", "[", "a{2,1}", "*", "(?P<x", r"\p{Nope}", "(?<=a+b", "a" * 2_000])
def test_what_is_no_pattern_is_told(place: Place, pattern: str) -> None:
    with pytest.raises(UsageError):
        place.search.grep(pattern, regex=True)


@pytest.mark.parametrize(
    "pattern",
    ["a{1000000000}", "[a-z]{99999999,}", "(?:(?:a{300}){300}){300}", r"(?<=\p{L}{10000000})b", "a{ 99999999 }"],
)
def test_a_pattern_cannot_take_all_memory(place: Place, pattern: str) -> None:
    """The engine writes each counted repeat out: the first of these ends any process that compiles it."""
    place.add("aaaa bbbb", "x")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UsageError, match="repeats"):
        place.search.grep(pattern, regex=True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert len(place.search.grep(r"^(?:[ab]{4} ?){2}$|x{64}|y{2,99999999}", regex=True)) == 1


@pytest.mark.parametrize(
    "pattern", ["(?R)", "(?1)(a|(?1))", "(?<x>a(?&x)?)", "(?P<x>a(?P>x))", "(?b)(?:a{e<=5})+", "(?:ab){1<=e<=9}b"]
)
def test_what_calls_itself_and_what_is_only_near_is_not_tried(place: Place, pattern: str) -> None:
    """Promise 11: half a gigabyte within the time limit, or past it: there the clock is looked at too seldom."""
    with pytest.raises(UsageError, match="not tried"):
        place.search.grep(pattern, regex=True)


def test_a_group_that_repeats_over_a_long_line_costs_little(place: Place) -> None:
    """Promise 11: what each repeat of each group stood for is kept by the engine; on a line of 1 MB that was 165 MB."""
    place.add("1" * 1_000_000, "x")
    place.search.grep("1", limit=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for pattern in ("(.)+", "((.)(.))+", "(?:(1)(1)(1)(1))+"):
        assert place.search.grep(pattern, regex=True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert not place.search.grep(r"\{e}|[{€]|€{2}|(?#e)€", regex=True)


def test_an_empty_pattern_is_refused(place: Place) -> None:
    with pytest.raises(UsageError, match="empty"):
        place.search.grep("")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.text(alphabet="ab(*+?[]{}|\\^$.0123,:=!<>P-\x00é", min_size=1, max_size=12))
def test_no_pattern_raises_anything_else(place: Place, pattern: str) -> None:
    place.put("abc (a) [b] {c} é 123", "x")
    try:
        place.search.grep(pattern, regex=True)
    except UsageError:
        pass
    place.search.grep(pattern)


def test_notes_reports_and_transcripts_are_searched_too(place: Place) -> None:
    place.folder.root.write_atomic("notes/a.md", b"one\nthe needle of the note\n")
    place.folder.root.write_atomic("reports/r.md", b"the needle of the report\n")
    session = place.say("where is the needle?")
    found = place.search.grep("needle")
    assert [(match.ref, match.line) for match in found[:2]] == [("notes/a.md", 2), ("reports/r.md", 1)]
    ref = parse_ref(found[2].ref)
    assert isinstance(ref, MsgRef)
    assert (ref.session, ref.seq, ref.block, str(ref.span)) == (session, 2, 0, "13-19")
    assert [match.kind for match in found] == ["note", "report", "message"]
    assert len(place.search.grep("needle", within="notes/")) == 1
    assert len(place.search.grep("needle", within=f"msg:{session}:2")) == 1


def test_one_observation_alone_is_searched(place: Place) -> None:
    meta = place.add("the needle here", "x", full="the needle here\nand the needle there")
    place.add("a needle elsewhere", "y")
    assert [match.ref.split("@")[0] for match in place.search.grep("needle", within=f"obs:{meta.id}")] == [
        f"obs:{meta.id}",
        f"obs:{meta.id}/full",
        f"obs:{meta.id}/full",
    ]


def test_too_many_matches_are_told(place: Place) -> None:
    place.add("needle " * 500, "x")
    found = place.search.grep("needle", limit=7)
    assert len(found) == 7
    assert found.stopped
    assert "More than 7" in found.note


def test_matches_beyond_the_first_piece_have_their_offsets_and_lines(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep_module, "_PIECE", 1_000)
    lines = [f"Zeile {number} – ü" + (" needle" if number % 97 == 0 else "") for number in range(1_000)]
    place.add("\n".join(lines), "x")
    place.add("–" * 5_000 + "needle", "endless")
    found = [match for match in place.search.grep("needle") if match.line > 1 or match.text == lines[0]]
    assert [match.line for match in found] == [number + 1 for number in range(0, 1_000, 97)]
    assert {stands(place, match) for match in place.search.grep("needle")} == {"needle"}
    assert len(place.search.grep("needle")) == 12


def test_a_match_across_pieces_of_an_endless_line_is_found(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grep_module, "_PIECE", 1_000)
    place.add("é" * 498 + "needle" + "x" * 3_000, "x")
    (match,) = place.search.grep("needle")
    assert stands(place, match) == "needle"
