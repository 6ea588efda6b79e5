"""Summaries by a model: asked for from the full text of a stretch, checked, and given up when they are no good."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from manusfs.compact.moves import Said, Summarise, names
from manusfs.compact.summary_check import Demands, problems, record_of
from manusfs.compact.summary_forms import (
    FORMS,
    SYSTEM,
    SummaryForm,
    correction,
    instruction,
    partial_instruction,
)
from manusfs.compact.summary_source import Group, Source, chunks, source_of
from manusfs.context import Item, Reader, Window, estimate
from manusfs.errors import ManusfsError, ModelError
from manusfs.messages import Block, Message, Reply, Request
from manusfs.records import MsgRef, escape

__all__ = ["Summariser", "SummaryFailed", "summarise"]

_TRIMS = 6
"""How often a request that the provider found too long is made shorter."""
_MARGIN = 0.05
_FRAME = 400
"""Tokens of the words round the material."""
_LEAST_GROUPS = 1
_LEFT_OUT = "(A record that would not fit here once more.)"

Asking = Generator[Request, Reply, str]


@dataclass(frozen=True, slots=True)
class Summariser:
    """The model that writes summaries, and how long they may be."""

    model: str
    window: int = 200_000
    max_output: int = 16_000
    tokens: int = 4_000
    """Most of one summary."""
    trim: float = 0.2
    """Share of the oldest turns that is left out, again and again, while a request is too long (CC-24)."""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reply(self) -> int:
        """Most tokens of a reply: the record, and its draft before it."""
        return max(1, min(self.max_output, self.window // 4, 4 * self.tokens))

    @property
    def room(self) -> int:
        """Tokens that the material of a request may take."""
        return max(0, int(self.window * (1 - _MARGIN)) - self.reply - _FRAME - estimate(SYSTEM))


class SummaryFailed(ManusfsError):
    """No summary that may be used came about; the message says why."""


def summarise(window: Window, move: Summarise, reader: Reader, by: Summariser) -> Generator[Request, Reply, Summarise]:
    """Yield the requests for the summary of a move; return the move with what the model said, bound to exact blocks.

    A request that the provider finds too long is made anew without its oldest turns, and says so. A record that fails
    the checks is asked for once more, with its faults named.

    Raises:
        SummaryFailed: it failed again, the model can't be asked, or the record would be no smaller than the turns.
    """
    items = [
        item
        for text in move.blocks
        for item in window.between(text)
        if not item.fixed and item.key not in window.unseen
    ]
    if not items:
        raise SummaryFailed("there is nothing to summarise")
    form = FORMS.get(move.form)
    if form is None:
        raise SummaryFailed(f"no form of summary is called {move.form!r}")
    form = form.without(*move.leave_out)
    source = source_of(window, items, reader, curate=form.curated, room=by.room)
    if not source.groups and not source.earlier:
        raise SummaryFailed("there is nothing to summarise")
    work = _Work(window, form, by, source, tuple(source.groups))
    if move.passes > 1 and len(source.groups) > 1:
        record = yield from work.in_passes(move.passes)
    else:
        record = yield from work.record(work.groups)
    said = work.said(record)
    if estimate("\n".join(said.lines)) >= _standing(window, items):
        raise SummaryFailed("the summary is no smaller than what it would stand for")
    return replace(move, blocks=names(items), said=said)


@dataclass(slots=True)
class _Work:
    """One summary in the making."""

    window: Window
    form: SummaryForm
    by: Summariser
    source: Source
    groups: tuple[Group, ...]
    dropped: list[Group] = field(default_factory=list)
    """Groups that no request had room for."""

    def record(self, groups: Sequence[Group], pieces: Sequence[str] = ()) -> Asking:
        """Ask for the record, once more if it fails the checks; `pieces` stand in place of turns in a merge."""
        kept = list(groups)
        self._fit(kept, sum(map(estimate, pieces)))
        messages = self._messages(kept, pieces)
        found: list[str] = []
        for attempt in range(2):
            reply, messages = yield from self._ask(messages, kept, pieces)
            text = _text(reply)
            record = "" if reply.stop_reason == "refusal" else record_of(text, self.form)
            found = problems(record, self._demands(kept, pieces))
            if reply.stop_reason == "max_tokens":
                found.append("it was cut off at the limit of one reply: write less")
            if not found:
                return record
            if not attempt:
                again = {"type": "text", "text": correction(found, self.form)}
                told = _answered(messages, text, again)
                messages = told if self._fits(told) else _answered(messages, _LEFT_OUT, again)
        raise SummaryFailed(f"{self.by.model} gave no record that may be used: {'; '.join(found)}")

    def in_passes(self, count: int) -> Asking:
        """Ask for a piece of each run of turns, then for the record of all pieces (OC-7)."""
        need = math.ceil(sum(group.tokens for group in self.groups) / max(1, self.by.room - self._frame_tokens()))
        runs = chunks(self.groups, min(len(self.groups), max(count, need)))
        pieces: list[str] = []
        share = max(100, self.by.tokens // len(runs))
        for number, run in enumerate(runs, 1):
            kept = list(run)
            self._fit(kept, 0)
            last = partial_instruction(number, len(runs), share)
            reply, _ = yield from self._ask(self._messages(kept, (), last), kept, (), last)
            text = "" if reply.stop_reason == "refusal" else record_of(_text(reply), self.form)
            if not text:
                raise SummaryFailed(f"{self.by.model} gave nothing for piece {number} of {len(runs)}")
            pieces.append(text)
        return (yield from self.record((), pieces))

    def said(self, record: str) -> Said:
        """Return the record as it stands in the next epoch: escaped, with a word on what its model did not see."""
        lines = escape.body(record).split("\n")
        if self.dropped:
            first, last = min(g.first for g in self.dropped), max(g.last for g in self.dropped)
            ref = MsgRef(self.window.session, first, last_seq=last)
            lines.insert(0, f"(Its model had no room for {len(self.dropped)} of these turns: {ref})")
        by = f'form="{self.form.name}" by="{escape.field(self.by.model, 80)}" '
        return Said(tuple(lines), by, self.form.after)

    def _ask(
        self, messages: list[Message], kept: list[Group], pieces: Sequence[str], last: str = ""
    ) -> Generator[Request, Reply, tuple[Reply, list[Message]]]:
        """Send a request; while we or the provider find it too long, the oldest turns leave it (CC-24)."""
        for _ in range(_TRIMS):
            try:
                why = "its window is full"
                if self._fits(messages):
                    reply = yield self._request(messages)
                    if reply.stop_reason != "model_context_window_exceeded":
                        return reply, messages
            except ModelError as error:
                if error.kind != "context_overflow":
                    raise SummaryFailed(f"{self.by.model} could not be asked: {error}") from error
                why = str(error)
            if len(kept) <= _LEAST_GROUPS:
                break
            self._drop(kept)
            messages = self._messages(kept, pieces, last)
        raise SummaryFailed(f"a request for a summary stayed too long for {self.by.model}: {why}")

    def _fit(self, kept: list[Group], more: int) -> None:
        room = self.by.room - self._frame_tokens() - more
        ratio = self.window.meter.calibration.ratio
        while len(kept) > _LEAST_GROUPS and sum(group.tokens for group in kept) * ratio > room:
            self._drop(kept)

    def _fits(self, messages: Sequence[Message]) -> bool:
        texts = [SYSTEM, *(str(block["text"]) for message in messages for block in message["content"])]
        return sum(map(estimate, texts)) * self.window.meter.calibration.ratio + self.by.reply <= self.by.window

    def _frame_tokens(self) -> int:
        return estimate(self.source.frame) + sum(map(estimate, self.source.earlier))

    def _drop(self, kept: list[Group]) -> None:
        count = min(len(kept) - _LEAST_GROUPS, max(1, math.ceil(len(kept) * self.by.trim)))
        self.dropped += kept[:count]
        del kept[:count]

    def _messages(self, kept: Sequence[Group], pieces: Sequence[str], last: str = "") -> list[Message]:
        texts = [f"What the user said, and the plan as it stands:\n{self.source.frame}"] if self.source.frame else []
        texts += [f"The record of what came before:\n<earlier>\n{text}\n</earlier>" for text in self.source.earlier]
        if self.dropped:
            texts.append(
                f"Left out here, because this request would not fit: {len(self.dropped)} of the oldest turns, "
                f"lines {min(g.first for g in self.dropped)}-{max(g.last for g in self.dropped)}. They are kept."
            )
        texts += [group.text for group in kept]
        texts += [f"<piece>\n{escape.body(text)}\n</piece>" for text in pieces]
        must = [f"obs:{id}" for id in self._must(kept, pieces)]
        texts.append(last or instruction(self.form, must, self.by.tokens))
        return [{"role": "user", "content": [_block(text) for text in texts if text.strip()]}]

    def _must(self, kept: Sequence[Group], pieces: Sequence[str]) -> list[str]:
        shown = "\n".join([*(group.text for group in kept), *pieces])
        return [id for id in self.source.must if id in shown]

    def _demands(self, kept: Sequence[Group], pieces: Sequence[str]) -> Demands:
        return Demands(
            self.form,
            self.source.text,
            frozenset(self.window.seen.known) | self.source.ids,
            self.window.session,
            self.window.seq,
            self._must(kept, pieces),
            self.by.tokens,
        )

    def _request(self, messages: Sequence[Message]) -> Request:
        system = (_block(SYSTEM),)
        return Request(self.by.model, self.by.reply, system, (), tuple(messages), dict(self.by.options))


def _answered(messages: Sequence[Message], text: str, again: Block) -> list[Message]:
    if not text.strip():
        content = [*messages[-1]["content"], again]
        return [*messages[:-1], {"role": "user", "content": content}]
    return [*messages, {"role": "assistant", "content": [_block(text)]}, {"role": "user", "content": [again]}]


def _text(reply: Reply) -> str:
    return "\n\n".join(str(block["text"]) for block in reply.content if block.get("type") == "text")


def _block(text: str) -> Block:
    return {"type": "text", "text": text}


def _standing(window: Window, items: Sequence[Item]) -> int:
    """Return the tokens that `items` take in the window now, in whatever form they stand."""
    groups = {item.group for item in items if item.group is not None}
    whole = sum(item.tokens for item in items if item.form == "full")
    stubs = 40 * sum(item.form == "stub" for item in items)
    return whole + stubs + sum(estimate(window.ledger(key).shown(window.session, "")) for key in groups)
