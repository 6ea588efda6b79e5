"""Opens a session with what the user gave, and takes what the user says later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from manusfs.agent.called import called_skill, without_call
from manusfs.agent.manifest import manifest
from manusfs.agent.opening import Task, opening, startup_chars, user_text
from manusfs.agent.recite import todo_text
from manusfs.agent.running import Running
from manusfs.agent.setup import setup
from manusfs.agent.sources import Given, shortened
from manusfs.memory.sources import from_bytes
from manusfs.records import Event, counted, valid_text

if TYPE_CHECKING:
    from manusfs.memory import Taken

__all__ = ["begin", "tell_user_message"]


def begin(run: Running, task: str, brought: Given) -> None:
    """Store what the user gave and open the first epoch with it, in this order of durability."""
    root, intake = run.workspace.folder.root, run.workspace.intake
    earlier = _holds(run)
    words, kept = _kept(run, without_call(run, task))
    manual = _manual(run, task)
    taken = intake.take(brought.bodies, run.session, [""] * len(brought.bodies))
    told = Task(
        words,
        tuple(one.part for one in taken),
        brought.urls,
        f"obs:{kept[0].meta.id}" if kept else "",
        tuple(one.part for one in manual),
    )
    limit = startup_chars(run.settings, todo_text(root, trusted=run.trusted))
    parts = opening(root, told, date=run.today, limit=limit, trusted=run.trusted, holds=earlier)
    data = {"n": 1, "because": "start", **setup(run), "opening": parts, "files": manifest(root)}
    run.record([*(intake.event(one, "") for one in (*kept, *manual, *taken)), Event("epoch", data)])
    for one in (*kept, *manual, *taken):
        intake.index(one)
    run.observations += len(taken)
    run.saved_tokens += sum(max(0, one.meta.tokens - one.part.tokens) for one in taken)
    run.recital.stood(run.window.tokens)
    for one in taken:
        details = {"ref": f"obs:{one.meta.id}", "bytes": one.meta.raw_size, "status": one.status}
        if not one.meta.views:
            details["no_text"] = one.meta.no_text
        run.tell("result", one.meta.title, call="", tool="", is_error=one.is_error, **details)


def tell_user_message(run: Running, message: str) -> None:
    """Record what a user says later; a long one is kept whole as an observation, whose stub stands before it."""
    text, kept = _kept(run, without_call(run, message))
    content = [{"type": "text", "text": user_text(text)}]
    kept += _manual(run, message)
    events = [run.workspace.intake.event(one, "") for one in kept]
    run.record([*events, Event("message", {"role": "user", "content": content})])
    for one in kept:
        run.workspace.intake.index(one)


def _kept(run: Running, text: str) -> tuple[str, list[Taken]]:
    """Return a user's words as they are to be shown, and the observation that keeps a long text whole."""
    text = valid_text(text).strip()
    if len(text) <= run.settings.inline_chars:
        return text, []
    body = from_bytes(text.encode("utf-8"), "message", name="message.md")
    return shortened(text, run.settings.read_chars), run.workspace.intake.take([body], run.session, [""])


def _manual(run: Running, text: str) -> list[Taken]:
    """Return the manual of the skill that the user calls, stored like any; empty when none is called."""
    called = called_skill(run, text)
    return run.workspace.intake.take([called], run.session, [""]) if called is not None else []


def _holds(run: Running) -> str:
    """Return a line on what earlier sessions left, "" for a new workspace."""
    root = run.workspace.folder.root
    notes = sum(1 for path in root.walk("notes") if not path.endswith("README.md")) if root.is_dir("notes") else 0
    observations = sum(1 for _ in run.workspace.observations.ids())
    if not notes and not observations:
        return ""
    return (
        f"The workspace holds {counted(observations, 'observation')} and {counted(notes, 'note')} of earlier work: "
        "look there (list, search) before you fetch anew."
    )
