"""The agent as programs use it: run a task in a workspace, or go on with a session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manusfs.agent import resume as resuming
from manusfs.agent import roles
from manusfs.agent.begin import begin, tell_user_message
from manusfs.agent.compaction import new_epoch
from manusfs.agent.delegate import delegate
from manusfs.agent.events import OnEvent
from manusfs.agent.interrupt import Stop
from manusfs.agent.limits import Limits
from manusfs.agent.loop import Ended, loop
from manusfs.agent.manifest import changed_event, changes, known, manifest
from manusfs.agent.opening import instructions
from manusfs.agent.recite import Recital, todo_text
from manusfs.agent.reopen import reopened
from manusfs.agent.report import Header, write_report
from manusfs.agent.result import Citations, Result
from manusfs.agent.running import Running, last_asked, notice
from manusfs.agent.setup import check_window, is_same, toolbox
from manusfs.agent.sources import Given, GivenSource, given
from manusfs.agent.standing import Standing
from manusfs.agent.tree import Tree
from manusfs.agent.web import WebSearch, web_search
from manusfs.context import Assembler, fold
from manusfs.errors import NotFound, UsageError
from manusfs.memory import Workspace
from manusfs.messages import Model
from manusfs.records import Event, valid_text
from manusfs.session import Transcript, sessions
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.skills import Skills

__all__ = ["Access", "Agent"]


@dataclass(frozen=True, slots=True)
class Access:
    """What the user lets the agent use. Nothing here is read from the environment, and no key is ever written."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by provider: "anthropic", "brave", "tavily"."""
    credential: str = ""
    """Fingerprint of the model's key: a session that was made with another goes on without its old thinking."""
    trusted: bool = True
    """False for a folder that comes from someone else: its AGENTS.md and plan are then data, not instructions."""
    summary_model: Model | None = None
    """Who writes summaries; None: what the settings say."""
    skills: Skills | None = None
    """The skills that the agent may load; None: no word is said of any."""
    agents: roles.Approved | None = None
    """What the user approved of the files in `agents/`; None: all of them where the folder is trusted."""
    remember: Callable[[str], Mapping[str, Any]] | None = None
    """Gives the `flags` event of a session, by its name: what a later resume is to go on with; empty for none."""


class Agent:
    """A research agent in one workspace. Each `run` is a session of its own; `resume` goes on with one."""

    def __init__(
        self,
        workspace: Workspace | str | Path,
        model: Model | str = "",
        settings: Settings | None = None,
        on_event: OnEvent | None = None,
        stop: Stop | None = None,
        access: Access | None = None,
        key: str = "",
    ) -> None:
        """Take a workspace, open or by its path, and a model, ready or by its name; empty is what the settings say.

        `key` is the model's API key; it stands for `Access(keys={"anthropic": key})`. No key is read from the
        environment here: Agent(workspace, "claude-sonnet-5-5", key=os.environ["ANTHROPIC_API_KEY"]). `on_event` is told
        what happens. `stop` is looked at between steps: once set, the run ends, resumable.
        """
        self.settings = settings or (workspace.settings if isinstance(workspace, Workspace) else Settings())
        self.workspace = workspace if isinstance(workspace, Workspace) else Workspace.open(workspace, self.settings)
        self._opened = not isinstance(workspace, Workspace)
        access = access or Access()
        self.access = replace(access, keys={**access.keys, "anthropic": key}) if key else access
        self.model = self._model(model or self.settings.model or "offline") if isinstance(model, str) else model
        self._on_event = on_event
        self._stop = stop or threading.Event()

    def run(self, task: str, sources: Iterable[GivenSource] = ()) -> Result:
        """Return what came of `task`. Files, bytes and standard input among `sources` are stored first; URLs are named.

        Raises:
            UsageError: the task is empty.
            ConfigError: the model's window is too small for anything.
            NotFound, Refused, StorageError: a source can't be read, or the workspace can't be written.
        """
        if not task.strip():
            raise UsageError("the task is empty", hint='say what to find out: manusfs run "…"')
        check_window(self.settings, self.model.profile)
        brought = given(sources, self.workspace.folder.root, self.settings.max_body_bytes)
        with (
            Transcript.create(self.workspace.folder, "run", title=_title(task)) as transcript,
            self._running(transcript) as run,
        ):
            self._tell_start(run, resumed=False)
            self._remember(run)
            begin(run, task, brought)
            return self._finish(run, loop(run), task)

    def resume(self, session: str | None = None, message: str | None = None) -> Result:
        """Return what came of going on with `session`, by default the latest run, told `message` if there is one.

        Raises:
            NotFound: no such session, or none at all.
            UsageError: it is finished and there is no message, it died before its task was written down, or it is a
                sub-agent, which goes on with the session that it belongs to.
            ConfigError: the model's window is too small for anything.
            Locked: another process is running it.
        """
        check_window(self.settings, self.model.profile)
        with (
            Transcript.open(self.workspace.folder, session or self._latest(), write=True) as transcript,
            self._running(transcript) as run,
        ):
            check_not_a_child(transcript)
            self._tell_start(run, resumed=True)
            for line in transcript.repairs:
                run.tell("warning", line)
            if resuming.last_epoch(transcript.events) is None:
                if not (message or "").strip():
                    raise UsageError(
                        f"session {transcript.session} ended before its task was written down",
                        hint=f'give the task again: manusfs resume {transcript.session} "…"',
                    )
                self._remember(run)
                begin(run, message or "", Given())
                return self._finish(run, loop(run), message or "")
            ended = self._go_on(run, message or "")
            return self._finish(run, ended or loop(run), message or _task(transcript.events))

    def close(self) -> None:
        """Close the workspace if it was opened here, by its path."""
        if self._opened:
            self.workspace.close()

    def _go_on(self, run: Running, message: str) -> Ended | None:
        """Bring the session to where the loop can go on; return how it ended if the answer stands there already."""
        answer, final = resuming.answer_so_far(run.transcript.events)
        if final and not message.strip():
            if run.transcript.events[-1].kind == "end":
                raise UsageError(
                    f"session {run.session} is finished",
                    hint=f'give it something to do: manusfs resume {run.session} "…"',
                )
            return Ended("end_turn", answer)
        self._remember(run)
        run.record(self._changes(run))
        if (ended := reopened(run)) is not None:
            return ended
        if not is_same(run):
            new_epoch(run)
        if message.strip():
            tell_user_message(run, message)
        else:
            run.record(resuming.go_on(run.transcript.events))
        if register := run.window.children.text():
            run.record([notice(f"The sub-agents of this session so far:\n{register}")])
        run.recital.stood(run.window.tokens)
        return None

    def _changes(self, run: Running) -> Sequence[Event]:
        root = self.workspace.folder.root
        now = manifest(root)
        found = changes(known(run.transcript.events), now)
        if not found:
            return ()
        run.tell("warning", f"changed since the session stopped: {', '.join(found)}")
        event = changed_event(found, now)
        texts = [event.data["text"]]
        if "AGENTS.md" in found:
            texts.append(instructions(root, self.settings.startup_file_chars, trusted=run.trusted))
        if "todo.md" in found:
            texts.append(todo_text(root, trusted=run.trusted))
        return (Event("changed", {**event.data, "text": "\n".join(text for text in texts if text)}),)

    @contextmanager
    def _running(self, transcript: Transcript) -> Iterator[Running]:
        search = web_search(self.settings, self.access.keys)
        try:
            yield self._made(transcript, search)
        finally:
            if search is not None:
                search.close()

    def _made(self, transcript: Transcript, search: WebSearch | None) -> Running:
        events = transcript.events
        root = self.workspace.folder.root
        standing = Standing(transcript.session)
        for event in events:
            standing.apply(event)
        skills = self.access.skills
        if skills is not None:
            skills.refresh()
        tree = Tree(self._stop, self._model, self._on_event, self._roles())
        return Running(
            workspace=self.workspace,
            transcript=transcript,
            model=self.model,
            tools=toolbox(self.settings, self.settings.window or self.model.profile.window, skills, tree.roles),
            settings=self.settings,
            limits=Limits(self.settings),
            recital=Recital(root, self.settings.recite_tokens, trusted=self.access.trusted),
            stop=tree,
            on_event=tree.tell,
            trusted=self.access.trusted,
            credential=self.access.credential,
            window=fold(events),
            assembler=Assembler(self.workspace.renderer, self.model.profile),
            standing=standing,
            fetch=self.workspace.fetch,
            search_web=search,
            summary_model=self._summary_model(),
            asked_at=last_asked(events),
            call_ids=resuming.call_ids(events),
            saved_tokens=resuming.saved_tokens(events),
            skills=skills,
            tree=tree,
            delegate=delegate,
        )

    def _roles(self) -> tuple[roles.Role, ...]:
        return roles.roles(self.workspace.folder.root, self.access.agents, trusted=self.access.trusted)

    def _finish(self, run: Running, ended: Ended, task: str) -> Result:
        report, answer, citations = "", ended.answer, Citations()
        problems: tuple[str, ...] = ()
        root = self.workspace.folder.root
        if answer.strip():
            header = Header(run.session, task, run.today, self.model.profile.name)
            written = write_report(root, answer, header, self.workspace.resolver, run.standing)
            report, answer, citations, problems = written.path, written.answer, written.citations, written.problems
            run.tell(
                "report",
                answer,
                report=report,
                problems=list(problems),
                total=citations.total,
                verified=citations.verified,
            )
        run.record([Event("end", {"stop": ended.stop, "report": report, "message": ended.message})])
        self.workspace.index.flush()
        if ended.message:
            run.tell("limit", ended.message, stop=ended.stop)
        return Result(
            session=run.session,
            workspace=str(self.workspace.folder.path),
            report=report,
            answer=answer,
            citations=citations,
            turns=run.limits.turns,
            tool_calls=run.tool_calls,
            observations=run.observations,
            usage=run.limits.usage,
            stop=ended.stop,
            message=ended.message,
            cost_usd=run.limits.cost_usd,
            problems=problems,
        )

    def _model(self, name: str) -> Model:
        from manusfs import models

        if name == "offline":
            offline: Model = models.MODELS.load("offline")(self.settings.max_pages, self.settings.window or 200_000)
            return offline
        key = self.access.keys.get("anthropic", "")
        return models.load(name, key=key, base_url=self.settings.base_url, window=self.settings.window)

    def _remember(self, run: Running) -> None:
        """Write down what was given for this session alone."""
        flags = self.access.remember(run.session) if self.access.remember is not None else {}
        if flags:
            run.record([Event("flags", dict(flags))])

    def _summary_model(self) -> Model | None:
        """Return who writes summaries, None where nobody does: the offline model can only quote."""
        from manusfs import models

        name, model = self.settings.summary_model, self.access.summary_model
        if model is None and name not in ("", "offline", self.model.profile.name):
            key = self.access.keys.get("anthropic", "")
            model = models.load(name, key=key, base_url=self.settings.base_url)
        elif model is None and name != "offline":
            model = self.model
        if model is None or model.profile.name == "offline" or not self.settings.summary_tokens:
            return None
        return model

    def _latest(self) -> str:
        found = [info.session for info in sessions(self.workspace.folder, children=False) if info.purpose == "run"]
        if not found:
            raise NotFound("there is no session to resume", hint='`manusfs run "…"` begins one')
        return found[-1]

    def _tell_start(self, run: Running, *, resumed: bool) -> None:
        run.tell(
            "start",
            session=run.session,
            workspace=str(self.workspace.folder.path),
            model=self.model.profile.name,
            window=run.profile.window,
            resumed=resumed,
        )


def _title(task: str) -> str:
    line = " ".join(valid_text(task).split())
    return line if len(line) <= 120 else f"{line[:119]}…"


def check_not_a_child(transcript: Transcript) -> None:
    """Return if the session may be resumed by itself.

    Raises:
        UsageError: it is a sub-agent's, which goes on with its parent.
    """
    first = next(iter(transcript.events), None)
    parent = first.data.get("parent") if first is not None and first.kind == "session" else None
    if parent:
        raise UsageError(
            f"session {transcript.session} is a sub-agent of {parent}",
            hint=f"it goes on with that one: manusfs resume {parent}",
        )


def _task(events: Sequence[Event]) -> str:
    return str(next((event.data.get("title", "") for event in events if event.kind == "session"), ""))
