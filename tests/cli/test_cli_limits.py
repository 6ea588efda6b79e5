"""Limits of the process and full disks, at a real process: one clear line, nothing lost, and what is there is read."""

from __future__ import annotations

import resource
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
