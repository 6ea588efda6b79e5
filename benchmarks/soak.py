"""Kills a working agent at random, makes its disk fail, damages its folder, and counts what was lost.

    python benchmarks/soak.py --kills 200 --minutes 40 --json soak.json
    python benchmarks/soak.py --kills 40 --fork --plain    # the short form: no HTML, no new processes
    python benchmarks/soak.py --kills 50 --server                # the model is asked over HTTP, through its SDK

After each life of the agent a checker that shares no code with the store looks whether every stub, every piece of text
and every ref that reached the model is there byte for byte; `verify` must find the folder whole; the next life must go
on, with a request that a strict reading of the API's rules accepts. Exit code 1 says that something was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from _soak_agent import ERRORS, Brain, Plan, go, settings, texts_of
from _soak_check import Checker
from _soak_damage import BODY, DERIVED, TAIL, damage
from _soak_pages import Pages, page

PER_WORKSPACE = 40
"""Lives after which a new workspace is begun."""


@dataclass
class Tally:
    """What was done, and what came of it."""

    kills: int = 0
    lives: int = 0
    early: int = 0
    """Kills before the first request: while it started, repaired or resumed."""
    errors: dict[str, int] = field(default_factory=dict)
    stopped: dict[str, int] = field(default_factory=dict)
    """How lives ended that were not killed."""
    damages: dict[str, int] = field(default_factory=dict)
    repaired: int = 0
    requests: int = 0
    observations: int = 0
    checks: int = 0
    breaches: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the tally as it is written."""
        return asdict(self)


def _count(table: dict[str, int], what: str) -> None:
    table[what] = table.get(what, 0) + 1


class Soak:
    """One workspace after the other, and the agents that live and die in them."""

    def __init__(self, base: Path, pages: Pages, options: argparse.Namespace, server: Any) -> None:
        self.tally = Tally()
        self._base, self._pages, self._options, self._server = base, pages, options, server
        self._dice = random.Random(options.seed)
        self._log = base / "requests.jsonl"
        self._read = 0
        self._next = 1
        self._torn = 0
        self._begin()

    def _begin(self) -> None:
        from manusfs.memory import Workspace

        self._folder = self._base / f"w{self.tally.lives}"
        Workspace.create(self._folder, settings()).close()
        self._checker = Checker(lambda url: page(int(url.rsplit("/", 1)[-1]))[0])
        self._torn = 0

    def life(self) -> None:
        """Let one agent live and die, then look."""
        if self.tally.lives and self.tally.lives % PER_WORKSPACE == 0:
            self._end()
            self._begin()
        self.tally.lives += 1
        plan = self._plan()
        if self._server is not None:
            self._server.brain = self._answer(Brain(plan.pages, plan.first, plan.seed, plan.html))
        pid = self._start(plan)
        status = self._wait(pid)
        self._told(status, plan)
        self._next += 200
        self._look()
        if self._dice.random() < 0.35:
            self._damage()

    def _plan(self) -> Plan:
        fails = self._dice.random() < 0.3
        return Plan(
            str(self._folder),
            self._pages.url(0)[:-1],
            str(self._log),
            self._next,
            self._dice.randrange(1 << 30),
            self._dice.randrange(1, 150) if fails else 0,
            self._dice.choice(ERRORS) if fails else "",
            self._server.url if self._server is not None else "",
            not self._options.plain,
        )

    def _start(self, plan: Plan) -> int:
        if plan.error:
            _count(self.tally.errors, plan.error)
        if self._options.fork:
            pid = os.fork()
            if not pid:
                _live(plan)
            return pid
        script = str(Path(__file__).with_name("_soak_agent.py"))
        out = (self._base / "out.txt").open("ab")
        with out:
            child = subprocess.Popen(
                [sys.executable, script, json.dumps(asdict(plan))], stdout=out, stderr=out, start_new_session=True
            )
        child.returncode = 0  # it is waited for by its number
        return child.pid

    def _wait(self, pid: int) -> int:
        """Kill the agent at a random moment, or see how it ends by itself; return its wait status."""
        early = self._dice.random() < 0.2
        wanted = 0 if early else self._dice.randint(1, self._options.requests)
        pause = self._dice.uniform(0, self._options.start_s if early else 0.08)
        until = time.monotonic() + 60
        while time.monotonic() < until and self._asked() < wanted:
            if done := self._ended(pid):
                return done[0]
        until = time.monotonic() + pause
        while time.monotonic() < until:
            if done := self._ended(pid):
                return done[0]
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        self.tally.early += not self._asked()
        return status

    def _ended(self, pid: int) -> list[int]:
        time.sleep(0.002)
        done, status = os.waitpid(pid, os.WNOHANG)
        return [status] if done else []

    def _asked(self) -> int:
        """Return how many requests this life has made so far."""
        if not self._log.exists():
            return 0
        with self._log.open("rb") as log:
            log.seek(self._read)
            return log.read().count(b"\n")

    def _told(self, status: int, plan: Plan) -> None:
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGKILL:
            self.tally.kills += 1
            return
        _count(self.tally.stopped, f"exit {code}")
        if code not in (0, 1, 69, 75) or (code == 1 and not plan.error):
            self._breach(f"the agent ended with {code}: {self._last_words()}")

    def _last_words(self) -> str:
        out = self._base / "out.txt"
        return out.read_text("utf-8", "replace")[-600:] if out.exists() else ""

    def _breach(self, text: str) -> None:
        self.tally.breaches.append(f"life {self.tally.lives}: {text}")
        print(f"  breach: {text}", file=sys.stderr, flush=True)

    def _answer(self, brain: Brain) -> Any:
        told: set[str] = set()

        def answer(body: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
            new = [text for text in texts_of(body["messages"]) if text not in told]
            told.update(new)
            with self._log.open("a") as log:
                log.write(json.dumps({"new": new, "problem": ""}) + "\n")
            said = brain.say(body)
            return said, "tool_use" if said[-1]["type"] == "tool_use" else "end_turn"

        return answer

    def _take_log(self) -> None:
        if not self._log.exists():
            return
        with self._log.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith(b"\n"):
                    break  # killed while it wrote down a request, before it was answered
                self._read += len(line)
                entry = json.loads(line)
                self.tally.requests += 1
                if entry["problem"]:
                    self._breach(f"a request that the API refuses: {entry['problem']}")
                for text in entry["new"]:
                    self._checker.take(text)
        if self._server is not None and self._server.refused:
            self._breach(f"the server refused: {self._server.refused[:3]}")
            self._server.refused.clear()

    def _look(self) -> None:
        self._take_log()
        for problem in self._checker.problems(self._folder)[:5]:
            self._breach(problem)
        try:
            # The last line may be torn by the kill; a life that goes on cuts it off.
            if (broken := self._checker.broken_lines(self._folder)) > self._torn + 1:
                self._breach(f"{broken} transcript lines do not prove themselves")
        except ValueError as error:
            self._breach(str(error))
        if found := self._verified(repair=False):
            self._breach(f"verify: {found[:3]}")

    def _verified(self, *, repair: bool) -> list[str]:
        from manusfs.memory import Workspace

        with Workspace.open(self._folder, settings()) as workspace:
            report = workspace.verify(repair=repair)
        found = (*report.damaged, *report.lost, *report.lost_for_good)
        torn = [entry for entry in found if entry.startswith("msg:") or "transcript.jsonl" in entry]
        if len(torn) > self._torn + 1:
            self._breach(f"verify: {torn[:5]} of {self._torn} damaged tails")
        return [entry for entry in found if entry not in torn]

    def _damage(self) -> None:
        kinds = self._dice.choice(([*DERIVED], [*TAIL], [*BODY]))
        kind = self._dice.choice(kinds)
        hit = damage(self._folder, kind, self._dice)
        if not hit:
            return
        _count(self.tally.damages, kind)
        self._torn += kind in TAIL
        if kind not in BODY:
            return
        if not self._verified(repair=False):
            self._breach(f"{kind} in {hit} was not found by verify")
        left = self._verified(repair=True)
        self.tally.repaired += not left
        if left:
            self._breach(f"{kind} in {hit} was not mended: {left[:3]}")
        for problem in self._checker.problems(self._folder)[:5]:
            self._breach(f"after the repair of {kind}: {problem}")

    def _end(self) -> None:
        self.tally.observations += len(self._checker.stubs)
        self.tally.checks += self._checker.checks
        if not self.tally.breaches:
            shutil.rmtree(self._folder)

    def finish(self) -> Tally:
        """Go on to an answer in the last workspace, and return the tally."""
        plan = Plan(
            str(self._folder), self._pages.url(0)[:-1], str(self._log), self._next, 1, html=not self._options.plain
        )
        if self._server is None:
            self._last(plan)
        self._look()
        self._end()
        return self.tally

    def _last(self, plan: Plan) -> None:
        from manusfs.agent import Agent
        from manusfs.memory import Workspace
        from manusfs.models import ScriptedModel

        del plan
        with Workspace.open(self._folder, settings()) as workspace:
            result = Agent(workspace, ScriptedModel(lambda request: "Done.")).resume(message="Say that it is done.")
        if result.answer.strip() != "Done.":
            self._breach(f"the last resume answered {result.answer!r}")


def _live(plan: Plan) -> None:
    code = 99
    try:
        os.setsid()
        code = go(plan)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _rehearse(base: Path, pages: Pages) -> None:
    """Load in this process what its forks will need."""
    from manusfs.agent import Agent
    from manusfs.memory import Workspace
    from manusfs.models import ScriptedModel, call

    turn = [call("web_fetch", url=pages.url(0)), call("search", query="bridge"), call("grep", pattern="bridge")]
    with Workspace.create(base / "rehearsal", settings()) as workspace:
        Agent(workspace, ScriptedModel([turn, "Done."])).run("Look.")
        workspace.verify()


def soak(options: argparse.Namespace, base: Path) -> Tally:
    """Return the tally of as many kills as `options` ask for, or as their minutes allow."""
    began = time.monotonic()
    with Pages() as pages, _server(options) as server:
        if options.fork:
            _rehearse(base, pages)
        work = Soak(base, pages, options, server)
        while work.tally.kills < options.kills and time.monotonic() - began < 60 * options.minutes:
            work.life()
            if work.tally.lives % 20 == 0:
                said = f"{work.tally.kills} kills, {work.tally.requests} requests, {len(work.tally.breaches)} breaches"
                print(f"  {time.monotonic() - began:.0f} s: {said}", file=sys.stderr, flush=True)
        tally = work.finish()
    tally.seconds = round(time.monotonic() - began, 1)
    return tally


def _server(options: argparse.Namespace) -> Any:
    if not options.server:
        return nullcontext(None)
    from servers.messages_api import MessagesServer

    return MessagesServer(lambda body: ([], "end_turn"))


def main() -> None:
    """Do it and print the tally."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--kills", type=int, default=200)
    made.add_argument("--minutes", type=float, default=40)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--fork", action="store_true", help="agents are forks of this process: no time for starting")
    made.add_argument("--plain", action="store_true", help="no HTML pages: no extraction child")
    made.add_argument("--server", action="store_true", help="ask a local Messages server through the SDK")
    made.add_argument("--requests", type=int, default=12, help="most requests of a life; default 12")
    made.add_argument("--start-s", type=float, default=1.0, help="latest early kill after the start; default 1")
    made.add_argument("--json", dest="out", metavar="FILE", help="write the tally there as JSON too; - for stdout")
    options = made.parse_args()
    with tempfile.TemporaryDirectory() as base:
        tally = soak(options, Path(base))
        if tally.breaches:
            kept = Path(tempfile.mkdtemp(prefix="manusfs-soak-"))
            shutil.copytree(base, kept, dirs_exist_ok=True)
            print(f"  kept for inspection: {kept}", file=sys.stderr)
    text = json.dumps(tally.to_json(), indent=2)
    if options.out and options.out != "-":
        Path(options.out).write_text(text + "\n", "utf-8")
    print(text)
    sys.exit(1 if tally.breaches else 0)


if __name__ == "__main__":
    main()
