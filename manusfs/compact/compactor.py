"""The one mechanism that turns moves into the next epoch, checks it before it is written, and can undo it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from manusfs.compact.ladder import STEPS, slope_moves
from manusfs.compact.moves import AskFirst, Fold, Move, Summarise, to_json
from manusfs.compact.policy import Budget, Policy
from manusfs.compact.settle import settle
from manusfs.context import (
    Caps,
    Key,
    Reader,
    Section,
    Setup,
    Window,
    assemble,
    estimate,
    estimate_part,
    estimate_setup,
    frame_sections,
    later_opening,
)
from manusfs.errors import InvalidRequest, LimitReached, ManusfsError, NotFound
from manusfs.messages import Profile, Reply, Request, validate
from manusfs.records import Event, TextPart

__all__ = ["Fresh", "compact", "due", "reopen", "room", "undo"]

_LEAST_ROOM = 2_000
"""Tokens: with less between the fixed sections and the mark, or less than a third of what lies between them and the
hard limit, the hard limit is what counts."""
_FRAME = 200
"""Tokens of the collapsed ledgers and of the frame round the newest turn."""
_CARRIED = 300
"""Most tokens by which a call is carried over."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """What the next epoch takes from now instead of from the window."""

    instructions: str | None = None
    """Text of AGENTS.md; None: as it was."""
    todo: str | None = None
    """Text of todo.md; None: as it was last shown."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Members of the epoch event that differ: model, tools, options, credential, …"""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A next epoch that was tried: its events and its size in calibrated tokens."""

    events: tuple[Event, ...]
    window: Window
    size: int


def due(window: Window, policy: Policy, budget: Budget) -> bool:
    """Return True if the window should be compacted before the next request.

    That is at the policy's mark, and at the hard limit in any case. Right after an epoch began above its mark, it has
    to grow by a quarter of the way to the limit first: the same attempt would free nothing.
    """
    if not window.turns or window.open_calls:
        return False
    if window.tokens > budget.limit:
        return True
    mark = policy.mark(budget)
    start = window.epoch_tokens
    return window.tokens >= max(mark, start + (budget.limit - start) // 4 if start >= mark * 3 // 4 else mark)


def compact(
    window: Window, policy: Policy, budget: Budget, reader: Reader, fresh: Fresh | None = None
) -> Generator[Request, Reply, tuple[Event, ...]]:
    """Yield requests for summaries, to be sent their replies; return the events that close the epoch and open the next.

    The events are to be appended at once and together, as the very next lines of the transcript: refs in them count on
    it. None are returned when nothing can be freed. Needs no model and works at any fill.

    Raises:
        InvalidRequest: a call is open.
        LimitReached: not even the smallest form fits the budget.
    """
    fresh = fresh or Fresh()
    plan = yield from _without_model(policy.plan(window, budget))
    low = _low(window, policy, budget, fresh)
    draft = _descend(window, [plan], low, budget, reader, fresh, policy.name, "compaction")
    return draft.events if draft.size < window.tokens or window.tokens > budget.limit else ()


def room(window: Window, budget: Budget, fresh: Fresh | None = None) -> int:
    """Return the tokens that the results of the newest calls may take if all else is folded to its smallest form.

    What they take beyond it could never be shown in full. Calibrated; 0 when nothing is left.
    """
    fresh = fresh or Fresh()
    newest = next(reversed(list(window.exchanges())), None)
    calls = [item for item in newest.items if item.kind in ("call", "other", "text")] if newest is not None else []
    around = _FRAME + sum(min(item.tokens, _CARRIED) for item in calls)
    smallest = _fixed(window, _tight(budget), fresh) + round(around * window.meter.calibration.ratio)
    return max(0, (budget.limit - smallest) * 9 // 10)


def reopen(
    window: Window, policy: Policy, budget: Budget, reader: Reader, fresh: Fresh | None = None, because: str = "resume"
) -> tuple[Event, ...]:
    """Return the events of a new epoch that carries everything over as it stands, compacted if it must be.

    Raises:
        InvalidRequest: a call is open.
        LimitReached: not even the smallest form fits the budget.
    """
    fresh = fresh or Fresh()
    mark = min(policy.mark(budget), budget.limit)
    return _descend(window, [[], policy.plan(window, budget)], mark, budget, reader, fresh, policy.name, because).events


def undo(
    window: Window, compaction: int, budget: Budget, reader: Reader, fresh: Fresh | None = None
) -> tuple[Event, ...]:
    """Return the events that undo the compaction in transcript line `compaction` and open an epoch without it.

    Raises:
        NotFound: there is no such compaction in force.
        LimitReached: the window would be too large; the message has the numbers.
    """
    if not window.compactions.get(compaction):
        raise NotFound(f"no compaction in force at line {compaction}", hint=f"there are: {_in_force(window)}")
    event = Event("undo", {"compaction": compaction}, window.seq + 1)
    trial = window.fork()
    trial.apply(event)
    draft = _open(trial, (event,), Caps(tokens=budget.window // 10), fresh or Fresh(), "undo")
    if draft.size > budget.limit:
        raise LimitReached(
            f"without the compaction at line {compaction} the window would hold {draft.size} tokens; "
            f"{budget.limit} fit (it holds {window.tokens} now)",
            hint="undo a smaller one, or read what you need by its ref",
        )
    _check(draft, reader)
    return draft.events


def _without_model(moves: Sequence[Move]) -> Generator[Request, Reply, list[Move]]:
    """Return `moves` with ledgers in place of summaries. Summaries by a model are asked for here, and checked."""
    yield from ()
    settled: list[Move] = []
    for move in moves:
        if isinstance(move, Summarise):
            settled.append(Fold(move.blocks, "ledger"))
        elif not isinstance(move, AskFirst):
            settled.append(move)
    return settled


def _descend(
    window: Window,
    plans: Sequence[Sequence[Move]],
    low: int,
    budget: Budget,
    reader: Reader,
    fresh: Fresh,
    policy: str,
    because: str,
) -> _Draft:
    """Return the first epoch on the way down that is no larger than `low`, else the smallest that fits and is sound."""
    if window.open_calls:
        raise InvalidRequest("a call is open", hint="append its result, or an honest error, before a new epoch")
    smallest = sys.maxsize
    trouble: ManusfsError | None = None
    memo: dict[str, int] = {}
    # What the model has not seen yet is folded only where it can't stand at all: else it would ask for it again.
    for keep in dict.fromkeys((window.unseen, frozenset[Key]())):
        drafts: list[_Draft] = []
        for moves, caps in _ladder(window, plans, low, budget, fresh, keep):
            draft = _try(window, moves, keep, caps, fresh, policy, because, memo)
            smallest = min(smallest, draft.size)
            if draft.size > low:
                drafts.append(draft)
            elif (found := _fault(draft, reader)) is None:
                return draft
            else:
                trouble = found
        for draft in sorted((draft for draft in drafts if draft.size <= budget.limit), key=lambda draft: draft.size):
            if (found := _fault(draft, reader)) is None:
                return draft
            trouble = found
    if trouble is not None:
        raise trouble
    raise LimitReached(
        f"the smallest form of this session takes {smallest} tokens; {budget.limit} fit beside the reply",
        hint="use a model with a larger window, a smaller `max_tokens`, or start a new run in the same workspace",
    )


def _ladder(
    window: Window,
    plans: Sequence[Sequence[Move]],
    low: int,
    budget: Budget,
    fresh: Fresh,
    keep: Collection[Key],
) -> Iterator[tuple[Sequence[Move], Caps]]:
    caps = Caps(tokens=budget.window // 10)
    for plan in plans:
        yield plan, caps
    free = int((low - _fixed(window, caps, fresh)) / window.meter.calibration.ratio)
    free = max(0, free - _tokens(window, keep))
    for step in STEPS:
        yield slope_moves(window, step, free, keep), caps
    yield slope_moves(window, STEPS[-1], free, keep), _tight(budget)


def _try(
    window: Window,
    moves: Sequence[Move],
    keep: Collection[Key],
    caps: Caps,
    fresh: Fresh,
    policy: str,
    because: str,
    memo: dict[str, int],
) -> _Draft:
    moves, ledgers = settle(window, moves, keep)
    if not moves:
        return _open(window.fork(), (), caps, fresh, because, memo)
    numbers = iter(range(len(ledgers)))
    data = {
        "policy": policy,
        "moves": [to_json(move, next(numbers) if _has_ledger(move) else None) for move in moves],
        "ledgers": [ledger.to_json(window.session) for ledger in ledgers],
        "before_tokens": window.tokens,
        "after_tokens": 0,
    }
    event = Event("compaction", data, window.seq + 1)
    trial = window.fork()
    trial.apply(event)
    draft = _open(trial, (event,), caps, fresh, because, memo)
    data["after_tokens"] = draft.size
    return draft


def _open(
    trial: Window,
    before: tuple[Event, ...],
    caps: Caps,
    fresh: Fresh,
    because: str,
    memo: dict[str, int] | None = None,
) -> _Draft:
    """Return the draft of the epoch that follows `trial`, which already holds the events `before`."""
    sections = later_opening(trial, caps, instructions=fresh.instructions, todo=fresh.todo)
    data = {
        "n": trial.epoch + 1,
        "because": because,
        **trial.setup.to_json(),
        **fresh.changes,
        "opening": [section.to_json() for section in sections],
    }
    event = Event("epoch", data, trial.seq + 1)
    size = estimate_setup(Setup.of(data)) + _cost(sections, {} if memo is None else memo)
    return _Draft((*before, event), trial, round(size * trial.meter.calibration.ratio))


def _check(draft: _Draft, reader: Reader) -> None:
    """Render the epoch's first request as it will be sent, and validate it."""
    window = draft.window.fork()
    window.apply(draft.events[-1])
    validate(assemble(window, reader, Profile(window.setup.model, caches=False)))


def _fault(draft: _Draft, reader: Reader) -> ManusfsError | None:
    """Return what is wrong with the epoch's first request, None when it can be sent."""
    try:
        _check(draft, reader)
    except ManusfsError as error:
        return error
    return None


def _low(window: Window, policy: Policy, budget: Budget, fresh: Fresh) -> int:
    """Return the size to get down to: a third of what lies between the fixed sections and the mark is freed.

    Less would break the cached prefix too often; more would drop below the half that stays in full. What the model has
    not seen yet counts as fixed.
    """
    fixed = _fixed(window, Caps(tokens=budget.window // 10), fresh)
    fixed += round(_tokens(window, window.unseen) * window.meter.calibration.ratio)
    high = min(policy.mark(budget), budget.limit)
    if high - fixed < max(_LEAST_ROOM, (budget.limit - fixed) // 3):
        high = budget.limit
    return min(budget.limit, fixed + max(0, high - fixed) * 2 // 3)


def _fixed(window: Window, caps: Caps, fresh: Fresh) -> int:
    head, tail = frame_sections(window, caps, instructions=fresh.instructions, todo=fresh.todo)
    return round((estimate_setup(window.setup) + _cost([*head, *tail], {})) * window.meter.calibration.ratio)


def _tokens(window: Window, keys: Iterable[Key]) -> int:
    return sum(item.tokens for key in keys if (item := window.item(*key)) is not None)


def _tight(budget: Budget) -> Caps:
    return Caps(message_chars=400, tokens=min(1_000, budget.window // 50), mentions=5)


def _cost(sections: Sequence[Section], memo: dict[str, int]) -> int:
    total = 0
    for section in sections:
        part = section.part
        if isinstance(part, TextPart):
            if part.text not in memo:
                memo[part.text] = estimate(part.text)
            total += memo[part.text]
        else:
            total += estimate_part(part)
    return total


def _has_ledger(move: Move) -> bool:
    return isinstance(move, Fold) and move.form != "stub"


def _in_force(window: Window) -> str:
    return ", ".join(str(seq) for seq, standing in window.compactions.items() if standing) or "none"
