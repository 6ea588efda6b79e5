"""What sub-agents cost: eight side by side against one, and the resume of a parent that has had 200.

    python benchmarks/subagents.py --json subagents.json

The model is a script that takes half a second a reply, as a quick real one does; each sub-agent searches, lists, writes
a note and answers: four replies. One and eight are run in turn. The resume is a program of its own, from the opening of
the workspace to the first request; its folder is made anew each round, with answers that come at once.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from _measure import Goal, alternated, parser, report, run, values

THINKS_S = 0.5
CHILDREN = 8
MANY = 200
TEXT = b"The tide at Harrow stood at 4.12 m in March 2025, and nobody had seen that before.\n" * 400


class Script:
    """Answers for parent and children, after as long as a model thinks."""

    def __init__(self, parts: list[int], thinks_s: float) -> None:
        from manusfs.messages import Profile

        self.profile = Profile("scripted", window=2_000_000, caches=False)
        self.first = 0.0
        """When the first request came."""
        self._parts = parts
        self._thinks_s = thinks_s
        self._guard = threading.Lock()
        self._asked = 0

    def reply(self, request: Any, on_delta: Any = None) -> Any:
        """Return the next step of whoever asks."""
        from manusfs.models import ScriptedModel

        self.first = self.first or time.perf_counter()
        if self._thinks_s:
            time.sleep(self._thinks_s)
        texts = [block.get("text", "") for block in request.messages[0]["content"]]
        child = next((text.splitlines()[1] for text in texts if text.startswith("<user_message>\npart ")), "")
        said = self._child(child, request) if child else self._parent()
        return ScriptedModel([said], profile=self.profile).reply(request, on_delta)

    def _child(self, name: str, request: Any) -> Any:
        from manusfs.models import call

        if not self._thinks_s:
            return f"The answer of {name}."
        turn = sum(message["role"] == "assistant" for message in request.messages)
        steps = (
            [call("search", query="tide Harrow")],
            [call("list", what="observations")],
            [call("write", path=f"notes/{name.replace(' ', '-')}.md", content="4.12 m\n")],
            f"The answer of {name}.",
        )
        return steps[turn]

    def _parent(self) -> Any:
        from manusfs.models import call

        with self._guard:
            number = self._asked
            self._asked += 1
        if number >= len(self._parts):
            return "All of it."
        return [call("task", prompt=f"part {number} {n}") for n in range(self._parts[number])]


def wall(base: Path, children: int) -> float:
    """Return the seconds of a run that hands its work to `children` at once."""
    from manusfs import Agent, Workspace
    from manusfs.workspace.settings import Settings

    with Workspace.create(base, Settings()) as workspace:
        agent = Agent(workspace, Script([children], THINKS_S))
        begun = time.perf_counter()
        result = agent.run("The whole.", [TEXT])
        spent = time.perf_counter() - begun
    assert result.answer == "All of it.", result
    return spent


def had_many(base: Path) -> None:
    """Make a folder whose session has had many sub-agents and has no answer yet."""
    from manusfs import Agent, Workspace
    from manusfs.workspace.settings import Settings

    turns = MANY // CHILDREN
    with Workspace.create(base, Settings(max_turns=turns, task_children=MANY)) as workspace:
        result = Agent(workspace, Script([CHILDREN] * turns, 0.0)).run("The whole.")
    assert result.stop == "max_turns", result


def resumed(base: Path) -> None:
    """Resume the session in `base` and print the seconds to its first request, and those of this process."""
    begun = time.perf_counter()
    from manusfs import Agent, Workspace
    from manusfs.workspace.settings import Settings

    with Workspace.open(base, Settings(task_children=MANY)) as workspace:
        script = Script([], 0.0)
        result = Agent(workspace, script).resume()
    assert result.answer == "All of it.", result
    print(json.dumps({"wall_s": script.first - begun, "cpu_s": time.process_time()}))


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--resume"]:
        resumed(Path(sys.argv[2]))
        return
    given = parser(__doc__, 3).parse_args()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        jobs = {f"{n}": lambda at, n=n: wall(base / f"w{at}-{n}", n) for n in (1, CHILDREN)}  # type: ignore[misc]
        wall(base / "first", 1)  # the libraries that a first run loads are nobody's figure
        walls = alternated(jobs, given.rounds)
        many: list[dict[str, float]] = []
        for at in range(given.rounds):
            had_many(base / f"many{at}")
            spent = run([sys.executable, __file__, "--resume", str(base / f"many{at}")])
            many.append(json.loads(spent.output))
    one, eight = walls["1"], walls[str(CHILDREN)]
    ratios = [b / a for a, b in zip(one, eight, strict=True)]
    waits = f"of a run with {CHILDREN} against one with 1"
    goals = [
        Goal(f"wall time {waits}", statistics.median(ratios), 1.3, also=f"{min(ratios):.2f}-{max(ratios):.2f}"),
        Goal(
            f"wall to the first request after {MANY} sub-agents", statistics.median(m["wall_s"] for m in many), 2, "s"
        ),
        Goal("CPU of that process, its end included", statistics.median(m["cpu_s"] for m in many), None, "s"),
    ]
    details = {"one_s": values(one), "eight_s": values(eight), "ratios": values(ratios), "resumes": many}
    report("subagents", goals, details, given.out)
    sys.exit(not all(goal.met for goal in goals))


if __name__ == "__main__":
    main()
