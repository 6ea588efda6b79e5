"""The agent as a program uses it: its key, its workspace, and what failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agent_stage import OPEN, agent, events_of, make_workspace

from manusfs import Agent, Workspace
from manusfs.agent import Access
from manusfs.errors import ConfigError, UsageError
from manusfs.models import AnthropicModel


def test_a_key_is_given_and_never_taken_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-somebody")
    workspace = make_workspace(tmp_path / "w")
    with pytest.raises(ConfigError) as caught:
        Agent(workspace, "claude-sonnet-5-5")
    assert "key=" in caught.value.hint
    one = Agent(workspace, "claude-sonnet-5-5", key="sk-mine", access=Access(keys={"brave": "b"}))
    assert isinstance(one.model, AnthropicModel)
    assert one.access.keys == {"anthropic": "sk-mine", "brave": "b"}


def test_a_workspace_is_opened_or_made(tmp_path: Path) -> None:
    with Workspace.at(tmp_path / "w") as made:
        assert made.note("A note.", "kept")
    with Workspace.at(tmp_path / "w") as again:
        assert any("kept" in line.to_json()["path"] for line in again.ls("notes"))


def test_a_source_that_fails_says_so(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path / "w")
    failed = workspace.add(str(tmp_path / "nope.txt"))
    assert not failed.ok and "no such file" in failed.error
    (tmp_path / "there.txt").write_text("Here.", "utf-8")
    assert workspace.add(str(tmp_path / "there.txt")).ok


def test_what_a_session_was_given_is_written_down_and_the_model_never_sees_it(tmp_path: Path) -> None:
    seen: list[Any] = []

    def model(request: Any) -> str:
        seen.append(str(request.to_json()))
        return "Done."

    one = agent(make_workspace(tmp_path / "w"), model)
    one.access = Access(remember=lambda session: {"flags": {"max_pages": 7}, "seal": session})
    session = one.run("Say that you are done.").session
    one.resume(session, "Again.")
    flags = [event.data for event in events_of(OPEN[-1], session) if event.kind == "flags"]
    assert flags == [{"flags": {"max_pages": 7}, "seal": session}] * 2
    assert len(seen) == 2 and not any("max_pages" in text for text in seen)


@pytest.mark.parametrize("source", ["http://", "https://user:word@example.org/", "http://exa mple.org/"])
def test_what_is_no_whole_url_is_refused_before_anything_is_asked(tmp_path: Path, source: str) -> None:
    one = agent(make_workspace(tmp_path / "w"), ["Done."])
    with pytest.raises(Exception) as caught:
        one.run("Read it.", [source])
    assert getattr(caught.value, "hint", "")
    assert not OPEN[-1].ls("sessions")


def test_a_url_that_cannot_be_one_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        agent(make_workspace(tmp_path / "w"), ["Done."]).run("Read it.", ["http://"])


def test_the_line_of_a_failed_call_says_what_to_do(tmp_path: Path) -> None:
    from manusfs.models import call

    told: list[Any] = []
    steps = [[call("read", ref="obs:ffffffffffff")], "Done."]
    agent(make_workspace(tmp_path / "w"), steps, told).run("Read it.")
    (line,) = [event.text for event in told if event.kind == "result"]
    assert line.startswith("Error: ") and line.endswith(")")
