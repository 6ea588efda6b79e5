"""From a delegation to a result: the child is written down, runs, is written down again, and its answer handed over."""

from __future__ import annotations

from typing import Any

from manusfs.agent.child import child_running, work
from manusfs.agent.loop import Ended
from manusfs.agent.manifest import manifest
from manusfs.agent.order import Plan, check_number, plan
from manusfs.agent.outcome import failed, result
from manusfs.agent.running import Postponed, Running
from manusfs.context import Child
from manusfs.errors import ToolError
from manusfs.records import Event, Fetched, valid_text
from manusfs.session import Transcript
from manusfs.tools import Delegation

__all__ = ["delegate"]

_DONE = ("end_turn", "stop_sequence")
_TITLE_CHARS = 100


def delegate(run: Running, order: Delegation, call: str) -> Fetched:
    """Return what the child came to that the call `call` of `run` asks for; called in the call's own thread.

    The parent's transcript says that the child begins before anything of it is there, and how it ended before its
    result goes anywhere. A call that is made again, after a crash or a stop, finds its child by the register.

    Raises:
        ToolError: it may not begin, or ended without an answer.
        Postponed: it was stopped, or a limit of its parent was; the call stays open and goes on at the next resume.
    """
    child, made, at = _registered(run, order, call)
    with Transcript.child(run.workspace.folder, child.session, run.session, child.title) as transcript:
        inner = child_running(run, transcript, made)
        if child.state == "failed":
            raise failed(inner, child, Ended(child.stop, message=_last_words(transcript)))
        if child.is_open:
            inner.tell(
                "start",
                session=inner.session,
                workspace=str(run.workspace.folder.path),
                model=made.model.profile.name,
                window=inner.profile.window,
                resumed=len(transcript.events) > 1,
                title=child.title,
            )
        try:
            ended = work(inner, order, made, run, at)
        except ToolError as error:
            ended = Ended("error", message=str(error))
        except Exception as error:  # noqa: BLE001 (what a sub-agent can't get over must not end the run: it is told)
            ended = Ended("error", message=f"{type(error).__name__}: {error}")
        return _handed_over(run, inner, child, order, ended)


def _registered(run: Running, order: Delegation, call: str) -> tuple[Child, Plan, int]:
    """Return the child of `call`, how it runs, and the line that tells of its beginning, written now if there is none.

    Raises:
        ToolError: it may not begin.
    """
    with run.lock:
        child = run.window.children.by_call(call)
        if child is None:
            check_number(run)
        try:
            made = plan(run, order)
        except ToolError as error:
            if child is not None and child.is_open:
                # Its agent file or a setting is not what it was: the register must not wait for it for ever.
                ended = {"session": child.session, "state": "failed", "call": call, "stop": "error"}
                run.record([Event("child", {**ended, "message": str(error)})])
            raise
        if child is not None:
            if child.is_open:
                run.record([Event("child", {"session": child.session, "state": "resumed", "call": call})])
            return child, made, _line(run, child.session)
        number = run.numbers.get(call) or run.next_number()
        title = valid_text(" ".join((order.title or order.prompt).split()))
        child = Child(
            f"{run.session}.{number}",
            call,
            mode=order.mode,
            agent=order.agent,
            title=title if len(title) <= _TITLE_CHARS else f"{title[: _TITLE_CHARS - 1]}…",
        )
        data = {"session": child.session, "state": "started", "call": call, "mode": child.mode, "agent": child.agent}
        (event,) = run.record([Event("child", {**data, "title": child.title})])
        return child, made, event.seq


def _line(run: Running, session: str) -> int:
    return next(
        event.seq
        for event in run.transcript.events
        if event.kind == "child" and event.data.get("session") == session and "copied" not in event.data
    )


def _last_words(transcript: Transcript) -> str:
    return next((str(e.data.get("message") or "") for e in reversed(transcript.events) if e.kind == "end"), "")


def _handed_over(run: Running, inner: Running, child: Child, order: Delegation, ended: Ended) -> Fetched:
    """Write down how the child ended, in its own transcript and in its parent's, and return its result."""
    reached = inner.limits.reached()
    postponed = ended.stop == "interrupted" or (reached is not None and reached.above and ended.stop not in _DONE)
    last = inner.transcript.events[-1]
    if last.kind != "end" or last.data.get("stop") != ended.stop:
        inner.record([Event("end", {"stop": ended.stop, "report": "", "message": ended.message})])
    run.workspace.index.flush()
    state = "stopped" if postponed else "finished" if ended.stop in _DONE else "failed"
    answer = result(inner, child, order, ended) if state == "finished" else None
    if child.state != state or postponed:
        cites = [ref for ref in answer.cites if inner.standing.has_seen(ref)] if answer is not None else []
        run.record([Event("child", {**_account(inner, child, state, ended), "cites": list(map(str, cites))})])
    inner.tell("done", ended.message, stop=ended.stop, state=state, title=child.title)
    if postponed:
        raise Postponed
    if answer is None:
        raise failed(inner, child, ended)
    return answer.fetched


def _account(inner: Running, child: Child, state: str, ended: Ended) -> dict[str, Any]:
    """Return what the parent's transcript keeps of a child that ended: its state, and what the session came to."""
    events = [event for event in inner.transcript.events if "copied" not in event.data]
    replies = [event for event in events if event.kind == "message" and event.data.get("role") == "assistant"]
    return {
        "session": child.session,
        "state": state,
        "call": child.call,
        "stop": ended.stop,
        "message": ended.message,
        "turns": len(replies),
        "observations": sum(event.kind == "observation" for event in events),
        "files": manifest(inner.workspace.folder.root, sorted(inner.written)),
    }
