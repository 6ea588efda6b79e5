"""What fills the window: kinds, sources, and sums that come to the window's own count."""

from __future__ import annotations

import random

from compact.runs import Run
from compact.summarisers import good, perform
from context.conversations import Log, call, hex_id, text, thinking
from context.random_sessions import play, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.compact import load_policy
from manusfs.context import Window, filling, fold
from manusfs.records import ImagePart, ObsRef, TextPart


def shares(window: Window) -> dict[tuple[str, str], int]:
    return {(share.kind, share.source): share.tokens for share in filling(window).shares}


def test_each_block_counts_under_its_kind_and_its_host_or_tool() -> None:
    """Issue: system, tools, user, assistant, results, stubs, ledgers, by source."""
    log = Log()
    log.begin()
    log.says(thinking("hm " * 30), text("I look at it."), call("a"), call("b", "search", query="tides"))
    log.saw("a", hex_id(1))
    log.shows("b", TextPart("hit " * 50))
    log.add("recite", text="<todo>\n- [ ] read\n</todo>")
    log.user("And the neap tides?")
    found = shares(fold(log.events))
    assert {place for place in found if place[0] in ("results", "stubs")} == {
        ("results", "search"),
        ("stubs", "example.org"),
    }
    assert {kind for kind, _ in found} == {
        "system", "tools", "instructions", "user", "assistant", "thinking", "results", "stubs", "to-do",
    }  # fmt: skip
    assert found["stubs", "example.org"] > found["results", "search"] > found["to-do", ""] > 0


def test_what_an_epoch_carries_counts_where_it_came_from() -> None:
    """Folded stubs, ledgers, summaries and kept turns, each under its own name."""
    run = Run(load_policy("claude-code"), 40_000)
    rng = random.Random(7)
    for number in range(0, 60, 2):
        run.turn(number, 2, rng)
    perform(run, good)
    kinds = filling(run.window).by_kind()
    assert kinds["summaries"] > 0 and kinds["stubs"] > 0 and "ledgers" not in kinds
    run.policy = load_policy("auto")
    for number in range(60, 120, 2):
        run.turn(number, 2, rng)
    run.compact()
    assert filling(run.window).by_kind()["ledgers"] > 0


def test_pictures_that_are_carried_count_as_stubs() -> None:
    """2.14: their refs are what stands there."""
    run = Run(load_policy("manus"), 40_000)
    run.add(run.log.says(call("a", "read")), run.log.shows("a", ImagePart(ObsRef(hex_id(1)), "image/png")))
    assert filling(run.window).by_kind()["results"] > 1_000
    run.add(run.log.says(call("b")), run.log.saw("b", hex_id(2)))
    run.policy = load_policy("gemini-cli")
    run.compact()
    assert filling(run.window).by_kind().get("results", 0) < 100


@settings(max_examples=60, deadline=None)
@given(turns(), st.sampled_from(["manus", "auto", "claude-code"]), turns())
def test_the_sums_are_the_windows_count_whatever_happened(
    steps: list[tuple[object, ...]], name: str, more: list[tuple[object, ...]]
) -> None:
    """Bills, folds and carried turns included: nothing is counted twice or left out."""
    run = Run(load_policy(name), 60_000)
    play(run.log, steps)
    run.window = fold(run.log.events)
    for again in (False, True):
        found = filling(run.window)
        assert found.tokens == run.window.tokens == sum(share.tokens for share in found.shares)
        assert sum(found.by_kind().values()) == found.tokens and all(share.tokens >= 0 for share in found.shares)
        assert all(one.ref.startswith(f"msg:{run.window.session}:") for one in found.largest)
        if not again:
            run.compact()
            play(run.log, more)
            run.window = fold(run.log.events)
