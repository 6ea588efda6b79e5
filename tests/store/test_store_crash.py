"""What was acknowledged survives: an error, a kill and a power cut at every operation of commits and appends."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from disks.faulty import ERRORS, KILLS, FaultyDisk, Killed
from disks.powerless import RecordingDisk, build, crash_states
from disks.workload import Acked, empty_workspace, problems, run


def _work(path: Path, disk: FaultyDisk) -> list[Acked]:
    shutil.rmtree(path, ignore_errors=True)
    empty_workspace(path)
    acked: list[Acked] = []
    try:
        run(path, disk, acked.append)
    except Killed:
        pass
    return acked


@pytest.mark.parametrize("mode", [*KILLS, *ERRORS])
def test_acknowledged_work_survives_a_fault_at_every_operation(tmp_path: Path, mode: str) -> None:
    """I1: one fault at each operation; then the folder is opened, checked and worked in again."""
    whole = FaultyDisk()
    assert len(_work(tmp_path / "w", whole)) == 4
    failures = {}
    for at in range(1, whole.count + 1):
        acked = _work(tmp_path / "w", FaultyDisk(at, mode))
        if found := problems(tmp_path / "w", acked):
            failures[at, whole.names[at - 1]] = found
    assert not failures


def test_a_disk_that_stays_full_never_leaves_half_a_line(tmp_path: Path) -> None:
    """I1: from some write on every write fails half-way, as on a full disk."""
    whole = FaultyDisk()
    _work(tmp_path / "w", whole)
    writes = [at for at, name in enumerate(whole.names, 1) if name == "write"]
    for at in writes:
        acked = _work(tmp_path / "w", FaultyDisk(at, "ENOSPC", lasting=True))
        assert not problems(tmp_path / "w", acked), at


def test_a_write_that_can_not_be_taken_back_stops_the_session(tmp_path: Path) -> None:
    """I1: the append fails and so does the cut: then the session refuses to go on, and a new opening repairs it."""
    whole = FaultyDisk()
    _work(tmp_path / "w", whole)
    for at, name in enumerate(whole.names, 1):
        if name == "write":
            disk = _NoWayBack(at)
            acked = _work(tmp_path / "w", disk)
            assert not problems(tmp_path / "w", acked), at


class _NoWayBack(FaultyDisk):
    def __init__(self, at: int) -> None:
        super().__init__(at, "ENOSPC")

    def truncate(self, fd: int, size: int) -> None:
        if self.count >= self.at and self.mode:
            self.mode = ""
            self._fail()
        super().truncate(fd, size)

    def _fail(self) -> None:
        self.at, self.mode, at = self.count + 1, "EIO", self.at
        try:
            self._point("truncate", lambda: None)
        finally:
            self.at, self.mode = at, ""


def _losses(path: Path, forgets: str, step: int = 1) -> list[str]:
    work, left = path / "w", path / "left"
    empty_workspace(work)
    disk = RecordingDisk(work, forgets)
    run(work, disk, disk.ack)
    found = []
    for state, acked in crash_states(disk.ops, seed=7, step=step):
        shutil.rmtree(left, ignore_errors=True)
        build(state, left)
        (left / "manusfs.toml").write_text("format = 1\n")
        found += problems(left, acked)
        if found and forgets:
            break
    return found


def test_acknowledged_work_survives_a_power_cut_after_every_operation(tmp_path: Path) -> None:
    """I1: unsynced data and names are lost, kept or half kept in any combination."""
    assert not _losses(tmp_path, "")


@pytest.mark.parametrize(
    "forgotten",
    [
        "sync transcript.jsonl",
        "sync text.md",
        "sync raw.html",
        "sync meta.json",
        "sync_dir staged",
        "sync_dir h0.example",
        "sync_dir web",
        "sync_dir observations",
        "sync_dir sessions",
        "sync_dir .",
    ],
)
def test_the_power_cut_test_notices_a_missing_sync(tmp_path: Path, forgotten: str) -> None:
    """The harness itself: a product that forgot this sync would be caught."""
    assert _losses(tmp_path, forgotten, step=3)
