"""The two things a tool can return, what an extractor returns, and the parts that stand in a transcript."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from manusfs.records.observation import Heading, HttpMeta
from manusfs.records.refs import ObsRef, Span, parse_ref
from manusfs.records.source import Source

__all__ = [
    "Extracted",
    "Fetched",
    "Form",
    "ImagePart",
    "Part",
    "Shown",
    "TextPart",
    "ViewPart",
    "part_from_json",
    "part_to_json",
]

Form = Literal["stub", "whole", "folded", "read"]


@dataclass(frozen=True, slots=True)
class Fetched:
    """New bytes from outside, on their way to become an observation."""

    source: Source
    raw: bytes
    media_type: str = ""
    """What the sender claimed; a hint only, the content decides."""
    charset: str = ""
    """What the sender claimed; a hint only."""
    name: str = ""
    """A file name, as a hint."""
    http: HttpMeta | None = None
    complete: bool = True
    notes: tuple[str, ...] = ()
    find: str = ""
    """What the caller is looking for: the stub shows the best passages in place of the beginning."""
    limit: int | None = None
    """Characters of text that the stub may show; None means the settings' preview."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What an extractor made of raw bytes. `text` may be empty; then `notes` says why.

    Offsets in `pages` and `outline` are bytes of `text` as UTF-8.
    """

    media_type: str
    text: str
    full: str | None = None
    """Everything visible, where the reading view leaves much out."""
    charset: str = ""
    title: str = ""
    extractor: str = ""
    complete: bool = True
    notes: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    page_labels: tuple[str, ...] = ()
    outline: tuple[Heading, ...] = ()


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text that stands in the transcript as it was sent."""

    text: str


@dataclass(frozen=True, slots=True)
class ViewPart:
    """A rendering of a stored view: the transcript holds how it was made and its hash, never the body."""

    form: Form
    ref: ObsRef
    spans: tuple[Span, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    """What the rendering needs beside body and meta, in fixed order (for "read": `state`; for a stub: `find`)."""
    version: int = 1
    sha256: str = ""
    """Of the rendered text."""
    tokens: int = 0
    """Estimate of the rendered text, uncalibrated."""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image that is shown to the model: the raw bytes of an observation."""

    ref: ObsRef
    media_type: str
    tokens: int = 1600
    size: int = 0
    """Bytes; 0 where nobody wrote them down."""


Part = TextPart | ViewPart | ImagePart


@dataclass(frozen=True, slots=True)
class Shown:
    """What a tool printed from the workspace; never becomes an observation."""

    parts: tuple[Part, ...]
    wrote: tuple[str, ...] = ()
    """Workspace paths that the call wrote."""
    details: dict[str, Any] = field(default_factory=dict)


def part_to_json(part: Part) -> dict[str, Any]:
    """Return `part` as it stands in a transcript line."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        size = {"bytes": part.size} if part.size else {}
        return {"type": "image", "ref": str(part.ref), "media_type": part.media_type, "tokens": part.tokens, **size}
    return {
        "type": "view",
        "form": part.form,
        "ref": str(part.ref),
        "spans": [[span.start, span.end] for span in part.spans],
        "attributes": [list(pair) for pair in part.attributes],
        "version": part.version,
        "sha256": part.sha256,
        "tokens": part.tokens,
    }


def part_from_json(data: dict[str, Any]) -> Part:
    """Return the part that `data` tells.

    Raises:
        ValueError: `data` has an unknown type.
    """
    if data["type"] == "text":
        return TextPart(data["text"])
    ref = parse_ref(data["ref"])
    if not isinstance(ref, ObsRef):
        raise ValueError(f"a part must be of an observation, not {data['ref']!r}")
    if data["type"] == "image":
        return ImagePart(ref, data["media_type"], data["tokens"], data.get("bytes", 0))
    if data["type"] == "view":
        spans = tuple(Span(start, end) for start, end in data["spans"])
        attributes = tuple((name, value) for name, value in data["attributes"])
        return ViewPart(data["form"], ref, spans, attributes, data["version"], data["sha256"], data["tokens"])
    raise ValueError(f"unknown part type {data['type']!r}")
