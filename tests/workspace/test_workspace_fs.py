"""The seam tells failures in plain words and writes everything."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from manusfs.errors import StorageError
from manusfs.workspace import FileSystem, storage_error


def test_a_full_disk_is_named_with_the_file_and_a_way_out() -> None:
    """I9: the real error of the system, from the device that is always full."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    fd = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(StorageError, match=r"dev/full.*no space is left") as caught:
            FileSystem().write(fd, b"x")
    finally:
        os.close(fd)
    assert "free some space" in caught.value.hint


@pytest.mark.parametrize("number", [errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO, errno.EMFILE, errno.EXDEV])
def test_every_reason_reads_as_words(number: int) -> None:
    error = storage_error(OSError(number, "x"), "write to", "notes.md")
    assert "can't write to 'notes.md': " in str(error)
    assert "[Errno" not in str(error)


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:3]))
    fs, folder = FileSystem(), os.open(tmp_path, os.O_RDONLY)
    fd = fs.create(folder, "f")
    fs.write(fd, b"0123456789")
    fs.close(fd)
    os.close(folder)
    assert (tmp_path / "f").read_bytes() == b"0123456789"


def test_the_outcomes_that_callers_judge_come_as_they_are(tmp_path: Path) -> None:
    fs, folder = FileSystem(), os.open(tmp_path, os.O_RDONLY)
    fs.mkdir(folder, "d")
    fs.mkdir(folder, "e")
    fs.close(fs.create(folder, "f"))
    (tmp_path / "e/x").write_text("x")
    for call in (
        lambda: fs.mkdir(folder, "d"),
        lambda: fs.create(folder, "f"),
        lambda: fs.rename(folder, "d", folder, "e"),
    ):
        with pytest.raises(FileExistsError):
            call()
    for name, error in (("nothing", FileNotFoundError), ("d", IsADirectoryError)):
        with pytest.raises(error):
            fs.append(folder, name)
    with pytest.raises(StorageError, match=r"'.*nothing': the file or its folder is not there"):
        fs.unlink(folder, "nothing")
    os.close(folder)


def test_files_and_folders_are_synced_together_and_all_are_waited_for(tmp_path: Path) -> None:
    """I1: one refusal among many syncs is told, after the others are done with their descriptors."""

    class Slow(FileSystem):
        def __init__(self) -> None:
            self.done: list[int] = []

        def sync(self, fd: int) -> None:
            if fd == bad:
                raise StorageError("the disk reports an error")
            time.sleep(0.01)
            super().sync(fd)
            self.done.append(fd)

    files = [os.open(tmp_path / f"{number}", os.O_CREAT | os.O_WRONLY) for number in range(20)]
    folder = os.open(tmp_path, os.O_RDONLY)
    bad, disk = files[3], Slow()
    with pytest.raises(StorageError):
        disk.sync_all(files, [folder])
    assert sorted(disk.done) == sorted({*files} - {bad})
    bad = -1
    disk.sync_all(files, [folder])
    disk.sync_all(files[:1])
    disk.sync_all([], [folder])
    for fd in (*files, folder):
        os.close(fd)
