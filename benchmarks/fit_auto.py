"""Fits the constants of the policy `auto` with one source left out, and tells what they do on the one left out.

    python benchmarks/fit_auto.py runs/*.jsonl.gz

Every combination is replayed on every run; of those that cost no run of the other sources more than 1.10 of a plain
history, the one that is cheapest on them is taken.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from itertools import product
from pathlib import Path

from manusfs.compact.auto import Auto
from manusfs.lab import (
    BASELINES,
    Contestant,
    Prices,
    Stage,
    Terms,
    best,
    blocks_of,
    read_runs,
    replay,
    sizes_of,
    staged,
)
from manusfs.memory.stubs import StubLimits
from manusfs.workspace.settings import Settings

GRID = {"hope": (0.15, 0.25, 0.35), "again": (0.1, 0.2)}
MOST = 1.10


def main(files: list[Path]) -> None:
    """Print one line a source that was left out, then one for the constants fitted on all."""
    terms = Terms()
    with ExitStack() as stack:
        stages: list[Stage] = []
        for file in files:
            for run in read_runs(file):
                stages.append(stack.enter_context(staged(run, Settings(), searches=False)))
        blocks = [blocks_of(stage) for stage in stages]
        sources = [stage.recording.source for stage in stages]
        naive = [cost(stage, BASELINES["naive"], terms, seen) for stage, seen in zip(stages, blocks, strict=True)]
        one = contestant(Auto())
        bound = [
            best(sizes_of(stage, one, terms, seen), terms.prices).cost
            for stage, seen in zip(stages, blocks, strict=True)
        ]
        table: dict[tuple[float, ...], list[float]] = {}
        for values in product(*GRID.values()):
            policy = contestant(Auto(**dict(zip(GRID, values, strict=True))))
            table[values] = [cost(stage, policy, terms, seen) for stage, seen in zip(stages, blocks, strict=True)]
            print(
                f"{dict(zip(GRID, values, strict=True))}: {sum(table[values]) / sum(naive):.4f}",
                file=sys.stderr,
                flush=True,
            )
    print("left out                       hope  again   cost  worst  bound  worst  (of the source that was left out)")
    for source in [*dict.fromkeys(sources), ""]:
        inside = [at for at, name in enumerate(sources) if name != source]
        outside = [at for at, name in enumerate(sources) if name == source] or inside
        chosen = fitted(table, naive, inside)
        costs = table[chosen]
        ratio = sum(costs[at] for at in outside) / sum(naive[at] for at in outside)
        worst = max(costs[at] / naive[at] for at in outside)
        over = sum(costs[at] for at in outside) / sum(bound[at] for at in outside)
        least = max(costs[at] / bound[at] for at in outside)
        figures = "  ".join(f"{value:5.2f}" for value in chosen)
        print(f"{source or '(none)':<28} {figures}  {ratio:.3f}  {worst:.3f}  {over:.3f}  {least:.3f}")


def contestant(policy: Auto) -> Contestant:
    return Contestant("auto", policy, limits=StubLimits(policy.inline_chars, policy.preview_chars))


def cost(stage: Stage, one: Contestant, terms: Terms, seen: object) -> float:
    return replay(stage, one, terms, seen).cost(Prices())  # type: ignore[arg-type]


def fitted(table: dict[tuple[float, ...], list[float]], naive: list[float], inside: list[int]) -> tuple[float, ...]:
    def order(values: tuple[float, ...]) -> tuple[bool, float]:
        worst = max(table[values][at] / naive[at] for at in inside)
        return worst > MOST, sum(table[values][at] for at in inside)

    return min(table, key=order)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
