"""A run of 1,000 observations of 50 KB under the policy `auto`: how often it folds, how much, and what is left.

    python benchmarks/soak_auto.py --json soak_auto.json
    python benchmarks/soak_auto.py --calls 10000 --per-turn 1

A scripted model fetches from a web server on this machine and does nothing else. No request for a summary may be made;
every request is checked as in long_run.py: it begins with the one before it or opens an epoch, the API would take it,
and it fits the window with its reply, by a count 15 % above our estimate.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _measure import Goal, parser, report

TASK = "Fetch all the pages of the long run and say when it is done."
LEAST_FREED = 20_000
MOST_AFTER = 60_000
MOST_EPOCHS = 12


def go(folder: Path, window: int, calls: int, a_turn: int) -> dict[str, Any]:
    """Do the run in a new workspace and return what its transcript and its requests tell."""
    from _pages import Server
    from _watched import Script, Watched

    from manusfs.agent import Agent
    from manusfs.memory import Workspace
    from manusfs.messages import Profile, Request
    from manusfs.session import Transcript
    from manusfs.workspace.settings import Settings

    class Fetches(Script):
        """Only fetches: what it did beside would be counted as freed."""

        def step(self, turn: int, request: Request) -> Any:
            """Return the next fetches."""
            said = super().step(turn, request)
            return (
                said if isinstance(said, str) else [one for one in said if one.get("name", "web_fetch") == "web_fetch"]
            )

    settings = Settings(
        window=window, policy="auto", allow_hosts=("127.0.0.1",), host_delay_s=0.0, robots=False, max_turns=0
    )
    with Server() as server, Workspace.create(folder, settings) as workspace:
        model = Watched(Fetches(server.url, calls, a_turn), Profile("scripted", window=window))
        began = time.perf_counter()
        result = Agent(workspace, model).run(TASK)
        spent = time.perf_counter() - began - model.checking_s
        with Transcript.open(workspace.folder, result.session) as transcript:
            folds = [event.data for event in transcript.events if event.kind == "compaction"]
    return {
        "stop": result.stop,
        "observations": result.observations,
        "turns": result.turns,
        "epochs": model.epochs - 1,
        "freed": [data["before_tokens"] - data["after_tokens"] for data in folds],
        "after": [data["after_tokens"] for data in folds],
        "summaries": sum("summary" in data for data in folds),
        "sizes": model.sizes,
        "problems": model.problems,
        "turn_ms": [1000 * (two - one) for one, two in zip(model.at, model.at[1:], strict=False)],
        "seconds": spent,
    }


def goals_of(found: dict[str, Any], options: Any) -> list[Goal]:
    """Return the figures with their goals; those for a thousand observations hold for no other number."""
    for problem in found["problems"][:10]:
        print(f"  problem: {problem}", file=sys.stderr)
    usual = options.calls <= 1_000
    tenth = max(1, len(found["turn_ms"]) // 10)
    growth = statistics.median(found["turn_ms"][-tenth:]) / statistics.median(found["turn_ms"][:tenth])
    return [
        Goal("problems (I1 to I4)", len(found["problems"]), 0, ""),
        Goal("observations", found["observations"], options.calls, "", ">=", f"{found['turns']} turns"),
        Goal("requests to a model for a summary", found["summaries"], 0, ""),
        Goal(
            "largest request", max(found["sizes"]), options.window, "tokens", also="by a count 15 % above the estimate"
        ),
        Goal("right after a compaction, most", max(found["after"]), MOST_AFTER if usual else None, "tokens"),
        Goal("epochs opened", found["epochs"], MOST_EPOCHS if usual else None, ""),
        Goal("freed by each, least", min(found["freed"]), LEAST_FREED, "tokens", ">="),
        Goal("last tenth / first tenth", growth, None, "x", also="wall time of a turn"),
    ]


def main() -> None:
    """Do the run and print the figures."""
    made = parser(__doc__, rounds=1)
    made.add_argument("--window", type=int, default=200_000)
    made.add_argument("--calls", type=int, default=1_000)
    made.add_argument("--per-turn", type=int, default=1, help="fetches a turn; default 1")
    options = made.parse_args()
    with tempfile.TemporaryDirectory() as base:
        found = go(Path(base) / "w", options.window, options.calls, options.per_turn)
    details = {name: found[name] for name in ("stop", "turns", "freed", "after", "seconds", "problems")}
    details["every_tenth_request"] = found["sizes"][:: max(1, len(found["sizes"]) // 10)]
    name = f"soak_auto, {options.calls} calls, {options.per_turn} a turn, window {options.window}"
    report(name, goals_of(found, options), details, options.out)


if __name__ == "__main__":
    main()
