"""A run of 2,000 tool calls of 50 KB each: its window, its refs, its time, and how soon a copy of its folder goes on.

    python benchmarks/long_run.py --json long_run.json
    python benchmarks/long_run.py --window 60000 --calls 500

A scripted model fetches from a web server on this machine. Every request is checked: it begins with the one before it
or opens an epoch, the API would take it, and it fits the window with its reply, by a count 15 % above our estimate.
"""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _measure import Goal, installed, parser, report, run, tree_bytes

TASK = "Fetch all the pages of the long run and say when it is done."


def settings(window: int) -> Any:
    """Return the settings of the run."""
    from manusfs.workspace.settings import Settings

    # A script writes no summaries: what folds the window is the tiers that need no model.
    own = {"summary_tokens": 0, "max_turns": 0}
    return Settings(window=window, allow_hosts=("127.0.0.1",), host_delay_s=0.0, robots=False, **own)


def go(folder: Path, window: int, calls: int, a_turn: int) -> dict[str, Any]:
    """Do the run in a new workspace and return what was seen."""
    from _pages import Server
    from _watched import Script, Watched

    from manusfs.agent import Agent
    from manusfs.memory import Workspace
    from manusfs.messages import Profile

    with Server() as server, Workspace.create(folder, settings(window)) as workspace:
        model = Watched(Script(server.url, calls, a_turn), Profile("scripted", window=window))
        began = time.perf_counter()
        result = Agent(workspace, model).run(TASK)
        spent = time.perf_counter() - began - model.checking_s
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
        checked = verified(workspace, model.refs)
        lost = [number for number in range(calls) if not _is_stored(workspace, server.url(number), number)]
    return {
        "stop": result.stop,
        "session": result.session,
        "turns": result.turns,
        "calls": result.tool_calls,
        "observations": result.observations,
        "epochs": model.epochs,
        "problems": model.problems + checked["problems"] + [f"page {number} is not what was sent" for number in lost],
        "verify_s": checked["seconds"],
        "refs": len(model.refs),
        "sizes": model.sizes,
        "seconds": spent,
        "gaps_s": [two - one for one, two in zip(model.at, model.at[1:], strict=False)],
        "peak_mb": peak,
    }


def verified(workspace: Any, refs: set[str]) -> dict[str, Any]:
    """Return what is wrong in the workspace: bytes, refs, and refs that the model saw and that don't resolve."""
    from manusfs.errors import ManusfsError

    began = time.perf_counter()
    found = workspace.verify()
    seconds = time.perf_counter() - began
    problems = [*found.damaged, *found.lost]
    for ref in sorted(refs):
        try:
            workspace.read(ref, chars=100)
        except ManusfsError as error:
            problems.append(f"{ref}: {error}")
    return {"seconds": seconds, "problems": problems}


def _is_stored(workspace: Any, url: str, number: int) -> bool:
    from _pages import text_of

    return bool(workspace.read(url, raw=True).data == text_of(number))


def resume(folder: Path, session: str, window: int) -> None:
    """Go on with a copied session in this process, and print the time when the model got its first request."""
    from _watched import Script, Watched

    from manusfs.agent import Agent
    from manusfs.memory import Workspace
    from manusfs.messages import Profile

    with Workspace.open(folder, settings(window)) as workspace:
        model = Watched(Script(str, 0, 1), Profile("scripted", window=window))
        first: list[float] = []
        told = model.reply

        def reply(*asked: Any) -> Any:
            first.append(time.time())
            return told(*asked)

        model.reply = reply  # type: ignore[method-assign]
        result = Agent(workspace, model).resume(session, "Is it done?")
        print(json.dumps({"at": first[0], "stop": result.stop, "size": model.sizes[0], "problems": model.problems}))


def resumed(folder: Path, session: str, window: int, *, index: bool) -> dict[str, Any]:
    """Return how long a new process takes from its start to the first request, in a copy of `folder`."""
    with tempfile.TemporaryDirectory() as base:
        copy = Path(base) / "copy"
        shutil.copytree(folder, copy, ignore=None if index else shutil.ignore_patterns(".manusfs"))
        again = [sys.executable, __file__, "--window", str(window), "--child", "resume", str(copy), session]
        began = time.time()
        spent = run(again, installed(folder.parent))
    found = json.loads(spent.output)
    return {**found, "seconds": found["at"] - began, "cpu_s": spent.cpu_s}


def curve(sizes: list[int]) -> dict[str, Any]:
    """Return ten points of the tokens per request, and what they sum up to."""
    step = max(1, len(sizes) // 10)
    return {
        "requests": len(sizes),
        "max": max(sizes),
        "median": statistics.median(sizes),
        "sum": sum(sizes),
        "every_tenth": sizes[::step],
    }


def goals_of(found: dict[str, Any], copies: list[dict[str, Any]], bare: dict[str, Any], options: Any) -> list[Goal]:
    """Return the figures with their goals."""
    gaps = sorted(found["gaps_s"])
    problems = found["problems"] + [problem for one in (*copies, bare) for problem in one["problems"]]
    for problem in problems[:10]:
        print(f"  problem: {problem}", file=sys.stderr)
    naive = options.calls * 12_000 / 1e6
    return [
        Goal("problems (I1 to I4)", len(problems), 0, ""),
        Goal("calls of 50 KB", found["observations"], options.calls, "", ">=", f"{found['turns']} turns"),
        Goal("largest request", max(found["sizes"]), options.window, "tokens", also=f"{found['epochs']} epochs"),
        Goal(
            "resume of a copy",
            min(one["seconds"] for one in copies),
            2,
            "s",
            also=f"process start to first request; {min(one['cpu_s'] for one in copies):.2f} s of CPU",
        ),
        Goal("the same without index", bare["seconds"], None, "s", also="the index is made anew"),
        Goal("wall time of a call", 1000 * found["seconds"] / found["calls"], None, "ms"),
        Goal(
            "wall time of a turn, median", 1000 * statistics.median(gaps), None, "ms", also=f"longest {gaps[-1]:.2f} s"
        ),
        Goal("last tenth / first tenth", _growth(found["gaps_s"]), None, "x", also="wall time of a turn"),
        Goal("peak memory", found["peak_mb"], None, "MB"),
        Goal("naive context in the end", naive, None, "M tokens", also="all results in the window"),
    ]


def _growth(gaps: list[float]) -> float:
    tenth = max(1, len(gaps) // 10)
    return statistics.median(gaps[-tenth:]) / statistics.median(gaps[:tenth])


def main() -> None:
    """Do the run, check it, resume copies of it, and print the figures."""
    made = parser(__doc__, rounds=3)
    made.add_argument("--window", type=int, default=200_000)
    made.add_argument("--calls", type=int, default=2_000)
    made.add_argument("--per-turn", type=int, default=4, help="fetches a turn; default 4")
    made.add_argument("--child", nargs="+", help="used by the script itself")
    options = made.parse_args()
    if options.child:
        resume(Path(options.child[1]), options.child[2], options.window)
        return
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "w"
        found = go(folder, options.window, options.calls, options.per_turn)
        # The first compiles the modules, as an installation does.
        copies = [resumed(folder, found["session"], options.window, index=True) for _ in range(options.rounds + 1)]
        bare = resumed(folder, found["session"], options.window, index=False)
        sizes = {name: tree_bytes(folder / name) for name in ("observations", "sessions", ".manusfs")}
    details = {
        "curve": curve(found["sizes"]),
        "bytes": sizes,
        "resume_s": [one["seconds"] for one in copies],
        **{
            name: found[name]
            for name in ("stop", "turns", "calls", "epochs", "refs", "verify_s", "seconds", "problems")
        },
    }
    goals = goals_of(found, copies, bare, options)
    report(f"long_run, {options.calls} calls, window {options.window}", goals, details, options.out)


if __name__ == "__main__":
    main()
