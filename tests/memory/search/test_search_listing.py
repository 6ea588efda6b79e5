"""Listings by kind, host, time and session, a page at a time."""

from __future__ import annotations

import pytest
from search_place import Place

from manusfs.errors import UsageError


def test_observations_are_listed_newest_first_with_filters(place: Place) -> None:
    first = place.add("one", url="https://www.example.org/a", title="A <b>\n title")
    second = place.add("two", "pasted")
    listing = place.search.list()
    assert (listing.total, listing.start) == (2, 1)
    assert [line.split()[0] for line in listing.lines] == [f"obs:{second.id}", f"obs:{first.id}"]
    assert "<" not in listing.lines[1]
    assert "\n" not in listing.lines[1]
    assert place.search.list(host="example.org").total == 1
    assert place.search.list(kind="user").total == 1
    assert place.search.list(session="20260101-none").total == 0
    assert place.search.list(after="2026-01-03").total == 0


def test_a_page_of_a_listing_is_cut_out(place: Place) -> None:
    ids = [place.add(f"text {number}", f"n{number}").id for number in range(7)]
    listing = place.search.list(start=3, count=2)
    assert (listing.total, listing.start) == (7, 3)
    assert [line.split()[0] for line in listing.lines] == [f"obs:{ids[4]}", f"obs:{ids[3]}"]
    assert place.search.list(start=99).lines == ()


def test_notes_sessions_and_reports_are_listed(place: Place) -> None:
    place.folder.root.write_atomic("reports/r.md", b"text")
    session = place.say("hello there")
    assert any(line.startswith("reports/r.md 4 bytes") for line in place.search.list("reports").lines)
    assert place.search.list("sessions").lines[0].startswith(f"{session} run ")
    assert place.search.list("notes").total >= 1
    with pytest.raises(UsageError, match="can't list"):
        place.search.list("things")


def test_observations_that_fit_are_told_by_ref(place: Place) -> None:
    web = place.add("one", url="https://www.example.org/a")
    place.add("two", "pasted")
    assert place.search.fitting(kind="web") == place.search.fitting(host="example.org") == {f"obs:{web.id}"}
    assert place.search.fitting(after="2027") == frozenset()
    assert len(place.search.fitting()) == 2
