"""Who may write at one time: threads, processes, and what a dead process leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from manusfs.errors import Locked
from manusfs.workspace import Root, lock_session, lock_workspace, short_lock


def test_shared_work_goes_together_and_repair_waits(tmp_path: Path) -> None:
    with Root(tmp_path) as one, Root(tmp_path) as two:
        with lock_workspace(one, shared=True), lock_workspace(two, shared=True):
            with pytest.raises(Locked, match="in use") as caught:
                lock_workspace(two, shared=False)
            assert caught.value.exit_code == 75
            assert caught.value.hint
            with pytest.raises(Locked, match="in use"):
                lock_workspace(one, shared=False)
        with lock_workspace(one, shared=False), pytest.raises(Locked, match="being repaired"):
            lock_workspace(two, shared=True)
        lock_workspace(two, shared=True).release()


def test_a_program_may_repair_what_it_has_open_itself(tmp_path: Path) -> None:
    with Root(tmp_path) as one, Root(tmp_path) as two:
        with lock_workspace(one, shared=True):
            with lock_workspace(one, shared=False), lock_workspace(one, shared=True), pytest.raises(Locked):
                lock_workspace(two, shared=True)
            with lock_workspace(two, shared=True), pytest.raises(Locked):
                lock_workspace(one, shared=False)
            with pytest.raises(Locked):
                lock_workspace(two, shared=False)
        lock_workspace(two, shared=False).release()


def test_a_session_is_held_by_one_descriptor(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        root.write_atomic("t", b"")
        first, second = root.append_to("t"), root.append_to("t")
        lock_session(first, "s1")
        with pytest.raises(Locked, match="s1 is being written") as caught:
            lock_session(second, "s1")
        assert "resume" in caught.value.hint
        os.close(first)
        lock_session(second, "s1")
        os.close(second)


def test_numbers_taken_under_the_short_lock_are_never_taken_twice(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        root.write_atomic("n", b"0")

        def count() -> None:
            for _ in range(20):
                with short_lock(root):
                    root.write_atomic("n", str(int(root.read("n")) + 1).encode())

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert root.read("n") == b"80"


def test_a_short_lock_that_never_comes_free_is_told(tmp_path: Path) -> None:
    with Root(tmp_path) as root, short_lock(root), pytest.raises(Locked, match="numbering"), short_lock(root, 0.05):
        pass


_HOLD = """
import sys
from manusfs.workspace import Root
root = Root(sys.argv[1])
fd = root.fs.create(root.staging.fd, "half")
root.fs.write(fd, b"half a file")
print("ready", flush=True)
sys.stdin.read()
"""


def test_leftovers_of_a_dead_process_go_and_those_of_a_living_one_stay(tmp_path: Path) -> None:
    living, dead = (
        subprocess.Popen([sys.executable, "-c", _HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    )
    try:
        for process in (living, dead):
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        with Root(tmp_path) as root:
            root.write_atomic("x", b"x")
            left = list(root.walk(".manusfs/tmp"))
        assert [path.split("/")[2].split("-")[0] for path in left] == [str(living.pid)]
    finally:
        for process in (living, dead):
            process.kill()
            process.communicate()


def test_closing_leaves_nothing_behind(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        root.write_atomic("x", b"x")
    assert list((tmp_path / ".manusfs/tmp").iterdir()) == []
