"""What a run was given by flags goes on with its session, and for nobody but who gave it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Call
from hypothesis import given
from hypothesis import strategies as st

from manusfs.cli.remember import REMEMBERED, recalled, remembered
from manusfs.records import Event
from manusfs.workspace.settings import OWNER_ONLY

TASK = ("How high is the tower?", "--source", "tower.txt")


@pytest.fixture
def begun(call: Call, tmp_path: Path) -> Call:
    """`call` where a run of one turn made a dated folder."""
    (tmp_path / "tower.txt").write_text("The tower is 80 metres high. It was built in 1920 by Holm.", "utf-8")
    flags = ("--max-turns", "1", "--max-pages", "3", "--allow-host", "127.0.0.1", "--policy", "none")
    assert call("run", *TASK, *flags).code == 75
    return call


def _folder(tmp_path: Path) -> Path:
    (made,) = tmp_path.glob("manusfs-2*")
    return made


def _events(folder: Path, kind: str) -> list[dict[str, Any]]:
    (file,) = folder.glob("sessions/*/transcript.jsonl")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [line["data"] for line in lines if line["kind"] == kind]


def test_resume_goes_on_with_the_flags_of_the_run_but_not_with_its_limits(
    begun: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    from manusfs.agent import Agent

    whole = Agent.resume
    monkeypatch.setattr(Agent, "resume", lambda self, *rest: (seen.append(self.settings), whole(self, *rest))[1])
    assert begun("resume", "--max-turns", "1", "--max-pages", "4").code == 75
    assert begun("resume").code == 0
    first, second = seen
    assert (first.max_pages, first.allow_hosts, first.policy) == (4, ("127.0.0.1",), "none")
    assert (second.max_pages, second.allow_hosts, second.policy, second.max_turns) == (4, ("127.0.0.1",), "none", 200)
    (kept, again) = _events(_folder(tmp_path), "flags")
    assert kept["flags"] == {"max_pages": 3, "allow_hosts": ["127.0.0.1"], "policy": "none"}
    assert again["flags"] == {"max_pages": 4}


def test_flags_of_a_session_that_another_user_made_do_not_widen_access(
    begun: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I7."""
    monkeypatch.setenv("MANUSFS_CONFIG_DIR", str(tmp_path / "somebody-else"))
    folder = str(_folder(tmp_path))
    done = begun("-w", folder, "resume", "--max-turns", "1")
    assert "--allow-host of this session" in done.err and "--max-pages" not in done.err


def test_hints_name_the_folder_that_a_run_made(begun: Call, call: Call, tmp_path: Path) -> None:
    made = _folder(tmp_path).name
    done = begun("resume", "--max-turns", "1")
    assert f"no workspace here: going on in {made}" in done.err
    assert f"manusfs -w {made} resume" in done.err
    listed = begun("ls")
    assert listed.code == 78 and f"manusfs -w {made} ls" in listed.err


def test_a_dated_folder_that_is_not_ones_own_is_never_taken(begun: Call, tmp_path: Path) -> None:
    shutil.copytree(_folder(tmp_path), tmp_path / "manusfs-29991231-000000")
    done = begun("resume", "--max-turns", "1")
    assert "29991231" not in done.err and done.code == 75
    (tmp_path / "config" / "trust.json").unlink()
    assert begun("resume").code == 78


def test_a_session_may_be_named_by_its_end_and_a_message_alone_is_told(begun: Call, tmp_path: Path) -> None:
    (session,) = (path.name for path in _folder(tmp_path).glob("sessions/*"))
    wrong = begun("resume", "How high is the dam?")
    assert wrong.code == 1 and f"resume {session} 'How high is the dam?'" in wrong.err
    assert begun("resume", session[-4:], "--max-turns", "1").code == 75


@pytest.mark.slow
def test_a_session_of_a_language_model_does_not_go_on_offline_by_itself(
    filled: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("MANUSFS_BASE_URL", "http://127.0.0.1:9")
    assert filled("run", "What?").code == 69
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("MANUSFS_BASE_URL")
    done = filled("resume")
    assert done.code == 78 and "no key is set" in done.err and "--model offline" in done.err
    assert filled("resume", "--model", "offline").code in (0, 3)


def test_a_server_without_a_model_is_an_error_before_anything_is_made(call: Call, tmp_path: Path) -> None:
    done = call("run", "What?", "--base-url", "http://127.0.0.1:9")
    assert done.code == 2 and "--model NAME" in done.err
    assert call("run", "What?", "--base-url", "nonsense", "--model", "offline").code == 2
    assert call("run", "What?", "--policy", "nonsense").code == 2
    assert call("run", "What?", "--source", "http://").code == 2
    assert call("run", "What?", "--source", "nowhere.txt").code == 1
    assert not list(tmp_path.glob("manusfs-*"))


@given(
    st.lists(st.dictionaries(st.sampled_from((*REMEMBERED, "robots", "max_turns")), st.integers() | st.text())),
    st.binary(min_size=1),
    st.binary(min_size=1),
)
def test_only_ones_own_seal_for_this_session_carries_what_widens_access(
    calls: list[dict[str, Any]], mine: bytes, other: bytes
) -> None:
    events = [Event("flags", data) for flags in calls if (data := remembered(flags, "20261130-ab12", lambda: mine))]
    wanted = {name: value for flags in calls for name, value in flags.items() if name in REMEMBERED}
    assert recalled(events, "20261130-ab12", lambda: mine).flags == wanted
    for session, key in (("20261130-ab13", mine), ("20261130-ab12", other), ("20261130-ab12", b"")):
        if (session, key) != ("20261130-ab12", mine):
            found = recalled(events, session, lambda key=key: key)  # type: ignore[misc]
            assert not set(found.flags) & OWNER_ONLY
            assert set(found.left_out) == set(wanted) & OWNER_ONLY


@pytest.mark.parametrize("data", [{}, {"flags": []}, {"flags": {"model": "x"}, "seal": 3}, {"flags": {"model": "x"}}])
def test_flags_that_make_no_sense_are_passed_over(data: dict[str, Any]) -> None:
    assert recalled([Event("flags", data)], "20261130-ab12", lambda: b"key").flags == {}
