"""The one mechanism that turns moves into the next epoch, checks it before it is written, and can undo it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from manusfs.compact.draft import (
    Draft,
    Fresh,
    Terms,
    attempt,
    check,
    descend,
    fixed_tokens,
    opened,
    pinned,
    tight,
    tokens_of,
)
from manusfs.compact.moves import AskFirst, Fold, Move, Summarise
from manusfs.compact.policy import Budget, Policy, pays, words
from manusfs.compact.summary import Summariser, SummaryFailed, summarise
from manusfs.context import Reader, Window
from manusfs.errors import LimitReached, NotFound
from manusfs.messages import Reply, Request
from manusfs.records import Event

__all__ = ["MOST_PICTURES", "MOST_PICTURE_BYTES", "Fresh", "ask", "compact", "due", "reopen", "room", "undo", "undone"]

MOST_PICTURES = 20
MOST_PICTURE_BYTES = 12 << 20
"""In a request: with what one turn may bring besides, the API's limit of 32 MB is far."""
_LEAST_ROOM = 2_000
"""Tokens: with less between the fixed sections and the mark, or less than a third of what lies between them and the
hard limit, the hard limit is what counts."""
_FRAME = 200
"""Tokens of the collapsed ledgers and of the frame round the newest turn."""
_CARRIED = 300
"""Most tokens by which a call is carried over."""


def due(window: Window, policy: Policy, budget: Budget) -> bool:
    """Return True if the window should be compacted before the next request.

    That is at the policy's mark, or when the policy says that it pays, and at the hard limit in any case. Right after
    an epoch began above its mark, it has to grow by a quarter of the way to the limit first: the same attempt would
    free nothing.
    """
    if not window.turns or window.open_calls:
        return False
    if window.tokens > budget.limit or pays(policy, window, budget) or _is_full_of_pictures(window):
        return True
    mark = policy.mark(budget)
    start = window.epoch_tokens
    return window.tokens >= max(mark, start + (budget.limit - start) // 4 if start >= mark * 3 // 4 else mark)


def _is_full_of_pictures(window: Window) -> bool:
    """Return True if the pictures have to become refs: of 20 in a request each may be of any size, of more not."""
    return window.pictures.count >= MOST_PICTURES or window.pictures.size >= MOST_PICTURE_BYTES


def ask(window: Window, policy: Policy, budget: Budget) -> str:
    """Return what to ask the model before the compaction that is due, "" when there is nothing to ask.

    It is asked once an epoch, and only where a turn of notes still fits.
    """
    if window.asked or window.tokens > budget.limit - _LEAST_ROOM or _is_full_of_pictures(window):
        return ""
    first = next(iter(policy.plan(window, budget)), None)
    return first.text if isinstance(first, AskFirst) else ""


def compact(
    window: Window,
    policy: Policy,
    budget: Budget,
    reader: Reader,
    fresh: Fresh | None = None,
    summariser: Summariser | None = None,
    *,
    force: bool = False,
) -> Generator[Request, Reply, tuple[Event, ...]]:
    """Yield requests for summaries, to be sent their replies; return the events that close the epoch and open the next.

    A request that failed is to be answered by throwing its ModelError in. The events are to be appended at once and
    together, as the very next lines of the transcript: refs in them count on it. None are returned when nothing can be
    freed; a compaction without moves and without an epoch when nothing was, and a summary failed: it is not to be asked
    for again in every turn, unless `force` says that a person wants it. Without `summariser` no request is made. Works
    at any fill, and whether it is due or not.

    Raises:
        InvalidRequest: a call is open.
        LimitReached: not even the smallest form fits the budget.
    """
    plan: list[Move] = [move for move in policy.plan(window, budget) if not isinstance(move, AskFirst)]
    terms = Terms(budget, reader, fresh or Fresh(), policy.name, words=words(policy, budget))
    low = _low(window, policy, terms)
    folds = list(takewhile(lambda move: not isinstance(move, Summarise), plan))
    plans: list[list[Move]] = [folds] if folds else []
    summary: dict[str, Any] = {}
    if len(folds) < len(plan) and (not folds or not _suffices(window, folds, low, terms)):
        if summariser is not None and (force or _may_ask(window)):
            made, summary = yield from _with_summaries(window, plan, terms, summariser)
            plans = [made] if made is not None else plans
        if not plans:
            plans = [_without_model(plan)]
    terms = replace(terms, summary=summary)
    draft = descend(window, plans or [[]], low, terms)
    if draft.size < window.tokens or window.tokens > budget.limit:
        return draft.events
    return (_in_vain(window, policy.name, summary),) if summary.get("failed") else ()


def room(window: Window, budget: Budget, fresh: Fresh | None = None) -> int:
    """Return the tokens that the results of the newest calls may take if all else is folded to its smallest form.

    What they take beyond it could never be shown in full. Calibrated; 0 when nothing is left.
    """
    newest = next(window.exchanges(window.turn), None)
    calls = [item for item in newest.items if item.kind in ("call", "other", "text")] if newest is not None else []
    around = _FRAME + sum(min(item.tokens, _CARRIED) for item in calls)
    smallest = fixed_tokens(window, tight(budget), fresh or Fresh()) + round(around * window.meter.calibration.ratio)
    return max(0, (budget.limit - smallest) * 9 // 10)


def reopen(
    window: Window, policy: Policy, budget: Budget, reader: Reader, fresh: Fresh | None = None, because: str = "resume"
) -> tuple[Event, ...]:
    """Return the events of a new epoch that carries everything over as it stands, compacted if it must be.

    Raises:
        InvalidRequest: a call is open.
        LimitReached: not even the smallest form fits the budget.
    """
    mark = min(policy.mark(budget), budget.limit)
    terms = Terms(budget, reader, fresh or Fresh(), policy.name, because, words=words(policy, budget))
    return descend(window, [[], _without_model(policy.plan(window, budget))], mark, terms).events


def undo(
    window: Window, compaction: int, budget: Budget, reader: Reader, fresh: Fresh | None = None
) -> tuple[Event, ...]:
    """Return the events that undo the compaction in transcript line `compaction` and open an epoch without it.

    Raises:
        NotFound: there is no such compaction in force.
        LimitReached: the window would be too large; the message has the numbers.
    """
    draft = undone(window, compaction, budget, reader, fresh)
    if draft.size > budget.limit:
        raise LimitReached(
            f"without the compaction at line {compaction} the window would hold {draft.size:,} tokens; "
            f"{budget.limit:,} fit (it holds {window.tokens:,} now)",
            hint="undo a smaller one, or read what you need by its ref",
        )
    if (fault := check(draft, reader)) is not None:
        raise fault
    return draft.events


def undone(window: Window, compaction: int, budget: Budget, reader: Reader, fresh: Fresh | None = None) -> Draft:
    """Return the epoch without the compaction in transcript line `compaction`, whether it fits or not.

    Raises:
        NotFound: there is no such compaction in force.
    """
    if not window.compactions.get(compaction):
        raise NotFound(f"no compaction in force at line {compaction}", hint=f"there are: {_in_force(window)}")
    event = Event("undo", {"compaction": compaction}, window.seq + 1)
    trial = window.fork()
    trial.apply(event)
    terms = Terms(budget, reader, fresh or Fresh(), "", "undo")
    return opened(trial, (event,), terms.caps, terms)


def _suffices(window: Window, moves: Sequence[Move], low: int, terms: Terms) -> bool:
    keep = window.unseen | pinned(window, terms.budget)
    draft = attempt(window, [lambda _: moves], keep, terms.caps, terms)
    return draft.size <= low


def _with_summaries(
    window: Window, plan: Sequence[Move], terms: Terms, by: Summariser
) -> Generator[Request, Reply, tuple[list[Move] | None, dict[str, Any]]]:
    """Return `plan` with its summaries made, None where one failed, and what is to be remembered of it."""
    made: list[Move] = []
    for move in plan:
        if isinstance(move, Summarise):
            try:
                move = yield from summarise(window, move, terms.reader, by)
            except SummaryFailed as failure:
                return None, {"model": by.model, "failed": str(failure)}
        made.append(move)
    return made, {"model": by.model}


def _without_model(plan: Sequence[Move]) -> list[Move]:
    """Return `plan` with a ledger in place of each summary: the old part folded, the recent kept word for word (CC-7).

    Where folds stand before it, these come first, and the ladder goes on from there.
    """
    plan = [move for move in plan if not isinstance(move, AskFirst)]
    folds = list(takewhile(lambda move: not isinstance(move, Summarise), plan))
    if folds:
        return folds
    return [Fold(move.blocks, "ledger") if isinstance(move, Summarise) else move for move in plan]


def _may_ask(window: Window) -> bool:
    """Return False for as many compactions as summaries have failed in a row."""
    return not window.summaries_failed or window.summaries_skipped >= window.summaries_failed


def _in_vain(window: Window, policy: str, summary: Mapping[str, Any]) -> Event:
    size = window.tokens
    data = {"policy": policy, "moves": [], "ledgers": [], "before_tokens": size, "after_tokens": size}
    return Event("compaction", {**data, "summary": dict(summary)}, window.seq + 1)


def _low(window: Window, policy: Policy, terms: Terms) -> int:
    """Return the size to get down to: a third of what lies between the fixed sections and the mark is freed.

    Less would break the cached prefix too often; more would drop below the half that stays in full. What the model has
    not seen yet, or asked to keep, counts as fixed.
    """
    budget = terms.budget
    fixed = fixed_tokens(window, terms.caps, terms.fresh)
    kept = window.unseen | pinned(window, budget)
    fixed += round(tokens_of(window, kept) * window.meter.calibration.ratio)
    high = min(policy.mark(budget), budget.limit)
    if high - fixed < max(_LEAST_ROOM, (budget.limit - fixed) // 3):
        high = budget.limit
    return min(budget.limit, fixed + max(0, high - fixed) * 2 // 3)


def _in_force(window: Window) -> str:
    return ", ".join(str(seq) for seq, standing in window.compactions.items() if standing) or "none"
