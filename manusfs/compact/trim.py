"""The soft trim of results: head and tail stay, the middle becomes a ref (OC-11)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from manusfs.compact.moves import Fold, Move, names
from manusfs.context import Item, Reader, Window, estimate, sent
from manusfs.errors import ManusfsError
from manusfs.records import MsgRef, Part, Span, TextPart, ViewPart, sha256_hex

__all__ = ["exact"]

_LEAST_CHARS = 4_000
"""A result up to this size is not trimmed: it stands by its ref alone. The figures are OpenClaw's."""
_HEAD, _TAIL = 1_500, 1_500
_BODIES = {
    "read": re.compile(r"<read [^\n]*>\n(.*)\n</read>\Z", re.DOTALL),
    "whole": re.compile(r"\ntext \d+-\d+:\n(.*)\n</observation>\Z", re.DOTALL),
}


def exact(window: Window, moves: Sequence[Move], reader: Reader) -> Iterator[Move]:
    """Yield `moves`; a trim with what is to stand there, and a stub for what is too small for it or can't be parted."""
    for move in moves:
        if not isinstance(move, Fold) or move.form != "trim":
            yield move
            continue
        full = [item for text in move.blocks for item in window.between(text) if item.form == "full" and not item.fixed]
        made = {item.key: part for item in full if (part := _trimmed(window, item, reader)) is not None}
        if made:
            parts = tuple((f"{seq}.{block}", part) for (seq, block), part in made.items())
            yield Fold(tuple(name for name, _ in parts), "trim", parts)
        if rest := [item for item in full if item.key not in made]:
            yield Fold(names(rest))


def _trimmed(window: Window, item: Item, reader: Reader) -> Part | None:
    if item.kind != "result":
        return None
    part = sent(window.events[item.seq].data)[item.block]
    if isinstance(part, TextPart):
        return _text(part.text, MsgRef(window.session, item.seq, item.block)) if len(part.text) > _LEAST_CHARS else None
    if not isinstance(part, ViewPart) or part.form not in _BODIES or len(part.spans) != 1:
        return None
    try:
        return _view(part, reader)
    except ManusfsError:
        return None  # what can't be shown now is folded to its ref


def _text(text: str, ref: MsgRef) -> TextPart:
    start, end = len(_bytes(text[:_HEAD])), len(_bytes(text)) - len(_bytes(text[-_TAIL:]))
    middle = f'…[TRIMMED {start}-{end}: read(ref="{ref}@{start}-{end}")]…'
    return TextPart(f"{text[:_HEAD]}\n{middle}\n{text[-_TAIL:]}")


def _view(part: ViewPart, reader: Reader) -> ViewPart | None:
    (block,) = reader.blocks([part])
    match = _BODIES[part.form].search(block.get("text") or "")
    span = part.spans[0]
    # Bodies keep their byte lengths; where this one does not it was shown in another way than is known here.
    if match is None or len(match[1]) <= _LEAST_CHARS or len(_bytes(match[1])) != len(span):
        return None
    head = Span(span.start, span.start + len(_bytes(match[1][:_HEAD])))
    tail = Span(span.end - len(_bytes(match[1][-_TAIL:])), span.end)
    made = ViewPart("read", part.ref.whole, (head, tail), (("state", "stored"), ("lines", "")), part.version)
    text = str(reader.blocks([made])[0]["text"])
    return replace(made, sha256=sha256_hex(_bytes(text)), tokens=estimate(text))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
