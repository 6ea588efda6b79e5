"""The next epoch as it is tried out: rungs of the ladder down, each rendered and checked before one is taken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from manusfs.compact.ladder import STEPS, Slope, slope_moves
from manusfs.compact.moves import Fold, Move, Summarise, names, to_json
from manusfs.compact.policy import Budget
from manusfs.compact.settle import settle
from manusfs.compact.trim import exact
from manusfs.context import (
    Caps,
    Key,
    Ledger,
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
    pair_tokens,
    pair_turns,
)
from manusfs.errors import InvalidRequest, LimitReached, ManusfsError
from manusfs.messages import Profile, validate
from manusfs.records import Event, TextPart

__all__ = [
    "PINNED_SHARE",
    "Draft",
    "Fresh",
    "Terms",
    "attempt",
    "check",
    "descend",
    "fixed_tokens",
    "opened",
    "pinned",
    "tight",
    "tokens_of",
]

PINNED_SHARE = 0.25
"""Most of the limit that blocks take which the model asked to keep in full."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """What the next epoch takes from now instead of from the window."""

    instructions: str | None = None
    """Text of AGENTS.md; None: as it was."""
    todo: str | None = None
    """Text of todo.md; None: as it was last shown."""
    startup_chars: int = 12_000
    """Most of the instructions that an opening shows."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Members of the epoch event that differ: model, tools, options, credential, …"""


@dataclass(frozen=True, slots=True)
class Terms:
    """What all tries of one compaction share."""

    budget: Budget
    reader: Reader
    fresh: Fresh
    policy: str
    because: str = "compaction"
    summary: Mapping[str, Any] = field(default_factory=dict)
    """What became of the requests for summaries; empty when none was made."""
    words: Caps | None = None
    """How much of the user's words is repeated; None: a tenth of the window."""
    memo: dict[str, int] = field(default_factory=dict)
    """Tokens of texts, estimated once."""

    @property
    def caps(self) -> Caps:
        """How much of the user's words the next opening repeats."""
        return self.words or Caps(tokens=self.budget.window // 10)


@dataclass(frozen=True, slots=True)
class Draft:
    """A next epoch that was tried: its events and its size in calibrated tokens."""

    events: tuple[Event, ...]
    window: Window
    size: int


Rung = Callable[[Window], Sequence[Move]]
"""The moves of one stage, from the window as the stages before it leave it."""


def descend(window: Window, plans: Sequence[Sequence[Move]], low: int, terms: Terms) -> Draft:
    """Return the first epoch on the way down that is no larger than `low`, else the smallest that fits and is sound."""
    if window.open_calls:
        raise InvalidRequest("a call is open", hint="append its result, or an honest error, before a new epoch")
    smallest = sys.maxsize
    trouble: ManusfsError | None = None
    # What the model has not seen yet is folded only where it can't stand at all: else it would ask for it again.
    # Of that and of what it asked to keep, the latter gives way first.
    for keep in dict.fromkeys((window.unseen | pinned(window, terms.budget), window.unseen, frozenset[Key]())):
        drafts: list[Draft] = []
        for stages, caps in _ladder(window, plans, low, terms, keep):
            draft = attempt(window, stages, keep, caps, terms)
            smallest = min(smallest, draft.size)
            if draft.size > low:
                drafts.append(draft)
            elif (found := check(draft, terms.reader)) is None:
                return draft
            else:
                trouble = found
        fitting = (draft for draft in drafts if draft.size <= terms.budget.limit)
        for draft in sorted(fitting, key=lambda draft: draft.size):
            if (found := check(draft, terms.reader)) is None:
                return draft
            trouble = found
    if trouble is not None:
        raise trouble
    raise LimitReached(
        f"the smallest form of this session takes {smallest} tokens; {terms.budget.limit} fit beside the reply",
        hint="use a model with a larger window, a smaller `max_tokens`, or start a new run in the same workspace",
    )


def _ladder(
    window: Window, plans: Sequence[Sequence[Move]], low: int, terms: Terms, keep: Collection[Key]
) -> Iterator[tuple[Sequence[Rung], Caps]]:
    """Yield the plans; those with summaries then with steeper slopes beside these; then the slopes alone."""
    caps = terms.caps
    for plan in plans:
        yield [_as_planned(plan)], caps
    free = int((low - fixed_tokens(window, caps, terms.fresh)) / window.meter.calibration.ratio)
    free = max(0, free - tokens_of(window, keep))
    for plan in plans:
        if any(isinstance(move, Summarise) for move in plan):
            for step in STEPS:
                yield [_as_planned(plan), _sloped(step, free, keep)], caps
    for step in STEPS:
        yield [_sloped(step, free, keep)], caps
    yield [_sloped(STEPS[-1], free, keep)], tight(terms.budget)


def _as_wished(window: Window) -> Sequence[Move]:
    asked = [item for key, wish in window.wished().items() if wish == "fold" and (item := window.item(*key))]
    return [Fold(names(asked))] if asked else []


def _as_planned(moves: Sequence[Move]) -> Rung:
    return lambda window: moves


def _sloped(step: Slope, free: int, keep: Collection[Key]) -> Rung:
    def moves(window: Window) -> Sequence[Move]:
        summaries = [ledger for _, ledger in window.ledgers if ledger.form == "summary"]
        taken = sum(estimate(ledger.shown(window.session, "")) for ledger in summaries)
        return slope_moves(window, step, max(0, free - taken), keep)

    return moves


def attempt(window: Window, stages: Sequence[Rung], keep: Collection[Key], caps: Caps, terms: Terms) -> Draft:
    """Return the epoch that `stages` lead to, each settled on what those before it left.

    What the model asked to have folded is folded first.
    """
    trial, moves, ledgers = window, list[Move](), list[Ledger]()
    event: Event | None = None
    for stage in (_as_wished, *stages):
        more, made = settle(trial, exact(trial, stage(trial), terms.reader), keep)
        if more:
            moves, ledgers = moves + more, ledgers + made
            event = _compaction(window, moves, ledgers, terms)
            trial = window.fork()
            trial.apply(event)
    if event is None:
        return opened(window.fork(), (), caps, terms)
    draft = opened(trial, (event,), caps, terms)
    event.data["after_tokens"] = draft.size
    return draft


def _compaction(window: Window, moves: Sequence[Move], ledgers: Sequence[Ledger], terms: Terms) -> Event:
    numbers = iter(range(len(ledgers)))
    data = {
        "policy": terms.policy,
        "moves": [to_json(move, next(numbers) if _has_ledger(move) else None) for move in moves],
        "ledgers": [ledger.to_json(window.session) for ledger in ledgers],
        "before_tokens": window.tokens,
        "after_tokens": 0,
    }
    return Event("compaction", {**data, "summary": dict(terms.summary)} if terms.summary else data, window.seq + 1)


def opened(trial: Window, before: tuple[Event, ...], caps: Caps, terms: Terms) -> Draft:
    """Return the draft of the epoch that follows `trial`, which already holds the events `before`."""
    fresh = terms.fresh
    kept = pair_turns(trial) if _takes_pairs(trial, fresh) else []
    sections = later_opening(
        trial,
        caps,
        instructions=fresh.instructions,
        todo=fresh.todo,
        startup_chars=fresh.startup_chars,
        pairs=[exchange.turn for exchange in kept],
    )
    data: dict[str, Any] = {
        "n": trial.epoch + 1,
        "because": terms.because,
        **trial.setup.to_json(),
        **fresh.changes,
        "opening": [section.to_json() for section in sections],
    }
    size = estimate_setup(Setup.of(data)) + _cost(sections, terms.memo)
    if kept:
        # The plan stands at the end of the window, as without pairs.
        plan = [section.to_json() for section in sections if section.label == "todo"]
        data["opening"] = [section.to_json() for section in sections if section.label != "todo"]
        data |= {"pairs": [[exchange.first, exchange.last] for exchange in kept], "closing": plan}
        size += pair_tokens(trial, [(exchange.first, exchange.last) for exchange in kept])
    event = Event("epoch", data, trial.seq + 1)
    return Draft((*before, event), trial, round(size * trial.meter.calibration.ratio))


def _takes_pairs(trial: Window, fresh: Fresh) -> bool:
    profile = fresh.changes.get("profile", trial.setup.profile)
    return bool(profile.get("pairs_without_thinking"))


def check(draft: Draft, reader: Reader) -> ManusfsError | None:
    """Return what is wrong with the epoch's first request, rendered as it will be sent; None when it can be sent."""
    try:
        window = draft.window.fork()
        window.apply(draft.events[-1])
        validate(assemble(window, reader, Profile(window.setup.model, caches=False)))
    except ManusfsError as error:
        return error
    return None


def pinned(window: Window, budget: Budget) -> frozenset[Key]:
    """Return what the model asked to keep over the next compaction: the newest, a quarter of the limit at most."""
    left = budget.limit * PINNED_SHARE / window.meter.calibration.ratio
    kept: set[Key] = set()
    for key in reversed([key for key, wish in window.wished().items() if wish == "keep"]):
        left -= tokens_of(window, (key,))
        if left < 0:
            break
        kept.add(key)
    return frozenset(kept)


def fixed_tokens(window: Window, caps: Caps, fresh: Fresh) -> int:
    """Return the calibrated tokens of what no fold changes: system, tools, the user's words, the plan."""
    head, tail = frame_sections(
        window, caps, instructions=fresh.instructions, todo=fresh.todo, startup_chars=fresh.startup_chars
    )
    return round((estimate_setup(window.setup) + _cost([*head, *tail], {})) * window.meter.calibration.ratio)


def tokens_of(window: Window, keys: Iterable[Key]) -> int:
    """Return the uncalibrated tokens of source blocks in full."""
    return sum(item.tokens for key in keys if (item := window.item(*key)) is not None)


def tight(budget: Budget) -> Caps:
    """Return the least of the user's words that an opening repeats."""
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
    return isinstance(move, Summarise) or (isinstance(move, Fold) and move.form not in ("stub", "trim"))
