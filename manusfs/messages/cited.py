"""The citations that a model makes by itself, as the footnotes of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from manusfs.messages.types import Block

__all__ = ["worded"]

_KIND = "search_result_location"


def worded(content: Sequence[Block], mark: str) -> str:
    """Return the text blocks of a reply as one text; citations of search results become footnotes `[^<mark>.<n>]`.

    The text between two citations comes as a block of its own, in mid-sentence: a reply that cites is joined as it
    stands. Each cited text is one footnote however often it is cited, with the source word for word as it was given.
    """
    texts = [block for block in content if block.get("type") == "text" and isinstance(block.get("text"), str)]
    if not any(_locations(block) for block in texts):
        return "\n\n".join(block["text"] for block in texts)
    labels: dict[tuple[str, str], str] = {}
    notes: list[str] = []
    parts: list[str] = []
    for block in texts:
        marks: dict[str, None] = {}
        for found in _locations(block):
            key = (found["source"], found["cited_text"])
            if key not in labels:
                labels[key] = f"{mark}.{len(labels) + 1}"
                notes.append(_note(labels[key], found))
            marks[labels[key]] = None
        parts.append(_marked(block["text"], "".join(f"[^{label}]" for label in marks)))
    return "".join(parts).rstrip() + "\n\n" + "\n".join(notes)


def _locations(block: Block) -> list[Mapping[str, Any]]:
    found = block.get("citations")
    return [
        one
        for one in (found if isinstance(found, list | tuple) else ())
        if isinstance(one, Mapping)
        and one.get("type") == _KIND
        and isinstance(one.get("source"), str)
        and isinstance(one.get("cited_text"), str)
        and one["cited_text"].strip()
    ]


def _note(label: str, found: Mapping[str, Any]) -> str:
    quote, source = _one_line(found["cited_text"]), _one_line(found["source"])
    return f'[^{label}]: "{quote}" — {_one_line(str(found.get("title") or "untitled"))}, {source}'


def _marked(text: str, marks: str) -> str:
    """Return `text` with the marks behind its last word, in front of the blanks at its end."""
    body = text.rstrip()
    return f"{body}{marks}{text[len(body) :]}" if marks else text


def _one_line(text: str) -> str:
    return " ".join(text.split())
