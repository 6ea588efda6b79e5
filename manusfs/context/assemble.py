"""The window as a request: append-only within an epoch, rendered once, with the cache marks set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from manusfs.context.reader import Reader
from manusfs.context.turns import Piece, Turn
from manusfs.context.window import Window
from manusfs.errors import InvalidRequest
from manusfs.messages import Block, Message, Profile, Request
from manusfs.messages.sendable import ended
from manusfs.records import valid_text

__all__ = ["Assembler", "assemble"]

NO_OUTPUT = "(the tool gave no output)"
NO_REPLY = "(no reply)"
NO_RESULT = "Error: interrupted, not known whether it ran."
CUT_OFF = "(cut off here)"
_THINKING = ("thinking", "redacted_thinking")
_MARK = {"type": "ephemeral"}
_MARKS = 4
_SPACING = 15
"""Blocks between two marks: the API looks back 20 blocks from a mark for what it has cached."""


@dataclass(slots=True)
class Assembler:
    """Makes the requests of one session; what was rendered once is kept while its epoch lasts.

    A request costs what joined the window since the one before.
    """

    reader: Reader
    profile: Profile
    _epoch: tuple[str, int] = ("", 0)
    _done: int = 0
    """Turns of the epoch that are rendered for good: all that a later turn follows."""
    _messages: list[Message] = field(default_factory=list)
    _opening: int = 0
    """Blocks of the opening."""
    _pieces: dict[tuple[int, int], tuple[Block, ...]] = field(default_factory=dict)
    """Rendered pieces of the turn that still grows."""

    def request(self, window: Window) -> Request:
        """Return the next request of `window`.

        Raises:
            InvalidRequest: a call of the last turn is open, or there is no epoch yet.
        """
        if not window.turns:
            raise InvalidRequest("the session has no epoch yet", hint="append an epoch event with its opening first")
        if window.open_calls:
            calls = ", ".join(window.open_calls)
            raise InvalidRequest(f"calls without results: {calls}", hint="append a result or an honest error for each")
        if self._epoch != (window.session, window.epoch_seq):
            self._begin(window)
        for turn in window.turns[self._done : -1]:
            _join(self._messages, self._turn(turn))
            self._pieces.clear()
            self._done += 1
        messages = list(self._messages)
        _join(messages, self._turn(window.turns[-1]))
        setup = window.setup
        system = [_clean(block) for block in setup.system]
        tools = list(setup.tools)
        if self.profile.caches:
            self._mark(system, tools, messages)
        return Request(setup.model, setup.max_tokens, tuple(system), tuple(tools), tuple(messages), setup.options)

    def _begin(self, window: Window) -> None:
        self._epoch = window.session, window.epoch_seq
        opening = self._render(Piece(window.epoch_seq, parts=tuple(section.part for section in window.opening)))
        self._messages = [{"role": "user", "content": list(opening)}]
        self._opening, self._done = len(opening), 0
        self._pieces = {}

    def _turn(self, turn: Turn) -> list[Message]:
        messages: list[Message] = []
        if turn.seq != self._epoch[1]:
            messages.append({"role": "assistant", "content": _reply(turn.content)})
        user = [self._result(call, pieces, call in turn.failed or not pieces) for call, pieces in turn.results.items()]
        for piece in turn.extras:
            user += self._piece(piece)
        if user:
            messages.append({"role": "user", "content": user})
        return messages

    def _result(self, call: str, pieces: Sequence[Piece], failed: bool) -> Block:
        content = [block for piece in pieces for block in self._piece(piece)]
        if not pieces:
            content = [_text(NO_RESULT)]
        if failed:
            content = [block if block["type"] == "text" else _left_out(block) for block in content]
        result: Block = {"type": "tool_result", "tool_use_id": call, "content": content or [_text(NO_OUTPUT)]}
        return {**result, "is_error": True} if failed else result

    def _piece(self, piece: Piece) -> tuple[Block, ...]:
        place = piece.seq, piece.place
        if place not in self._pieces:
            self._pieces[place] = self._render(piece)
        return self._pieces[place]

    def _render(self, piece: Piece) -> tuple[Block, ...]:
        blocks = [*piece.blocks, *(self.reader.blocks(piece.parts) if piece.parts else ())]
        return tuple(_clean(block) for block in blocks if not _blank(block))

    def _mark(self, system: list[Block], tools: list[Block], messages: list[Message]) -> None:
        """Mark the end of tools and system, of the opening, of the last user message and of the one before it."""
        left = _MARKS
        for blocks in (system, tools):
            if blocks:
                blocks[-1] = {**blocks[-1], "cache_control": _MARK}
                left -= 1
                break
        users = [i for i in range(len(messages) - 1, max(-1, len(messages) - 5), -1) if messages[i]["role"] == "user"]
        places = [(0, self._opening - 1)] if self._opening else []
        places += [(i, len(messages[i]["content"]) - 1) for i in users[:2]]
        last = len(messages[users[0]]["content"]) - 1
        places += [(users[0], at) for at in range(last - _SPACING, -1, -_SPACING)]
        for message, block in list(dict.fromkeys(places))[:left]:
            content = list(messages[message]["content"])
            content[block] = {**content[block], "cache_control": _MARK}
            messages[message] = {**messages[message], "content": content}


def assemble(window: Window, reader: Reader, profile: Profile) -> Request:
    """Return the request that `window` stands for; an `Assembler` does the same turn by turn without doing it anew."""
    return Assembler(reader, profile).request(window)


def _join(messages: list[Message], more: Iterable[Message]) -> None:
    """Append `more`; neighbours of one role become one message, the blocks stay in order.

    What a user says behind a paused turn ends it: its server calls without results can't be sent any more.
    """
    for message in more:
        if messages and messages[-1]["role"] == "assistant" and message["role"] == "user":
            messages[-1] = _ended(messages[-1])
        if messages and messages[-1]["role"] == message["role"]:
            joined = [*messages[-1]["content"], *message["content"]]
            messages[-1] = {"role": message["role"], "content": joined}
        else:
            messages.append(message)


def _ended(message: Message) -> Message:
    content = ended(message["content"])
    return message if len(content) == len(message["content"]) else {**message, "content": _closed(content)}


def _reply(content: Sequence[Block]) -> list[Block]:
    """Return an assistant turn as it came, without what the API gives but does not take back."""
    return _closed([_clean(block) for block in content if not _blank(block)])


def _closed(blocks: list[Block]) -> list[Block]:
    if not blocks:
        return [_text(NO_REPLY)]
    if blocks[-1].get("type") in _THINKING:
        blocks.append(_text(CUT_OFF))
    return blocks


def _blank(block: Block) -> bool:
    text = block.get("text") if block.get("type") == "text" else "-"
    return not text or text.isspace()


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _left_out(block: Block) -> Block:
    return _text(f"({block['type']} left out: an error shows text only)")


def _clean(value: Any) -> Any:
    """Return `value` itself when all its texts are UTF-8, else a copy with lone surrogates replaced."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, dict):
        cleaned = {_clean(name): _clean(member) for name, member in value.items()}
        return value if all(cleaned.get(name) is member for name, member in value.items()) else cleaned
    if isinstance(value, list | tuple):
        items = [_clean(member) for member in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value
