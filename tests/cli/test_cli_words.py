"""What the command line says when something is wrong, what it suggests, and what the shell completes."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest
from cli.conftest import Call
from click.shell_completion import BashComplete

from manusfs.cli import named
from manusfs.cli.main import _cli


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rnu",), "Try:   manusfs run"),
        (("-w", ".", "rnu"), "manusfs -w . run"),
        (("serch", "x"), "manusfs search"),
        (("run", "x", "--sorce", "y"), "did you mean --source?"),
        (("ls", "-w", "."), "manusfs -w DIR ls"),
        (("run", "x", "--max-turns", "many"), "whole number"),
        (("run", "x", "--budget", "much"), "valid number"),
        (("search", "-only"), 'search -- "-word"'),
        (("run", "x", "--policy", "nonsense"), "known: manus"),
    ],
)
def test_a_wrong_command_line_is_answered_in_two_lines(call: Call, arguments: tuple[str, ...], said: str) -> None:
    done = call(*arguments)
    error, hint = done.err.splitlines()
    assert done.code == 2 and said in done.err
    assert error.startswith("Error: ") and hint.startswith("Try: ")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MANUSFS_MAX_TRUNS", "3", "did you mean 'max_turns'?"),
        ("MANUSFS_MAX_TURNS", "abc", "not a whole number: 'abc'"),
        ("MANUSFS_READ_SHARE", "3", "a number from 0 to 1"),
        ("MANUSFS_POLICY", "nonsense", "known: manus"),
        ("MANUSFS_SEARCH_PROVIDER", "nonsense", "searxng"),
        ("MANUSFS_BASE_URL", "nonsense", "http or https"),
    ],
)
def test_a_wrong_setting_is_found_by_config(
    call: Call, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    done = call("config")
    assert done.code == 78 and said in done.err


def test_the_users_own_file_is_named_with_its_path(call: Call, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "manusfs.toml").write_text("[model]\nname = 'x'\nmax_truns = 3\n", "utf-8")
    assert str(tmp_path / "config" / "manusfs.toml") in call("config").err
    (tmp_path / "config" / "manusfs.toml").write_text("[section]\nx = 1\n", "utf-8")
    assert "take the line [section] out" in call("config").err


def test_doctor_looks_at_everything_whatever_is_wrong(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANUSFS_MAX_TURNS", "abc")
    found = {record["name"]: record["ok"] for record in call("doctor", "--offline", "--json").records}
    assert found["settings"] is False and {"disk", "model", "web search"} <= found.keys()


def test_a_folder_with_a_blank_is_quoted_and_here_needs_no_cd(call: Call) -> None:
    assert "cd 'my ws' &&" in call("init", "my ws").err
    assert "cd " not in call("init").err


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_a_folder_that_is_not_approved_is_declined(
    filled: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    (tmp_path / "config" / "trust.json").unlink()  # a stranger's
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    done = filled("trust")
    assert done.code == 1 and "not trusted" in done.err


def test_in_ones_own_folder_the_model_counts_and_one_line_names_what_waits(filled: Call) -> None:
    """I7: a tool or a pull may have edited the file."""
    lines = 'format = 1\nmodel = "offline"\nallow_hosts = ["127.0.0.1"]\nrobots = false\n'
    Path("manusfs.toml").write_text(lines, "utf-8")
    done = filled("config", "--json")
    values = {record["name"]: record["value"] for record in done.records}
    assert values["model"] == "offline" and values["allow_hosts"] == [] and values["robots"] is True
    (line,) = done.err.splitlines()
    assert "`allow_hosts`, `robots`" in line and "`manusfs trust`" in line
    assert filled("trust", "--yes").code == 0
    done = filled("config", "--json")
    assert not done.err and {r["name"]: r["value"] for r in done.records}["robots"] is False


def test_a_strangers_model_waits(filled: Call, tmp_path: Path) -> None:
    Path("manusfs.toml").write_text('format = 1\nmodel = "claude-opus-5"\n', "utf-8")
    (tmp_path / "config" / "trust.json").unlink()
    done = filled("config", "--json")
    assert {record["name"]: record["value"] for record in done.records}["model"] == "" and "`model`" in done.err


def test_one_line_is_one_line_and_what_is_past_the_end_is_told(filled: Call) -> None:
    ref = filled("ls", "--json").records[0]["ref"]
    assert filled("read", ref, "--lines", "3").out.startswith("The Aldon Bridge was designed")
    assert len(filled("read", ref, "--lines", "3").out.splitlines()) == 1
    assert len(filled("read", ref, "--lines", "3-").out.splitlines()) > 1
    for past in (("--lines", "999"), ("--offset", "99999999")):
        done = filled("read", ref, *past)
        assert done.out == "" and "bytes" in done.err
    assert filled("read", ref, "--lines", "3", "--offset", "5").code == 2
    assert filled("read", f"{ref}@5-10", "--offset", "5").code == 2


def test_a_report_is_found_by_any_path_that_leads_to_it(
    filled: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = filled("run", "When did the bridge open?", "--source", "../bridge.md", "--json").records[-1]
    path = tmp_path / "ws" / result["report"]
    assert filled("cite", str(path)).code == 0 and filled("cite", path.name).code == 0
    monkeypatch.chdir(tmp_path)
    assert filled("-w", "ws", "cite", f"ws/{result['report']}").code == 0
    assert filled("-w", "ws", "cite", "../elsewhere.md").code == 1


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["add"], ("file", "../fi")),
        (["run", "x", "--source"], ("file", "../fi")),
        (["run", "x", "--policy"], ("plain", "manus")),
        (["ls"], ("plain", "sessions")),
        (["-w"], ("dir", "d")),
        (["cite"], ("plain", "reports/mine.md")),
        (["read"], ("plain", "obs:")),
        (["skills", "show"], ("plain", "fact-check")),
    ],
)
def test_the_shell_completes(filled: Call, words: list[str], wanted: tuple[str, str]) -> None:
    Path("reports/mine.md").write_text("mine", "utf-8")
    begun = wanted[1][:-1] if wanted[0] == "plain" else wanted[1]
    shell = BashComplete(_cli, {}, "manusfs", "_MANUSFS_COMPLETE")
    found = [(item.type, item.value) for item in shell.get_completions(words, begun)]
    assert any(kind == wanted[0] and value.startswith(wanted[1]) for kind, value in found), found


def test_sessions_are_completed_and_nothing_goes_wrong_without_a_workspace(
    filled: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = BashComplete(_cli, {}, "manusfs", "_MANUSFS_COMPLETE")
    assert shell.get_completions(["show"], "2")
    monkeypatch.chdir(tmp_path)
    assert shell.get_completions(["show"], "2") == []


def test_commands_are_named_by_the_path_that_leads_to_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "some where" / "bin" / "manusfs"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", os.defpath)
    named.work_in("")
    assert named.typed("run `manusfs verify`") == "run `'some where/bin/manusfs' verify`"
    monkeypatch.setenv("PATH", str(program.parent))
    named.work_in("a b")
    try:
        assert named.typed("manusfs ls") == "manusfs -w 'a b' ls"
        assert named.typed("`manusfs init notes`, `manusfs -w x ls`") == "`manusfs init notes`, `manusfs -w x ls`"
        assert named.typed("the folder manusfs-1 of manusfs") == "the folder manusfs-1 of manusfs"
    finally:
        named.work_in("")


@pytest.mark.slow
def test_the_demo_ends_with_its_result_and_is_quiet_when_asked(call: Call) -> None:
    done = call("demo", "there", "--json")
    assert done.records[-1]["stop"] == "end_turn" and done.records[-2]["event"] == "cost"
    assert "demo:" not in call("-q", "demo", "elsewhere").err
