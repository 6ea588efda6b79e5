"""The tool that runs a command, where the user allows it."""

from __future__ import annotations

from manusfs.errors import ToolError
from manusfs.records import Fetched, Source
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import tool

__all__ = ["shell"]


@tool(writes=True)
def shell(env: ToolEnv, command: str, timeout: int | None = None) -> Fetched:
    """Run a command with /bin/sh in the workspace, for what no other tool does: count, compare, convert, compute.

    What it prints, output and errors together, is kept in the workspace like a page, with the exit code as its last
    line. There is no network, no terminal and nothing to type into. The workspace is there to read; only notes/ and
    reports/ may be written, and /tmp, which is empty at the start of every command. Stored texts are files: the path
    in a stub is where they are. A command that takes too long or prints too much is stopped.

    Args:
        command: One command line, for example: grep -c "opened" observations/web/example.org/*/text.md
        timeout: Seconds after which it is stopped, when less than the limit will do.
    """
    settings = env.settings
    if not settings.shell:
        raise ToolError("commands are not allowed in this workspace", retry=False, hint="use the other tools")
    if not command.strip() or "\0" in command:
        raise ToolError("`command` is empty or has a NUL")
    if timeout is not None and timeout < 1:
        raise ToolError("`timeout` is a number of seconds from 1")
    from manusfs.tools.sandbox import Limits, run

    seconds = min(timeout or settings.shell_seconds, settings.shell_seconds)
    done = run(
        env.workspace.folder.root, command, Limits(seconds, settings.shell_output_bytes, settings.shell_memory_mb)
    )
    notes = [] if done.sandbox else [f"run without a sandbox: {done.unheld}"]
    if done.stopped:
        notes.insert(0, f"stopped at its {done.stopped}; what it printed until then is kept")
    end = b"" if not done.output or done.output.endswith(b"\n") else b"\n"
    # The code is part of what came: the same words with another code are another result.
    raw = done.output + end + f"[{_ending(done.code, done.stopped)}]\n".encode()
    source = Source.call("shell", {"command": command})
    return Fetched(source, raw, "text/plain", "utf-8", "output.txt", notes=tuple(notes))


def _ending(code: int, stopped: str) -> str:
    if stopped:
        return f"stopped: {stopped}"
    return f"exit code {code}" if code >= 0 else f"ended by signal {-code}"
