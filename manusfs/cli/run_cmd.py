"""`run` and `resume`: the main job, and going on with it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from manusfs.cli.app import App, Keys
from manusfs.cli.heard import Heard
from manusfs.cli.named import typed
from manusfs.cli.out import data, say, talk
from manusfs.cli.piped import piped
from manusfs.cli.remember import recalled, remembered
from manusfs.cli.stopping import stopped_by
from manusfs.cli.types import Amount, Count, PolicyName, SessionName, SourceText
from manusfs.compact.policy import policy_names
from manusfs.errors import ConfigError, NotFound, NoWorkspace, UsageError
from manusfs.records import counted

if TYPE_CHECKING:
    from manusfs.agent import Agent, AgentEvent, Result
    from manusfs.memory import Workspace
    from manusfs.records import Event
    from manusfs.skills import Skills
    from manusfs.workspace.settings import Settings

__all__ = ["Given", "agent_for", "limits", "perform", "resume", "run"]

_PIPED = "… | manusfs run TASK --source -"
_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Given:
    """What this call was given beside its task."""

    flags: Mapping[str, Any]
    earlier_model: str = ""
    """The model with which the session that is resumed stopped."""
    as_json: bool = False


def limits(command: _F) -> _F:
    """Give `command` the options that a run and its resumption share."""
    options = (
        click.option("--model", metavar="NAME", help="Model to ask; `offline` needs no key and no network."),
        click.option("--base-url", metavar="URL", help="Server that speaks the Messages API; takes --model with it."),
        click.option(
            "--policy", type=PolicyName(), metavar="NAME", help=f"Compaction policy: {', '.join(policy_names())}."
        ),
        click.option("--max-turns", type=Count(0), help="Stop after this many replies; 0 for no limit."),
        click.option("--max-tokens-total", "max_total_tokens", type=Count(0), help="Stop after this many tokens."),
        click.option("--max-seconds", type=Count(0), help="Stop after this many seconds."),
        click.option("--max-pages", type=Count(0), help="Pages that the offline model may follow."),
        click.option("--budget", "max_usd", type=Amount(0), metavar="USD", help="Stop when this much is spent."),
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
    "--source",
    "sources",
    multiple=True,
    type=SourceText(),
    metavar="URL|FILE",
    help="A page or file to work from; may be repeated.",
)
@limits
@click.pass_context
def run(context: click.Context, /, task: str, sources: tuple[str, ...], as_json: bool, **flags: Any) -> None:
    """Work on a task and write a cited report.

    Without a workspace here or above, one is made in a dated folder. "-" as a source, or as TASK, is standard input.
    The model, the server, the policy, --max-pages and --allow-host are remembered for `resume`; limits are not.

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
        task = piped(_PIPED).decode("utf-8", "replace")
    if not task.strip():
        raise UsageError("the task is empty", hint='say what to find out: manusfs run "…"')
    given = Given(_given(flags), as_json=as_json)
    bodies = [_body(source) for source in sources]
    with _workspace(app, given) as workspace:
        code = perform(context, workspace, lambda agent: agent.run(task, bodies), given)
    context.exit(code)


@click.command()
@click.argument("session", required=False, type=SessionName())
@click.argument("message", required=False)
@limits
@click.pass_context
def resume(context: click.Context, /, session: str | None, message: str | None, as_json: bool, **flags: Any) -> None:
    """Go on with a session.

    The latest, or SESSION (or its last digits), with MESSAGE if there is something to add. It goes on with the flags
    that it was given, unless they are given anew. Without a workspace here or above, the newest folder is used that
    `run` made here for you.

    \b
    Examples:
      manusfs resume
      manusfs resume 20261130-ab12 "Now compare it with last year."

    Exit codes: as for `run`.
    """
    app = App(context)
    folder = _resumed(app)
    name, events = _session(app, folder, session)
    before = recalled(events, name, app.secret)
    if before.left_out:
        options = ", ".join(f"--{name.replace('_', '-').removesuffix('s')}" for name in before.left_out)
        talk(context, f"note: {options} of this session are not under your seal: give them again if you want them")
    given = Given(_given(flags), _last_model(events), as_json)
    with app.open({**before.flags, **given.flags}, folder) as workspace:
        code = perform(context, workspace, lambda agent: agent.resume(name, message), given)
    context.exit(code)


def perform(
    context: click.Context,
    workspace: Workspace,
    work: Callable[[Agent], Result],
    given: Given,
    before_result: Callable[[], Mapping[str, Any]] | None = None,
) -> int:
    """Do `work` with live output, print what came of it, and return the exit code.

    With `--json` the last line is the result; what `before_result` gives stands before it.
    """
    from manusfs.agent import Interrupt
    from manusfs.cli.live import Live

    stop, heard = Interrupt(), Heard()
    quiet = bool((context.find_root().obj or {}).get("quiet"))
    with stopped_by(context, stop.press), Live(quiet=quiet or given.as_json) as live:
        result = work(agent_for(App(context), workspace, heard if given.as_json else live, stop, given))
    if given.as_json:
        if before_result is not None:
            heard.emit(before_result())
        heard.emit(result.to_json())
    else:
        _print(context, result)
    return result.exit_code


def agent_for(app: App, workspace: Workspace, on_event: Callable[[AgentEvent], None], stop: Any, given: Given) -> Agent:
    """Return the agent that the settings and the environment ask for.

    Raises:
        UsageError, ConfigError: a server without a model, a session of a language model without a key.
    """
    from manusfs.agent import Access, Agent
    from manusfs.models import fingerprint

    app.check(workspace.settings, given.flags)
    keys = Keys.from_environment()
    name, line = _model_name(workspace.settings, keys, given)
    if line:
        talk(app.context, line)
    access = Access(
        keys={"anthropic": keys.anthropic, "brave": keys.brave, "tavily": keys.tavily},
        credential=fingerprint(keys.anthropic, app.hmac_key()) if keys.anthropic and name != "offline" else "",
        trusted=app.trust.is_known(workspace.folder.path),
        skills=_skills(app, workspace) if name != "offline" else None,  # which can quote, and follow no manual
        agents=lambda: app.trust.agents(workspace.folder.path),
        remember=lambda session: remembered(given.flags, session, app.secret),
    )
    return Agent(workspace, name, workspace.settings, on_event, stop, access)


def _skills(app: App, workspace: Workspace) -> Skills:
    """Return the skills of this user in this workspace; those that wait for approval are told in one line."""
    from manusfs.cli.skill_roots import skills_of

    found = skills_of(app, workspace.folder.path, workspace.settings)
    if names := ", ".join(skill.name for skill in found.waiting[:5]):
        many = "skills of this folder wait" if found.waiting[1:] else "skill of this folder waits"
        more = f" and {len(found.waiting) - 5} more" if found.waiting[5:] else ""
        talk(app.context, typed(f"the {many} for your word: {names}{more}: `manusfs trust`"))
    return found


def _model_name(settings: Settings, keys: Keys, given: Given) -> tuple[str, str]:
    """Return the model to ask, and a line to tell: the one named, else on resume the one before, else the key's."""
    from manusfs.models import default_name

    before = given.earlier_model
    if settings.model:
        return settings.model, ""
    if settings.base_url and not keys.anthropic:
        kind = UsageError if given.flags.get("base_url") else ConfigError
        raise kind(
            f"base_url is {settings.base_url!r}, and no model is named",
            hint="name the model that the server has with --model NAME, or use --model offline",
        )
    if before and before != "offline" and not keys.anthropic:
        raise ConfigError(
            f"this session is one of {before!r}, and no key is set",
            hint="set ANTHROPIC_API_KEY, or go on with quotes only: manusfs resume --model offline",
        )
    if before == "offline" and keys.anthropic:
        return before, "note: the session goes on offline, as it began; --model NAME goes on with another model"
    name = default_name(bool(keys.anthropic))
    if before not in ("", name):
        return name, f"note: the session was one of {before}; it goes on with {name}"
    offline = "no key is set: the offline model answers, with quotes only (ANTHROPIC_API_KEY for a language model)"
    return name, offline if name == "offline" else ""


def _print(context: click.Context, result: Result) -> None:
    """Print the answer to stdout and what it came to to stderr; the latter also where stdout can't be written."""
    try:
        if result.answer:
            data(result.answer)
    finally:
        _print_end(context, result)


def _print_end(context: click.Context, result: Result) -> None:
    talk(context, "")
    if result.report:
        talk(context, f"report:    {result.report}")
        found = result.citations
        stand = f"{found.verified} of {found.total} stand word for word in their span" if found.total else "none"
        talk(context, f"citations: {stand}")
    for problem in result.problems:
        say(f"  {problem}")
    cost = f", ${result.cost_usd:.4f}" if result.cost_usd is not None else ""
    tokens = f"{result.usage.window:,} tokens in, {result.usage.output_tokens:,} out{cost}"
    work = f"{counted(result.turns, 'turn')}, {counted(result.tool_calls, 'call')}"
    talk(context, f"session:   {result.session} ({work}, {tokens})")
    talk(context, f"folder:    {result.workspace}")
    if result.message:
        say(typed(result.message))


@contextmanager
def _workspace(app: App, given: Given) -> Iterator[Workspace]:
    """Yield the workspace here or above; where there is none, one in a dated folder, and say where."""
    try:
        folder = app.find()
    except NoWorkspace:
        if app.explicit:
            raise
        # Before anything is made.
        settings = app.settings(None, given.flags).settings
        app.check(settings, given.flags)
        _model_name(settings, Keys.from_environment(), given)
        folder = _make(app)
        app.work_in(folder)
        say(f"no workspace here: made {folder}")
    with app.open(given.flags, folder) as workspace:
        yield workspace


def _make(app: App) -> Path:
    from manusfs.workspace.folder import Folder

    folder = Folder.create(_free(Path.cwd() / f"manusfs-{datetime.now(UTC):%Y%m%d-%H%M%S}"))
    app.trust.pin(folder.path, app.table(folder.path), own=True)
    return folder.path


def _free(wanted: Path) -> Path:
    """Return a folder that was made just now and so is nobody else's: `wanted`, else that with -2, -3, …"""
    made, number = wanted, 1
    while True:
        try:
            made.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
            made = wanted.with_name(f"{wanted.name}-{number}")
            continue
        except OSError:
            pass  # whoever fills it says why it can't be
        return made


def _resumed(app: App) -> Path:
    """Return the workspace here or above, else the newest that `run` made here by itself: never a stranger's."""
    try:
        return app.find()
    except NoWorkspace:
        if app.explicit or not (made := app.dated()):
            raise
        app.work_in(made[-1])
        others = f" ({len(made) - 1} older ones: name them with -w)" if made[1:] else ""
        say(f"no workspace here: going on in {made[-1].name}, which `run` made here{others}")
        return made[-1]


def _session(app: App, folder: Path, given: str | None) -> tuple[str, tuple[Event, ...]]:
    """Return the session to go on with, and what happened in it.

    Raises:
        NotFound: there is none, or none of that name.
        UsageError: it is a sub-agent's.
    """
    from manusfs.agent.agent import check_not_a_child
    from manusfs.session import Transcript, complete_name, sessions
    from manusfs.workspace.folder import Folder

    with Folder.open(folder) as opened:
        runs = [info.session for info in sessions(opened, children=False) if info.purpose == "run"]
        if not runs:
            raise NotFound("there is no session to resume", hint='`manusfs run "…"` begins one')
        try:
            name = complete_name(opened, given) if given else runs[-1]
        except NotFound as error:
            if given and " " in given.strip():
                hint = f"a message stands behind the session: manusfs resume {runs[-1]} {shlex.quote(given)}"
                raise NotFound(str(error), hint=hint) from error
            raise
        with Transcript.open(opened, name) as transcript:
            check_not_a_child(transcript)  # before anything is said about models and keys
            return name, transcript.events


def _last_model(events: tuple[Event, ...]) -> str:
    return next((str(event.data.get("model", "")) for event in reversed(events) if event.kind == "epoch"), "")


def _body(source: str) -> str | bytes:
    """Return a source as the agent takes it; one that is no URL and no file is refused before anything is made."""
    from manusfs.memory.sources import classify

    kind = classify(source)
    if kind == "-":
        return piped(_PIPED)
    if kind == "url":
        from manusfs.fetch.urls import checked

        checked(source)
    elif not source.lower().startswith("file://") and not Path(source).exists():
        raise NotFound(f"no such file: {source!r}", hint="check the path; a URL begins with http:// or https://")
    return source


def _given(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags that were given; an empty list of hosts was not."""
    return {name: value for name, value in flags.items() if value is not None and value != ()}
