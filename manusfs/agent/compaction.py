"""Keeps the window within its bounds: compacts at the policy's mark, and opens an epoch where one must begin anew."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial

from manusfs.agent.opening import startup_chars
from manusfs.agent.recite import todo_text
from manusfs.agent.reply import usage_data
from manusfs.agent.running import Running, Stopped, notice
from manusfs.agent.setup import renew, setup
from manusfs.agent.wishes import kept_before, not_kept
from manusfs.compact import Fresh, Summariser, ask, compact, due, reopen, room
from manusfs.errors import LimitReached, ManusfsError, ModelError
from manusfs.messages import Delta, Model, Profile, Reply, Request, Usage
from manusfs.records import Event
from manusfs.tools.todo import TODO
from manusfs.workspace.settings import Settings

__all__ = ["make_room", "new_epoch", "performed", "room_for_results", "summariser"]

_NEAR = 0.8
"""Share of the policy's mark at which the user is warned."""


def make_room(run: Running) -> bool:
    """Compact if the window stands at the policy's mark; return True if it did.

    Never while a call is open. What the next epoch takes from files and settings is read anew.
    """
    policy, budget = run.policy, run.budget
    if run.window.open_calls or not due(run.window, policy, budget):
        _warn(run, min(policy.mark(budget), budget.limit))
        return False
    if _asks_first(run, ask(run.window, policy, budget)):
        return False
    renew(run)
    before, bills, kept = run.window.tokens, list[Event](), kept_before(run)
    steps = compact(run.window, policy, budget, run.workspace.renderer, _fresh(run), _summariser(run))
    try:
        paid = partial(_paid, run, bills)
        events = performed(steps, run.summary_model, paid, lambda model, request: _ask(run, model, request))
    except LimitReached as error:
        run.tell("warning", f"{error}; {error.hint}")
        events = ()
    # Refs in the events count on being the very next lines.
    run.record([*events, *bills])
    if events and (failed := (events[0].data.get("summary") or {}).get("failed")):
        run.tell("warning", f"no summary was made, the older turns are folded: {failed}")
    if not any(event.kind == "epoch" for event in events):
        return False
    if lost := not_kept(run.window, kept):
        run.record([notice(lost)])
    after = run.window.tokens
    run.warned_epoch, run.asking = 0, False
    run.recital.stood(after)
    run.tell(
        "compaction",
        f"{before:,} tokens folded to {after:,}; every ref still resolves",
        policy=policy.name,
        before_tokens=before,
        after_tokens=after,
    )
    return True


def new_epoch(run: Running) -> None:
    """Open an epoch that carries everything over as it stands, without the old thinking."""
    policy, budget = run.policy, run.budget
    run.record(reopen(run.window, policy, budget, run.workspace.renderer, _fresh(run)))


def room_for_results(run: Running) -> int:
    """Return the tokens, as they are estimated, that the results of a turn share: what is left before the hard limit.

    When that is little beside what a compaction would leave, it is the latter: results that are always cut to refs
    would be asked for for ever.
    """
    left, budget = run.window_left(), run.budget
    if 2 * left < budget.limit:
        folded = room(run.window, budget, _fresh(run))
        left = left if 4 * left >= 3 * folded else folded
    # The window counts as the provider bills; what calls bring is an estimate.
    return int(left / run.window.meter.calibration.ratio)


def _asks_first(run: Running, text: str) -> bool:
    """Ask the model to write down what it needs before the compaction; return False when there is nothing to ask."""
    if not text or run.profile.name == "offline":
        return False
    run.record([Event("changed", {"text": text, "paths": [], "ask_first": True})])
    run.asking = True
    return True


def _summariser(run: Running) -> Summariser | None:
    model = run.summary_model
    if model is None:
        return None
    return summariser(run.profile if model is run.model else model.profile, run.settings)


def performed(
    steps: Generator[Request, Reply, tuple[Event, ...]],
    model: Model | None,
    paid: Callable[[Usage, float | None, Event], None],
    reply_of: Callable[[Model, Request], Reply] = lambda model, request: model.reply(request),
) -> tuple[Event, ...]:
    """Send the requests that a compaction makes to `model`; return its events.

    `paid` is told what each request cost, and the event that bills it. `reply_of` stands in for `Model.reply`.
    """
    try:
        request = next(steps)
        while model is not None:
            try:
                reply = reply_of(model, request)
            except ModelError as error:
                request = steps.throw(error)
                continue
            cost = model.profile.cost(reply.usage)
            bill = Event("usage", {**usage_data(reply, model.profile.name, cost), "purpose": "summary"})
            paid(reply.usage, cost, bill)
            request = steps.send(reply)
    except StopIteration as end:
        events: tuple[Event, ...] = end.value
        return events
    return ()


def summariser(known: Profile, settings: Settings) -> Summariser:
    """Return how a model of which `known` is known writes summaries."""
    return Summariser(known.name, known.window, known.max_output, settings.summary_tokens, settings.summary_trim)


def _paid(run: Running, bills: list[Event], usage: Usage, cost: float | None, bill: Event) -> None:
    run.limits.spend(usage, cost)
    bills.append(bill)


def _ask(run: Running, model: Model, request: Request) -> Reply:
    def on_delta(_: Delta) -> None:
        if run.stop.is_set():
            raise Stopped

    return run.tree.ask(model, request, on_delta)


def _fresh(run: Running) -> Fresh:
    """Return what the next epoch takes from now. A stranger's files, and a sub-agent's, stay as they were shown."""
    if not run.trusted or run.depth:
        return Fresh(changes=setup(run))
    plan = _text(run, TODO)
    shown = todo_text(run.workspace.folder.root, trusted=True)
    return Fresh(_text(run, "AGENTS.md"), plan, startup_chars(run.settings, shown), setup(run))


def _text(run: Running, path: str) -> str | None:
    root = run.workspace.folder.root
    try:
        return root.read_edited(path).decode("utf-8", "replace") if root.exists(path) else None
    except ManusfsError:
        return None


def _warn(run: Running, mark: int) -> None:
    if run.window.tokens >= _NEAR * mark and run.warned_epoch != run.window.epoch:
        run.warned_epoch = run.window.epoch
        run.tell("warning", f"the context holds {run.window.tokens:,} tokens and is compacted at {mark:,}")
