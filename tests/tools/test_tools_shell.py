"""The shell tool: off unless allowed, limited, without the user's environment, sandboxed where that is possible."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from manusfs.errors import ToolError
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


def test_the_sandbox_names_folders_by_descriptor_alone(tmp_path: Path) -> None:
    """I7: a link in place of notes/ would be followed by its name; what is bound was opened without following any."""
    made = sandboxed("/usr/bin/bwrap", 7, [("notes", 9)])
    assert "--unshare-all" in made and "--die-with-parent" in made and "--clearenv" in made and made[-1] == "--"
    assert made[made.index("/proc/self/fd/7") - 1 :][:3] == ["--ro-bind", "/proc/self/fd/7", "/workspace"]
    assert made[made.index("/proc/self/fd/9") - 1 :][:3] == ["--bind", "/proc/self/fd/9", "/workspace/notes"]
    assert not any(str(tmp_path) in word for word in made)
    assert bubblewrap(str(tmp_path)) == ""


PROGRAM = bubblewrap(os.environ.get("BWRAP_PATH", "/usr/local/bin:/usr/bin:/bin"))


def sandbox(folder: Path, command: str) -> Ran:
    with Root(folder) as root:
        return run(root, command, LIMITS, PROGRAM)


@pytest.mark.skipif(not PROGRAM, reason="bubblewrap is not installed, or the system lets it make no sandbox")
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
