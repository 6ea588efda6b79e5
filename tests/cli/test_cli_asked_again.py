"""What made newcomers stop and think: one rule for what is behind the end, lists without noise, and plain refusals."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Call

from manusfs.cli.demo_cmd import demo_files


@pytest.mark.parametrize(
    "past",
    [("--lines", "999"), ("--lines", "999-"), ("--offset", "99999999"), ("--raw", "--offset", "99999999")],
)
@pytest.mark.parametrize("json", [(), ("--json",)])
def test_what_is_behind_the_end_is_not_found(filled: Call, past: tuple[str, ...], json: tuple[str, ...]) -> None:
    ref = filled("ls", "--json").records[0]["ref"]
    done = filled("read", ref, *past, *json)
    assert (done.code, done.out) == (1, "") and "bytes" in done.err and done.err.count("\n") == 2


def test_what_is_behind_the_end_of_a_span_or_of_pages_is_not_found(filled: Call) -> None:
    (report,) = (file for file in demo_files() if file.suffix == ".pdf")
    ref = filled("add", str(report), "--json").records[0]["ref"]
    assert filled("read", ref, "--page", "1").code == 0
    done = filled("read", ref, "--page", "9")
    assert (done.code, done.out) == (1, "") and "has pages 1 to" in done.err
    assert filled("read", f"{ref}@90000-90001").code == 1
    assert filled("read", ref, "--page", "x").code == 2
    assert filled("read", ref, "--offset", "0", "--limit", "999999").code == 0, "the end is cut, that is no mistake"


def test_an_empty_file_is_read_as_it_is(filled: Call, tmp_path: Path) -> None:
    Path("notes/empty.md").write_text("", "utf-8")
    assert filled("read", "notes/empty.md").code == 0


def test_sessions_of_add_do_not_crowd_the_list(filled: Call, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("more", "utf-8")
    assert filled("add", "../more.txt").code == 0
    assert filled("run", "Who designed the Aldon Bridge?").code == 0
    runs = filled("ls", "sessions")
    assert runs.out.count("\n") == 1 and " run " in runs.out and "and 2 sessions of `add`" in runs.err
    assert filled("ls", "sessions", "--all").out.count("\n") == 3
    assert len(filled("ls", "sessions", "--json").records) == 3


def test_nothing_that_was_piped_in_is_not_stored(filled: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    done = filled("add", "-")
    assert done.code == 2 and "empty" in done.err and len(filled("ls", "--json").records) == 1


def test_what_has_no_text_is_told_when_it_is_added(filled: Call, tmp_path: Path) -> None:
    (tmp_path / "bin.dat").write_bytes(bytes(range(256)) * 8)
    done = filled("add", "../bin.dat")
    assert done.code == 0 and "no text: binary data is not read" in done.out and "raw bytes are kept" in done.out


def test_trust_does_not_ask_when_nothing_is_new(filled: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    done = filled("trust")
    assert done.code == 0 and "nothing is new" in done.out and "Trust this" not in done.err
    Path("agents").mkdir(exist_ok=True)
    Path("agents/mine.md").write_text("---\nname: mine\ndescription: Reads.\n---\nRead.\n", "utf-8")
    assert filled("trust").code == 1
    assert filled("trust", "--yes").code == 0
    assert "nothing is new" in filled("trust", "--yes").out
    Path("agents/mine.md").write_text("---\nname: mine\ndescription: Reads.\n---\nRead more.\n", "utf-8")
    assert filled("trust").code == 1


@pytest.mark.parametrize("place", ["sessions/mine", "notes", "observations/web", ".manusfs/x"])
def test_no_workspace_is_made_where_another_keeps_its_things(filled: Call, place: str) -> None:
    before = sorted(Path().rglob("*"))
    done = filled("init", place)
    assert done.code == 78 and f"lies in {place.partition('/')[0]}/ of the workspace" in done.err
    assert sorted(Path().rglob("*")) == before


def test_a_workspace_inside_another_is_told(filled: Call) -> None:
    done = filled("init", "mine")
    assert done.code == 0 and "inside the workspace" in done.err


def test_a_folder_inside_a_workspace_is_told_with_the_one_it_is_of(
    filled: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = filled("-w", "ws/notes", "search", "Ilse Varga")
    assert done.code == 78 and f"lies in the workspace '{tmp_path / 'ws'}'" in done.err
    command = done.err.partition("Try:   ")[2]
    assert "search 'Ilse Varga'" in command and filled(*shlex.split(command)[1:]).code == 0


def test_one_table_is_printed_once_with_the_meaning_of_its_columns(filled: Call) -> None:
    assert filled("run", "Who designed the Aldon Bridge?").code == 0
    name = filled("ls", "sessions", "--json").records[-1]["session"]
    for each in ((), ("--each",)):
        done = filled("replay", f"sessions/{name}", "--policy", "none", "--no-bound", *each)
        assert done.out.count("naive") == 1 and "breaks  " in done.err and "cost, input" in done.err
    assert len(filled("replay", f"sessions/{name}", "--policy", "none", "--no-bound", "--json").records) == 4


def test_no_runs_are_told_as_such_and_gc_does_not_list_what_there_is_none_of(filled: Call) -> None:
    assert "no runs yet" in filled("ls", "sessions").err
    Path("sessions/.gone").mkdir()
    found = filled("gc", "--dry-run")
    assert "0 observations" not in found.out.replace("all of 0 observations", "")


def test_what_has_no_citations_is_told_as_such(filled: Call) -> None:
    Path("reports/mine.md").write_text("# Mine\n", "utf-8")
    done = filled("cite", "mine")
    assert done.code == 0 and "reports/mine.md has no citations" in done.out


def test_a_file_in_place_of_a_workspace_is_told(filled: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = filled("-w", "bridge.md", "ls")
    assert done.code == 78 and "is a file, no workspace" in done.err and "init bridge.md" not in done.err


def test_a_file_of_any_name_is_added_and_told_on_one_line(filled: Call) -> None:
    """I6: a name is a stranger's words."""
    name = "bad\x1b[31mred\nobs:000000000000 new"
    Path(name).write_text("The tower is tall.", "utf-8")
    done = filled("add", name)
    assert done.code == 0 and done.out.count("\n") == 1 and "\x1b" not in done.out
    gone = filled("add", f"{name}2")
    assert gone.code == 1 and gone.err.count("\n") == 2 and "\x1b" not in gone.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_behind_stdout_loses_neither_the_run_nor_its_end(filled: Call) -> None:
    command = [sys.executable, "-m", "manusfs", "run", "Who designed the Aldon Bridge?"]
    for json in ((), ("--json",)):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run([*command, *json], stdout=full, stderr=subprocess.PIPE, text=True)
        told = "can't be written" if json else "can't write the output"
        assert done.returncode == (0 if json else 1) and told in done.stderr
        assert "Traceback" not in done.stderr and (json or "report:    reports/" in done.stderr)
    assert [record["state"] for record in filled("ls", "sessions", "--json").records] == ["finished"] * 3


def test_a_message_in_place_of_a_session_is_put_where_it_belongs(filled: Call) -> None:
    assert filled("run", "Who designed the Aldon Bridge?").code == 0
    done = filled("resume", "And when did it open?")
    assert done.code == 1
    again = filled(*shlex.split(done.err.partition("session: ")[2])[1:])
    assert again.code == 0 and "4 May 1998" in again.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"), [(("note", "-"), 2, "nothing is piped in"), (("trust",), 1, "not trusted")]
)
def test_a_closed_standard_input_is_no_answer(
    filled: Call, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "config" / "trust.json").unlink()
    command = [sys.executable, "-m", "manusfs", *arguments]
    done = subprocess.run(command, preexec_fn=lambda: os.close(0), capture_output=True, text=True)
    assert done.returncode == code and said in done.stderr and "internal" not in done.stderr


def test_nothing_that_was_piped_to_a_run_is_told_before_anything_is_made(
    filled: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments in (("run", "-"), ("run", "What is it?", "--source", "-"), ("note", "-")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        done = filled(*arguments)
        assert done.code == 2 and "empty" in done.err
    assert len(filled("ls", "sessions", "--json").records) == 1


def test_a_name_that_is_too_long_is_told(call: Call) -> None:
    done = call("init", "n" * 300)
    assert done.code == 1 and "the name is too long" in done.err and "DEBUG" not in done.err


def test_commands_in_what_is_told_can_be_typed_from_here(
    filled: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("agents").mkdir(exist_ok=True)
    Path("agents/mine.md").write_text("---\nname: mine\ndescription: Reads.\n---\nRead.\n", "utf-8")
    Path("skills/tides").mkdir(parents=True)
    Path("skills/tides/SKILL.md").write_text("---\nname: tides\ndescription: Of tides.\n---\nRead.\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    for words in (("agents", "list"), ("skills", "list")):
        assert "say `manusfs -w ws trust`" in filled("-w", "ws", *words).err
