"""Compacting a session, and undoing that, by hand: between its runs, with nothing of the next epoch but its window new.

The epoch keeps the model, the tools and the key's fingerprint that the session stands with, so that a resume goes on in
it. What people changed in files meanwhile is told by the resume, as always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from manusfs.agent.compaction import performed, summariser
from manusfs.agent.resume import closing, last_epoch
from manusfs.agent.running import last_asked, now
from manusfs.compact import AskFirst, Budget, Outlook, Policy, Summarise, compact, load_policy, outlook, undo, undone
from manusfs.context import Window, fold
from manusfs.errors import ConfigError, NotFound, UsageError
from manusfs.messages import Model, Profile
from manusfs.records import Event, counted
from manusfs.session import Transcript
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.memory import Workspace

__all__ = ["Changed", "Compaction", "compact_session", "compactions", "profile_of", "summary_writer", "undo_compaction"]


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction of a session."""

    seq: int
    time: str
    policy: str
    before_tokens: int
    after_tokens: int
    standing: bool
    """False once it is undone."""
    number: int = 0
    """How `undo` calls it: 1 is the newest that stands; 0 for one that does not."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a compaction or an undo by hand did, or would do."""

    session: str
    policy: str
    seq: int
    """Transcript line of the compaction that was made, or that is undone; 0 for none."""
    written: bool
    outlook: Outlook | None
    """None where nothing can be freed."""
    limit: int
    """The most tokens that a request of the session's model may have."""
    summary: str = ""
    """What became of the summary that the policy asks for; "" where it asks for none."""
    cost_usd: float | None = None
    """What summaries cost."""

    def to_json(self) -> dict[str, Any]:
        """Return it as the command line prints it."""
        known = {
            "session": self.session,
            "policy": self.policy,
            "seq": self.seq,
            "written": self.written,
            "limit_tokens": self.limit,
            "summary": self.summary,
            "cost_usd": self.cost_usd,
        }
        return {**known, **(self.outlook.to_json() if self.outlook is not None else {"freed_tokens": 0})}


def compact_session(
    workspace: Workspace,
    session: str,
    settings: Settings | None = None,
    writer: Callable[[str], Model | None] | None = None,
    *,
    dry_run: bool = False,
) -> Changed:
    """Return what compacting `session` now comes to, whatever its size; without `dry_run` it is done and written.

    The policy is that of `settings`. `writer` gives the model that writes summaries, by the name of the session's
    model; it is called only where the policy asks for one, and never for a dry run. Where nothing can be freed nothing
    is written.

    Raises:
        NotFound: no such session.
        UsageError: it has no epoch yet.
        Locked: another process is running it.
        LimitReached: not even the smallest form fits the model's window.
    """
    settings = settings or workspace.settings
    policy = load_policy(settings.policy, settings)
    with Transcript.open(workspace.folder, session, write=not dry_run) as transcript:
        before, window = _closed(transcript)
        budget = _budget(transcript.events, window)
        model, said = _writer(window, policy, budget, None if dry_run else writer, dry_run=dry_run)
        bills: list[Event] = []
        known = _writer_profile(model, window)
        by = summariser(known, settings) if known is not None else None
        steps = compact(window, policy, budget, workspace.renderer, summariser=by, force=True)
        events = performed(steps, model, lambda usage, cost, bill: bills.append(bill))
        changes = any(event.kind == "compaction" and event.data["moves"] for event in events)
        kept = events if changes else tuple(event for event in events if event.kind == "compaction")
        if not dry_run and (kept or bills):
            # Refs in the events count on being the very lines that they were made for.
            transcript.append([*before, *kept, *bills, *_end(transcript)])
        made = next((event for event in kept if event.kind == "compaction"), None)
        return Changed(
            session,
            policy.name,
            made.seq if made is not None and changes else 0,
            changes and not dry_run,
            outlook(window, events, budget) if changes else None,
            budget.limit,
            _summary(made) or said,
            _spent(bills),
        )


def undo_compaction(workspace: Workspace, session: str, number: int = 1, *, view: bool = False) -> Changed:
    """Return what undoing the `number`-th newest compaction that stands comes to; without `view` it is done.

    Raises:
        NotFound: no such session, or not so many compactions that stand.
        Locked: another process is running it.
        LimitReached: the window would be too large; with `view` it is shown all the same.
    """
    with Transcript.open(workspace.folder, session, write=not view) as transcript:
        before, window = _closed(transcript)
        standing = [one for one in compactions(transcript.events) if one.standing]
        if not 1 <= number <= len(standing):
            count = len(standing)
            what = f"{counted(count, 'compaction') if count else 'no compaction'} {'stand' if count > 1 else 'stands'}"
            raise NotFound(
                f"{what} in session {session}; there is none to undo at {number}",
                hint=f"manusfs undo --list --session {session}",
            )
        chosen = standing[-number]
        budget = _budget(transcript.events, window)
        if view:
            events = undone(window, chosen.seq, budget, workspace.renderer).events
        else:
            events = undo(window, chosen.seq, budget, workspace.renderer)
            transcript.append([*before, *events, *_end(transcript)])
        return Changed(session, chosen.policy, chosen.seq, not view, outlook(window, events, budget), budget.limit)


def compactions(events: Sequence[Event]) -> list[Compaction]:
    """Return the compactions of a session, oldest first."""
    gone = {event.data["compaction"] for event in events if event.kind == "undo"}
    made = [event for event in events if event.kind == "compaction" and event.data["moves"]]
    numbers = {event.seq: n for n, event in enumerate(reversed([e for e in made if e.seq not in gone]), 1)}
    return [
        Compaction(
            event.seq,
            event.time,
            event.data.get("policy", ""),
            event.data["before_tokens"],
            event.data["after_tokens"],
            event.seq in numbers,
            numbers.get(event.seq, 0),
        )
        for event in made
    ]


def profile_of(window: Window) -> Profile:
    """Return what the session knows of its model."""
    known = {field.name for field in fields(Profile)}
    data = {name: value for name, value in window.setup.profile.items() if name in known}
    return Profile(**data) if "name" in data else Profile(window.setup.model)


def summary_writer(settings: Settings, key: str, model: str) -> Model | None:
    """Return who writes the summaries of a session of `model`, None where nobody does.

    Raises:
        ConfigError: no key for it.
    """
    from manusfs import models

    name = settings.summary_model or model
    if name == "offline" or not settings.summary_tokens:
        return None
    return models.load(name, key=key, base_url=settings.base_url)


def _closed(transcript: Transcript) -> tuple[list[Event], Window]:
    """Return honest results for calls that a stop left open, as they will be written, and the window behind them."""
    events = transcript.events
    if last_epoch(events) is None:
        raise UsageError(
            f"session {transcript.session} ended before its task was written down: there is nothing to compact",
            hint=f'give the task again: manusfs resume {transcript.session} "…"',
        )
    window = fold(events)
    waiting = [child.session for child in window.children.open if child.call in window.open_calls]
    if waiting:
        raise UsageError(
            f"sub-agents of {transcript.session} are still open: {', '.join(waiting[:3])}",
            hint=f"let them end first: manusfs resume {transcript.session}",
        )
    closed = [replace(event, seq=seq) for seq, event in enumerate(closing(events), window.seq + 1)]
    for event in closed:
        window.apply(event)
    return closed, window


def _end(transcript: Transcript) -> list[Event]:
    """Return the end of a session that is finished once more: it stays finished."""
    last = transcript.events[-1]
    return [Event("end", last.data)] if last.kind == "end" else []


def _budget(events: Sequence[Event], window: Window) -> Budget:
    asked = last_asked(events)
    idle_s = 0.0 if asked is None else max(0.0, (now() - asked).total_seconds())
    return Budget.of(profile_of(window), window.setup.max_tokens, idle_s)


def _writer(
    window: Window, policy: Policy, budget: Budget, writer: Callable[[str], Model | None] | None, *, dry_run: bool
) -> tuple[Model | None, str]:
    """Return who writes the summary that the policy asks for, and what is to be said of it."""
    plan = [move for move in policy.plan(window, budget) if not isinstance(move, AskFirst)]
    asked = [move for move in plan if isinstance(move, Summarise)]
    if not asked:
        return None, ""
    # Behind folds a summary is only a second choice: nothing is missing where these free enough.
    said = plan[0] is asked[0]
    if dry_run:
        blocks = sum(len(window.between(text)) for move in asked for text in move.blocks)
        what = f"{counted(blocks, 'block')} summarised by a model"
        line = f"the policy has {what}; a dry run asks none and shows their ledger"
        return None, line if said else ""
    try:
        model = writer(window.setup.model) if writer is not None else None
    except ConfigError as error:
        return None, f"no summary was made, the older turns are folded: {error}" if said else ""
    return model, "no model writes summaries: the older turns are folded" if said and model is None else ""


def _writer_profile(model: Model | None, window: Window) -> Profile | None:
    if model is None:
        return None
    return profile_of(window) if model.profile.name == window.setup.model else model.profile


def _summary(event: Event | None) -> str:
    told = (event.data.get("summary") or {}) if event is not None else {}
    if told.get("failed"):
        return f"no summary was made, the older turns are folded: {told['failed']}"
    return f"written by {told['model']}" if told else ""


def _spent(bills: Sequence[Event]) -> float | None:
    known = [bill.data["cost_usd"] for bill in bills if bill.data.get("cost_usd") is not None]
    return sum(known) if known else None
