"""Standard streams as they come: closed, full, without a reader, of another encoding, a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Call

from manusfs.cli.main import _unexpected

PROGRAM = (sys.executable, "-m", "manusfs")
HOSTILE = "# 电站\n\n\x1b]0;owned\x07\x9b31m The tower\u202e was built in 1920 😀.\n"


@pytest.fixture
def hostile(call: Call, tmp_path: Path) -> Path:
    (tmp_path / "page.txt").write_text(HOSTILE, "utf-8")
    assert call("init", "ws").code == 0
    assert call("-w", "ws", "add", "page.txt").code == 0
    return tmp_path / "ws"


def _ref(call: Call) -> str:
    return str(call("-w", "ws", "ls", "--json").records[0]["ref"])


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_closed_stream_ends_nothing(hostile: Path, closed: tuple[int, ...]) -> None:
    done = subprocess.run(
        [*PROGRAM, "ls"], cwd=hostile, capture_output=True, preexec_fn=lambda: [*map(os.close, closed)]
    )
    assert done.returncode == 0 and b"rror" not in done.stderr


def test_output_without_a_reader_or_on_a_full_disk_is_no_mistake_of_ours(hostile: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    gone = subprocess.run([*PROGRAM, "ls", "--json"], cwd=hostile, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert gone.returncode == 1 and gone.stderr == ""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PROGRAM, "ls"], cwd=hostile, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "No space left" in done.stderr and "internal error" not in done.stderr


@pytest.mark.parametrize("encoding", ["latin-1:strict", "ascii:strict", "utf-8:strict"])
def test_another_encoding_gets_escapes_and_json_stays_json(hostile: Path, call: Call, encoding: str) -> None:
    ref = _ref(call)
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for arguments in (("read", ref), ("search", "tower"), ("ls",)):
        plain = subprocess.run([*PROGRAM, *arguments], cwd=hostile, env=environment, capture_output=True)
        assert plain.returncode == 0 and b"rror" not in plain.stderr
    done = subprocess.run([*PROGRAM, "read", ref, "--json"], cwd=hostile, env=environment, capture_output=True)
    assert json.loads(done.stdout.decode(encoding.partition(":")[0]))["text"] == HOSTILE


def test_nothing_stored_acts_on_a_terminal(hostile: Path, call: Call) -> None:
    """I6: also as JSON, where only the first controls are escaped by themselves, and as raw bytes."""
    ref = _ref(call)
    for arguments in (("read", ref, "--raw"), ("read", ref), ("read", ref, "--json"), ("search", "tower", "--json")):
        main, terminal = pty.openpty()
        done = subprocess.run([*PROGRAM, *arguments], cwd=hostile, stdout=terminal, stderr=subprocess.PIPE)
        os.close(terminal)
        shown = os.read(main, 65_536).decode("utf-8")
        os.close(main)
        assert done.returncode == 0 and "tower" in shown
        assert not set(shown) & set("\x1b\x07\x9b\u202e")
    raw = subprocess.run([*PROGRAM, "read", ref, "--raw"], cwd=hostile, capture_output=True)
    assert raw.stdout == HOSTILE.encode("utf-8")


def test_limits_of_the_system_are_told_as_such() -> None:
    for error in (MemoryError(), RuntimeError("can't start new thread"), OSError(5, "Input/output error")):
        message, hint = _unexpected(error)
        assert "internal error" not in message and hint
    assert "internal error" in _unexpected(KeyError("x"))[0]


def test_modules_that_lie_in_the_folder_where_one_stands_are_not_run(tmp_path: Path) -> None:
    """Promise 12: neither by the program nor by its child, which looks for what happens not to be installed."""
    subprocess.run([*PROGRAM, "init", str(tmp_path / "w")], check=True, capture_output=True)
    for name in ("click", "rich", "sqlite3", "httpx", "cchardet", "pycurl", "brotli", "zstandard", "lxml"):
        (tmp_path / f"w/{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
    (tmp_path / "a.html").write_text("<html><body><p>Plain words about a river.</p></body></html>")
    for command in (["add", str(tmp_path / "a.html")], ["search", "river"], ["verify"]):
        subprocess.run([*PROGRAM, *command], cwd=tmp_path / "w", check=True, capture_output=True)
    assert not (tmp_path / "ran").exists()
