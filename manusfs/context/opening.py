"""The one user message that opens an epoch, its sections always in the same order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from manusfs.context.carried import carried, one_line
from manusfs.context.items import Item, Label, Section
from manusfs.context.tokens import estimate
from manusfs.context.window import Window
from manusfs.records import MsgRef, Part, TextPart, escape

__all__ = ["Caps", "first_opening", "frame_sections", "later_opening"]

_START_HEAD = 0.75
_PLAN_CHARS = 4_000
_MENTION_CHARS = 120
_NEWEST = 10
_OPEN, _CLOSE = "<user_message>", "</user_message>"
_WRAPPED = re.compile(r"<user_message[^>\n]*>\n(.*)\n</user_message>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of the user's words a later opening repeats word for word."""

    message_chars: int = 2_000
    """Most of one message; of a longer one its head stands with its ref."""
    older_chars: int = 2_000
    """The same for all but the task and the newest ten."""
    tokens: int = 20_000
    """All of them together, 10 % of the window; the task first, then newest first."""
    mentions: int = 50
    """Messages beyond that which still stand with one line each; older ones with one ref for all."""


def first_opening(
    date: str,
    messages: Sequence[str],
    *,
    instructions: str = "",
    sources: Sequence[Part] = (),
    todo: str = "",
    startup_chars: int = 12_000,
) -> list[dict[str, Any]]:
    """Return the `opening` of a session's first epoch: date, standing instructions, the task, stubs, to-do.

    `instructions` is the text of AGENTS.md; more than `startup_chars` of it keeps 75 % head and 25 % tail (OC-2).
    `todo` is the text of todo.md.
    """
    sections = [Section("date", TextPart(f"Date: {date}"))]
    if instructions.strip():
        sections.append(Section("instructions", TextPart(standing(instructions, startup_chars))))
    sections += [Section("user", TextPart(text)) for text in messages if text.strip()]
    sections += [Section("source", part) for part in sources]
    if plan(todo):
        sections.append(Section("todo", TextPart(plan(todo))))
    return [section.to_json() for section in sections]


def later_opening(
    window: Window,
    caps: Caps | None = None,
    *,
    instructions: str | None = None,
    todo: str | None = None,
    startup_chars: int = 12_000,
    pairs: Collection[int] = (),
) -> list[Section]:
    """Return the opening of the epoch after `window`: all that the session holds, in its present forms.

    `instructions` and `todo` (texts of AGENTS.md and todo.md) replace what the window was last shown of them; of the
    former at most `startup_chars` are shown. Turns whose numbers are in `pairs` stand behind it, as they were.
    """
    caps = caps or Caps()
    head, tail = frame_sections(window, caps, instructions=instructions, todo=todo, startup_chars=startup_chars)
    return [*head, *_ledger_sections(window), *_turn_sections(window, pairs), *tail]


def frame_sections(
    window: Window,
    caps: Caps,
    *,
    instructions: str | None = None,
    todo: str | None = None,
    startup_chars: int = 12_000,
) -> tuple[list[Section], list[Section]]:
    """Return what begins and what ends a later opening whatever is folded: date, instructions, user; to-do."""
    head = [section for section in window.opening if section.label == "date"]
    if instructions is None:
        head += [section for section in window.opening if section.label == "instructions"]
    elif instructions.strip():
        head.append(Section("instructions", TextPart(standing(instructions, startup_chars))))
    head += [Section("user", TextPart(text)) for text in _user_texts(window, caps)]
    plan_text = window.todo if todo is None else plan(todo)
    register = window.children.text()
    tail = [Section("children", TextPart(register))] if register else []
    return head, [*tail, Section("todo", TextPart(plan_text))] if plan_text else tail


def _ledger_sections(window: Window) -> list[Section]:
    texts = [ledger.shown(window.session, str(MsgRef(window.session, *key))) for key, ledger in window.ledgers]
    return [Section("ledger", TextPart(text)) for text in texts]


def _turn_sections(window: Window, pairs: Collection[int]) -> list[Section]:
    sections: list[Section] = []
    for exchange in window.exchanges():
        if exchange.turn in pairs:
            continue
        label: Label = "turn" if any(item.form in ("full", "trim") for item in exchange.items) else "stub"
        sections += [Section(label, part) for part in carried(window, exchange)]
    return sections


def standing(text: str, limit: int = 12_000) -> str:
    """Return standing instructions in their tag; above `limit` characters the middle is left out, and that is said."""
    text = text.strip()
    if len(text) > limit:
        head, tail = text[: int(limit * _START_HEAD)], text[len(text) - int(limit * (1 - _START_HEAD)) :]
        start, end = len(head.encode("utf-8")), len(text.encode("utf-8")) - len(tail.encode("utf-8"))
        text = f'{head}\n…[OMITTED {start}-{end}: read(ref="AGENTS.md", offset={start})]…\n{tail}'
    return f'<instructions path="AGENTS.md">\n{escape.body(text)}\n</instructions>'


def plan(text: str) -> str:
    """Return the text of todo.md as the model sees it, "" when there is no step in it."""
    text = text.strip()
    if not any(line.strip() and not line.startswith("#") for line in text.splitlines()):
        return ""
    if len(text) > _PLAN_CHARS:
        rest = len(text[_PLAN_CHARS:].encode("utf-8"))
        text = f'{text[:_PLAN_CHARS]}\n…[{rest} more bytes: read(ref="todo.md")]'
    return f"<todo>\n{escape.body(text)}\n</todo>"


def _user_texts(window: Window, caps: Caps) -> list[str]:
    """Return the user's messages in their order: the task and the newest word for word, the others by their head."""
    items = window.user_items
    room = caps.tokens
    texts: dict[int, str] = {}
    heads: dict[int, str] = {}
    for place in ([0] if items else []) + list(range(len(items) - 1, 0, -1)):
        newest = place == 0 or len(items) - place <= _NEWEST
        whole = _whole(window, items[place], caps.message_chars if newest else caps.older_chars)
        cost = estimate(whole)
        if cost <= room:
            texts[place] = whole
            room -= cost
        elif len(heads) < caps.mentions:
            heads[place] = f":{items[place].seq} {one_line(_wording(window, items[place]), _MENTION_CHARS)}"
    left = [item for place, item in enumerate(items) if place not in texts and place not in heads]
    for places in _stretches(sorted(heads)):
        ref = MsgRef(window.session, items[places[0]].seq, last_seq=items[places[-1]].seq)
        lines = "\n".join(heads[place] for place in places)
        texts[places[0]] = f'<user_message ref="{ref}" heads="{len(places)}">\n{lines}\n</user_message>'
    shown = [texts[place] for place in sorted(texts)]
    if left:
        ref = MsgRef(window.session, left[0].seq, last_seq=left[-1].seq)
        shown.insert(1, f'<user_message ref="{ref}" messages="{len(left)}"/>')
    return shown


def _whole(window: Window, item: Item, limit: int) -> str:
    text = _wording(window, item)
    ref = MsgRef(window.session, item.seq, item.block)
    if len(text) > limit:
        text = f'{text[:limit]}\n…[CUT: {limit} of {len(text)} characters, read(ref="{ref}")]'
    if _about(window, item):
        return text
    return f'<user_message ref="{ref}">\n{text}\n</user_message>'


def _stretches(places: Sequence[int]) -> Iterator[list[int]]:
    """Yield `places` in stretches of neighbours: one frame costs as much as the words of a message."""
    stretch: list[int] = []
    for place in places:
        if stretch and place != stretch[-1] + 1:
            yield stretch
            stretch = []
        stretch.append(place)
    if stretch:
        yield stretch


def _about(window: Window, item: Item) -> bool:
    """Return True for what was said about the user's sources: it is our wording, not the user's."""
    data = window.events[item.seq].data
    return "opening" in data and data["opening"][item.block].get("as") == "source"


def _wording(window: Window, item: Item) -> str:
    data = window.events[item.seq].data
    block = data["opening"][item.block] if "opening" in data else data["content"][item.block]
    if block.get("type") == "text":
        return escape.body(_unwrapped(block["text"]))
    return f"({block.get('type')}, shown before)"


def _unwrapped(text: str) -> str:
    """Return a user's words without the tag in which they were shown."""
    match = _WRAPPED.fullmatch(text)
    return match[1] if match else text
