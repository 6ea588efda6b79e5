"""Limits of the process and full disks, at a real process: one clear line, nothing lost, and what is there is read."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Call

PROGRAM = (sys.executable, "-m", "manusfs")


def _limited(folder: Path, what: int, most: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(what, (most, most)),
    )


@pytest.mark.parametrize("most", [0, 20_000])
def test_what_is_stored_is_found_although_no_file_can_grow(filled: Call, tmp_path: Path, most: int) -> None:
    """I8: the index is a cache. Where it can't be written, each command has its own in memory."""
    for _ in range(2):
        found = _limited(tmp_path / "ws", resource.RLIMIT_FSIZE, most, "search", "designed", "--json")
        assert found.returncode == 0 and "Ilse Varga" in found.stdout and "internal error" not in found.stderr
        listed = _limited(tmp_path / "ws", resource.RLIMIT_FSIZE, most, "ls", "--json")
        assert listed.returncode == 0 and "bridge.md" in listed.stdout
        # The second time without an index, and with half of one.
        for leftover in (tmp_path / "ws/.manusfs").glob("index.db*"):
            leftover.unlink()
    rebuilt = _limited(tmp_path / "ws", resource.RLIMIT_FSIZE, most, "index", "rebuild")
    assert rebuilt.returncode == 1 and "can't be written" in rebuilt.stderr
    done = filled("search", "designed")
    assert done.code == 0 and "not an index" not in done.err


@pytest.mark.parametrize("most", [0, 3_000])
def test_what_cannot_be_stored_is_told_with_the_file_and_the_reason(filled: Call, tmp_path: Path, most: int) -> None:
    (tmp_path / "tower.md").write_text("The tower was built in 1920 by Holm. " * 200, "utf-8")
    for command in (("add", "../tower.md"), ("run", "Who built the tower?", "--source", "../tower.md")):
        done = _limited(tmp_path / "ws", resource.RLIMIT_FSIZE, most, *command)
        assert done.returncode == 1 and "the file is too large" in done.stderr and "ulimit -f" in done.stderr
        assert "internal error" not in done.stderr
    assert filled("verify").code == 0
    assert filled("add", "../tower.md").code == 0


@pytest.mark.parametrize("most", [12, 20, 32])
def test_too_few_open_files_are_told_and_lose_nothing(filled: Call, tmp_path: Path, most: int) -> None:
    """Promise 3, by the real limit: whatever could not be opened is named, or the work is done all the same."""
    (tmp_path / "tower.md").write_text("The tower was built in 1920 by Holm. " * 200, "utf-8")
    for command in (
        ("add", "../tower.md"),
        ("search", "designed"),
        ("run", "Who built the tower?", "--max-turns", "3"),
    ):
        done = _limited(tmp_path / "ws", resource.RLIMIT_NOFILE, most, *command)
        assert done.returncode in (0, 1, 3, 75) and "Traceback" not in done.stderr, done.stderr
        if done.returncode == 1:
            assert "Error:" in done.stderr and "Try:" in done.stderr and "internal error" not in done.stderr
    assert filled("verify").code == 0
    assert filled("add", "../tower.md").code == 0 and filled("search", "Holm").code == 0


_FULL = """
set -e
mount -t tmpfs -o size=600k tmpfs "$1"
cp -a "$2"/. "$1"
cd "$1"
dd if=/dev/zero of=filler bs=1k count="$3" 2>/dev/null || true
set +e
"$4" -m manusfs add "$5" >out 2>"$6/err"; echo "add $?"
"$4" -m manusfs run "Who built the tower?" --source "$5" --model offline >/dev/null 2>>"$6/err"; echo "run $?"
"$4" -m manusfs search designed >/dev/null 2>>"$6/err"; echo "search $?"
"$4" -m manusfs verify >"$6/verify" 2>&1; echo "verify $?"
rm -f filler out
"$4" -m manusfs verify --repair >/dev/null 2>&1; echo "repair $?"
"$4" -m manusfs add "$5" >/dev/null 2>&1; echo "again $?"
"$4" -m manusfs search Holm; "$4" -m manusfs verify >/dev/null 2>&1; echo "end $?"
"""


@pytest.mark.slow
@pytest.mark.parametrize("filler_kb", [300, 400, 440, 470, 500, 600])
def test_a_disk_that_is_really_full_loses_nothing(filled: Call, tmp_path: Path, filler_kb: int) -> None:
    """Promise 3: a small file system of our own, where the kernel lets users make one, filled up to different marks."""
    probe = ["unshare", "-Urm", "sh", "-c", 'mount -t tmpfs tmpfs "$1"', "sh", str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("the kernel lets this user make no file system of its own")
    (tmp_path / "tower.md").write_text("The tower was built in 1920 by Holm. " * 1_000, "utf-8")
    (tmp_path / "mount").mkdir()
    given = [tmp_path / "mount", tmp_path / "ws", filler_kb, sys.executable, tmp_path / "tower.md", tmp_path]
    command = ["unshare", "-Urm", "sh", "-c", _FULL, "sh", *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    codes = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines() if line.split(" ")[0] in _STEPS)
    told = (tmp_path / "err").read_text()
    assert codes["add"] in ("0", "1") and codes["run"] in ("0", "1", "3"), (codes, told)
    assert "Traceback" not in told and "internal error" not in told
    if codes["add"] == "1":
        assert "no space is left" in told and "free some space" in told
    assert codes["search"] == "0" and codes["repair"] == codes["again"] == codes["end"] == "0", (codes, told)
    assert codes["verify"] in ("0", "12"), (tmp_path / "verify").read_text()
    assert "Holm" in done.stdout


_STEPS = ("add", "run", "search", "verify", "repair", "again", "end")
