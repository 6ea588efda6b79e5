"""Feeds a recorded run, turn by turn, through a policy and the real assembly, with an agent that acts as recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from manusfs.compact import Budget, Policy, ask, compact, due
from manusfs.compact.summary import Summariser
from manusfs.context import Assembler, Exchange, Window, estimate, estimate_part, ledger_lines
from manusfs.context.carried import carried
from manusfs.context.items import sent
from manusfs.errors import LimitReached
from manusfs.lab.baselines import Editor
from manusfs.lab.bound import Sizes, Want
from manusfs.lab.cost import Bill, Cache, Prices
from manusfs.lab.measures import Measures
from manusfs.lab.needs import Need
from manusfs.lab.reach import READ_CHARS, missing, span_to_read, where
from manusfs.lab.recording import Step
from manusfs.lab.stage import Arrived, Stage
from manusfs.lab.view import Blocks, View
from manusfs.lab.words import Sight, strings
from manusfs.lab.writer import written
from manusfs.memory import stubs
from manusfs.messages import Block, Profile, Reply, Request
from manusfs.records import Event, ObsRef, TextPart, escape, part_to_json
from manusfs.session import Transcript

if TYPE_CHECKING:
    from manusfs.memory import Taken

__all__ = ["HEAD_TOKENS", "Contestant", "Terms", "blocks_of", "replay", "sizes_of"]

HEAD_TOKENS = 3_000
"""System and tools, at least: a record seldom has its tools."""
_NAME = re.compile(r"[^A-Za-z0-9_-]")
_OLD = 6
_PAD = "tool "
_SESSION = "20260101-lab0"
_FRAME = 10
_WORDS = 120
"""Most tokens by which the bound has a later epoch repeat a message of the user: no policy repeats less."""
_READ_FRAME = 110


@dataclass(frozen=True, slots=True)
class Contestant:
    """What is replayed: a policy over stubs, or a plain history, which an editor may change."""

    name: str
    policy: Policy | None = None
    editor: Callable[[], Editor] | None = None
    limits: stubs.StubLimits | None = None
    """How results are born; None: as intake made them, with the settings' limits."""

    @property
    def inline(self) -> bool:
        """True for a history with every result in full, as others keep it."""
        return self.policy is None


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for all contestants alike."""

    window: int = 200_000
    max_tokens: int = 8_000
    head_tokens: int = HEAD_TOKENS
    prices: Prices = field(default_factory=Prices)

    @property
    def budget(self) -> Budget:
        """What a policy is told."""
        reserve = Budget.of(Profile("recorded", self.window), self.max_tokens).reserve
        return Budget(self.window, reserve, self.prices.turn_s, self.prices.write, self.prices.read)


def blocks_of(stage: Stage) -> Blocks:
    """Return an empty collection of what is sent in any replay of this run."""
    return Blocks(frozenset(key for needs in stage.needs for need in needs for key in need.keys))


def replay(stage: Stage, contestant: Contestant, terms: Terms, blocks: Blocks) -> Measures:
    """Return what `contestant` costs and keeps on the run of `stage`.

    A plain history is never cut off, however small the window is: it is what the others are measured against.
    """
    # As if it were the child of one session: a random name would stand in every ref, and no two replays be the same.
    with Transcript.create(stage.workspace.folder, parent=_SESSION, title=contestant.name) as transcript:
        run = _Replay(stage, contestant, terms, blocks, transcript.session)
        for at, step in enumerate(stage.recording.steps):
            run.step(at, step)
        transcript.append(run.events[1:])
        run.settle(transcript)
    return run.measures


def sizes_of(stage: Stage, contestant: Contestant, terms: Terms, blocks: Blocks) -> Sizes:
    """Return the run as the clairvoyant bound looks at it, results born as `contestant` has them."""
    run = _Replay(stage, contestant, terms, blocks, _SESSION)
    for at, step in enumerate(stage.recording.steps):
        run.answer(at, step)
    return run.sizes()


class _Replay:
    def __init__(self, stage: Stage, contestant: Contestant, terms: Terms, blocks: Blocks, session: str) -> None:
        self.stage, self.contestant, self.terms = stage, contestant, terms
        self.measures = Measures(contestant.name)
        profile = Profile("recorded", terms.window, max_output=terms.max_tokens)
        self.budget = terms.budget
        self.assembler = Assembler(stage.workspace.renderer, profile)
        self.editor = contestant.editor() if contestant.editor is not None else None
        setup = _setup(stage.recording.system, terms)
        self.view = View(blocks, Cache(terms.prices), setup.pop("head"))
        self.window = Window()
        self.events: list[Event] = []
        self.left: dict[tuple[int, int], int] = {}
        self.lines: dict[tuple[int, int], int] = {}
        task = [{**part_to_json(TextPart(stage.recording.task or "(no task)")), "as": "user"}]
        self._record("session", {"session": session, "format": 1, "purpose": "run", "parent": None})
        self._record("epoch", {"n": 1, "because": "start", **setup, "opening": task})

    def step(self, at: int, step: Step) -> None:
        """Send the request that `step` answers, after the extra reads that it needs, and take in its answers."""
        needs = self.stage.needs[at]
        read: set[int] = set()
        self._look()
        for need in needs:
            self._count(need)
        while True:
            self._send()
            wanted = {at: group for at, group in missing(needs, self.view).items() if at not in read}
            if not wanted:
                break
            number = min(wanted)
            read.add(number)
            if any(self._where(need) == "reads" for need in wanted[number]):
                self._read_ledger(at, self.stage.arrived[number])
            self._read_again(at, wanted[number], self.stage.arrived[number])
            self._look()
        self.answer(at, step)

    def answer(self, at: int, step: Step) -> None:
        """Take in what the model said and what came of it."""
        self._record("message", _reply(at, step))
        for arrived in self.stage.of_step(at):
            self._result(arrived)
        if step.user.strip():
            content = [{"type": "text", "text": escape.body(step.user)}]
            self._record("message", {"role": "user", "content": content})

    def settle(self, transcript: Transcript) -> None:
        """Check what left the window: every block of it has to come back exactly from where its ref leads."""
        if self.editor is not None:
            self.measures.left_bytes = sum(self.editor.cleared.values())
            return
        arrived = {(f"call_{one.step}_{one.place}"): one for one in self.stage.arrived}
        written = {event.seq: event for event in transcript.events}
        for (seq, block), size in self.left.items():
            event = written[seq]
            self.measures.left_bytes += size
            if event.kind == "observation":
                one = arrived[event.data["call"]]
                self.measures.back_bytes += size if one.returns else 0
            elif _block(event, block) == _block(self.events[seq - 1], block):
                self.measures.back_bytes += size

    def sizes(self) -> Sizes:
        """Return the turns in each of their forms, and what each request needs of them."""
        window, shown = self.window, self.view.blocks
        turns = [exchange for exchange in window.exchanges() if exchange.turn]
        full = [sum(item.tokens for item in turn.items) + _FRAME for turn in turns]
        kept = [sum(map(estimate_part, carried(window, turn))) for turn in turns]
        small = [estimate("\n".join(ledger_lines(window, [turn]))) + _users(turn) for turn in turns]
        stands: dict[int, int] = {}
        wants: list[Want] = []
        for at, turn in enumerate(turns):
            groups: dict[int, list[Need]] = {}
            for need in self.stage.needs[at]:
                groups.setdefault(need.observation, []).append(need)
            for number, needs in groups.items():
                until = min(stands.get(key, -1) for need in needs for key in need.keys)
                arrived = self.stage.arrived[number]
                span = span_to_read(needs, arrived)
                piece = arrived.text.encode("utf-8")[span.start : span.end].decode("utf-8", "replace")
                wants.append(Want(at, until, estimate(piece) + _READ_FRAME))
                if until < 0:
                    stands.update(dict.fromkeys(Sight.of(piece).keys & shown.wanted, at))
            for text in self._texts(turn):
                stands.update(dict.fromkeys(Sight.of(text).keys & shown.wanted, at))
        task = sum(map(estimate_part, (section.part for section in window.opening)))
        return Sizes(self.view.head_tokens, task, tuple(full), tuple(kept), tuple(small), tuple(wants))

    def _texts(self, turn: Exchange) -> Iterator[str]:
        for seq in dict.fromkeys(item.seq for item in turn.items):
            data = self.events[seq - 1].data
            for block in data.get("content", ()):
                yield from (strings(block["input"]) if block["type"] == "tool_use" else [str(block.get("text", ""))])
            for part in sent(data):
                yield self.stage.workspace.renderer.text(part)

    def _look(self) -> None:
        """Compact if it is due, and look at the request that comes next."""
        policy = self.contestant.policy
        if policy is not None and due(self.window, policy, self.budget):
            self._compact(policy)
        request = self.assembler.request(self.window)
        if self.editor is not None:
            request = self.editor.edit(request)
        self.view.take(request, edits=self.editor is not None)

    def _send(self) -> None:
        self.measures.sent(self.view.tokens, self.view.send())
        self.measures.epochs, self.measures.invalid = self.view.breaks, self.view.invalid

    def _compact(self, policy: Policy) -> None:
        if ask(self.window, policy, self.budget):
            self._send()  # the turn in which notes are asked for; that they are written is not in the record
        renderer = self.stage.workspace.renderer
        steps = compact(self.window, policy, self.budget, renderer, summariser=Summariser("stand-in"))
        before = {item.key for item in self.window.items if item.form == "full"}
        try:
            request = next(steps)
            while True:
                request = steps.send(self._summary(request))
        except StopIteration as end:
            for event in end.value:
                self._record(event.kind, event.data)
        except LimitReached:
            return
        for item in self.window.items:
            if item.form != "full" and item.key in before:
                self.left.setdefault(item.key, self._size(item.key))

    def _summary(self, request: Request) -> Reply:
        reply = written(request)
        self.measures.summaries += Bill(uncached=reply.usage.input_tokens, output=reply.usage.output_tokens)
        return reply

    def _where(self, need: Need) -> str:
        arrived = self.stage.arrived[need.observation]
        seq = self.lines[arrived.step, arrived.place]
        return where(need, self.view, self.stage, seq if self.editor is None else 0)

    def _count(self, need: Need) -> None:
        place = self._where(need)
        self.measures.reach = self.measures.reach.plus(place)
        if need.age < _OLD:
            return
        self.measures.old = self.measures.old.plus(place)
        if self.stage.arrived[need.observation].id:
            self.measures.searchable += 1
            self.measures.searched += need in self.stage.shown
            self.measures.first += need in self.stage.found

    def _read_ledger(self, at: int, arrived: Arrived) -> None:
        """Put the turn before that one: a read of the ledger whose line names the observation."""
        self.measures.extra_reads += 1
        seq = self.lines[arrived.step, arrived.place]
        group = next((item.group for item in self.window.between(str(seq)) if item.group is not None), None)
        text = self.window.ledger(group).full_text(self.window.session) if group is not None else ""
        call = f"ledger_{at}_{arrived.step}_{arrived.place}"
        block = {"type": "tool_use", "id": call, "name": "read", "input": {"ref": f"msg:{self.window.session}:{seq}"}}
        self._record("message", {"role": "assistant", "content": [block], "stop_reason": "tool_use"})
        parts = [part_to_json(TextPart(text[:READ_CHARS] or "(nothing)"))]
        self._record("shown", {"call": call, "parts": parts, "is_error": False, "wrote": [], "reads": []})
        self._look()
        self._send()

    def _read_again(self, at: int, needs: list[Need], arrived: Arrived) -> None:
        """Put one more turn before the reply: a read of 4,000 characters of what it needs."""
        self.measures.extra_reads += 1
        span = span_to_read(needs, arrived)
        call = f"read_{at}_{arrived.step}_{arrived.place}"
        ref = f"obs:{arrived.id}" if arrived.id else f"msg:{self.window.session}:1"
        block = {"type": "tool_use", "id": call, "name": "read", "input": {"ref": ref, "offset": span.start}}
        self._record("message", {"role": "assistant", "content": [block], "stop_reason": "tool_use"})
        data = {"call": call, "is_error": False, "wrote": [], "reads": []}
        if self.contestant.inline or arrived.taken is None:
            text = arrived.text.encode("utf-8")[span.start : span.end].decode("utf-8", "replace")
            parts = [part_to_json(TextPart(text))]
        else:
            store, whole = self.stage.workspace.observations, ObsRef(arrived.id)
            part, _ = stubs.read_part(
                arrived.taken.meta, whole, [span], lambda piece: store.read(whole.id, "text", piece)
            )
            parts, data["reads"] = [part_to_json(part)], [f"{ref}@{span}"]
        self._record("shown", {**data, "parts": parts})

    def _result(self, arrived: Arrived) -> None:
        call = f"call_{arrived.step}_{arrived.place}"
        self.lines[arrived.step, arrived.place] = len(self.events) + 1
        if arrived.taken is None or self.contestant.inline:
            parts = [part_to_json(TextPart(escape.body(arrived.text)))]
            data = {"call": call, "parts": parts, "is_error": arrived.is_error, "wrote": [], "reads": []}
            self._record("shown", data)
        else:
            event = self.stage.workspace.intake.event(self._born(arrived.taken), call)
            self._record("observation", {**event.data, "is_error": arrived.is_error})

    def _born(self, taken: Taken) -> Taken:
        if self.contestant.limits is None:
            return taken
        store, id = self.stage.workspace.observations, taken.meta.id
        part, text = stubs.born(taken.meta, lambda span: store.read(id, "text", span), limits=self.contestant.limits)
        return replace(taken, part=part, text=text)

    def _record(self, kind: Any, data: dict[str, Any]) -> None:
        event = Event(kind, data, len(self.events) + 1)
        self.events.append(event)
        self.window.apply(event)

    def _size(self, key: tuple[int, int]) -> int:
        event = self.events[key[0] - 1]
        if event.kind == "observation":
            return len(next(one for one in self.stage.arrived if one.id == event.data["id"]).text.encode("utf-8"))
        return len(_block(event, key[1]).encode("utf-8"))


def _users(turn: Exchange) -> int:
    return sum(min(item.tokens, _WORDS) for item in turn.items if item.fixed)


def _setup(system: str, terms: Terms) -> dict[str, Any]:
    """Return what every request shares. A tool with a description of the right length stands for the record's tools."""
    rest = max(0, terms.head_tokens - estimate(system))
    words = int(rest / estimate(_PAD * 1_000) * 1_000)
    tool = {"name": "tools", "description": (_PAD * words).strip(), "input_schema": {"type": "object"}}
    return {
        "system": system,
        "tools": [tool] if rest else [],
        "model": "recorded",
        "options": {},
        "max_tokens": terms.max_tokens,
        "profile": {},
        "head": max(terms.head_tokens, estimate(system)),
    }


def _reply(at: int, step: Step) -> dict[str, Any]:
    content: list[Block] = [dict(block) for block in step.thinking]
    if step.text.strip():
        content.append({"type": "text", "text": step.text})
    for place, call in enumerate(step.calls):
        name = _NAME.sub("_", call.name)[:64] or "tool"
        content.append({"type": "tool_use", "id": f"call_{at}_{place}", "name": name, "input": call.arguments})
    reason = "tool_use" if step.calls else "end_turn"
    return {"role": "assistant", "content": content, "stop_reason": reason, "id": f"reply_{at}", "model": "recorded"}


def _block(event: Event, block: int) -> str:
    data = event.data
    blocks = data.get("content") or data.get("parts") or data.get("opening") or [data.get("text")]
    return repr(blocks[block]) if block < len(blocks) else repr(data)
