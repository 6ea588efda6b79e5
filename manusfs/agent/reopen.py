"""Calls that a crash or a stop left open: tasks go on where they stopped, all others get an honest result."""

from __future__ import annotations

from manusfs.agent.dispatch import dispatch
from manusfs.agent.loop import Ended
from manusfs.agent.reply import Call
from manusfs.agent.resume import closing
from manusfs.agent.running import Running
from manusfs.records import counted

__all__ = ["open_again", "reopened"]


def open_again(run: Running) -> list[Call]:
    """Return the open calls that are made once more: what each began is found again, and nothing is done twice."""
    if not run.window.turns:
        return []
    turn = run.window.turns[-1]
    calls = [block for block in turn.content if block.get("type") == "tool_use" and block["id"] in turn.open_calls]
    return [
        Call(block["id"], block["name"], block["input"])
        for block in calls
        if run.tools.again(block["name"]) or run.window.children.by_call(block["id"]) is not None
    ]


def reopened(run: Running) -> Ended | None:
    """Give each open call its result; return how the session ended where that had to stop again."""
    if not run.window.open_calls:
        return None
    again = open_again(run)
    events = closing(run.transcript.events, {call.id for call in again})
    if events:
        open_ = f"{counted(len(events), 'call')} {'was' if len(events) == 1 else 'were'} open"
        run.tell("warning", f"{open_} when the session stopped; not run again")
        run.record(events)
    if not again:
        return None
    these = (
        "1 call of a sub-agent goes on where it"
        if len(again) == 1
        else f"{len(again)} calls of sub-agents go on where they"
    )
    run.tell("warning", f"{these} stopped")
    dispatch(run, again)
    if not run.window.open_calls:
        return None
    reached = run.limits.reached()
    if reached is not None and not run.stop.is_set():
        return Ended(reached.stop, message=reached.message)
    return Ended("interrupted", message="stopped on request; nothing is lost; `manusfs resume` goes on")
