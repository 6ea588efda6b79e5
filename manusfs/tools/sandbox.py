"""Runs one command of the model: limits on time, memory, files and output, no environment, bubblewrap where it is."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from manusfs.errors import NotFound, PathRefused, StorageError
from manusfs.workspace.paths import Root

__all__ = ["Limits", "Ran", "bubblewrap", "run", "sandboxed"]

_PATH = "/usr/local/bin:/usr/bin:/bin"
_ENVIRONMENT = {"PATH": _PATH, "LANG": "C.UTF-8", "TERM": "dumb"}
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
_WRITABLE = ("notes", "reports")
_INSIDE = "/workspace"
# dash calls the limit on processes -p, bash calls it -u; where neither is known the others hold all the same.
_LIMITED = (
    'ulimit -c 0; ulimit -t "$1"; ulimit -v "$2"; ulimit -f "$3"; ulimit -n 256; '
    'ulimit -u "$4" 2>/dev/null || ulimit -p "$4" 2>/dev/null; shift 4; exec "$@"'
)
_SAME = (
    'while [ "$1" != -- ]; do [ "$(stat -c %d:%i "$1")" = "$2" ] || '
    '{ echo "$1 is not the folder that was opened"; exit 126; }; shift 2; done; shift; exec "$@"'
)
_PROCESSES = 256
_GRACE_S = 2.0
_TRIAL_S = 10.0
_SET_DUMPABLE = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command may take. `memory_mb` counts for each of its processes, and for each file that it writes."""

    seconds: float
    output_bytes: int
    memory_mb: int


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a command: standard output and errors as they came, mixed, and how it ended."""

    output: bytes
    code: int
    """Exit code, negative for a signal."""
    stopped: str = ""
    """Which limit ended it, empty when it ended by itself."""
    sandbox: str = ""
    """"bubblewrap", or empty when it ran with the user's rights."""
    unheld: str = ""
    """Why it ran with the user's rights."""


def bubblewrap(path: str = _PATH) -> tuple[str, str]:
    """Return where bubblewrap is and an empty text, or an empty one and why there is no sandbox.

    Raises:
        StorageError: it is there and does not answer: what it would hold must not run without it for that.
    """
    found = shutil.which("bwrap", path=path)
    if found is None:
        return "", "bubblewrap is not installed here"
    command = [found, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true"]
    try:
        done = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, timeout=_TRIAL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageError(
            f"the sandbox did not start: {error}", hint="the machine is busy or at a limit; try again later"
        ) from error
    if done.returncode == 0:
        return found, ""
    told = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
    return "", f"bubblewrap is installed, but the system lets it make no sandbox ({told or f'code {done.returncode}'})"


def sandboxed(program: str, workspace: int, writable: Sequence[tuple[str, int]]) -> list[str]:
    """Return the beginning of a command that runs the rest in a sandbox of `program`, bubblewrap.

    The folders are given by descriptor, and what is bound by their names is held against them before anything runs, so
    that no link put among the names leads elsewhere. No descriptor is handed on: from one of a folder the command could
    walk to its parent, in the world outside. Inside are the programs of the system, an empty /tmp, the workspace to
    read, and the `writable` folders of it; no network, no other process, no home, nothing of /proc to write: root could
    set the machine's kernel there.
    """
    made = [program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in {**_ENVIRONMENT, "HOME": "/tmp"}.items():  # noqa: S108 (the sandbox's own)
        made += ["--setenv", name, value]
    for place in _SYSTEM:
        made += ["--ro-bind-try", place, place]
    made += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108 (as above)
    expected: list[str] = []
    for how, place, fd in (
        ("--ro-bind", _INSIDE, workspace),
        *(("--bind", f"{_INSIDE}/{name}", fd) for name, fd in writable),
    ):
        made += [how, os.readlink(f"/proc/self/fd/{fd}"), place]  # noqa: PTH115 (a name for another program)
        status = os.fstat(fd)
        expected += [place, f"{status.st_dev}:{status.st_ino}"]
    return [*made, "--chdir", _INSIDE, "--", "/bin/sh", "-c", _SAME, "sh", *expected, "--"]


def run(root: Root, command: str, limits: Limits, program: str | None = None) -> Ran:
    """Return what `command` gave, run by `/bin/sh` in the workspace `root`.

    `program` is bubblewrap; None looks for it, empty runs the command with the user's rights, in limits all the same.
    Whatever it started is killed with it; without a sandbox a process that left its group gets away.

    Raises:
        StorageError: it could not be started.
    """
    program, unheld = bubblewrap() if program is None else (program, "" if program else "none was asked for")
    if not program:
        _hide_environment()
    with ExitStack() as held:
        workspace = _held(held, root, "")
        writable = [(name, fd) for name in _WRITABLE if (fd := _held(held, root, name)) >= 0] if program else []
        front = sandboxed(program, workspace, writable) if program else []
        most = str(max(1, limits.memory_mb))
        sizes = [str(max(1, round(limits.seconds))), f"{most}000", str(max(1, limits.memory_mb) * 2_000)]
        limited = ["/bin/sh", "-c", _LIMITED, "sh", *sizes, str(_PROCESSES + _running())]
        try:
            child = subprocess.Popen(
                [*limited, *front, "/bin/sh", "-c", command],
                cwd=f"/proc/self/fd/{workspace}" if not program else "/",
                env={**_ENVIRONMENT, "HOME": "/nonexistent"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise StorageError(f"the command could not be started: {error}") from error
        with child:
            output, stopped = _collected(child, limits)
    return Ran(output, child.returncode, stopped, "bubblewrap" if program else "", unheld)


def _hide_environment() -> None:
    """Let no other process of this user read our environment, where the keys are, or our memory; root may all the same.

    Without a sandbox the command could else find them in /proc/<our number>/environ.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def _held(held: ExitStack, root: Root, name: str) -> int:
    try:
        fd = root.open_dir(name)
    except (NotFound, PathRefused):
        return -1
    held.callback(os.close, fd)
    return fd


def _running() -> int:
    """Return how many processes there are: the limit counts those of the user, not of the command alone."""
    try:
        return sum(name.isdecimal() for name in os.listdir("/proc"))  # noqa: PTH208 (names alone, no files)
    except OSError:
        return 4_096


def _collected(child: subprocess.Popen[bytes], limits: Limits) -> tuple[bytes, str]:
    """Return the output of `child`, at most what is allowed, and which limit stopped it; it has ended then."""
    pipe = child.stdout.fileno() if child.stdout is not None else -1
    until = time.monotonic() + limits.seconds
    pieces, size, stopped = [], 0, ""
    while True:
        left = until - time.monotonic()
        if left <= 0:
            stopped = f"time limit of {limits.seconds:g} s (shell_seconds)"
            break
        if not select.select([pipe], [], [], min(left, 0.2))[0]:
            if child.poll() is not None:
                break  # what it left behind may hold the pipe open
            continue
        piece = os.read(pipe, 65_536)
        if not piece:
            break
        pieces.append(piece[: limits.output_bytes - size])
        size += len(piece)
        if size > limits.output_bytes:
            stopped = f"output limit of {limits.output_bytes} bytes (shell_output_bytes)"
            break
    _end(child, until if not stopped else 0.0)
    if not stopped and child.returncode in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
        stopped = f"limit of {limits.seconds:g} s of CPU (shell_seconds)"
    return b"".join(pieces), stopped


def _end(child: subprocess.Popen[bytes], until: float) -> None:
    """Wait for `child` until then, and kill it and its group."""
    try:
        child.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    try:
        child.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
