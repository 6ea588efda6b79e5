"""What the model sees now: a pure function of the transcript's events, kept up event by event."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from manusfs.context.again import Lines, tokens_again, turns_again
from manusfs.context.children import Children
from manusfs.context.items import Exchange, Item, Key, Section, block_range, items_of, sent
from manusfs.context.ledger import Ledger, Sightings
from manusfs.context.moved import Moved, form_of, parts_of
from manusfs.context.pictures import Pictures
from manusfs.context.tokens import Meter, estimate_part
from manusfs.context.turns import PER_TOOL, Piece, Setup, Turn, estimate_setup
from manusfs.context.wishes import Wishes
from manusfs.messages import Usage
from manusfs.messages.sendable import Given, as_blocks, given, said
from manusfs.records import Event, Part, TextPart

__all__ = ["Window", "fold"]

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


@dataclass(slots=True)
class Window:
    """The state after the events applied so far. Only `apply` changes it; each event costs what it brings."""

    session: str = ""
    seq: int = 0
    """Transcript line of the last event."""
    epoch: int = 0
    epoch_seq: int = 0
    epoch_tokens: int = 0
    """Size of the epoch's first request, as estimated when it began."""
    because: str = ""
    setup: Setup = field(default_factory=Setup)
    opening: tuple[Section, ...] = ()
    pairs: tuple[Lines, ...] = ()
    """Kept turns that stand behind the opening as real calls and results."""
    turns: list[Turn] = field(default_factory=list)
    """Since the epoch began; the first holds what joined the opening message."""
    turn: int = 0
    """Assistant turns of the whole session."""
    last_usage: Usage | None = None
    meter: Meter = field(default_factory=Meter)
    todo: str = ""
    """The to-do as it was last shown, with its tags."""
    seen: Sightings = field(default_factory=Sightings)
    children: Children = field(default_factory=Children)
    """The sub-agents of the session."""
    pictures: Pictures = field(default_factory=Pictures)
    """That the epoch shows."""
    wishes: Wishes = field(default_factory=Wishes)
    """What the model asked to have folded or kept."""
    events: dict[int, Event] = field(default_factory=dict, repr=False)
    """The events that hold source blocks, by transcript line."""
    compactions: dict[int, bool] = field(default_factory=dict)
    """For each compaction whether it is in force; False once undone."""
    summaries_failed: int = 0
    """Compactions in a row that asked a model for a summary in vain."""
    summaries_skipped: int = 0
    """Compactions since then that asked no model."""
    asked: bool = False
    """True once the model was asked, in this epoch, to write down what it needs before a compaction."""
    _ids: set[str] = field(default_factory=set, repr=False)
    """Of all calls of the epoch, as they are sent."""
    _items: dict[Key, Item] = field(default_factory=dict, repr=False)
    """Each in its present form."""
    _keys: list[Key] = field(default_factory=list, repr=False)
    _starts: list[int] = field(default_factory=lambda: [0], repr=False)
    """For each turn, where in `_keys` its source blocks begin."""
    _full: dict[int, int] = field(default_factory=dict, repr=False)
    """For each turn, how many blocks that a move can change stand in full; none where there are none."""
    _users: list[Key] = field(default_factory=list, repr=False)
    _moves: dict[Key, tuple[Moved, ...]] = field(default_factory=dict, repr=False)
    _moved: dict[int, tuple[Key, ...]] = field(default_factory=dict, repr=False)
    _ledgers: dict[Key, Ledger] = field(default_factory=dict, repr=False)
    _covered: dict[Key, int] = field(default_factory=dict, repr=False)

    @property
    def tokens(self) -> int:
        """Calibrated size of the next request."""
        return self.meter.tokens

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Calls of the last turn that have no result yet."""
        return self.turns[-1].open_calls if self.turns else ()

    @property
    def waiting(self) -> frozenset[str]:
        """Server calls of a paused turn, whose results the next reply may bring."""
        return self.turns[-1].waiting if self.turns else frozenset()

    @property
    def paused(self) -> bool:
        """True if the last turn was paused by the API and is to go back as it is."""
        last = self.turns[-1] if self.turns else None
        if last is None or last.seq == self.epoch_seq or last.results or last.extras:
            return False
        return self.events[last.seq].data.get("stop_reason") == "pause_turn"

    @property
    def items(self) -> tuple[Item, ...]:
        """Every source block of the session in its present form."""
        return tuple(self._items.values())

    @property
    def ledgers(self) -> list[tuple[Key, Ledger]]:
        """The ledgers that stand for something, in the order of what they cover."""
        live = [(key, self._ledgers[key]) for key, count in self._covered.items() if count]
        return sorted(live, key=lambda pair: (pair[1].first, pair[0]))

    @property
    def user_items(self) -> tuple[Item, ...]:
        """What the user said, in order."""
        return tuple(self._items[key] for key in self._users)

    @property
    def unseen(self) -> frozenset[Key]:
        """What came since the model spoke last, with the calls that brought it: it has not stood in any request yet."""
        last = [item for key in self._keys[self._starts[-1] :] if (item := self._items[key]).form == "full"]
        kinds = {"result", "source", "changed"}
        if any(item.kind == "result" for item in last):
            kinds.add("call")
        return frozenset(item.key for item in last if item.kind in kinds)

    def wished(self) -> dict[Key, str]:
        """Return the blocks in full that the model asked to "fold" or to "keep" since the last compaction that stands.

        The last word on a block counts, and those that were kept last come last.
        """
        since = max((seq for seq, standing in self.compactions.items() if standing), default=0)
        found: dict[Key, str] = {}
        for wish, (first, last) in self.wishes.after(since):
            for key in self._between(first, last):
                if self._items[key].form == "full" and not self._items[key].fixed:
                    found.pop(key, None)
                    found[key] = wish
        return found

    def trimmed(self, key: Key) -> Part | None:
        """Return what a trim left of the block at that place, None where none is in force."""
        moves = self._moves.get(key, ())
        return moves[-1].part if moves else None

    def ledger(self, key: Key) -> Ledger:
        """Return the ledger that a compaction made."""
        return self._ledgers[key]

    def item(self, seq: int, block: int = 0) -> Item | None:
        """Return the source block at that place, None when there is none."""
        return self._items.get((seq, block))

    @property
    def oldest_full(self) -> int:
        """The first turn of which something can still be folded; costs what stands in the window."""
        return min(self._full, default=self.turn)

    def exchanges(self, first: int = 0) -> Iterator[Exchange]:
        """Return the turns from `first` on in order; turn 0 is what came before the first reply."""
        for turn in range(first, len(self._starts)):
            start, end = self._starts[turn], (*self._starts[turn + 1 : turn + 2], len(self._keys))[0]
            if start < end:
                yield Exchange(turn, tuple([self._items[key] for key in self._keys[start:end]]))

    def between(self, blocks: str) -> list[Item]:
        """Return the source blocks that `12`, `12.1` or `12-97` names, in their present form."""
        return [self._items[key] for key in self._between(*block_range(blocks))]

    def fork(self) -> Window:
        """Return a copy to try a compaction, an undo or an epoch on; this window does not change."""
        return replace(
            self,
            turns=[*self.turns[:-1], *(turn.copy() for turn in self.turns[-1:])],
            seen=self.seen.copy(),
            wishes=self.wishes.copy(),
            children=self.children.copy(),
            events=dict(self.events),
            compactions=dict(self.compactions),
            _ids=set(self._ids),
            _items=dict(self._items),
            _keys=list(self._keys),
            _starts=list(self._starts),
            _full=dict(self._full),
            _users=list(self._users),
            _moves=dict(self._moves),
            _moved=dict(self._moved),
            _ledgers=dict(self._ledgers),
            _covered=dict(self._covered),
        )

    def apply(self, event: Event) -> None:
        """Take in the next event. Kinds of later versions are left alone."""
        self.seq = event.seq
        handler = getattr(self, f"_on_{event.kind}", None)
        if handler is not None:
            handler(event)

    def _on_session(self, event: Event) -> None:
        self.session = event.data["session"]

    def _on_epoch(self, event: Event) -> None:
        data = event.data
        first = not self.epoch
        self.epoch, self.epoch_seq, self.because = data["n"], event.seq, data["because"]
        self.setup = Setup.of(data)
        self.opening = tuple(map(Section.of, data["opening"]))
        self._ids, closing = set(), tuple(map(Section.of, data.get("closing", ())))
        self.pairs = tuple((first, last) for first, last in data.get("pairs", ()))
        self.turns = [Turn(event.seq), *turns_again(self.events, self.pairs, self._ids)]
        if closing:
            self.turns[-1].extras.append(Piece(event.seq, parts=tuple(s.part for s in closing), place=1))
        sections = sum(estimate_part(section.part) for section in (*self.opening, *closing))
        again = (item for first, last in self.pairs for item in self.between(f"{first}-{last}"))
        self.meter = self.meter.opened(estimate_setup(self.setup) + sections + tokens_again(again))
        self.epoch_tokens = self.meter.tokens
        self.pictures = Pictures().with_parts(section.part for section in self.opening)
        self.asked = False
        for section in (*self.opening, *closing):
            if section.label == "todo" and isinstance(section.part, TextPart):
                self.todo = section.part.text
        if first:
            self._add(event)

    def _on_message(self, event: Event) -> None:
        event = replace(event, data={**event.data, "content": as_blocks(event.data["content"])})
        data = event.data
        if data["role"] == "assistant":
            self.turn += 1
            self._starts.append(len(self._keys))
            known = said(data["content"], self._ids, str(event.seq), waiting=self.waiting)
            calls = [block["id"] for block in known.content if block["type"] in _CALLS]
            self._ids.update(calls)
            results: dict[str, list[Piece]] = {
                block["id"]: [] for block in known.content if block["type"] == "tool_use"
            }
            self.turns.append(Turn(event.seq, known.content, results, names=known.names))
            self.meter = self.meter.replied(self._add(event))
        elif self.turns:
            self._given(event, given(data["content"]))

    def _on_observation(self, event: Event) -> None:
        self.seen.see(event.data)
        self.children.delivered(str(event.data.get("call") or ""), str(event.data.get("ref") or ""))
        self._result(event)

    def _on_child(self, event: Event) -> None:
        self.children.see(event.data)

    def _on_shown(self, event: Event) -> None:
        self.seen.read(event.data.get("reads", ()))
        self.wishes.see(event.seq, event.data)
        parts = event.data.get("parts", ())
        if parts and "todo.md" in event.data.get("wrote", ()) and parts[0].get("text", "").startswith("<todo>"):
            self.todo = parts[0]["text"]
        self._result(event)

    def _on_recite(self, event: Event) -> None:
        self.todo = event.data["text"]
        self._grow(event, Piece(event.seq, blocks=({"type": "text", "text": event.data["text"]},)))

    def _on_changed(self, event: Event) -> None:
        self.asked = self.asked or bool(event.data.get("ask_first"))
        self._grow(event, Piece(event.seq, blocks=({"type": "text", "text": event.data["text"]},)))

    def _on_usage(self, event: Event) -> None:
        data = event.data
        if data.get("purpose", "turn") != "turn":
            return
        names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        self.last_usage = Usage(*(data.get(name) or 0 for name in names))
        self.meter = self.meter.bill(self.last_usage, data.get("model") or "")

    def _on_compaction(self, event: Event) -> None:
        asked = event.data.get("summary") or {}
        self.summaries_skipped = 0 if asked else self.summaries_skipped + 1
        if asked:
            self.summaries_failed = self.summaries_failed + 1 if asked.get("failed") else 0
        if not event.data["moves"]:
            return  # a summary that failed where nothing could be freed: nothing to undo
        self.compactions[event.seq] = True
        for number, data in enumerate(event.data.get("ledgers", ())):
            self._ledgers[event.seq, number] = Ledger.from_json(data)
        touched: dict[Key, None] = {}
        for move in event.data["moves"]:
            form = form_of(move)
            if form is None:
                continue
            number = move.get("ledger")
            group, parts = None if number is None else (event.seq, number), parts_of(move)
            for key in self._named(move["blocks"]):
                self._set(key, (*self._moves.get(key, ()), Moved(event.seq, form, group, parts.get(key))))
                touched[key] = None
        self._moved[event.seq] = tuple(touched)

    def _on_undo(self, event: Event) -> None:
        undone = event.data["compaction"]
        if not self.compactions.get(undone):
            return
        self.compactions[undone] = False
        for key in self._moved.pop(undone):
            self._set(key, tuple(move for move in self._moves[key] if move.compaction != undone))

    def _result(self, event: Event) -> None:
        """Put what a call brought behind it; what answers no call of the last turn is kept and not shown."""
        data = event.data
        notice = data.get("notice") or ""
        piece = Piece(event.seq, ({"type": "text", "text": notice},) if notice else (), sent(data))
        call = data.get("call") or ""
        if not call and not (self.turns and call in self.turns[-1].names):
            self._grow(event, piece)
            return
        cost = self._add(event)
        if self._answer(call, piece, failed=bool(data.get("is_error"))):
            self.pictures = self.pictures.with_parts(piece.parts)
            self.meter = self.meter.grown(cost + PER_TOOL)

    def _given(self, event: Event, message: Given) -> None:
        """Put a user's message behind the last turn; results that stood in it answer their calls."""
        cost = self._add(event)
        answers = [
            self._answer(id, Piece(event.seq, blocks=blocks, place=place), failed)
            for place, (id, blocks, failed) in enumerate(message.results, 1)
        ]
        if message.content:
            self.turns[-1].extras.append(Piece(event.seq, blocks=message.content))
        if message.content or any(answers):
            self.pictures = self.pictures.with_blocks([*message.content, *(b for r in message.results for b in r[1])])
            self.meter = self.meter.grown(cost)

    def _answer(self, call: str, piece: Piece, failed: bool) -> bool:
        """Add to the result of a call of the last turn; return False when it made no such call."""
        turn = self.turns[-1] if self.turns else None
        if turn is None or (id := turn.call(call)) not in turn.results:
            return False
        turn.results[id].append(piece)
        if failed:
            turn.failed.add(id)
        return True

    def _grow(self, event: Event, piece: Piece) -> None:
        # What comes before the first epoch is shown by its opening, and has its place in the transcript there.
        if self.turns:
            self.turns[-1].extras.append(piece)
            self.meter = self.meter.grown(self._add(event))

    def _add(self, event: Event) -> int:
        """Enter the event's source blocks and return their estimated tokens."""
        cost = 0
        for item in items_of(event, self.turn):
            self._items[item.key] = item
            self._keys.append(item.key)
            if not item.fixed:
                self._full[item.turn] = self._full.get(item.turn, 0) + 1
            if item.kind == "user":
                self._users.append(item.key)
            cost += item.tokens
        self.events[event.seq] = event
        return cost

    def _set(self, key: Key, moves: tuple[Moved, ...]) -> None:
        """Let `moves` be those in force for a source block; the newest decides its form."""
        form, group = (moves[-1].form, moves[-1].group) if moves else ("full", None)
        item = self._items[key]
        for ledger, change in ((item.group, -1), (group, 1)):
            if ledger is not None:
                self._covered[ledger] = self._covered.get(ledger, 0) + change
        self._items[key] = replace(item, form=form, group=group)
        left = self._full.pop(item.turn, 0) + (form == "full") - (item.form == "full")
        if left:
            self._full[item.turn] = left
        if moves:
            self._moves[key] = moves
        else:
            self._moves.pop(key, None)

    def _named(self, blocks: Iterable[str]) -> Iterator[Key]:
        for text in blocks:
            for key in self._between(*block_range(text)):
                if not self._items[key].fixed:
                    yield key

    def _between(self, first: Key, last: Key) -> list[Key]:
        return self._keys[bisect_left(self._keys, first) : bisect_right(self._keys, last)]


def fold(events: Iterable[Event]) -> Window:
    """Return the window after `events`, the same as applying them one by one."""
    window = Window()
    for event in events:
        window.apply(event)
    return window
