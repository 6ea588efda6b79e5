"""A run of any length stays within its window and loses no pointer (I1 to I4, MA-1, MA-2, MECHANISMS 2.1)."""

from __future__ import annotations

import pytest
from compact.runs import Run, long_run, reach

from manusfs.compact import load_policy
from manusfs.messages import Request


def sources(run: Run) -> list[tuple[int, str]]:
    """Return line and observation id of all that the model was shown."""
    found = []
    for event in run.log.events:
        if event.kind == "observation":
            found.append((event.seq, event.data["id"]))
        elif event.kind == "shown":
            found += [(event.seq, ref[4:16]) for ref in event.data["reads"]]
    return found


def check_reach(run: Run, request: Request) -> None:
    said, covered = reach(run, request)
    epoch = run.window.epoch_seq
    lost = [id for _, id in sources(run) if id not in said]
    assert not lost
    shown = {e.seq for e in run.log.events if e.kind in ("message", "observation", "shown") and e.seq < epoch}
    assert not shown - covered


@pytest.mark.parametrize(
    ("window", "calls"),
    [
        (30_000, 500),
        (200_000, 600),
        pytest.param(30_000, 2_000, marks=pytest.mark.slow),
        pytest.param(200_000, 2_000, marks=pytest.mark.slow),
    ],
)
def test_calls_of_50_kb_never_exceed_the_window(window: int, calls: int) -> None:
    """I4: every request is checked on its way; every ref stays within one read."""
    run = Run(load_policy("manus"), window)
    epochs: set[int] = set()

    def look(request: Request) -> None:
        if run.window.epoch not in epochs and run.window.epoch % 8 == 2:
            check_reach(run, request)
        epochs.add(run.window.epoch)

    long_run(run, calls, seed=7, look=look)
    check_reach(run, run.request())
    mark = run.policy.mark(run.budget)
    assert run.peak < mark * 1.1
    assert len(run.compactions) > 2
    for before, after in run.compactions:
        assert after < before
        assert before - after > mark * 0.15


@pytest.mark.parametrize("seed", range(3))
def test_the_baseline_without_a_policy_survives_at_the_hard_limit(seed: int) -> None:
    """Works at 100 % full: only the compactor's own tiers are left."""
    run = Run(load_policy("none"), 20_000)
    long_run(run, 150, seed)
    check_reach(run, run.request())
    assert run.peak > 0.9 * run.budget.limit


def test_a_huge_window_is_compacted_by_its_absolute_mark() -> None:
    """`manus`: 50 % of the window or 128,000 tokens, whichever is less."""
    run = Run(load_policy("manus"), 1_000_000)
    assert run.policy.mark(run.budget) == 128_000
    run = Run(load_policy("manus"), 200_000)
    assert run.policy.mark(run.budget) == 100_000
