"""run, resume, cite, show, context, stats, demo: the main job through the command line, offline."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cli.conftest import Call

RESULT = {
    "session",
    "workspace",
    "report",
    "answer",
    "citations",
    "turns",
    "tool_calls",
    "observations",
    "usage",
    "stop",
}
QUESTION = "When did the Aldon Bridge open, and why was the toll removed?"


def test_a_question_becomes_a_report_whose_quotes_stand(filled: Call) -> None:
    done = filled("run", QUESTION, "--source", "../bridge.md", "--model", "offline", "--json")
    result = done.records[-1]
    assert done.code == 0 and result.keys() == RESULT and result["stop"] == "end_turn"
    assert "4 May 1998" in result["answer"] and "loan had been paid" in result["answer"]
    assert result["citations"]["total"] == result["citations"]["verified"] > 0
    cited = filled("cite", result["report"], "--json")
    assert cited.code == 0 and cited.records[-1]["verified"] == result["citations"]["total"]
    assert filled("verify").code == 0


def test_a_run_without_a_workspace_makes_one_and_says_where(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The tower is 80 metres high. It was built in 1920 by Holm.", "utf-8")
    done = call("run", "How high is the tower?", "--source", "a.txt", "--model", "offline")
    assert done.code == 0 and "80 metres" in done.out
    (made,) = tmp_path.glob("manusfs-*")
    assert made.name in done.err


def test_no_support_is_said_and_has_its_exit_code(filled: Call) -> None:
    done = filled(
        "run", "What do penguins think of taxation?", "--source", "../bridge.md", "--model", "offline", "--json"
    )
    assert done.code == 3
    assert "No support found" in done.records[-1]["answer"]


def test_a_source_without_text_is_told_while_it_is_stored_and_in_the_report(filled: Call) -> None:
    """I9: why nothing of a given file can be quoted is said before the work and after it."""
    Path("../blob.bin").write_bytes(bytes(range(256)) * 12)
    Path("../empty.md").write_bytes(b"")
    done = filled("run", "Summarise it", "--source", "../blob.bin", "--source", "../empty.md", "--model", "offline")
    assert "stored: blob.bin · 3.1 kB · no text: binary data is not read" in done.err
    assert "stored: empty.md · no text: it is empty" in done.err
    unread = done.out.partition("## Could not be read")[2]
    assert "blob.bin — no text: binary data" in unread and "empty.md — empty" in unread


def test_the_offline_model_says_that_it_uses_no_skills(filled: Call) -> None:
    """I9: a skill that is called by name and not used is told; it changes nothing of the answer."""
    done = filled("run", f"/fact-check {QUESTION}", "--model", "offline")
    assert "/fact-check is left out: offline uses no skills" in done.err
    assert "loan had been paid" in done.out
    plain = filled("run", QUESTION, "--model", "offline")
    assert "uses no skills" not in plain.err and plain.out == done.out and plain.code == done.code == 0
    again = filled("resume", done.err.partition("session ")[2].split()[0], f"/fact-check {QUESTION}")
    assert "/fact-check is left out" in again.err and "loan had been paid" in again.out


def test_a_tampered_quote_is_found(filled: Call) -> None:
    report = filled("run", QUESTION, "--source", "../bridge.md", "--model", "offline", "--json").records[-1]["report"]
    text = Path(report).read_text("utf-8")
    Path(report).write_text(text.replace("4 May 1998", "5 May 1999"), "utf-8")
    assert filled("cite", report).code == 12


def test_a_limit_ends_the_run_and_resume_goes_on_in_a_copy(
    filled: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = filled("run", QUESTION, "--source", "../bridge.md", "--model", "offline", "--max-turns", "2", "--json")
    assert first.code == 75 and first.records[-1]["stop"] == "max_turns"
    shutil.copytree(tmp_path / "ws", tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "elsewhere" / ".manusfs")
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = filled("resume", "--json")
    assert done.code == 0 and done.records[-1]["session"] == first.records[-1]["session"]
    assert done.records[-1]["citations"]["verified"] > 0
    assert filled("verify").code == 0


def test_a_message_goes_on_with_a_finished_session(filled: Call) -> None:
    session = filled("run", QUESTION, "--source", "../bridge.md", "--model", "offline", "--json").records[-1]["session"]
    assert filled("resume", session).code == 2  # there is nothing to do
    done = filled("resume", session, "What did the bridge cost?", "--json")
    assert done.code == 0 and "12.4 million" in done.records[-1]["answer"]


def test_the_exact_requests_can_be_printed_again(filled: Call) -> None:
    session = filled("run", QUESTION, "--source", "../bridge.md", "--model", "offline", "--json").records[-1]["session"]
    first, second = (json.loads(filled("context", session, "--at", str(n), "--json").out) for n in (1, 2))
    assert first["messages"] == second["messages"][: len(first["messages"])]
    assert "Date:" in first["messages"][0]["content"][0]["text"]
    assert filled("context", session, "--at", "999").code == 1


def test_what_happened_is_shown_and_summed(filled: Call) -> None:
    filled("run", QUESTION, "--source", "../bridge.md", "--model", "offline")
    kinds = {record["kind"] for record in filled("show", "--json").records}
    assert {"session", "epoch", "observation", "call", "shown"} <= kinds
    session, workspace = filled("stats", "--json").records
    assert session["calls"] > 0 and workspace["observations"] == 1


def test_an_empty_task_is_refused_before_anything_is_made(call: Call, tmp_path: Path) -> None:
    assert call("run", "  ").code == 2
    assert not list(tmp_path.glob("manusfs-*"))


def test_a_model_without_a_key_says_how_to_give_one(filled: Call) -> None:
    done = filled("run", QUESTION, "--model", "claude-sonnet-5-5")
    assert done.code == 78 and "ANTHROPIC_API_KEY" in done.err


def test_the_demo_answers_cites_and_admits(call: Call) -> None:
    done = call("demo", "there", "--json")
    cost, result = done.records[-2], done.records[-1]
    assert done.code == 0 and result["citations"]["total"] == result["citations"]["verified"] >= 6
    assert "14 May 2009" in result["answer"] and "十二兆瓦" in result["answer"] and "passport" in result["answer"]
    assert cost["inline_tokens"] > 2 * cost["window_tokens"]
