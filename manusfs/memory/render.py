"""How a part becomes the text that the model sees: pure, byte-stable, one function a released version.

A version that has been released is never edited: transcripts hold the hash of what it rendered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from manusfs.errors import NewerFormat
from manusfs.records import Heading, Meta, Source, Span, ViewPart, escape, secrets

__all__ = ["Frame", "body_text", "frame", "name_of", "render", "unread"]

VERSION = 3

_URL_CHARS = 400
_TITLE_CHARS = 120
_NOTE_CHARS = 240
_NOTES = 8
_HEADINGS = 12
_HEADING_CHARS = 40
_OUTLINE_CHARS = 200
_FOLDED_CHARS = 60
_PATH_HASH = re.compile(r"#[0-9a-f]{12}\Z")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")

Body = Callable[[Span], bytes]
Form = Callable[[ViewPart, Meta, Body], str]


def render(part: ViewPart, meta: Meta, body: Body) -> str:
    """Return the text of `part`, an observation's rendering; `body` gives the bytes of a span of the part's view.

    Raises:
        NewerFormat: the part was made by a version of this function that is not here.
    """
    forms = _VERSIONS.get(part.version)
    if forms is None or part.form not in forms:
        raise NewerFormat(
            f"{part.ref} was shown in form {part.form!r}, version {part.version}, which this manusfs does not know",
            hint="install the newer manusfs that wrote it",
        )
    return forms[part.form](part, meta, body)


def body_text(data: bytes) -> str:
    """Return bytes of a view as escaped text of the same length; bytes that are no UTF-8 become `?`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = _NOT_UTF8.sub("?", data.decode("utf-8", "surrogateescape"))
    return escape.body(text)


def name_of(source: Source) -> str:
    """Return what people call `source`: its URL, its file name, or the tool with its arguments; secrets are masked."""
    return secrets.text(_name(source)) if source.kind != "web" else source.shown


def _name(source: Source) -> str:
    if source.kind == "tool":
        return f"{source.tool} {source.arguments}"
    return _PATH_HASH.sub("", source.key.partition(":")[2])


def unread(total: int, spans: Sequence[Span]) -> list[Span]:
    """Return what of `total` bytes none of `spans` covers, in order."""
    left, at = [], 0
    for span in sorted(spans):
        if span.start > at:
            left.append(Span(at, span.start))
        at = max(at, span.end)
    return left + ([Span(at, total)] if at < total else [])


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands round a piece of text that is read: where it is from and what comes next."""

    ref: str
    """Without a span: `obs:…`, `msg:…` or a path."""
    view: str
    total: int
    """Bytes of the whole view."""
    lines: str = ""
    """`first-last`, from 1; empty where lines mean nothing."""
    state: str = "stored"
    page: str = ""


def frame(about: Frame, head: Span, head_text: str, tail: Span | None = None, tail_text: str = "") -> str:
    """Return the `<read>` element, version 1; `tail` is a piece further on that is shown too.

    The texts are escaped already. Exactly one newline stands before and behind them, so that they can be cut out.
    """
    ref = escape.field(about.ref, _URL_CHARS)
    attributes = [
        ("ref", ref),
        ("view", about.view),
        ("start", str(head.start)),
        ("end", str(head.end)),
        ("total", str(about.total)),
        ("next", str(head.end) if head.end < about.total else ""),
        ("lines", about.lines),
        ("state", about.state),
    ]
    if about.page:
        attributes.insert(2, ("page", about.page))
    opening = "<read " + " ".join(f'{name}="{value}"' for name, value in attributes) + ">"
    lines = [opening, head_text]
    if tail is not None:
        lines += [f'…[OMITTED {head.end}-{tail.start}: read(ref="{ref}", offset={head.end})]…', tail_text]
    return "\n".join([*lines, "</read>"])


def _stub(part: ViewPart, meta: Meta, body: Body) -> str:
    attributes = dict(part.attributes)
    lines = _head(meta)
    if "missed" in attributes:
        lines.append("note: no passage fits what you look for; the beginning is shown")
    label = "passage" if "find" in attributes and "missed" not in attributes else "preview"
    for span in part.spans:
        lines += [f"{label} {span}:", body_text(body(span))]
    left = unread(_size(meta), part.spans)
    if left:
        ref = f"obs:{meta.id}"
        spans = ", ".join(str(span) for span in left)
        lines.append(f'NOT READ: {spans}. read(ref="{ref}", offset={left[0].start}) or search(query, within="{ref}")')
    return "\n".join([*lines, "</observation>"])


def _whole(part: ViewPart, meta: Meta, body: Body) -> str:
    span = Span(0, _size(meta))
    return "\n".join([*_head(meta), f"text {span}:", body_text(body(span)), "</observation>"])


def _whole_2(part: ViewPart, meta: Meta, body: Body) -> str:
    """A small result of a tool stands right behind its call: to say all that again would often cost more than it."""
    if meta.source.kind != "tool" or meta.notes:
        return _whole(part, meta, body)
    text = body_text(body(Span(0, _size(meta))))
    return f'<observation ref="obs:{meta.id}" kind="tool">\n{text}\n</observation>'


def _stub_2(part: ViewPart, meta: Meta, body: Body) -> str:
    """A tool that gave nothing needs no title and no path."""
    if meta.source.kind != "tool" or meta.raw_size:
        return _stub(part, meta, body)
    return f'<observation ref="obs:{meta.id}" kind="tool" bytes="0">empty</observation>'


def _folded(part: ViewPart, meta: Meta, body: Body) -> str:
    return f'<folded ref="{part.ref}" {_origin(meta.source, _FOLDED_CHARS)}/>'


def _read(part: ViewPart, meta: Meta, body: Body) -> str:
    known = dict(part.attributes)
    view = meta.files.get(part.ref.view)
    total = view.size if view is not None else 0
    about = Frame(
        str(part.ref.whole), part.ref.view, total, known.get("lines", ""), known["state"], known.get("page", "")
    )
    head, *rest = part.spans
    tail = rest[0] if rest else None
    return frame(about, head, body_text(body(head)), tail, "" if tail is None else body_text(body(tail)))


def _head(meta: Meta) -> list[str]:
    attributes = [
        f'ref="obs:{meta.id}" kind="{meta.source.kind}"',
        _origin(meta.source, _URL_CHARS),
        f'path="{escape.field(meta.folder, 300)}" bytes="{_size(meta)}" tokens="{meta.tokens}"',
        f'sha256="{meta.raw_sha256[:8]}" views="{",".join(meta.views)}" pages="{len(meta.pages) or ""}"',
    ]
    lines = [f"<observation {' '.join(attributes)}>", f"title: {escape.field(meta.title, _TITLE_CHARS)}"]
    lines += [f"note: {escape.field(note, _NOTE_CHARS)}" for note in meta.notes[:_NOTES]]
    if len(meta.notes) > _NOTES:
        lines.append(f"note: … {len(meta.notes) - _NOTES} more notes in meta.json")
    if meta.outline:
        lines.append(f"outline: {_outline(meta.outline)}")
    return lines


def _origin(source: Source, limit: int) -> str:
    if source.kind == "web":
        return f'url="{escape.field(source.key, limit)}"'
    if source.kind == "tool":
        return f'tool="{escape.field(source.tool, 80)}" args="{escape.field(source.arguments, limit)}"'
    return f'name="{escape.field(_name(source), limit)}"'


def _outline(outline: Sequence[Heading]) -> str:
    shown = _upper_levels(outline)
    entries: list[str] = []
    room = _OUTLINE_CHARS
    for heading in shown[:_HEADINGS]:
        entry = f"{heading.offset} {escape.field(heading.title, _HEADING_CHARS)}"
        room -= len(entry)
        if entries and room < 0:
            break
        entries.append(entry)
    more = len(outline) - len(entries)
    return " · ".join(entries) + (f" · … {more} more" if more else "")


def _upper_levels(outline: Sequence[Heading]) -> Sequence[Heading]:
    """Return the headings down to the lowest level at which they are few enough, else all."""
    if len(outline) <= _HEADINGS:
        return outline
    for level in sorted({heading.level for heading in outline}, reverse=True):
        upper = [heading for heading in outline if heading.level <= level]
        if 2 < len(upper) <= _HEADINGS:
            return upper
    return outline


def _size(meta: Meta) -> int:
    return meta.files["text"].size if "text" in meta.files else 0


_FIRST: dict[str, Form] = {
    "stub": _stub,
    "whole": _whole,
    "folded": _folded,
    "read": _read,
}
_SECOND = {**_FIRST, "stub": _stub_2, "whole": _whole_2}


def _without_secrets(form: Form) -> Form:
    """Secrets in what the frame tells are masked; a body stands as it is stored."""

    def render(part: ViewPart, meta: Meta, body: Body) -> str:
        source = replace(meta.source, key=meta.source.shown)
        notes = tuple(map(secrets.text, meta.notes))
        return form(part, replace(meta, source=source, title=secrets.text(meta.title), notes=notes), body)

    return render


_THIRD = {**{name: _without_secrets(form) for name, form in _SECOND.items()}, "read": _read}
_VERSIONS = {1: _FIRST, 2: _SECOND, 3: _THIRD}
