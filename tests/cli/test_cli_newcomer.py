"""What somebody who has never used manusfs types: each answer says what is so, and a command that works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Call


@pytest.mark.parametrize("group", [(), ("skills",), ("agents",), ("index",)])
def test_a_group_without_a_command_prints_its_help_as_it_is(call: Call, group: tuple[str, ...]) -> None:
    bare = call(*group)
    assert bare.code == 2 and "Error" not in bare.err and bare.out == ""
    assert bare.err == call(*group, "--help").out


def test_two_runs_that_begin_in_one_second_make_two_folders(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import UTC, datetime

    from manusfs.cli import run_cmd

    class Still(datetime):
        @classmethod
        def now(cls, tz: object = None) -> Still:
            return cls(2026, 11, 30, 22, 0, 14, tzinfo=UTC)

    monkeypatch.setattr(run_cmd, "datetime", Still)
    (tmp_path / "page.txt").write_text("The tower was built in 1920 by Holm.\n", "utf-8")
    for name in ("manusfs-20261130-220014", "manusfs-20261130-220014-2", "manusfs-20261130-220014-3"):
        done = call("run", "Who built the tower?", "--source", "page.txt")
        assert done.code == 0 and f"made {tmp_path / name}\n" in done.err
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o700


def test_doctor_tells_a_format_that_is_too_new(call: Call, tmp_path: Path) -> None:
    assert call("init", "ws").code == 0
    marker = tmp_path / "ws" / "manusfs.toml"
    marker.write_text(re.sub(r"(?m)^format = \d+", "format = 99", marker.read_text("utf-8")), "utf-8")
    assert call("-w", "ws", "ls").code == 78
    done = call("-w", "ws", "doctor", "--offline")
    assert done.code == 1 and re.search("FAIL workspace .*99", done.out)


def test_a_run_goes_on_when_nobody_reads_its_events_any_more(filled: Call, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "manusfs", "run", "Who designed the Aldon Bridge?", "--json"]
    done = subprocess.run(command, cwd=tmp_path / "ws", stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 0 and done.stderr.count("stdout is closed; the run goes on") == 1
    assert filled("ls", "sessions", "--json").records[-1]["state"] == "finished"


def test_a_name_that_is_no_path_is_told_with_its_ref(filled: Call) -> None:
    ref = filled("ls", "--json").records[0]["ref"]
    done = filled("read", "bridge.md")
    assert done.code == 1 and f"it is {ref}" in done.err and f"manusfs read {ref}" in done.err
    other = filled("read", "tower.md")
    assert other.code == 1 and "manusfs search tower.md" in other.err and "doctor" not in other.err


def test_the_command_for_more_of_a_span_works_as_it_is_printed(filled: Call) -> None:
    ref = filled("ls", "--json").records[0]["ref"]
    for arguments in ((f"{ref}@0-40",), (ref, "--lines", "1-1")):
        more = filled("read", *arguments).err.partition("more: ")[2]
        words = shlex.split(more)
        assert words[:2] == ["manusfs", "read"] and filled(*words[1:]).code == 0


def test_a_hint_repeats_what_was_typed(filled: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a command that works, from here."""
    monkeypatch.chdir(tmp_path)
    ref = filled("-w", "ws", "ls", "--json").records[0]["ref"]
    assert "manusfs -w ws add" in filled("-w", "ws", "add", "ws").err
    assert "manusfs -w ws ls" in filled("init", "ws").err
    assert "manusfs init nowhere\n" in filled("-w", "nowhere", "ls").err
    assert filled("run", "Who designed the Aldon Bridge?", "--source", "bridge.md").code == 0
    (made,) = (path.name for path in tmp_path.glob("manusfs-2*"))
    for words in (("search", "Ilse Varga", "--limit", "1"), ("read", ref), ("ls", "notes")):
        told = filled(*words).err
        assert f"Try:   manusfs -w {made} {shlex.join(words)}\n" in told


def test_a_session_is_replayed_by_its_path_in_the_workspace(
    filled: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert filled("run", "Who designed the Aldon Bridge?").code == 0
    name = filled("ls", "sessions", "--json").records[-1]["session"]
    monkeypatch.chdir(tmp_path)
    done = filled("-w", "ws", "replay", f"sessions/{name}", "--policy", "none", "--no-bound")
    assert done.code == 0 and ": 1 run\n" in done.out
    gone = filled("-w", "ws", "replay", "sessions/gone", "--policy", "none")
    assert gone.code == 2 and "sessions/gone" in gone.err


def test_one_is_not_told_in_the_plural(filled: Call, tmp_path: Path) -> None:
    assert filled("run", "Who designed the Aldon Bridge?", "--source", "../bridge.md").code == 0
    said = "".join(filled(*words).out for words in (("stats",), ("gc",), ("index", "rebuild"), ("show",)))
    said += "".join(filled(*words).err for words in (("stats",), ("gc",), ("index", "rebuild")))
    assert "1 observation" in said
    assert filled("compact").code == 0
    said += filled("undo", "7").err + filled("context").err
    assert "1 compaction stands" in said
    assert filled("run", "Who built it?", "--max-turns", "1").code == 75
    said += filled("ls", "sessions").out
    assert "   1 turn   " in said
    assert not re.search(r"\b1 (replies|[a-z]+s)\b", said.replace("1 less", "")), said


def test_a_demo_that_was_stopped_does_not_close_as_one_that_ended(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from manusfs.cli import run_cmd

    monkeypatch.setattr(run_cmd, "perform", lambda *_: 130)
    monkeypatch.setattr("manusfs.cli.demo_cmd._cost", lambda _: {"window_tokens": 1, "inline_tokens": 2})
    done = call("demo")
    assert done.code == 130 and "context ended" not in done.out and "Then try" not in done.out


def test_the_example_of_a_split_question_has_help() -> None:
    example = Path(__file__).parents[2] / "examples" / "split_question.py"
    done = subprocess.run([sys.executable, str(example), "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "usage:" in done.stdout and "The run begins" not in done.stdout
