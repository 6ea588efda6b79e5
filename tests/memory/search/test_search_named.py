"""Hosts and sessions in a query: as people write them, and told when the workspace has none of that name."""

from __future__ import annotations

import pytest
from search_place import Place

from manusfs.memory.search.named import on_host


@pytest.mark.parametrize(
    ("host", "wanted", "fits"),
    [
        ("127.0.0.1:8000", "127.0.0.1", True),
        ("127.0.0.1:8000", "127.0.0.1:8000", True),
        ("127.0.0.1:8000", "127.0.0.1:80", False),
        ("127.0.0.1", "127.0.0.1:80", False),
        ("docs.example.org:8000", "example.org", True),
        ("docs.example.org", "example.org", True),
        ("myexample.org", "example.org", False),
        ("example.org", "docs.example.org", False),
        ("[::1]:8000", "[::1]", True),
        ("", "example.org", False),
    ],
)
def test_a_host_is_meant_with_all_below_it_and_on_any_port(host: str, wanted: str, fits: bool) -> None:
    assert on_host(host, wanted) is fits


@pytest.mark.parametrize("written", ["127.0.0.1", "127.0.0.1:8000", "http://127.0.0.1:8000/bridge"])
def test_a_page_of_a_host_with_a_port_is_found(place: Place, written: str) -> None:
    place.add("the bridge is old", url="http://127.0.0.1:8000/bridge")
    place.add("the bridge is new", url="https://example.org/bridge")
    assert place.texts(f"bridge host:{written}") == ["the bridge is old"]
    assert place.search.list(host="127.0.0.1").total == 1


def test_a_host_that_the_workspace_does_not_have_is_told_with_near_ones(place: Place) -> None:
    """I9: no hits, and why."""
    place.add("the bridge is old", url="https://docs.example.org/a")
    near = place.search.search("bridge host:docs.exampel.org")
    assert not near and "from the host 'docs.exampel.org': did you mean docs.example.org?" in near.note
    far = place.search.search("bridge host:nohost")
    assert not far and "from the host 'nohost': it has docs.example.org." in far.note
    assert "filters" in place.search.search("bridge host:example.org kind:file").note


def test_a_session_is_named_by_its_last_digits_and_one_that_there_is_not_is_told(place: Place) -> None:
    name = place.say("the zeppelin landed in the harbour")
    assert place.search.search(f"zeppelin session:{name[-4:]}")
    none = place.search.search("zeppelin session:nope")
    assert not none and f"no session 'nope' here: it has {name}." in none.note
