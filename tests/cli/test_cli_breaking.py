"""What users of long runs meet at the command line: cut sessions, hostile pages, damaged folders, odd surroundings."""

from __future__ import annotations

import json
from pathlib import Path

from cli.conftest import Call

QUESTION = "When did the Aldon Bridge open, and why was the toll removed?"


def _run(filled: Call) -> str:
    result = filled("run", QUESTION, "--source", "../bridge.md", "--model", "offline", "--json").records[-1]
    return str(result["session"])


def test_the_request_of_a_session_that_died_in_a_call_is_the_one_that_resume_sends(filled: Call) -> None:
    """I3: `context` is what one looks at after a crash, so it must not fail on the calls that the crash left open."""
    session = _run(filled)
    transcript = Path("sessions", session, "transcript.jsonl")
    lines = transcript.read_bytes().splitlines(keepends=True)
    asked = next(i for i, line in enumerate(lines) if b'"type":"tool_use"' in line)
    transcript.write_bytes(b"".join(lines[: asked + 1]))
    done = filled("context", session, "--json")
    assert done.code == 0 and "1 call has no result yet" in done.err
    results = json.loads(done.out)["messages"][-1]["content"]
    assert all(block["type"] == "tool_result" and "interrupted" in str(block["content"]) for block in results)
    assert filled("resume", session, "--json").code == 0
    assert "interrupted" in filled("context", session, "--at", "2", "--json").out


def test_a_session_that_died_before_its_task_says_so(filled: Call) -> None:
    session = _run(filled)
    transcript = Path("sessions", session, "transcript.jsonl")
    transcript.write_bytes(transcript.read_bytes().splitlines(keepends=True)[0])
    for command in (("context", session), ("resume", session)):
        done = filled(*command)
        assert done.code == 2 and "before its task was written down" in done.err and "manusfs resume" in done.err
    assert filled("resume", session, QUESTION, "--model", "offline", "--json").code == 0
