"""Random histories by the thousand: the property tests of context and compaction, with as many examples as wanted.

    python benchmarks/histories.py --examples 20000

In the suite each of these tests takes 30 to 150 examples; here all of them together take what is asked for, in rounds
with a new seed each, so that it can be stopped at any time. Every breach is printed with its smallest history. Exit
code 1 says that there was one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parents[1] / "tests"
MODULES = (
    "compact.test_compact_properties",
    "compact.test_compact_switches",
    "compact.test_compact_wishes",
    "context.test_context_properties",
    "context.test_context_foreign",
    "context.test_context_filling",
)
ROUND = 100


@dataclass
class Tally:
    """One property, how many histories it held for, and how many it did not."""

    name: str
    histories: int = 0
    breaches: int = 0


def main() -> int:
    """Run until the examples or the seconds are used up; print the tally."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--examples", type=int, default=20_000, help="of all properties together; default 20,000")
    options.add_argument("--seconds", type=float, default=0, help="stop after so long; default: never")
    options.add_argument("--seed", type=int, default=1, help="of the first round")
    options.add_argument("--json", dest="out", metavar="FILE", help="write the tally there as JSON too")
    given = options.parse_args()
    sys.path.insert(0, str(TESTS))
    properties = [(Tally(name), test) for name, test in _properties()]
    begun, seed = time.monotonic(), given.seed
    while (done := sum(tally.histories for tally, _ in properties)) < given.examples:
        for tally, test in properties:
            share = min(ROUND, max(1, (given.examples - done) // len(properties)))
            _round(tally, test, share, seed)
            if given.seconds and time.monotonic() - begun > given.seconds:
                return _report([tally for tally, _ in properties], begun, seed, given.out)
        print(f"seed {seed}: {sum(tally.histories for tally, _ in properties):,} histories", flush=True)
        seed += 1
    return _report([tally for tally, _ in properties], begun, seed - 1, given.out)


def _properties() -> list[tuple[str, Any]]:
    found = []
    for name in MODULES:
        for attribute, test in vars(import_module(name)).items():
            if attribute.startswith("test_") and hasattr(test, "hypothesis"):
                found.append((f"{name.partition('.')[2]}::{attribute}", test))
    return found


def _round(tally: Tally, test: Any, examples: int, seed: int) -> None:
    """Let `test` look at `examples` more histories; what a shrink tries besides is not counted."""
    inner = test.hypothesis.inner_test
    tried = 0

    def counted(*arguments: Any, **named: Any) -> None:
        nonlocal tried
        tried += 1
        inner(*arguments, **named)

    counted.__name__ = inner.__name__
    test.hypothesis.inner_test = counted
    test._hypothesis_internal_use_settings = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
    )
    test._hypothesis_internal_use_seed = seed
    try:
        run: Callable[[], None] = test
        run()
    except Exception:
        # Whatever goes wrong is a breach, and the others are still to be tried.
        tally.breaches += 1
        print(f"BREACH of {tally.name}, seed {seed}\n{traceback.format_exc()}", flush=True)
    finally:
        test.hypothesis.inner_test = inner
    tally.histories += min(tried, examples)


def _report(tallies: list[Tally], begun: float, seed: int, out: str | None) -> int:
    for tally in tallies:
        print(f"{tally.name:<110} {tally.histories:>7,} {tally.breaches:>3}")
    total, breaches = sum(tally.histories for tally in tallies), sum(tally.breaches for tally in tallies)
    print(f"{total:,} histories, {breaches} breaches, last seed {seed}, {time.monotonic() - begun:,.0f} s")
    if out:
        document = {"histories": total, "breaches": breaches, "tests": [asdict(tally) for tally in tallies]}
        Path(out).write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
