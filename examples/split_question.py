"""A question is split among sub-agents; the run is killed half-way, resumed, and does nothing twice.

    python examples/split_question.py [FOLDER]

It needs no key and no network: the parent follows a script, the sub-agents are the offline model, and the sources are
the files in `examples/demo/`. FOLDER (default: split-question) becomes a workspace that stays for you to look at:

    manusfs -w FOLDER show --tree
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from manusfs import Agent, Workspace
from manusfs.agent import AgentEvent
from manusfs.messages import Profile, Reply, Request
from manusfs.models import ScriptedModel, call
from manusfs.models.offline import OfflineModel
from manusfs.session import Transcript, sessions
from manusfs.view import tree
from manusfs.workspace.settings import Settings

SOURCES = sorted(p for p in (Path(__file__).parent / "demo").iterdir() if p.suffix in (".html", ".pdf", ".txt", ".csv"))
QUESTIONS = (
    "When did the Marrow Strait tidal station open, and who designed the turbines?",
    "How many homes does the Marrow Strait tidal station supply?",
    "Why was the second turbine of the station replaced, and what did the replacement cost?",
    "电站的总装机容量是多少？",
    "What did the crew of the Marrow Strait station say about passports?",
)
TASK = "Say what is known of the Marrow Strait tidal station:\n" + "\n".join(f"* {question}" for question in QUESTIONS)
KILLED_AFTER = 2
"""Sub-agents that have finished when the run is killed."""


class Team:
    """Answers for all: the parent splits the task and puts the report together, each sub-agent is the offline model."""

    def __init__(self, log: Path) -> None:
        self.profile = Profile("team", caches=False)
        self._log = log
        self._offline = OfflineModel()

    def reply(self, request: Request, on_delta: Any = None) -> Reply:
        """Return the next step of whoever asks; each request is written down before it is answered."""
        texts = [block["text"] for block in request.messages[0]["content"] if block["type"] == "text"]
        asked = next(text.splitlines()[1] for text in texts if text.startswith("<user_message"))
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({"asked": asked, "messages": len(request.messages)}, ensure_ascii=False) + "\n")
        if asked in QUESTIONS:
            # As a real model thinks: two are quick, the others are still at work when the run is killed.
            time.sleep(0.05 if QUESTIONS.index(asked) < KILLED_AFTER else 1.5)
            return self._offline.reply(request, on_delta)
        results = [block for block in request.messages[-1]["content"] if block["type"] == "tool_result"]
        said = report(results) if results else [call("task", prompt=question) for question in QUESTIONS]
        return ScriptedModel([said], profile=self.profile).reply(request, on_delta)


def report(results: list[dict[str, Any]]) -> str:
    """Return one report of all that the sub-agents found; footnotes that bear one number in two answers get two."""
    parts = ["# The Marrow Strait tidal station"]
    for number, (question, result) in enumerate(zip(QUESTIONS, results, strict=True), 1):
        text = "\n".join(block["text"] for block in result["content"])
        answer = text.partition("## Its answer\n")[2].partition("\n</observation>")[0] or text
        numbered = re.sub(r"\[\^(\w+)\]", rf"[^{number}-\1]", answer.strip())
        parts.append(f"## {question}\n\n{numbered}")
    return "\n\n".join(parts)


def work(folder: Path) -> None:
    """Run the task in `folder`, or go on with it, and print what came of it."""
    with Workspace.at(folder, Settings(task_result_chars=16_000)) as workspace:
        agent = Agent(workspace, Team(folder.with_suffix(".requests")), on_event=say)
        known = [info for info in sessions(workspace.folder) if info.purpose == "run"]
        result = agent.resume() if known else agent.run(TASK, SOURCES)
        print(
            f"  {result.stop}: {result.report}, {result.citations.verified} of {result.citations.total} quotes verified"
        )


def say(event: AgentEvent) -> None:
    """Print what happens to the sub-agents."""
    child, data = str(event.data.get("child", "")), event.data
    if event.kind == "start" and child:
        print(
            f"  [{child.partition('.')[2]}] {'goes on' if data['resumed'] else 'begins'}: {data['title']}", flush=True
        )
    elif event.kind == "done":
        print(f"  [{child.partition('.')[2]}] {data['state']}", flush=True)
    elif event.kind == "warning" and not child:
        print(f"  {event.text}", flush=True)


def events(folder: Path) -> list[dict[str, Any]]:
    """Return the whole lines of the run's transcript, as a program of any language could read them."""
    lines: list[dict[str, Any]] = []
    for file in folder.glob("sessions/*/transcript.jsonl"):
        raw = file.read_bytes()
        if "." not in file.parent.name and b'"purpose":"run"' in raw[:400]:
            lines = [json.loads(line) for line in raw.splitlines(keepends=True) if line.endswith(b"\n")]
    return lines


def killed(folder: Path) -> None:
    """Begin the run in a process of its own and kill that once some sub-agents are done and others are not."""
    process = subprocess.Popen([sys.executable, __file__, str(folder), "--work"])
    while process.poll() is None:
        done = sum(e["kind"] == "child" and e["data"]["state"] == "finished" for e in events(folder))
        if done >= KILLED_AFTER:
            os.kill(process.pid, signal.SIGKILL)
            break
        time.sleep(0.02)
    process.wait()
    print(f"  kill -9: it ended with {process.returncode}")


def show(folder: Path) -> None:
    """Print the tree of the run."""
    with Workspace.open(folder) as workspace:
        name = next(info.session for info in sessions(workspace.folder) if info.purpose == "run")
        with Transcript.open(workspace.folder, name) as transcript:
            root = tree(workspace.folder, name, transcript.events)
    for branch in root.walk():
        turns = branch.totals["replies"]
        print(
            f"  {'   ' * branch.depth}{branch.session}  {branch.state:<9} {turns} turns  {branch.ref}  "
            f"{branch.title[:60]}"
        )


def count(folder: Path) -> None:
    """Print what was asked, kept and stored, so that anyone can see that nothing was done twice."""
    log = folder.with_suffix(".requests").read_text("utf-8").splitlines()
    asked = Counter(json.loads(line)["asked"] for line in log)
    lines = [
        json.loads(line) for file in sorted(folder.glob("sessions/*/transcript.jsonl")) for line in file.open("rb")
    ]
    replies = sum(line["kind"] == "message" and line["data"]["role"] == "assistant" for line in lines)
    begun = Counter(
        line["data"]["title"] for line in lines if line["kind"] == "child" and line["data"]["state"] == "started"
    )
    stored = Counter(line["data"]["ref"] for line in lines if line["kind"] == "observation")
    print(
        f"  {len(log)} requests were made and {replies} replies kept: {len(log) - replies} were in flight at the kill"
    )
    print(
        f"  {len(begun)} sub-agents were begun, each {max(begun.values())} time; most requests of one: "
        f"{max(asked.values())}"
    )
    print(f"  {len(stored)} observations, none of them stored twice: {max(stored.values()) == 1}")


def main() -> None:
    """Show it: run, kill, look, resume, look again."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder", nargs="?", default="split-question", help="becomes a workspace (split-question)")
    words.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = words.parse_args()
    folder = Path(given.folder).absolute()
    if given.work:
        work(folder)
        return
    if folder.exists():
        sys.exit(f"{folder} is there already: name another folder")
    print("1. The run begins, and is killed when two sub-agents are done.", flush=True)
    killed(folder)
    print("2. What the folder knows.", flush=True)
    show(folder)
    print("3. The run goes on.", flush=True)
    subprocess.run([sys.executable, __file__, str(folder), "--work"], check=True)
    print("4. The whole tree.", flush=True)
    show(folder)
    print("5. Nothing twice.", flush=True)
    count(folder)


if __name__ == "__main__":
    main()
