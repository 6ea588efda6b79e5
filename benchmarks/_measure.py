"""What all benchmarks share: alternated rounds, CPU time and memory of child processes, the table and the JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Goal", "Spent", "alternated", "installed", "parser", "report", "run", "tree_bytes", "values"]


@dataclass(frozen=True, slots=True)
class Goal:
    """One figure, and what it should be at most (`sign` "<=") or at least (">="); None where nobody asked."""

    what: str
    value: float
    goal: float | None
    unit: str = "x"
    sign: str = "<="
    also: str = ""
    """The figure's spread, or what it is made of."""

    @property
    def met(self) -> bool:
        """Whether the goal is reached."""
        if self.goal is None:
            return True
        return self.value <= self.goal if self.sign == "<=" else self.value >= self.goal


@dataclass(frozen=True, slots=True)
class Spent:
    """What a child process took."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    """Most resident memory. The kernel counts from the fork on: keep the parent small."""
    output: str


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Spent:
    """Run `command` and return what it took, without what this process took.

    Raises:
        SystemExit: it failed; its words stand above.
    """
    begun = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **(environment or {})})
    output = child.stdout.read() if child.stdout else b""
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begun
    if child.returncode:
        sys.exit(f"{' '.join(command[:6])} … failed with exit code {child.returncode}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Spent(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / unit, output.decode("utf-8", "replace"))


def installed(base: Path) -> dict[str, str]:
    """Return the environment of a program that is installed: all modules compiled, whatever the caller's says.

    The first command run with it compiles them; do not count that one.
    """
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(base / "compiled")}


def alternated(jobs: Mapping[str, Callable[[int], float]], rounds: int) -> dict[str, list[float]]:
    """Return the figures of each job, run in turn, so that a loaded machine disturbs all of them alike.

    Each job gets the number of its round.
    """
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds):
        for name, job in jobs.items():
            found[name].append(job(number))
    return found


def values(figures: Sequence[float], digits: int = 4) -> dict[str, float]:
    """Return minimum, median and maximum."""
    return {
        "min": round(min(figures), digits),
        "median": round(statistics.median(figures), digits),
        "max": round(max(figures), digits),
    }


def tree_bytes(folder: Path) -> int:
    """Return the bytes of all files below `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def parser(description: str | None, rounds: int) -> argparse.ArgumentParser:
    """Return a parser with the options of every benchmark."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--rounds", type=int, default=rounds, help=f"rounds, alternated; default {rounds}")
    made.add_argument("--json", dest="out", metavar="FILE", help="write the figures there as JSON too")
    return made


def report(name: str, goals: Sequence[Goal], details: Mapping[str, Any], out: str | None) -> None:
    """Print the table and the details, and write both as JSON to `out`."""
    width = max(len(goal.what) for goal in goals)
    print(f"{name} (Python {platform.python_version()}, {os.cpu_count()} cores)")
    for goal in goals:
        value = f"{goal.value:,.0f}" if goal.value >= 100 else f"{goal.value:.3g}"
        figure, aim, verdict = f"{value} {goal.unit}", "", ""
        if goal.goal is not None:
            aim, verdict = f"{goal.sign} {goal.goal:,g} {goal.unit}", "ok" if goal.met else "MISSED"
        print(f"  {goal.what:<{width}}  {figure:>14}  {aim:<17}  {verdict:<6}  {goal.also}".rstrip())
    document = {
        "benchmark": name,
        "python": platform.python_version(),
        "goals": [{**asdict(goal), "met": goal.met} for goal in goals],
        **details,
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if out:
        Path(out).write_text(text + "\n", "utf-8")
    else:
        print(text)
