"""The entry point: the table of commands, loaded when wanted, and how an error becomes a message and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from manusfs.cli.named import work_in
from manusfs.cli.out import complain
from manusfs.cli.types import FolderPath
from manusfs.cli.usage import usage_hint, usage_message
from manusfs.errors import ManusfsError, StorageError, UsageError
from manusfs.version import __version__

__all__ = ["COMMANDS", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("manusfs.cli.workspace_cmd:init", "Make a workspace in a folder."),
    "run": ("manusfs.cli.run_cmd:run", "Work on a task and write a cited report."),
    "resume": ("manusfs.cli.run_cmd:resume", "Go on with a session."),
    "add": ("manusfs.cli.add_cmd:add", "Store pages and files without a run."),
    "ls": ("manusfs.cli.look_cmd:ls", "List observations, notes, sessions or reports."),
    "read": ("manusfs.cli.read_cmd:read", "Print the bytes behind a ref, path or URL."),
    "search": ("manusfs.cli.look_cmd:search", "Find passages in everything that was seen."),
    "show": ("manusfs.cli.session_cmd:show", "Show what happened in a session."),
    "context": (
        "manusfs.cli.session_cmd:context",
        "Print the exact request at a step of a session, or what fills its window.",
    ),
    "stats": ("manusfs.cli.session_cmd:stats", "Sum up sizes, tokens and cost."),
    "compact": ("manusfs.cli.compact_cmd:compact", "Fold the older part of a session now, however full its window is."),
    "undo": (
        "manusfs.cli.compact_cmd:undo",
        "Take back a compaction: the N-th newest that stands, by default the newest.",
    ),
    "note": ("manusfs.cli.look_cmd:note", "Write a note."),
    "cite": ("manusfs.cli.check_cmd:cite", "Check a report's quotes against the stored bytes."),
    "verify": ("manusfs.cli.check_cmd:verify", "Check every stored byte and every ref."),
    "index": ("manusfs.cli.check_cmd:index", "Make the index anew."),
    "gc": ("manusfs.cli.gc_cmd:gc", "List what nothing refers to, ask, and free it."),
    "replay": ("manusfs.cli.replay_cmd:replay", "Replay recorded runs under each compaction policy and measure them."),
    "skills": ("manusfs.cli.skills_cmd:skills", "Say which skills there are and why each may be used or not."),
    "agents": ("manusfs.cli.agents_cmd:agents", "Say which agents there are, and whether each may be used."),
    "trust": (
        "manusfs.cli.workspace_cmd:trust",
        "Approve the skills and agents of a folder, and the settings of one that is not yours.",
    ),
    "config": ("manusfs.cli.workspace_cmd:config", "Print each setting and where it came from."),
    "doctor": ("manusfs.cli.doctor_cmd:doctor", "Check this installation."),
    "completion": ("manusfs.cli.completion_cmd:completion", "Print a shell completion script."),
    "demo": ("manusfs.cli.demo_cmd:demo", "Run the main job on files that ship with manusfs: no key, no network."),
}
"""Name, where it is, and its line in `--help`: so that help loads none of them."""


class _Lazy(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        import difflib

        work_in(ctx.params.get("workspace") or "")  # the group's own function runs only for a command that exists
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        if not near:  # letters that changed places count little there
            near = [command for command in COMMANDS if sorted(command) == sorted(name)]
        hint = f"manusfs {near[0]}" if near else "manusfs --help"
        raise UsageError(f"there is no command {name!r}", hint=hint)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="manusfs")
@click.option(
    "-w",
    "--workspace",
    type=FolderPath(),
    metavar="DIR",
    help="Workspace to use; default: MANUSFS_WORKSPACE, else here or above.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on stderr but errors.")
@click.pass_context
def _cli(context: click.Context, workspace: str | None, quiet: bool) -> None:
    """A research agent whose memory is a folder: nothing it has seen is ever lost.

    \b
    Examples:
      manusfs demo
      manusfs run "What changed in 2.0?" --source https://example.org/changes
      manusfs resume
      manusfs search "rate limit" --json

    Exit codes: 0 done, 1 failed, 2 usage, 3 finished without enough support, 12 damage found, 69 network or model
    unavailable, 75 stopped at a limit or locked (resumable), 78 settings, key or workspace missing, 130 interrupted
    (resumable).
    """
    context.obj = {**(context.obj or {}), "workspace": workspace, "quiet": quiet}
    work_in(workspace or "")


def _usual_hint(error: ManusfsError) -> str:
    """Return the second line for an error that brings none."""
    if isinstance(error, StorageError):
        return "check that it is there, and who may read and write it"
    return "try again later" if error.transient else "`manusfs doctor` looks for what may be wrong here"


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with a documented code; never with a traceback."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Closed by who called us: what would be said goes nowhere.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        # A terminal of another encoding shows an escape in place of what it has no sign for.
        getattr(sys, name).reconfigure(errors="backslashreplace")
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code: Any = _cli.main(
            list(given),
            prog_name="manusfs",
            standalone_mode=False,
            complete_var="_MANUSFS_COMPLETE",
            obj={"arguments": tuple(given)},  # for hints that repeat them
        )
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except ManusfsError as error:
        complain(str(error), error.hint or _usual_hint(error))
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help(), err=True)
        return error.exit_code
    except click.ClickException as error:
        complain(usage_message(error), usage_hint(error))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted", _after_a_stop(given))
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("MANUSFS_DEBUG"):
            raise
        complain(*_unexpected(error))
        return 1


def _after_a_stop(given: Sequence[str]) -> str:
    if not {"run", "resume", "demo"}.isdisjoint(given):
        return "`manusfs resume` goes on with a session that has begun; else run the same command again"
    return "nothing is half-done: run the same command again"


def _unexpected(error: Exception) -> tuple[str, str]:
    """Return message and hint of what no part of the package foresaw; limits of the system are no mistake of ours."""
    again = "raise the limit (`ulimit -a`) or end other programs, then run the same command again"
    if isinstance(error, MemoryError):
        return "there is no memory left", again
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "the system lets this process start no more threads", again
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        what = "can't write the output" if not error.filename else f"can't write {error.filename!r}"
        return (
            f"{what}: {error.strerror}",
            "free some space there, then run the same command again; what is stored is whole",
        )
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename!r})" if error.filename else ", reading input or writing output"
        return f"the system refused: {error.strerror}{where}", "set MANUSFS_DEBUG=1 for the details"
    return f"internal error: {type(error).__name__}: {error}", "set MANUSFS_DEBUG=1 for the details, and report it"
