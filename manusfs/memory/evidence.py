"""What was read as `search_result` blocks: evidence that Claude can cite by itself, in pieces of a few sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from manusfs.records import ViewPart

if TYPE_CHECKING:
    from manusfs.messages import Block

__all__ = ["CITE", "blocks", "pieces"]

CITE = "cite"
"""The attribute of a part that stands as evidence; its value is the title that is shown, escaped."""
_MOST_CHARS = 400
"""A piece is the least that can be cited: long enough to say something, short enough to be checked at a glance."""
_LEAST_CHARS = 120
"""A heading or a short turn stands with the paragraph after it."""
_ENDS = (
    re.compile(r"\n\n+"),
    re.compile(r"\n"),
    re.compile(r"[.!?]+[\"'”’)\]]*\s+|[。！？]+[”’」』）]*"),
    re.compile(r"\s"),
)


def blocks(part: ViewPart, text: str) -> list[Block]:
    """Return `text`, the rendering of what was read, as blocks: its frame as text, the bodies as search results.

    The bodies are cut by their length in bytes, never by what stands in them. A body without words stays text.
    """
    title = dict(part.attributes)[CITE]
    data = text.encode("utf-8")
    at = data.index(b"\n")
    found: list[Block] = [_text(data[:at])]
    for number, span in enumerate(part.spans):
        if number:
            end = data.index(b"\n", at + 1)
            found.append(_text(data[at + 1 : end]))
            at = end
        body = data[at + 1 : at + 1 + len(span)]
        at += 1 + len(body)
        cut = pieces(body.decode("utf-8"))
        if cut:
            found.append(
                {
                    "type": "search_result",
                    "source": f"{part.ref.whole}@{span}",
                    "title": title,
                    "content": [{"type": "text", "text": piece} for piece in cut],
                    "citations": {"enabled": True},
                }
            )
    return [*found, _text(data[at + 1 :])]


def pieces(text: str) -> list[str]:
    """Return `text` in pieces that join to it, none of them blank; none at all for a blank text.

    Paragraphs are pieces; long ones are cut at lines, then sentences, then blanks.
    """
    found: list[str] = []
    for piece in _cut(text, 0):
        if found and (not piece.strip() or not found[-1].strip()):
            found[-1] += piece
        else:
            found.append(piece)
    return found if found and found[0].strip() else []


def _cut(text: str, level: int) -> Iterator[str]:
    if level == len(_ENDS):
        yield from (text[at : at + _MOST_CHARS] for at in range(0, len(text), _MOST_CHARS))
        return
    start, held = 0, 0
    ends = [match.end() for match in _ENDS[level].finditer(text)]
    for end in [*ends, len(text)]:
        enough = level == 0 and held - start >= _LEAST_CHARS
        if held > start and (enough or end - start > _MOST_CHARS):
            yield from _whole(text[start:held], level)
            start = held
        held = end
    if start < len(text):
        yield from _whole(text[start:], level)


def _whole(piece: str, level: int) -> Iterator[str]:
    if len(piece) <= _MOST_CHARS:
        yield piece
    else:
        yield from _cut(piece, level + 1)


def _text(data: bytes) -> Block:
    return {"type": "text", "text": data.decode("utf-8")}
