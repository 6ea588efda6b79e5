"""Sub-agents after a crash: cut at every line of parent and child, and killed for real; nothing is done twice."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from agent_stage import PAGES, agent, assert_sound, events_of, make_workspace, page, results
from servers.messages_api import MessagesServer
from subagents_stage import FORKED, Cast

from manusfs.agent import Agent
from manusfs.errors import ManusfsError
from manusfs.memory import Workspace
from manusfs.models import AnthropicModel, call
from manusfs.session import sessions
from manusfs.workspace.settings import Settings

ROOT = Path(__file__).parents[2]
RIVER = {f"{PAGES}river": page("river")}


def cast(mode: str = "isolated") -> Cast:
    asks = [call("task", prompt="the river", mode=mode), call("list", what="notes")]
    return Cast(
        {
            "the whole": [asks, "All."],
            "the river": [
                [call("web_fetch", url=f"{PAGES}river")],
                [call("write", path="notes/r.md", content="R.\n")],
                "A river.",
            ],
        }
    )


def lines_of(path: Path, session: str) -> list[bytes]:
    return (path / "sessions" / session / "transcript.jsonl").read_bytes().splitlines(keepends=True)


def place(lines: list[bytes], kind: str, **members: str) -> int:
    """Return how many lines there are when the one of `kind` with these members is written."""
    for at, line in enumerate(lines, 1):
        event = json.loads(line)
        if event["kind"] == kind and all(event["data"].get(name) == value for name, value in members.items()):
            return at
    raise AssertionError(kind)


def cut(path: Path, session: str, keep: int, child: str, of_child: int) -> None:
    """Make the folder as a crash leaves it: so many lines of the parent, so many of the child."""
    for name, count in ((session, keep), (child, of_child)):
        folder = path / "sessions" / name
        if count < 0:
            shutil.rmtree(folder)
        else:
            (folder / "transcript.jsonl").write_bytes(b"".join(lines_of(path, name)[:count]))


@pytest.mark.parametrize("mode", ["isolated", "fork"])
def test_a_tree_goes_on_from_any_line_at_which_parent_or_child_was_cut(tmp_path: Path, mode: str) -> None:
    """Section 2.9: not begun, begun, half done, done and not handed over: each is found, and nothing is done twice."""
    workspace = make_workspace(tmp_path / "w", RIVER)
    model = cast(mode)
    session = agent(workspace, model).run("the whole").session
    workspace.close()
    child = f"{session}.1"
    parent, inner = lines_of(tmp_path / "w", session), lines_of(tmp_path / "w", child)
    begun, asked = place(parent, "child", state="started"), place(parent, "message", role="assistant")
    done = place(parent, "child", state="finished")
    stages = [(keep, -1) for keep in range(asked, begun)]
    stages += [(begun, of_child) for of_child in range(-1, len(inner) + 1)]
    stages += [(keep, len(inner)) for keep in range(begun + 1, len(parent))]
    assert done in range(begun, len(parent))
    for keep, of_child in stages:
        copy = tmp_path / f"cut-{keep}-{of_child}"
        shutil.copytree(tmp_path / "w", copy)
        cut(copy, session, keep, child, of_child)
        again = cast(mode)
        opened = make_workspace(copy, RIVER)
        try:
            result = agent(opened, again).resume()
        except ManusfsError as error:
            assert keep >= len(parent) - 1, (keep, of_child, error)  # it had its answer, and no word for it
            continue
        assert result.answer == "All.", (keep, of_child)
        named = [info.session for info in sessions(opened.folder) if "." in info.session]
        assert named == [child], (keep, of_child)
        turns = [e for e in events_of(opened, child) if e.kind == "message" and e.data["role"] == "assistant"]
        assert len([e for e in turns if "copied" not in e.data]) == 3, (keep, of_child)
        assert "A river." in results(again.asked["the whole"][-1])[0] if again.asked["the whole"] else True
        if of_child == len(inner):
            assert not again.asked["the river"], "a finished child is not run twice"
        assert_sound(again.asked["the river"])
        assert opened.verify().ok, (keep, of_child)


def test_a_child_that_failed_is_not_run_twice(tmp_path: Path) -> None:
    """Its parent is told once more what it was told, or would have been."""
    workspace = make_workspace(tmp_path / "w", RIVER)
    model = Cast(
        {"the whole": [[call("task", prompt="the river", expects={"type": "object"})], "All."], "the river": ["no"]}
    )
    session = agent(workspace, model).run("the whole").session
    workspace.close()
    lines = lines_of(tmp_path / "w", session)
    cut(tmp_path / "w", session, place(lines, "child", state="failed"), f"{session}.1", 100)
    asked = len(model.asked["the river"])
    assert agent(make_workspace(tmp_path / "w", RIVER), model).resume().answer == "All."
    assert len(model.asked["the river"]) == asked
    assert "does not have the form asked for" in results(model.asked["the whole"][-1])[0]


@pytest.mark.slow
def test_the_example_survives_its_kill_and_does_nothing_twice(tmp_path: Path) -> None:
    """s01, section 2.9: kill -9 while three of five children are at work; the resume ends with one report."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "split_question.py"), str(tmp_path / "w")],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "kill -9: it ended with -9" in done.stdout and "end_turn: reports/" in done.stdout
    quotes = re.search(r"(\d+) of (\d+) quotes verified", done.stdout)
    assert quotes is not None and quotes[1] == quotes[2] != "0", done.stdout
    with Workspace.open(tmp_path / "w") as workspace:
        names = [info.session for info in sessions(workspace.folder) if info.purpose == "child"]
        assert len(names) == 5
        for name in names:
            kinds = Counter(event.kind for event in events_of(workspace, name))
            assert kinds["epoch"] == 1 and kinds["end"] == 1, name
        assert len(list((tmp_path / "w" / "reports").glob("2*.md"))) == 1
        assert workspace.verify().ok


def test_a_strict_server_takes_every_request_of_a_tree_and_serves_a_fork_from_its_cache(tmp_path: Path) -> None:
    """CC-26, I3: signed thinking goes on in the fork, whose first request begins with what the server has cached."""

    def brain(body: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
        texts = [b["text"] for m in body["messages"] for b in m["content"] if b["type"] == "text"]
        shown = [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]
        think = {"type": "thinking", "thinking": "I think about it."}
        if any(FORKED in text for text in texts):
            return [think, {"type": "text", "text": "The fork says so."}], "end_turn"
        if "<user_message>\napart\n</user_message>" in texts:
            return [think, {"type": "text", "text": "Apart."}], "end_turn"
        if not shown:
            return [
                think,
                {"type": "tool_use", "name": "web_fetch", "input": {"url": f"{PAGES}river", "limit": 9_000}},
            ], "tool_use"
        if len(shown) == 1:
            asks = [{"prompt": "apart"}, {"prompt": "go on from here", "mode": "fork"}]
            return [think, *({"type": "tool_use", "name": "task", "input": one} for one in asks)], "tool_use"
        return [think, {"type": "text", "text": "All."}], "end_turn"

    workspace = make_workspace(tmp_path / "w", RIVER)
    with MessagesServer(brain) as server:
        model = AnthropicModel("claude-opus-5-5", key="any", base_url=server.url)
        result = Agent(workspace, model, Settings(summary_tokens=0)).run("the whole")
        assert result.answer == "All." and not server.refused
    usage = [event.data for event in events_of(workspace, f"{result.session}.2") if event.kind == "usage"]
    own = [data for data in usage if "copied" not in data]
    assert len(own) == 1 and own[0]["cache_read_input_tokens"] > own[0]["input_tokens"]
    assert result.cost_usd is not None and result.cost_usd > 0
