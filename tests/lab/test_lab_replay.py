"""Replays: nothing is lost under any policy, extra reads are charged, in-place editors pay for what they break."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from lab_runs import FACT, page, recording

from manusfs.compact import policy_names
from manusfs.lab import Measures, Outcome, Prices, Recording, Terms, contestants, measure, plot, rows
from manusfs.workspace.settings import Settings

LATE = recording([page(0, fact=FACT), *(page(n) for n in range(1, 12))], {12: f"As seen: {FACT}."})


def outcome(run: Recording, *names: str, terms: Terms | None = None) -> Outcome:
    terms, settings = terms or Terms(), Settings()
    return measure(run, contestants(names or ("all",), settings, terms), terms, settings)


def by_name(result: Outcome) -> dict[str, Measures]:
    return {one.policy: one for one in result.measures}


@pytest.fixture(scope="module")
def late() -> dict[str, Measures]:
    """A fact of the first page is quoted at the end, in a window that is far too small for all of them."""
    return by_name(outcome(LATE, terms=Terms(window=16_000, max_tokens=1_000)))


@pytest.mark.parametrize("name", policy_names())
def test_no_policy_loses_a_span(late: dict[str, Measures], name: str) -> None:
    """I1, MA-1, MECHANISMS 2.1."""
    one = late[name]
    assert one.reach.all == 1 and one.reach.lost == 0
    assert one.left_bytes == one.back_bytes
    assert one.invalid == 0, "nothing that was sent is edited"


@pytest.mark.parametrize("name", policy_names())
def test_no_request_is_larger_than_the_window(late: dict[str, Measures], name: str) -> None:
    """I4."""
    assert late[name].peak <= 16_000 - 1_000


def test_what_was_needed_and_not_visible_costs_one_more_turn(late: dict[str, Measures]) -> None:
    assert late["naive"].requests == len(LATE.steps) and late["naive"].extra_reads == 0
    assert late["none"].extra_reads == 1
    assert late["none"].requests == len(LATE.steps) + 1
    assert late["none"].reach.read == 1


def test_clearing_in_place_breaks_the_prefix_the_thinking_and_loses(late: dict[str, Measures]) -> None:
    """MEASURED: the obvious design costs more than it saves."""
    clear = late["clear-oldest"]
    assert clear.reach.lost == 1
    assert clear.back_bytes == 0 < clear.left_bytes
    assert clear.epochs >= 8 and clear.invalid >= 8 * 3


def test_masking_begins_when_a_batch_is_full() -> None:
    run = recording([page(n, 30_000) for n in range(12)])
    masked = by_name(outcome(run, "mask-old"))["mask-old"]
    assert 1 <= masked.epochs <= 4, "not at every request"
    assert max(masked.history) < 50_000 + 30_000 + 20_000


def test_two_replays_are_the_same() -> None:
    """STYLE 10."""
    one, two = outcome(LATE, "auto", "manus"), outcome(LATE, "auto", "manus")
    assert one.measures == two.measures and one.bounds == two.bounds


def test_a_dead_cache_makes_every_token_dear() -> None:
    slow = by_name(outcome(LATE, "naive", terms=Terms(prices=Prices(turn_s=600.0))))["naive"]
    assert slow.bill.read == 0


def test_auto_folds_a_large_input_before_it_is_sent_again() -> None:
    """The issue: large tool inputs, a file just written, fold too."""
    run = recording(["ok"] * 6, args={1: page(7, 40_000)})
    found = by_name(outcome(run, "auto"))
    assert found["auto"].peak < found["naive"].peak / 3
    assert found["auto"].cost(Prices()) < 0.6 * found["naive"].cost(Prices())


def test_auto_leaves_a_small_run_alone() -> None:
    run = recording(["fine"] * 8)
    found = by_name(outcome(run, "auto"))
    assert found["auto"].epochs == 0
    assert found["auto"].cost(Prices()) <= 1.1 * found["naive"].cost(Prices())


def test_rows_tell_ratios_for_each_source_and_all_together() -> None:
    other = replace(LATE, source="other")
    found = list(rows([outcome(LATE, "auto"), outcome(other, "auto")], Prices(), each=True))
    assert [row["of"] for row in found[::2]] == ["made", "other", "made/one", "other/one", "all"]
    for naive, auto in zip(found[::2], found[1::2], strict=True):
        assert naive["cost_ratio"] == 1 and auto["policy"] == "auto"
        assert auto["bound_ratio"] is None or auto["bound_ratio"] > 0.5
    assert found[-1]["runs"] == 2


def test_the_plot_is_one_drawing_with_a_line_for_each(tmp_path: Path) -> None:
    result = outcome(LATE, "auto", "clear-oldest")
    drawing = plot([("a <run>", result.measures)])
    assert drawing.startswith("<svg") and drawing.count("<polyline") == 3
    assert "a &lt;run&gt;" in drawing
