"""How long a command takes to begin: CPU time of `manusfs --help` and of reading a stored span, against bare imports.

python benchmarks/startup.py --rounds 15 --json startup.json
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
from pathlib import Path

from _measure import Goal, alternated, installed, parser, report, run, values

from manusfs.records import Source
from manusfs.store import Draft, Index, Observations
from manusfs.workspace import Folder

BARE = [sys.executable, "-c", "import click, sqlite3"]


def stored(base: Path, others: int) -> str:
    """Make a workspace with some observations, and return the ref of one of them."""
    folder = Folder.create(base)
    index, observations = Index(folder), Observations(folder)
    source = random.Random(1)
    drafts = []
    for number in range(others):
        text = " ".join(f"{source.randrange(10**6)}" for _ in range(8_000)).encode()
        drafts.append(Draft(Source.user(f"text {number}"), text, "txt", {"text": text}))
    done = observations.commit([observations.stage(draft) for draft in drafts])
    for order, one in enumerate(done, 1):
        index.add_observation(one.meta, order)
    index.flush()
    index.close()
    folder.close()
    return f"obs:{done[len(done) // 2].meta.id}"


def main() -> None:
    """Alternate the three commands and print the ratios of their CPU times."""
    made = parser(__doc__, rounds=15)
    made.add_argument("--observations", type=int, default=200, help="how many the workspace holds; default 200")
    options = made.parse_args()
    with tempfile.TemporaryDirectory() as base:
        place = Path(base) / "w"
        ref = stored(place, options.observations)
        ours = [sys.executable, "-m", "manusfs"]
        environment = {"XDG_CONFIG_HOME": str(Path(base) / "config"), **installed(Path(base))}
        commands = {
            "bare": BARE,
            "--help": [*ours, "--help"],
            "read": [*ours, "-q", "-w", str(place), "read", f"{ref}@20000-20600"],
        }
        for command in commands.values():
            run(command, environment)  # everything is compiled and in the page cache afterwards
        jobs = {name: lambda _, c=command: run(c, environment).cpu_s for name, command in commands.items()}
        found = alternated(jobs, options.rounds)
    figures = {name: values(times) for name, times in found.items()}
    goals = []
    for name in ("--help", "read"):
        # Neighbours in time suffer the same load: the median of their ratios moves least.
        ratio = statistics.median(ours / bare for ours, bare in zip(found[name], found["bare"], strict=True))
        spread = f"least {1000 * figures[name]['min']:.0f} / {1000 * figures['bare']['min']:.0f} ms"
        goals.append(Goal(f"manusfs {name}: CPU / import click, sqlite3", ratio, 3.0, also=spread))
    report("startup", goals, {"rounds": options.rounds, "cpu_s": figures}, options.out)


if __name__ == "__main__":
    main()
