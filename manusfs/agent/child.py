"""One sub-agent: its session, how it begins or goes on, and how its answer gets the form that was asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from manusfs.agent import resume as resuming
from manusfs.agent.compaction import new_epoch
from manusfs.agent.expects import asked, faults
from manusfs.agent.fork import begin_fork
from manusfs.agent.loop import Ended, loop
from manusfs.agent.opening import instructions, startup_chars, user_text
from manusfs.agent.order import Plan
from manusfs.agent.recite import Recital
from manusfs.agent.reopen import reopened
from manusfs.agent.running import Running, last_asked, notice
from manusfs.agent.setup import is_same, setup
from manusfs.agent.standing import Standing
from manusfs.context import Assembler, fold
from manusfs.records import Event, Part, TextPart, escape, part_to_json
from manusfs.session import Transcript
from manusfs.tools import Delegation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["child_running", "work"]

_WORD = (
    "You are a sub-agent of another session. The message below is your whole task: nobody else will speak to you, and "
    "you can't ask back. Your last reply, without tool calls, is handed back whole as your answer: state what you "
    "found, with its footnotes, and what you did not find. You keep no plan (there is no `todo`). Files that others "
    "wrote you can read and not change: write your own under names of your own."
)
_RETRY = "Your reply does not have the form that was asked for: {faults}. Give it once more, in that form."


def child_running(parent: Running, transcript: Transcript, plan: Plan) -> Running:
    """Return the state in which the child of `parent` in `transcript` runs; what belongs to one session is its own."""
    events, root = transcript.events, parent.workspace.folder.root
    standing = Standing(transcript.session)
    for event in events:
        standing.apply(event)
    limits = parent.limits.of_child()
    return replace(
        parent,
        transcript=transcript,
        model=plan.model,
        tools=plan.tools,
        settings=plan.settings,
        limits=limits,
        recital=Recital(root, 0, trusted=parent.trusted, silent=True),
        on_event=lambda event: parent.tree.tell_of(transcript.session, event),
        credential=parent.credential if plan.model is parent.model else "",
        window=fold(events),
        assembler=Assembler(parent.workspace.renderer, plan.model.profile),
        standing=standing,
        call_ids=resuming.call_ids(events),
        notices=[],
        numbers={},
        saved_tokens=resuming.saved_tokens(events),
        window_cap=0,
        warned_epoch=0,
        asking=False,
        asked_at=last_asked(events),
        tool_calls=0,
        observations=0,
        depth=parent.depth + 1,
        refused=plan.refused,
        written=_written(events),
        lock=type(parent.lock)(),
    )


def work(run: Running, order: Delegation, plan: Plan, parent: Running, at: int) -> Ended:
    """Return how the child `run` ended: from its beginning, or from where a crash or a stop left it.

    `at` is the line of its parent that says that it began.
    """
    ended = _begun(run, order, plan, parent, at) or loop(run)
    if order.expects is None or ended.stop not in ("end_turn", "stop_sequence"):
        return ended
    wrong = faults(ended.answer, order.expects)
    if wrong and not any(event.data.get("form") for event in run.transcript.events if event.kind == "changed"):
        told = notice(_RETRY.format(faults=escape.body("; ".join(wrong))))
        run.record([Event("changed", {**told.data, "form": wrong})])
        ended = loop(run)
        wrong = faults(ended.answer, order.expects) if ended.stop in ("end_turn", "stop_sequence") else []
    if wrong:
        return replace(ended, stop="form", message=f"its answer does not have the form asked for: {'; '.join(wrong)}")
    return ended


def _begun(run: Running, order: Delegation, plan: Plan, parent: Running, at: int) -> Ended | None:
    """Bring the child to where the loop can go on; return how it ended if its answer stands there already."""
    events = run.transcript.events
    form = escape.body(asked(order.expects)) if order.expects is not None else ""
    if order.mode == "fork":
        if not any("fork" in event.data for event in events if event.kind == "message"):
            begin_fork(run.transcript, parent.transcript.events, at, order.prompt, form)
            _follow(run)
            return None
    elif resuming.last_epoch(events) is None:
        run.record([Event("epoch", {"n": 1, "because": "start", **setup(run), "opening": _opening(run, order, plan)})])
        return None
    # A reply that had the wrong form is no part of the answer.
    asked_again = max((event.seq for event in events if event.kind == "changed" and event.data.get("form")), default=0)
    answer, final = resuming.answer_so_far([event for event in events if event.seq > asked_again])
    if final:
        return Ended("end_turn", answer)
    if (ended := reopened(run)) is not None:
        return ended
    if not is_same(run):
        new_epoch(run)
    run.record(resuming.go_on(run.transcript.events))
    return None


def _follow(run: Running) -> None:
    """Let the state of `run` follow what was written to its transcript behind its back."""
    run.window = fold(run.transcript.events)
    for event in run.transcript.events[1:]:
        run.standing.apply(event)
    run.call_ids.update(resuming.call_ids(run.transcript.events))
    run.saved_tokens = resuming.saved_tokens(run.transcript.events)


def _opening(run: Running, order: Delegation, plan: Plan) -> list[dict[str, object]]:
    """Return the opening of an isolated child: start-up files by allow-list, what it is, its prompt (CC-25, OC-12)."""
    root, limit = run.workspace.folder.root, startup_chars(run.settings, "")
    sections: list[tuple[str, Part]] = [("date", TextPart(f"Date: {run.today} (UTC)."))]
    left = run.settings.startup_total_chars
    for path in run.settings.task_files:
        text = instructions(root, max(0, min(limit, left)), trusted=run.trusted, path=path)
        left -= len(text)
        if text:
            sections.append(("instructions", TextPart(text)))
    sections.append(("instructions", TextPart(_WORD)))
    if plan.role is not None and plan.role.body:
        body = f'<instructions path="{plan.role.path}">\n{escape.body(plan.role.body)}\n</instructions>'
        sections.append(("instructions", TextPart(body)))
    # Skills that it is to follow stand there whole, each a text of its own (CC-28).
    sections += [("instructions", TextPart(text)) for text in (*_skills(run, plan), *order.preload)]
    sections.append(("user", TextPart(user_text(order.prompt))))
    if order.expects is not None:
        sections.append(("source", TextPart(escape.body(asked(order.expects)))))
    return [{**part_to_json(part), "as": label} for label, part in sections]


def _skills(run: Running, plan: Plan) -> list[str]:
    if plan.role is None or not plan.role.skills or run.skills is None:
        return []
    there = run.skills.names
    return run.skills.preload(name for name in plan.role.skills if name in there)


def _written(events: Sequence[Event]) -> set[str]:
    """Return the files that the session itself made or changed; what a fork copied was written by others."""
    own = [event for event in events if event.kind == "shown" and "copied" not in event.data]
    return {str(path) for event in own for path in event.data.get("wrote", ())}
