"""Drives a synthetic session as the agent's loop does: compact when due, assemble, validate, reply, results."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from context.conversations import FixedReader, Log, call, flat, hex_id, request_text, sealed, text, thinking

from manusfs.compact import Budget, Policy, compact, due
from manusfs.context import Assembler, Window, fold
from manusfs.messages import Profile, Request, validate
from manusfs.records import Event, ObsRef, Span, TextPart, ViewPart

_RANGE = re.compile(r"msg:[\w.-]+?:(\d+)(?:\.\d+)?(?:-(\d+))?")
_WHOLE = re.compile(r'whole=\\?"msg:[\w.-]+?:(\d+)\.(\d+)')


@dataclass
class Run:
    """A session in the making, checked at every step."""

    policy: Policy
    window_tokens: int
    max_tokens: int = 2_000
    log: Log = field(default_factory=Log)
    reader: FixedReader = field(default_factory=FixedReader)
    peak: int = 0
    compactions: list[tuple[int, int]] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    epoch: int = 0
    requests: int = 0

    def __post_init__(self) -> None:
        self.log.begin()
        self.window: Window = fold(self.log.events)
        profile = Profile("test", window=self.window_tokens)
        self.budget = Budget.of(profile, self.max_tokens)
        self.assembler = Assembler(self.reader, profile)

    def add(self, *events: Event) -> None:
        """Apply events that the log has."""
        for event in events:
            self.window.apply(event)

    def compact(self) -> tuple[Event, ...]:
        """Compact now and record it."""
        before = self.window.tokens
        events = performed(self.window, self.policy, self.budget, self.reader)
        self.record(events)
        if events:
            self.compactions.append((before, self.window.tokens))
        return events

    def record(self, events: tuple[Event, ...]) -> None:
        """Append the events of an epoch; their numbers must be those that were foreseen."""
        for event in events:
            written = self.log.append(event)
            assert written.seq == event.seq
            self.window.apply(written)

    def request(self) -> Request:
        """Return the next request after all checks that hold for each: I2, I3, I4."""
        if due(self.window, self.policy, self.budget):
            self.compact()
        request = self.assembler.request(self.window)
        validate(request)
        assert self.window.tokens <= self.budget.limit
        self.peak = max(self.peak, self.window.tokens)
        self.requests += 1
        if self.requests % 5 == 0:
            now = flat(request)
            if self.epoch == self.window.epoch:
                assert now[: len(self.before)] == self.before
            self.before, self.epoch = now, self.window.epoch
        return request

    def request_now(self) -> Request:
        """Return the request of the window as it is, compacted or not."""
        request = self.assembler.request(self.window)
        validate(request)
        return request

    def turn(self, number: int, calls: int, rng: random.Random) -> None:
        """One turn of a researcher that fetches pages of 50 KB and now and then reads, writes and plans."""
        ids = [f"t{number + n}" for n in range(calls)]
        blocks = [thinking(f"thought {number}")]
        if rng.random() < 0.5:
            blocks.append(text(f"Page {number} says that tides follow the moon; I go on to the next."))
        blocks += [call(id, url=f"https://example.org/{id}") for id in ids]
        self.add(self.log.says(*blocks))
        for n, id in enumerate(ids):
            kind = rng.random()
            if kind < 0.8 or number < 5:
                self.add(self.log.saw(id, hex_id(number + n)))
            elif kind < 0.9:
                old = hex_id(rng.randrange(number))
                part = sealed(ViewPart("read", ObsRef(old), (Span(580, 2_580),), (("state", "stored"),)))
                self.add(self.log.shows(id, part, reads=[f"obs:{old}@580-2580"]))
            else:
                self.add(self.log.shows(id, TextPart(f"wrote notes/{number}.md"), wrote=[f"notes/{number}.md"]))


def performed(window: Window, policy: Policy, budget: Budget, reader: FixedReader) -> tuple[Event, ...]:
    """Return what a compaction ends with; without a summary it asks no model."""
    steps = compact(window, policy, budget, reader)
    try:
        next(steps)
    except StopIteration as end:
        events: tuple[Event, ...] = end.value
        return events
    raise AssertionError("a model was asked")


def long_run(run: Run, calls: int, seed: int, look: Callable[[Request], None] = lambda request: None) -> None:
    """Run until `calls` tool calls are made."""
    rng, made = random.Random(seed), 0
    while made < calls:
        look(run.request())
        width = rng.choice((1, 1, 2, 3))
        run.turn(made, width, rng)
        made += width
    look(run.request())


def check_undone(events: Sequence[Event]) -> None:
    """Check I5: with every compaction undone the window is that of the session without any."""
    window = fold(events)
    seq = window.seq
    for compaction, standing in list(window.compactions.items()):
        if standing:
            seq += 1
            window.apply(Event("undo", {"compaction": compaction}, seq))
    plain = fold(
        event
        for event in events
        if event.kind not in ("compaction", "undo")
        and not event.data.get("ask_first")
        and not (event.kind == "epoch" and event.data["because"] in ("compaction", "undo"))
    )
    assert window.items == plain.items and not window.ledgers


def reach(run: Run, request: Request) -> tuple[str, set[int]]:
    """Return all that one read from this request reaches: the text of window and whole ledgers, and covered lines."""
    said = request_text(request)
    for match in _WHOLE.finditer(said):
        said += str(run.log.events[int(match[1]) - 1].data["ledgers"][int(match[2])]["text"])
    return said, set(_covered(said))


def _covered(said: str) -> Iterator[int]:
    for match in _RANGE.finditer(said):
        yield from range(int(match[1]), int(match[2] or match[1]) + 1)
