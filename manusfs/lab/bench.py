"""The whole measurement: every run under every contestant, with the clairvoyant bound, totals by source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from manusfs.compact import Policy, load_policy, policy_names
from manusfs.compact.policy import birth
from manusfs.lab.baselines import ClearOldest, MaskOld
from manusfs.lab.bound import Bound, best
from manusfs.lab.cost import Prices
from manusfs.lab.measures import Measures, total
from manusfs.lab.recording import Recording
from manusfs.lab.replay import Contestant, Terms, blocks_of, replay, sizes_of
from manusfs.lab.stage import staged
from manusfs.memory import stubs
from manusfs.workspace.settings import Settings

__all__ = ["BASELINES", "NAIVE", "Outcome", "contestants", "measure", "rows"]

NAIVE = "naive"
BASELINES = {
    NAIVE: Contestant(NAIVE),
    "clear-oldest": Contestant("clear-oldest", editor=ClearOldest),
    "mask-old": Contestant("mask-old", editor=MaskOld),
}
"""Histories with every result in full: kept as they are, or edited in place as others do."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run under every contestant; `naive` is always the first."""

    run: Recording
    measures: tuple[Measures, ...]
    bounds: tuple[float, ...]
    """For each, the least cost of any schedule over results born as there, 0 where there is none."""


def contestants(names: Sequence[str], settings: Settings, terms: Terms) -> list[Contestant]:
    """Return what is to be measured for `names` of policies and baselines; "all" is every one of ours.

    Raises:
        UsageError: a name is unknown.
    """
    if "all" in names:
        names = [*BASELINES, *policy_names(), *(name for name in names if name != "all")]
    found = {NAIVE: BASELINES[NAIVE]}
    for name in names:
        found[name] = BASELINES.get(name) or _of_policy(name, load_policy(name, settings), settings, terms)
    return list(found.values())


def measure(
    run: Recording, field: Sequence[Contestant], terms: Terms, settings: Settings, *, bound: bool = True
) -> Outcome:
    """Return what each of `field` does on `run`; takes seconds for a run of hundreds of turns."""
    with staged(run, settings) as stage:
        blocks = blocks_of(stage)
        measures = tuple(replay(stage, one, terms, blocks) for one in field)
        known: dict[tuple[bool, stubs.StubLimits | None], Bound] = {}
        bounds = []
        for one in field:
            key = one.inline, one.limits
            if bound and key not in known and one.editor is None:
                known[key] = best(sizes_of(stage, one, terms, blocks), terms.prices)
            bounds.append(known[key].cost if key in known else 0.0)
    return Outcome(run, measures, tuple(bounds))


def rows(outcomes: Sequence[Outcome], prices: Prices, *, each: bool = False) -> Iterator[dict[str, Any]]:
    """Yield what `replay --json` prints: every contestant for each source, for all and, if asked, for each run.

    `cost_ratio` and `input_ratio` are against the naive history, `worst_ratio` is the worst of any run in it,
    `bound_ratio` against the best schedule over results born alike.
    """
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        names = [outcome.run.source, "all"] if not each else [outcome.run.name, outcome.run.source, "all"]
        for name in dict.fromkeys(names):
            groups.setdefault(name, []).append(outcome)
    for name in sorted(groups, key=lambda name: (name == "all", "/" in name, name)):
        group = groups[name]
        naive = total(NAIVE, (outcome.measures[0] for outcome in group))
        for place, first in enumerate(group[0].measures):
            whole = total(first.policy, (outcome.measures[place] for outcome in group))
            bound = sum(outcome.bounds[place] for outcome in group)
            worst = max(o.measures[place].cost(prices) / o.measures[0].cost(prices) for o in group)
            yield {
                "of": name,
                **whole.to_json(prices),
                "cost_ratio": round(whole.cost(prices) / naive.cost(prices), 4),
                "input_ratio": round(whole.sum_input / naive.sum_input, 4),
                "worst_ratio": round(worst, 4),
                "bound_ratio": round(whole.cost(prices) / bound, 4) if bound else None,
            }


def _of_policy(name: str, policy: Policy, settings: Settings, terms: Terms) -> Contestant:
    limits = stubs.StubLimits.of(settings)
    born = birth(policy, terms.budget)
    if born is not None:
        limits = replace(
            limits,
            inline_chars=born.inline_chars,
            preview_chars=born.preview_chars,
            tail_chars=born.tail_chars,
            read_chars=max(limits.read_chars, born.preview_chars),
        )
    return Contestant(name, policy, limits=limits)
