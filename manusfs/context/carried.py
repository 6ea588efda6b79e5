"""Turns of a closed epoch as fenced text in the opening of the next: in full, or folded to a few lines with refs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from manusfs.context.items import Exchange, Item, ItemKind, Section, sent
from manusfs.context.ledger import Known, observed
from manusfs.context.window import Window
from manusfs.messages.sendable import id_text
from manusfs.records import ImagePart, MsgRef, Part, TextPart, ViewPart, canonical, escape

__all__ = ["carried", "folded", "ledger_lines", "observed_in", "one_line", "pieces"]

_LEFT_OUT: frozenset[ItemKind] = frozenset(("date", "instructions", "user", "todo", "thinking", "recite"))
"""What a carried turn does not show: the opening has the first four in places of their own, signed thinking is bound
to the epoch that it was made in, and the newest to-do stands at the end of the opening. The turn's ref covers all."""

_INPUT_CHARS = 1_000
"""A call's arguments up to this size are carried whole; of larger ones, a file just written, the head is."""
_HEAD_CHARS = 400
_SHORT_INPUT = 120
_SHORT_TEXT = 200
_SMALL_RESULT = 200
"""A result of up to this many characters is not folded: the fold would be no smaller."""
_STATEMENT = 100


def carried(window: Window, exchange: Exchange) -> list[Part]:
    """Return the parts that carry `exchange` over; none when all of it stands in a ledger or in other places."""
    parts: list[Part] = []
    lines: list[str] = []
    for _, part in pieces(window, exchange):
        if isinstance(part, TextPart):
            lines.append(part.text)
            continue
        if lines:
            parts.append(TextPart("\n".join(lines)))
        parts.append(part)
        lines = []
    return [*parts, TextPart("\n".join(lines))] if lines else parts


def pieces(window: Window, exchange: Exchange) -> Iterator[tuple[Item | None, Part]]:
    """Yield what carries `exchange` over, piece by piece with the block that it shows; None for the frame."""
    shown = [item for item in exchange.items if item.form in ("full", "trim", "stub") and item.kind not in _LEFT_OUT]
    if not shown:
        return
    yield None, TextPart(f'<turn ref="{MsgRef(window.session, exchange.first, last_seq=exchange.last)}">')
    calls = _call_numbers(window, exchange)
    named: set[int] = set()
    for item in shown:
        data = window.events[item.seq].data
        if item.kind == "result" and item.seq not in named:
            named.add(item.seq)
            yield item, TextPart(_result_head(data, calls))
        if item.kind in ("result", "source"):
            for part in _shown_part(window, item, _part(window, item)):
                yield item, part
        else:
            yield item, TextPart(_said(window, item, data, calls))
    yield None, TextPart("</turn>")


def folded(window: Window, part: Part, ref: MsgRef) -> list[str]:
    """Return the lines that stand for a folded part; `ref` is its place in the transcript."""
    if isinstance(part, TextPart):
        if len(part.text) <= _SMALL_RESULT:
            return [part.text]
        return [f'<folded ref="{ref}" chars="{len(part.text)}"/>']
    known = window.seen.known.get(part.ref.id) or Known(part.ref.id)
    if isinstance(part, ViewPart) and part.form == "read" and part.spans:
        refs = [f"{part.ref.whole}@{span}" for span in part.spans]
    else:
        refs = [str(part.ref)]
    image = f' image="{escape.field(part.media_type)}"' if isinstance(part, ImagePart) else ""
    return [f'<folded ref="{text}"{known.origin()}{image}/>' for text in refs]


def ledger_lines(window: Window, exchanges: Iterable[Exchange]) -> list[str]:
    """Return the ledger lines of a stretch: observations, what was written, the agent's own short statements.

    `:7` is transcript line 7: the ledger says of which session. The whole ref would cost as much as the words.
    """
    lines: dict[str, None] = {}
    for exchange in exchanges:
        for item in exchange.items:
            data = window.events[item.seq].data
            if item.kind == "text":
                lines[f":{item.seq} {one_line(data['content'][item.block]['text'], _STATEMENT)}"] = None
            elif item.kind in ("result", "source"):
                for id in observed_in(window, item):
                    lines[window.seen.line(id)] = None
                if item.block == 0 and data.get("wrote"):
                    paths = ", ".join(escape.field(path) for path in data["wrote"])
                    lines[f":{item.seq} wrote {paths}"] = None
    return list(lines)


def observed_in(window: Window, item: Item) -> list[str]:
    """Return the ids of the observations that a result or source names: its own, what it renders, what it read."""
    data, part = window.events[item.seq].data, _part(window, item)
    found = [data["id"]] if data.get("id") else []
    if isinstance(part, ViewPart | ImagePart):
        found.append(part.ref.id)
    if item.block == 0:
        found += [ref.id for ref in observed(data.get("reads", ()))]
    return list(dict.fromkeys(found))


def one_line(text: str, limit: int) -> str:
    """Return `text` on one escaped line of at most `limit` characters."""
    line = " ".join(escape.body(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _said(window: Window, item: Item, data: dict[str, Any], calls: dict[str, int]) -> str:
    ref = MsgRef(window.session, item.seq, item.block)
    short = item.form == "stub"
    if item.kind == "changed":
        return f'<folded ref="{ref}" of="changed files"/>' if short else str(data["text"])
    block = data["content"][item.block]
    if item.kind == "text":
        text = escape.body(block["text"])
        return one_line(text, _SHORT_TEXT) if short else text
    if item.kind == "call":
        text = escape.body(canonical(block["input"]))
        head = f"call {calls.get(id_text(block.get('id')), 1)}: {escape.field(block['name'], 80)} "
    else:
        text, head = escape.body(canonical(block)), f"{escape.field(block.get('type', 'block'), 40)}: "
    if len(text) <= (_SHORT_INPUT if short else _INPUT_CHARS):
        return head + text
    return f'{head}{text[: _SHORT_INPUT if short else _HEAD_CHARS]}…[CUT: {len(text)} characters, read(ref="{ref}")]'


def _shown_part(window: Window, item: Item, part: Part) -> Iterator[Part]:
    data = window.events[item.seq].data
    notice = data.get("notice") if item.block == 0 else ""
    if notice:
        yield TextPart(str(notice) if item.form != "stub" else one_line(notice, _SHORT_TEXT))
    # Pictures would pile up from epoch to epoch: of those that the model has seen the refs are carried, not the bytes.
    if item.form == "stub" or (isinstance(part, ImagePart) and item.key not in window.unseen):
        ref = MsgRef(window.session, item.seq, item.block)
        if data.get("is_error") and isinstance(part, TextPart) and len(part.text) > _SMALL_RESULT:
            yield TextPart(one_line(part.text, _SHORT_TEXT))
        yield from map(TextPart, folded(window, part, ref))
    else:
        yield window.trimmed(item.key) or part


def _result_head(data: dict[str, Any], calls: dict[str, int]) -> str:
    return f"{'error' if data.get('is_error') else 'result'} {calls.get(data.get('call', ''), 1)}:"


def _call_numbers(window: Window, exchange: Exchange) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for item in exchange.items:
        if item.kind == "call":
            numbers[id_text(window.events[item.seq].data["content"][item.block].get("id"))] = len(numbers) + 1
    return numbers


def _part(window: Window, item: Item) -> Part:
    """Return the part that a result or a source put before the model."""
    data = window.events[item.seq].data
    return Section.of(data["opening"][item.block]).part if "opening" in data else sent(data)[item.block]
