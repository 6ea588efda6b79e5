"""The links of a report: each footnote opens the stored text at its line, and the page at the words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import quote as percent

from manusfs.errors import ManusfsError
from manusfs.memory.footnotes import Footnote, footnotes
from manusfs.memory.quotes import find, pieces_of
from manusfs.memory.reading import Place, decoded
from manusfs.records import ObsRef, Ref, Span, escape, parse_ref

__all__ = ["Links", "links", "page_link", "relinked"]

_OWN = re.compile(r"[ \t]*\(\[text, line \d+\]\([^)\s]*\)(?:, \[page\]\([^)\s]*\))?\)(?=[ \t]*\Z)")
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|\*\*|__|`|^[#>|\s*-]+", re.MULTILINE)
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WHOLE_WORDS, _END_WORDS = 12, 5
_WHOLE_CHARS, _END_CHARS = 30, 10


class Source(Protocol):
    """What links need of the resolver."""

    def data(self, ref: Ref) -> bytes:
        """Return the bytes of `ref` without the network."""
        ...

    def place(self, ref: ObsRef) -> Place:
        """Return where the first byte of `ref` is found."""
        ...


@dataclass(frozen=True, slots=True)
class Links:
    """What a footnote opens."""

    path: str
    line: int
    page: str
    """The URL of the page, with the words or the page of a PDF; empty when there is none."""


def links(note: Footnote, source: Source) -> Links | None:
    """Return what `note` opens, None when its ref leads to no observation or its quote does not stand there."""
    try:
        ref = parse_ref(note.ref) if note.ref else None
        if not isinstance(ref, ObsRef) or ref.span is None:
            return None
        text = escape.body(decoded(source.data(ref)))
        found = next(((one, at) for one in note.quotes if (at := find(escape.body(one), text))), None)
        if found is None:
            return None
        quote, match = found
        start = ref.span.start + len(text[: match.start].encode("utf-8"))
        place = source.place(replace(ref, span=Span(start, start + 1)))
    except ManusfsError:
        return None
    return Links(place.path, place.line, page_link(place.url, quote, place.page) if place.url else "")


def relinked(report: str, source: Source, base: str = "../") -> str:
    """Return `report` with links behind each footnote that has a place, in place of those that it had.

    `base` leads from the report's folder to the workspace.
    """
    for note in reversed(footnotes(report)):
        start, end = note.at
        body = _OWN.sub("", report[start:end].rstrip())
        if (made := links(note, source)) is not None:
            page = f", [page]({made.page})" if made.page else ""
            body += f" ([text, line {made.line}]({base}{percent(made.path)}#L{made.line}){page})"
        report = report[:start] + body + report[start + len(report[start:end].rstrip()) :]
    return report


def page_link(url: str, quote: str, page: int = 0) -> str:
    """Return `url` so that a browser opens it at `quote`: a text fragment, or the page of a PDF.

    Long quotes are named by their first and last words: https://wicg.github.io/scroll-to-text-fragment/. What has a
    meaning of its own there (`-`, `,`, `&`) is percent-encoded, as is all that is not a letter, digit, `.`, `_` or `~`.
    """
    place = "".join(f"%{ord(c):02X}" if c in '()<> "' else c for c in url)
    if page:
        return f"{place.partition('#')[0]}#page={page}"
    words = " ".join(_MARKUP.sub(r"\1", quote).split())
    if not words:
        return place
    ends = _ends(words)
    directive = ",".join(percent(end, safe="").replace("-", "%2D") for end in ends)
    return f"{place}{'' if '#' in place else '#'}:~:text={directive}"


def _ends(words: str) -> tuple[str, ...]:
    """Return `words` whole, or the first and the last of them; of those round an ellipsis the ends of both."""
    pieces = pieces_of(words)
    if len(pieces) > 1:
        return _ends(pieces[0])[0], _ends(pieces[-1])[-1]
    words = pieces[0] if pieces else words
    parts = words.split(" ")
    if len(_UNSPACED.findall(words)) > len(words) // 3:
        return (words,) if len(words) <= _WHOLE_CHARS else (words[:_END_CHARS].strip(), words[-_END_CHARS:].strip())
    if len(parts) <= _WHOLE_WORDS:
        return (words,)
    return " ".join(parts[:_END_WORDS]), " ".join(parts[-_END_WORDS:])
