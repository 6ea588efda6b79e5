"""The shell tool: off unless allowed, limited, without the user's environment, sandboxed where that is possible."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from manusfs.errors import StorageError, ToolError
from manusfs.memory import Workspace
from manusfs.records import Fetched
from manusfs.tools import TOOLS, ToolBox
from manusfs.tools.sandbox import Limits, Ran, bubblewrap, run, sandboxed
from manusfs.workspace import Root
from manusfs.workspace.settings import OWNER_ONLY, PINNED, Settings, load

LIMITS = Limits(10, 100_000, 1_024)


class ShellEnv:
    """What the tool needs of an agent."""

    def __init__(self, workspace: Workspace, **settings: Any) -> None:
        self.workspace = workspace
        self.settings = Settings(**settings)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "w") as made:
        made.note("A finding.\n", "one")
        yield made


def shell(workspace: Workspace, command: str, timeout: int | None = None, **settings: Any) -> Fetched:
    made = TOOLS.load("shell").run(ShellEnv(workspace, **{"shell": True, **settings}), command, timeout)
    assert isinstance(made, Fetched)
    return made


def test_it_is_off_and_not_even_offered_until_its_owner_allows_it(workspace: Workspace) -> None:
    """Promise 15: no folder can turn it on, and a call that is made all the same is refused."""
    assert not Settings().shell
    assert "shell" not in ToolBox().names and "shell" in ToolBox(settings=Settings(shell=True)).names
    assert {"shell", "shell_seconds", "shell_output_bytes", "shell_memory_mb"} <= OWNER_ONLY & PINNED
    strange = load(workspace={"format": 1, "shell": True}, trusted=False)
    assert not strange.settings.shell and "`shell`" in strange.warnings[0]
    with pytest.raises(ToolError, match="not allowed"):
        shell(workspace, "true", shell=False)


def test_output_errors_and_code_are_one_observation(workspace: Workspace) -> None:
    fetched = shell(workspace, "echo out; echo err >&2; exit 3")
    assert fetched.raw == b"out\nerr\n[exit code 3]\n" and fetched.source.tool == "shell"
    (taken,) = workspace.intake.take([fetched], "20261130-aaaa", ["toolu_1"])
    assert taken.status == "new" and "exit code 3" in taken.text
    assert workspace.read(f"obs:{taken.meta.id}", raw=True).data == fetched.raw
    assert shell(workspace, "printf 'no newline'").raw == b"no newline\n[exit code 0]\n"
    assert shell(workspace, "kill -9 $$").raw.startswith(b"[")


def test_it_has_no_key_and_no_home(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise 12, 15: the environment is made, not handed on."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret-key-1234")
    monkeypatch.setenv("LD_PRELOAD", "")
    told = shell(workspace, "env; cat /proc/self/environ | tr '\\0' '\\n'").raw
    assert b"very-secret" not in told and b"ANTHROPIC" not in told and str(Path.home()).encode() not in told
    names = {line.partition("=")[0] for line in told.decode().splitlines() if "=" in line}
    assert names <= {"PATH", "LANG", "TERM", "HOME", "PWD", "OLDPWD", "_", "SHLVL"}


@pytest.mark.skipif(sys.platform != "linux", reason="what one process may see of another is asked of Linux here")
def test_without_a_sandbox_our_own_environment_is_hidden_from_the_command(tmp_path: Path) -> None:
    """Promise 12: /proc/<parent>/environ holds the keys; only root may read that of a process that is not dumpable."""
    libc = ctypes.CDLL(None)
    libc.prctl(4, 1, 0, 0, 0)
    with Root(tmp_path) as root:
        told = run(root, "cat /proc/$PPID/environ", LIMITS, "").output
    assert libc.prctl(3, 0, 0, 0, 0) == 0
    assert os.getuid() == 0 or b"denied" in told
    libc.prctl(4, 1, 0, 0, 0)


def test_it_can_not_wait_for_a_person(workspace: Workspace) -> None:
    assert shell(workspace, "cat; read line; echo $?; tty").raw.startswith(b"1\nnot a tty")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo first; sleep 60", b"time limit of 1 s"),
        ("echo first; while :; do :; done", b"stopped: "),
        ("echo first; (sleep 60 &) ; sleep 60", b"time limit"),
        ("echo first; yes", b"output limit of 100000 bytes"),
        ("echo first; cat /dev/zero", b"output limit"),
        ("trap '' TERM INT HUP XCPU; echo first; sleep 60", b"time limit"),
    ],
)
def test_what_takes_too_much_is_stopped_and_what_came_is_kept(workspace: Workspace, command: str, told: bytes) -> None:
    began = time.monotonic()
    fetched = shell(workspace, command, timeout=1, shell_output_bytes=100_000)
    assert fetched.raw.startswith(b"first\n") and told in fetched.raw.splitlines()[-1]
    assert len(fetched.raw) < 101_000 and "stopped at its" in fetched.notes[0]
    assert time.monotonic() - began < 30


@pytest.mark.slow
def test_nothing_it_started_goes_on(tmp_path: Path) -> None:
    """In its group a child that was put into the background ends with it."""
    with Root(tmp_path) as root:
        mark = tmp_path / "mark"
        done = run(root, f"(sleep 2; echo alive > {mark}) & echo started", LIMITS, "")
    assert done.output == b"started\n" and done.sandbox == ""
    time.sleep(2.5)
    assert not mark.exists()


@pytest.mark.parametrize(
    "command",
    [
        "head -c 2000000000 /dev/zero | tail -c 1900000000 | wc -c",
        "head -c 600000000 /dev/zero > big; ls -l big | cut -d' ' -f5",
    ],
)
def test_memory_and_files_have_limits(tmp_path: Path, command: str) -> None:
    with Root(tmp_path) as root:
        done = run(root, command, Limits(30, 10_000, 100), "")
    assert b"1900000000" not in done.output and b"600000000" not in done.output
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 110 << 20


def test_open_files_and_core_files_have_limits(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        assert run(root, "ulimit -n; ulimit -c", LIMITS, "").output == b"256\n0\n"


def test_a_command_line_that_is_none_is_refused(workspace: Workspace) -> None:
    for command, timeout in (("", None), ("  ", None), ("a\0b", None), ("true", 0)):
        with pytest.raises(ToolError):
            shell(workspace, command, timeout)
    assert b"not found" in shell(workspace, "no-such-program-anywhere").raw
    assert "the longest" not in str(shell(workspace, ": " + "x" * 100_000).notes)


def test_why_there_is_no_sandbox_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise 15: not installed and not allowed are two things; one that hangs lets nothing run without it."""
    assert bubblewrap(str(tmp_path)) == ("", "bubblewrap is not installed here")
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2; exit 1\n")
    fake.chmod(0o755)
    assert "lets it make no sandbox (setting up uid map: Permission denied)" in bubblewrap(str(tmp_path))[1]
    fake.write_text("#!/bin/sh\nexec sleep 20\n")
    monkeypatch.setattr("manusfs.tools.sandbox._TRIAL_S", 0.2)
    with pytest.raises(StorageError, match="did not start"):
        bubblewrap(str(tmp_path))


PROGRAM, UNHELD = bubblewrap(os.environ.get("BWRAP_PATH", "/usr/local/bin:/usr/bin:/bin"))


def sandbox(folder: Path, command: str) -> Ran:
    with Root(folder) as root:
        return run(root, command, LIMITS, PROGRAM)


@pytest.mark.skipif(not PROGRAM, reason=UNHELD)
def test_in_the_sandbox_there_is_no_network_and_nothing_to_break(tmp_path: Path) -> None:
    """Promise 15: the workspace is there to read, notes/ and reports/ to write, and nothing else of the machine."""
    folder = tmp_path / "w"
    with Workspace.create(folder) as made:
        made.add_bytes(b"kept", "paste")
    (tmp_path / "outside").write_text("SECRET")
    (folder / "link").symlink_to(tmp_path / "outside")
    shutil.rmtree(folder / "reports")
    (folder / "reports").symlink_to(tmp_path)
    done = sandbox(folder, "cat manusfs.toml >/dev/null && echo read; echo x > notes/x && echo note; pwd")
    assert done.sandbox == "bubblewrap" and done.output == b"read\nnote\n/workspace\n"
    assert (folder / "notes/x").read_text() == "x\n"
    for command in (
        "echo x >> manusfs.toml",
        "rm -rf observations sessions",
        "echo x > reports/x",
        "cat link",
        f"cat {tmp_path}/outside",
        "cat /etc/passwd ~root/.bashrc",
        "echo x > /usr/x",
        "cat /sys/class/net/*/address | grep -v 00:00:00:00:00:00",
        "kill -0 1 && ls /proc | grep -c '^[0-9]*$' | grep -v '^[1-9]$'",
    ):
        told = sandbox(folder, f"({command}) 2>&1 && echo DONE")
        assert b"DONE" not in told.output and b"SECRET" not in told.output, command
    assert not (tmp_path / "x").exists() and (folder / "observations").is_dir()
    assert b"1\n" in sandbox(folder, "cat /proc/net/dev | grep -c :").output


@pytest.mark.skipif(not PROGRAM, reason=UNHELD)
@pytest.mark.parametrize(
    "command",
    [
        "for fd in /proc/self/fd/*; do cat $fd/../outside; echo x >> $fd/manusfs.toml; done",
        "ls -l /proc/*/fd | grep -F $(basename $PWD)",
        "for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do : >> $f && echo OPEN; done",
        "for at in /proc/[0-9]*; do ls -d ${at}/roo[t]/home $at/cwd/../home; done",
        "cat /dev/tty; echo x > /dev/tty",
    ],
)
def test_nothing_that_was_handed_on_or_that_root_may_leads_out_of_the_sandbox(tmp_path: Path, command: str) -> None:
    """I7, promise 15: no descriptor of a folder (its parent is outside), and no switch of the kernel in /proc."""
    with Workspace.create(tmp_path / "w"):
        (tmp_path / "outside").write_text("SECRET")
        settings = (tmp_path / "w/manusfs.toml").read_bytes()
        told = sandbox(tmp_path / "w", f"({command}) 2>/dev/null; true")
    assert b"SECRET" not in told.output and b"OPEN" not in told.output and str(tmp_path).encode() not in told.output
    assert told.code == 0 and told.sandbox and (tmp_path / "w/manusfs.toml").read_bytes() == settings


@pytest.mark.skipif(not PROGRAM, reason=UNHELD)
def test_a_folder_that_becomes_a_link_before_the_sandbox_stands_is_not_bound(tmp_path: Path) -> None:
    """I7: bubblewrap binds by name; what it bound must be what was opened without following a link."""
    (tmp_path / "w/notes").mkdir(parents=True)
    (tmp_path / "elsewhere/notes").mkdir(parents=True)
    held = [os.open(tmp_path / name, os.O_RDONLY | os.O_DIRECTORY) for name in ("w", "w/notes")]
    front = sandboxed(PROGRAM, held[0], [("notes", held[1])])
    command = [*front, "/bin/sh", "-c", "echo x > notes/x"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    (tmp_path / "w").rename(tmp_path / "was")
    (tmp_path / "w").symlink_to("elsewhere")
    assert b"not the folder" in subprocess.run(command, check=False, capture_output=True).stdout
    (tmp_path / "w").unlink()
    (tmp_path / "was").rename(tmp_path / "w")
    (tmp_path / "w/notes").rename(tmp_path / "w/was")
    (tmp_path / "w/notes").symlink_to("../elsewhere/notes")
    assert subprocess.run(command, check=False, capture_output=True).returncode
    assert not list((tmp_path / "elsewhere/notes").iterdir())
    for fd in held:
        os.close(fd)


@pytest.mark.skipif(not PROGRAM, reason=UNHELD)
def test_what_left_its_group_ends_with_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert sandbox(tmp_path, "setsid sh -c 'sleep 1; echo x > notes/mark' & echo started").output == b"started\n"
    time.sleep(1.5)
    assert not (tmp_path / "notes/mark").exists()
