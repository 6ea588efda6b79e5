"""`run` and `resume`: the main job, and going on with it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from manusfs.cli.app import App, Keys
from manusfs.cli.out import data, emit, say, talk
from manusfs.errors import NoWorkspace, UsageError
from manusfs.workspace.trust import settings_pin

if TYPE_CHECKING:
    from manusfs.agent import Agent, AgentEvent, Result
    from manusfs.memory import Workspace

__all__ = ["agent_for", "limits", "perform", "resume", "run"]

_F = TypeVar("_F", bound=Callable[..., Any])


def limits(command: _F) -> _F:
    """Give `command` the options that a run and its resumption share."""
    options = (
        click.option("--model", metavar="NAME", help="Model to ask; `offline` needs no key and no network."),
        click.option("--base-url", metavar="URL", help="Server that speaks the Messages API."),
        click.option("--policy", metavar="NAME", help="Compaction policy."),
        click.option("--max-turns", type=click.IntRange(0), help="Stop after this many replies; 0 for no limit."),
        click.option(
            "--max-tokens-total", "max_total_tokens", type=click.IntRange(0), help="Stop after this many tokens."
        ),
        click.option("--max-seconds", type=click.IntRange(0), help="Stop after this many seconds."),
        click.option("--max-pages", type=click.IntRange(0), help="Pages that the offline model may follow."),
        click.option(
            "--budget", "max_usd", type=click.FloatRange(0), metavar="USD", help="Stop when this much is spent."
        ),
        click.option(
            "--allow-host", "allow_hosts", multiple=True, metavar="HOST", help="Reach HOST although not public."
        ),
        click.option("--json", "as_json", is_flag=True, help="One JSON object an event; the last line is the result."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("task")
@click.option(
    "--source", "sources", multiple=True, metavar="URL|FILE", help="A page or file to work from; may be repeated."
)
@limits
@click.pass_context
def run(context: click.Context, /, task: str, sources: tuple[str, ...], as_json: bool, **flags: Any) -> None:
    """Work on a task and write a cited report.

    Without a workspace here or above, one is made in a dated folder. "-" as a source, or as TASK, is standard input.

    \b
    Examples:
      manusfs run "What changed in 2.0?" --source https://example.org/changes
      manusfs run "Who signed it, and when?" --source contract.pdf --model offline
      git log | manusfs run "Which commits touch the parser?" --source -

    Exit codes: 0 done, 1 failed, 2 usage, 3 finished without enough support, 69 network or model unavailable, 75
    stopped at a limit (resumable), 78 settings or key missing, 130 interrupted (resumable).
    """
    app = App(context)
    if task == "-":
        task = _standard_input().decode("utf-8", "replace")
    if not task.strip():
        raise UsageError("the task is empty", hint='say what to find out: manusfs run "…"')
    given = [_standard_input() if source == "-" else source for source in sources]
    with _workspace(app, _given(flags)) as workspace:
        code = perform(context, workspace, lambda agent: agent.run(task, given), as_json=as_json, flags=_given(flags))
    context.exit(code)


@click.command()
@click.argument("session", required=False)
@click.argument("message", required=False)
@limits
@click.pass_context
def resume(context: click.Context, /, session: str | None, message: str | None, as_json: bool, **flags: Any) -> None:
    """Go on with a session.

    The latest, or SESSION, with MESSAGE if there is something to add.

    \b
    Examples:
      manusfs resume
      manusfs resume 20261130-ab12 "Now compare it with last year."

    Exit codes: as for `run`.
    """
    app = App(context)
    with app.open(_given(flags)) as workspace:
        code = perform(
            context, workspace, lambda agent: agent.resume(session, message), as_json=as_json, flags=_given(flags)
        )
    context.exit(code)


def perform(
    context: click.Context,
    workspace: Workspace,
    work: Callable[[Agent], Result],
    *,
    as_json: bool,
    flags: Mapping[str, Any],
) -> int:
    """Do `work` with live output, print what came of it, and return the exit code."""
    from manusfs.agent import Interrupt
    from manusfs.cli.live import Live

    stop = Interrupt()
    quiet = bool((context.find_root().obj or {}).get("quiet"))
    with _stopped_by(stop.press), Live(quiet=quiet or as_json) as live:
        result = work(agent_for(App(context), workspace, _emit if as_json else live, stop))
    if as_json:
        emit(result.to_json())
    else:
        _print(context, result)
    return result.exit_code


@contextmanager
def _stopped_by(press: Callable[..., None]) -> Iterator[None]:
    """Let Ctrl-C, a polite kill and a closed terminal call `press`; a signal that is ignored (nohup) stays so."""
    wanted = [s for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) != signal.SIG_IGN]
    before = [(number, signal.signal(number, press)) for number in wanted]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def agent_for(app: App, workspace: Workspace, on_event: Callable[[AgentEvent], None], stop: Any) -> Agent:
    """Return the agent that the settings and the environment ask for."""
    from manusfs.agent import Access, Agent
    from manusfs.models import default_name, fingerprint

    keys = Keys.from_environment()
    name = workspace.settings.model or default_name(bool(keys.anthropic))
    trusted = app.trust.is_own(workspace.folder.path)
    access = Access(
        keys={"anthropic": keys.anthropic, "brave": keys.brave, "tavily": keys.tavily},
        credential=fingerprint(keys.anthropic, app.hmac_key()) if keys.anthropic and name != "offline" else "",
        trusted=trusted,
    )
    if name == "offline" and not workspace.settings.model:
        talk(
            app.context,
            "no key is set: the offline model answers, with quotes only (ANTHROPIC_API_KEY for a language model)",
        )
    return Agent(workspace, name, workspace.settings, on_event, stop, access)


def _print(context: click.Context, result: Result) -> None:
    if result.answer:
        data(result.answer)
    talk(context, "")
    if result.report:
        talk(context, f"report:    {result.report}")
        talk(
            context,
            f"citations: {result.citations.verified} of {result.citations.total} stand word for word in their span",
        )
    for problem in result.problems:
        say(f"  {problem}")
    cost = f", ${result.cost_usd:.4f}" if result.cost_usd is not None else ""
    tokens = f"{result.usage.window:,} tokens in, {result.usage.output_tokens:,} out{cost}"
    talk(context, f"session:   {result.session} ({result.turns} turns, {result.tool_calls} calls, {tokens})")
    talk(context, f"folder:    {result.workspace}")
    if result.message:
        say(result.message)


def _emit(event: AgentEvent) -> None:
    emit({"event": event.kind, "text": event.text, **event.data})


@contextmanager
def _workspace(app: App, flags: Mapping[str, Any]) -> Iterator[Workspace]:
    """Yield the workspace here or above; where there is none, one in a dated folder, and say where."""
    try:
        folder = app.find()
    except NoWorkspace:
        if app.explicit:
            raise
        folder = _make(app)
        say(f"no workspace here: made {folder}")
    with app.open(flags, folder) as workspace:
        yield workspace


def _make(app: App) -> Path:
    from manusfs.workspace.folder import Folder

    name = f"manusfs-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    folder = Folder.create(Path.cwd() / name)
    app.trust.pin(folder.path, settings_pin(app.table(folder.path)), own=True)
    return folder.path


def _standard_input() -> bytes:
    """Return what is piped in.

    Raises:
        UsageError: nothing is: standard input is a terminal or closed.
    """
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise UsageError("nothing is piped in", hint="… | manusfs run TASK --source -")
    return sys.stdin.buffer.read()


def _given(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags that were given; an empty list of hosts was not."""
    return {name: value for name, value in flags.items() if value is not None and value != ()}
