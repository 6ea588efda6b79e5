"""What stands in the context in place of an observation: which form it gets at birth, and what each form shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from manusfs.memory.evidence import CITE
from manusfs.memory.render import VERSION, name_of, render
from manusfs.records import Meta, ObsRef, Span, ViewPart, escape, secrets, sha256_hex, tokens
from manusfs.workspace.settings import Settings

__all__ = [
    "StubLimits",
    "born",
    "clip",
    "folded",
    "important_tail",
    "ledger_line",
    "read_part",
    "render",
    "sealed",
    "title_of",
]

Body = Callable[[Span], bytes]
Passages = Callable[[bytes, str, int, int], Sequence[Span]]
"""`(text, query, count, characters)` -> the spans of the passages that fit best."""

_CITED_TITLE = 120
_LINE_SLACK = 80
_WORD_SLACK = 40
_LEDGER_TITLE = 28
_LEDGER_SPANS = 3
_TAIL_SIGNS = re.compile(
    r"\b(error|exception|traceback|failed|failure|fatal|panic|warning|denied|timed? ?out|exit (code|status)|"
    r"total|sum|summary|passed|conclusions?|result)\b|错误|失败|总计|合计|结论",
    re.IGNORECASE,
)
_CLOSERS = re.compile(r"[\]})]\s*\Z|</[a-z][\w-]*>\s*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StubLimits:
    """How much of an observation its stub shows. All in characters."""

    inline_chars: int = 2_000
    """Up to this size an observation stands in the context whole."""
    preview_chars: int = 600
    """The beginning that a stub of a larger one shows."""
    find_passages: int = 3
    """Passages shown when the call said what it looks for."""
    find_chars: int = 400
    """Size of each of them."""
    read_chars: int = 16_000
    """The most that a call's own `limit` may ask for."""
    tail_chars: int = 0
    """Of what a stub shows, this much from the end where that looks important; 0: the beginning only."""

    @classmethod
    def of(cls, settings: Settings) -> StubLimits:
        """Return the limits that `settings` give."""
        return cls(
            settings.inline_chars,
            settings.preview_chars,
            settings.find_passages,
            settings.find_chars,
            settings.read_chars,
        )


def born(
    meta: Meta,
    body: Body,
    *,
    find: str = "",
    limit: int | None = None,
    limits: StubLimits | None = None,
    passages: Passages | None = None,
) -> tuple[ViewPart, str]:
    """Return how a new observation stands in the context, and the text of that.

    Whole when its reading view is small; otherwise a stub with the beginning or, with `find`, the passages that fit
    best. `limit` is how many characters the call asked for; it is held to `read_chars`.
    """
    limits = limits or StubLimits()
    ref = ObsRef(meta.id)
    total = meta.files["text"].size if "text" in meta.files else 0
    if not total:
        return sealed(ViewPart("stub", ref), meta, body)
    asked = None if limit is None else max(0, min(limit, limits.read_chars))
    room = max(limits.inline_chars, asked or 0)
    if total <= room * 4:
        data = body(Span(0, total))
        if len(data.decode("utf-8", "replace")) <= room:
            return sealed(ViewPart("whole", ref, (Span(0, total),)), meta, lambda span: data[span.start : span.end])
    attributes: tuple[tuple[str, str], ...] = ()
    if find.strip() and passages is not None:
        count = max(limits.find_passages, (asked or 0) // limits.find_chars)
        found = tuple(sorted(passages(body(Span(0, total)), find, count, limits.find_chars)))
        if found:
            return sealed(ViewPart("stub", ref, found, (("find", find),)), meta, body)
        attributes = (("find", find), ("missed", "1"))
    shown = limits.preview_chars if asked is None else asked
    tail = _tail(body, total, min(limits.tail_chars, shown // 2))
    if tail is not None:
        shown -= min(limits.tail_chars, shown // 2)
    start = clip(body(Span(0, min(total, shown * 4))), shown, more=True)
    spans: tuple[Span, ...] = (Span(0, len(start)),) if start else ()
    if tail is not None and tail.start > len(start):
        spans = (*spans, tail)
    return sealed(ViewPart("stub", ref, spans, attributes), meta, body)


def clip(data: bytes, chars: int, *, more: bool) -> bytes:
    """Return the first `chars` characters of `data`, on a code-point border.

    With `more`, which says that something follows, the end moves back to the end of a line or word that is near.
    """
    text = data.decode("utf-8", "ignore")
    if len(text) <= chars:
        return text.encode("utf-8")
    text = text[:chars]
    if more and chars > 2 * _LINE_SLACK:
        line = text.rfind("\n", chars - _LINE_SLACK)
        word = text.rfind(" ", chars - _WORD_SLACK)
        if line > 0 or word > 0:
            text = text[: (line if line > 0 else word) + 1]
    return text.encode("utf-8")


def folded(meta: Meta, ref: ObsRef) -> tuple[ViewPart, str]:
    """Return the one-line form of `ref`, a view or a span of the observation `meta`."""
    return sealed(ViewPart("folded", ref), meta, _nothing)


def read_part(
    meta: Meta,
    ref: ObsRef,
    spans: Sequence[Span],
    body: Body,
    *,
    state: str = "stored",
    lines: str = "",
    page: str = "",
    cite: str = "",
) -> tuple[ViewPart, str]:
    """Return the showing of `spans` of the view `ref`: what was read and, behind it, an important tail if given.

    With `cite`, the title to show, it stands in requests as evidence that can be cited (`evidence.py`).
    """
    attributes = [("state", state), ("lines", lines)]
    if page:
        attributes.append(("page", page))
    if cite:
        attributes.append((CITE, cite))
    part = ViewPart("read", ref.whole, tuple(spans), tuple(attributes))
    return sealed(part, meta, body)


def title_of(meta: Meta) -> str:
    """Return the title of an observation, or else its name, as one escaped line."""
    return escape.field(meta.title or name_of(meta.source), _CITED_TITLE) or f"obs:{meta.id}"


def sealed(part: ViewPart, meta: Meta, body: Body) -> tuple[ViewPart, str]:
    """Return `part` with the hash and the estimated tokens of its text, and that text."""
    text = render(replace(part, version=VERSION), meta, body)
    done = replace(part, version=VERSION, sha256=sha256_hex(text.encode("utf-8")), tokens=tokens.estimate(text))
    return done, text


def important_tail(text: str) -> bool:
    """Return True if `text`, the end of something long, should be shown with its head.

    That is where errors, closing brackets and totals stand (the rule is OpenClaw's, the words are ours).
    """
    return bool(_CLOSERS.search(text) or _TAIL_SIGNS.search(text[-1_500:]))


def _tail(body: Body, total: int, chars: int) -> Span | None:
    """Return the span of the last `chars` characters, None when these do not look important."""
    if not chars:
        return None
    data = body(Span(max(0, total - 4 * chars), total))
    while data and data[0] & 0xC0 == 0x80:
        data = data[1:]
    last = data.decode("utf-8", "replace")[-chars:]
    return Span(total - len(last.encode("utf-8")), total) if important_tail(last) else None


def ledger_line(meta: Meta, read: Sequence[Span] = ()) -> str:
    """Return the one line by which a ledger names an observation: id, host or tool, title, size, what was read."""
    size = meta.files["text"].size if "text" in meta.files else 0
    where = meta.source.host or meta.source.tool or meta.source.kind
    title = escape.field(secrets.text(meta.title) or name_of(meta.source), _LEDGER_TITLE)
    done = _merged(read)
    spans = " ".join(str(span) for span in done[:_LEDGER_SPANS]) + (" …" if len(done) > _LEDGER_SPANS else "")
    return f'{meta.id} {escape.field(where, 40)} "{title}" {_short(size)} ' + (f"read {spans}" if done else "not read")


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _short(size: int) -> str:
    return f"{size}b" if size < 1_000 else f"{round(size / 1_000)}k"


def _nothing(span: Span) -> bytes:
    raise AssertionError(f"a folded stub has no body, asked for {span}")
