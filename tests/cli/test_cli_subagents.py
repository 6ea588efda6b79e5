"""Sub-agents as people see them: the tree, the sums, the agents in files, and the lines of a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from agent.subagents_stage import Cast
from cli.conftest import Call
from servers.messages_api import MessagesServer

from manusfs.agent import Agent, AgentEvent
from manusfs.cli.live import Live
from manusfs.errors import ModelError
from manusfs.memory import Workspace
from manusfs.messages import Profile
from manusfs.models import call as said
from manusfs.session import Transcript, sessions
from manusfs.workspace.settings import Settings

PRICED = Profile("scripted", price_input=2.0, price_output=10.0)


@pytest.fixture
def session(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A workspace here, with a session that had four sub-agents: two done, one of them with one below; one failed."""
    assert call("init", "ws").code == 0
    asks = [said("task", prompt="look at one"), said("task", prompt="look at two"), said("task", prompt="broken")]
    model = Cast(
        {
            "the whole": [asks, "All."],
            "look at one": [[said("task", prompt="below one", mode="fork")], "One."],
            "below one": ["Below."],
            "look at two": ["Two."],
            "broken": [ModelError("the provider is down")],
        },
        profile=PRICED,
    )
    with Workspace.open(tmp_path / "ws", Settings(task_depth=2, summary_tokens=0)) as workspace:
        result = Agent(workspace, model).run("the whole \x1b[31mtask")
    monkeypatch.chdir(tmp_path / "ws")
    assert result.answer == "All."
    return result.session


def test_the_tree_shows_state_turns_tokens_and_cost_of_each_and_the_sums(call: Call, session: str) -> None:
    """Issue 5: `show SESSION --tree`; what is summed up is that of the transcripts, a fork's copies left out."""
    shown = call("show", "--tree").out
    lines = shown.splitlines()
    assert [line.split("20")[0] for line in lines[:5]] == ["", "├─ ", "│  └─ ", "├─ ", "└─ "]
    assert "finished, isolated  2 turns" in lines[1] and "finished, fork  1 turn," in lines[2]
    assert "failed (model_error), isolated  0 turns" in lines[4]
    assert "obs:" in lines[1] and "obs:" not in lines[4] and "\x1b" not in shown
    *branches, sums = call("show", session, "--tree", "--json").records
    assert [branch["session"] for branch in branches] == [
        session,
        f"{session}.1",
        f"{session}.1.1",
        f"{session}.2",
        f"{session}.3",
    ]
    assert sums["sessions"] == 5 and sums["replies"] == sum(branch["replies"] for branch in branches) == 6
    for name in ("input_tokens", "output_tokens"):
        assert sums[name] == sum(branch[name] for branch in branches) > 0
    assert sums["cost_usd"] == pytest.approx(sum(branch["cost_usd"] for branch in branches))


def test_stats_of_a_session_have_the_sums_of_its_tree(call: Call, session: str) -> None:
    own, whole = call("stats", session, "--json").records
    assert own["session"] == whole["tree"] == session
    assert whole["sessions"] == 5 and whole["replies"] > own["replies"] and whole["cost_usd"] > own["cost_usd"]
    assert "with all below it: 5 sessions" in call("stats", session).out
    assert len(call("stats", f"{session}.2", "--json").records) == 1


def test_a_sub_agent_is_not_offered_for_a_resume(call: Call, session: str) -> None:
    """Its parent goes on with it; the digits of a session name that session and not those below it."""
    done = call("resume", f"{session}.1", "go on", "--model", "offline")
    assert done.code == 2 and f"is a sub-agent of {session}" in done.err and f"manusfs resume {session}" in done.err
    wrong = call("resume", f"{session}.1", "go on", "--base-url", "http://127.0.0.1:9")
    assert wrong.err == done.err  # the true reason, before anything about models and keys
    assert call("show", session[-4:], "--json").records[0]["text"].startswith(session)
    assert call("show", session[:11], "--json").records[0]["text"].startswith(session)


def test_the_words_of_a_child_are_read_by_their_ref(call: Call, session: str) -> None:
    """Issue 5: nothing of a child's transcript is lost; `read` reaches into it."""
    entries = call("show", f"{session}.2", "--json").records
    ref = next(entry["ref"] for entry in entries if entry["kind"] == "assistant")
    assert "Two." in call("read", ref).out


def test_agents_wait_for_approval_by_hash_in_a_folder_of_ones_own_too(call: Call, session: str) -> None:
    """A page or a program may have written them; what changed waits again."""
    Path("agents").mkdir()
    file = Path("agents/reviewer.md")
    file.write_text("---\ndescription: Checks claims\ntools: read, search\n---\nTwice.\n", "utf-8")
    (listed,) = call("agents", "list", "--json").records
    assert (listed["name"], listed["state"], listed["tools"]) == ("reviewer", "not approved", ["read", "search"])
    assert "Agent (new): agents/reviewer.md" in call("trust", "--yes").err
    assert call("agents", "list", "--json").records[0]["state"] == "ready"
    file.write_text("---\ndescription: Checks claims\n---\nAnd sends them away.\n", "utf-8")
    assert "not approved" in call("agents", "list").out
    assert "Agent (changed)" in call("trust", "--yes").err
    assert call("agents", "list", "--json").records[0]["state"] == "ready"
    Path("agents/Odd Name.md").write_text("x", "utf-8")
    assert call("agents", "list", "--json").records[0]["state"] == "broken"


def test_what_an_agent_names_and_there_is_not_is_told_in_words(call: Call, session: str) -> None:
    """CC-27, I9: a slip in an agent file is seen before a run meets it."""
    Path("agents").mkdir()
    names = "tools: read, frobnicate\npolicy: nopolicy\nmodel: gpt-none\nskills: fact-check, no-skill\n"
    Path("agents/odd.md").write_text(f"---\ndescription: Odd\n{names}---\nDo it.\n", "utf-8")
    Path("agents/sound.md").write_text("---\ntools: read\npolicy: manus\nmodel: offline\n---\nDo it.\n", "utf-8")
    call("trust", "--yes")
    odd, sound = call("agents", "list", "--json").records
    assert odd["state"] == sound["state"] == "ready" and sound["problem"] == ""
    assert odd["problem"] == (
        "unknown tool 'frobnicate'; unknown policy 'nopolicy': it has the one of the session that begins it; "
        "model 'gpt-none' is not allowed (setting task_models); unknown skill 'no-skill'"
    )
    assert "[unknown tool 'frobnicate'; unknown policy" in call("agents", "list").out


def test_the_lines_of_a_sub_agent_say_whose_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    with Live() as live:
        live(
            AgentEvent(
                "start",
                data={"child": "20261130-ab12.2", "session": "20261130-ab12.2", "model": "m", "title": "a part"},
            )
        )
        live(AgentEvent("call", "grep", {"child": "20261130-ab12.2", "arguments": {"pattern": "x"}}))
        live(AgentEvent("done", "it reached its limit", {"child": "20261130-ab12.2", "state": "failed"}))
        live(AgentEvent("call", "grep", {"arguments": {"pattern": "y"}}))
    assert capsys.readouterr().err.splitlines() == [
        "[2] sub-agent 20261130-ab12.2 begins · model m · a part",
        "[2] → grep(pattern='x')",
        "[2] failed: it reached its limit",
        "→ grep(pattern='y')",
    ]


@pytest.mark.slow
def test_ctrl_c_stops_the_tree_of_a_real_process_and_a_resume_ends_it(call: Call, tmp_path: Path) -> None:
    """Issue 5: each child writes its end, the exit code says resumable, and nothing is begun twice."""
    assert call("init", "ws").code == 0
    stopped = threading.Event()

    def brain(body: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
        texts = [block.get("text", "") for block in body["messages"][0]["content"]]
        if any(text.startswith("<user_message>\npart ") for text in texts):
            if not stopped.is_set():
                process.send_signal(signal.SIGINT)
                stopped.wait(60)
            return [{"type": "text", "text": "A part."}], "end_turn"
        if len(body["messages"]) > 1:
            return [{"type": "text", "text": "All of it."}], "end_turn"
        asks = [{"prompt": f"part {n}"} for n in range(3)]
        return [{"type": "tool_use", "name": "task", "input": one} for one in asks], "tool_use"

    with MessagesServer(brain) as server:
        options = ("--model", "claude-opus-5-5", "--base-url", server.url)
        environment = {**os.environ, "ANTHROPIC_API_KEY": "any", "MANUSFS_SKILLS_DISABLED": "all"}
        run = [sys.executable, "-m", "manusfs", "-w", str(tmp_path / "ws"), "run", "The whole?", *options]
        process = subprocess.Popen(
            run, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        while not any(file.read_bytes().count(b'"state":"started"') == 3 for file in _parents(tmp_path / "ws")):
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.02)
        threading.Timer(1.0, stopped.set).start()
        err = process.communicate(timeout=120)[1]
        assert process.returncode == 130 and "Traceback" not in err, err
        assert not server.refused
        again = [*run[:5], "resume", *options, "--json"]
        done = subprocess.run(
            again, env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=200, check=False
        )
    assert json.loads(done.stdout.splitlines()[-1])["answer"] == "All of it.", done.stderr
    with Workspace.open(tmp_path / "ws") as workspace:
        names = [info.session for info in sessions(workspace.folder)]
        assert len(names) == 4
        for name in names[1:]:
            with Transcript.open(workspace.folder, name) as transcript:
                ends = [event.data["stop"] for event in transcript.events if event.kind == "end"]
            assert ends[-1] == "end_turn" and set(ends[:-1]) <= {"interrupted"}, ends


def _parents(folder: Path) -> list[Path]:
    return [file for file in folder.glob("sessions/*/transcript.jsonl") if "." not in file.parent.name]
