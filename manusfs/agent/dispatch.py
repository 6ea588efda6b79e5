"""Runs the calls of one turn side by side, stores what they brought, and writes the results in call order."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from manusfs.agent.birth import most_chars, stub_limits
from manusfs.agent.budget import Offer, few_pictures, fit
from manusfs.agent.compaction import room_for_results
from manusfs.agent.env import Environment
from manusfs.agent.manifest import manifest
from manusfs.agent.pool import run_all
from manusfs.agent.reply import Call
from manusfs.agent.running import Postponed, Running, notice
from manusfs.errors import ManusfsError, ToolError
from manusfs.records import Event, Fetched, Shown, TextPart, escape, part_to_json, secrets
from manusfs.tools.todo import TODO

__all__ = ["THREADS", "Failure", "dispatch", "error_text"]

_GRACE_S = 5.0
THREADS = 8
"""Most calls that run at the same time."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that gave nothing: the text for the model, and the traceback when it was our own mistake."""

    text: str
    trace: str = ""


class Open:
    """A call without a result: its sub-agent goes on when the run does."""


Outcome = Fetched | Shown | Failure | Open
_SKIPPED = Failure("Error: interrupted, not known whether it ran.\nTry: look at what is there before you repeat it.")


def dispatch(run: Running, calls: Sequence[Call]) -> None:
    """Run `calls` and record their results, in call order, in one write; index rows follow."""
    for call in calls:
        run.tell("call", call.name, call=call.id, arguments=call.arguments)
    room = room_for_results(run)
    _number(run, calls)
    made = _run(run, calls, Environment(run, room // len(calls)))
    run.tree.check()
    run.tool_calls += len(calls)
    calls = [call for call, outcome in zip(calls, made, strict=True) if not isinstance(outcome, Open)]
    outcomes = [outcome for outcome in made if not isinstance(outcome, Open)]
    # A sub-agent that outlived its time to stop must not write between the number and the line.
    with run.lock:
        offers = _offers(run, calls, outcomes)
        offers = few_pictures(offers, run.session, run.window.seq + 1)
        offers = fit(offers, room, run.session, run.window.seq + 1, most_chars(run))
        events = [offer.event for offer in offers]
        if recital := _recital(run, calls, offers):
            events.append(recital)
        events += [notice(text) for text in run.notices]
        run.record(events)
    run.notices.clear()
    taken = [offer.taken for offer in offers if offer.taken is not None]
    run.observations += len(taken)
    for one in taken:
        run.workspace.intake.index(one)
    for call, offer in zip(calls, offers, strict=True):
        run.saved_tokens += offer.saved_tokens
        sizes = {"tokens": offer.tokens, "saved_tokens": offer.saved_tokens}
        run.tell("result", offer.line, call=call.id, tool=call.name, **offer.details, **sizes)


def error_text(error: Exception) -> str:
    """Return the text by which the model learns of `error`; what it quotes is escaped, secrets in it are masked."""
    hint = getattr(error, "hint", "")
    text = f"Error: {error}" + (f"\nTry: {hint}" if hint else "")
    return escape.body(secrets.text(text))


def _run(run: Running, calls: Sequence[Call], env: Environment) -> list[Outcome]:
    writing = [i for i, call in enumerate(calls) if run.tools.writes(call.name)]
    # Calls that write run one after another, in call order: two edits of one file must both be there afterwards.
    groups = [[i] for i in range(len(calls)) if i not in writing] + ([writing] if writing else [])
    jobs = [_job(run, env, [calls[i] for i in group]) for group in groups]
    skipped = [[_skipped(run, calls[i]) for i in group] for group in groups]
    nothing: list[Outcome] = []
    # A sub-agent waits as long for its own calls, and then has its end to write.
    levels = max(0, run.settings.task_depth - run.depth) if any(run.tools.again(call.name) for call in calls) else 0
    grace_s = _GRACE_S * (1 + levels)
    # What only looks or fetches can be done again.
    brief = frozenset() if levels else frozenset(i for i, group in enumerate(groups) if group != writing)
    done = run_all(jobs, threads=THREADS, stopped=run.stop.is_set, skipped=nothing, grace_s=grace_s, brief=brief)
    outcomes: dict[int, Outcome] = {}
    for group, results, instead in zip(groups, done, skipped, strict=True):
        outcomes.update(zip(group, results or instead, strict=True))
    return [outcomes[i] for i in range(len(calls))]


def _job(run: Running, env: Environment, calls: Sequence[Call]) -> Callable[[], list[Outcome]]:
    return lambda: [_call(run, env, call) for call in calls]


def _number(run: Running, calls: Sequence[Call]) -> None:
    """Give the sub-agents that `calls` ask for their numbers, before these run side by side."""
    run.numbers.clear()
    for call in calls:
        if run.tools.again(call.name) and run.window.children.by_call(call.id) is None:
            run.numbers[call.id] = run.next_number()


def _skipped(run: Running, call: Call) -> Outcome:
    again = run.tools.again(call.name) or run.window.children.by_call(call.id) is not None
    return Open() if again else _SKIPPED


def _call(run: Running, env: Environment, call: Call) -> Outcome:
    if call.name in run.refused:
        return Failure(f"Error: {call.name} is refused here: {run.refused[call.name]}.\nTry: go on without it.")
    try:
        outcome = run.tools.call(call.name, call.arguments, env.of(call.id))
        if run.depth and isinstance(outcome, Shown):
            run.written.update(outcome.wrote)
        return outcome
    except Postponed:
        return Open()
    except (ManusfsError, ToolError) as error:
        return Failure(error_text(error))
    except Exception as error:  # noqa: BLE001 (a tool's mistake must not end a run of hours: it is told and logged)
        text = f"Error: the tool {call.name} failed in an unexpected way: {type(error).__name__}: {error}"
        told = secrets.text(f"{text}\nTry: other arguments or another tool.")
        return Failure(escape.body(told), secrets.text(traceback.format_exc()))


def _offers(run: Running, calls: Sequence[Call], outcomes: Sequence[Outcome]) -> list[Offer]:
    fetched = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, Fetched)]
    bodies = [outcome for outcome in outcomes if isinstance(outcome, Fetched)]
    ids = [calls[i].id for i in fetched]
    taken = run.workspace.intake.take(bodies, run.session, ids, stub_limits(run)) if fetched else []
    by_call = dict(zip(fetched, taken, strict=True))
    offers = []
    for i, (call, outcome) in enumerate(zip(calls, outcomes, strict=True)):
        if i in by_call:
            offers.append(Offer.of_taken(by_call[i], call.id, run.workspace.intake))
        elif isinstance(outcome, Shown):
            offers.append(Offer.of_event(_shown(run, call, outcome)))
        elif isinstance(outcome, Failure):
            offers.append(Offer.of_event(_failed(call, outcome)))
    return offers


def _shown(run: Running, call: Call, shown: Shown) -> Event:
    data: dict[str, Any] = {
        **shown.details,
        "call": call.id,
        "parts": [part_to_json(part) for part in shown.parts],
        "is_error": False,
        "wrote": list(shown.wrote),
        "reads": list(shown.details.get("reads", ())),
    }
    if shown.wrote:
        data["files"] = manifest(run.workspace.folder.root, shown.wrote)
    return Event("shown", data)


def _failed(call: Call, failure: Failure) -> Event:
    parts = [part_to_json(TextPart(failure.text))]
    data: dict[str, Any] = {"call": call.id, "parts": parts, "is_error": True, "wrote": [], "reads": []}
    if failure.trace:
        data["traceback"] = failure.trace
    return Event("shown", data)


def _recital(run: Running, calls: Sequence[Call], offers: Sequence[Offer]) -> Event | None:
    after = run.window.tokens + sum(offer.tokens for offer in offers)
    if any(call.name == "todo" and not offer.event.data["is_error"] for call, offer in zip(calls, offers, strict=True)):
        run.recital.stood(after)
        return None
    text = run.recital.due(after)
    if not text:
        return None
    return Event("recite", {"text": text, "files": manifest(run.workspace.folder.root, [TODO])})
