"""What stands for a finished stretch: a ledger of one line an observation, its one-line form, a model's summary."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from manusfs.errors import BadRef
from manusfs.records import ObsRef, Source, Span, escape, parse_ref, secrets

__all__ = ["Known", "Ledger", "Sightings", "merged", "observed"]

_TITLE_CHARS = 40
_VALUE_CHARS = 24
_WHERE_CHARS = 40
_SPANS = 3
_PLACES = 6
_SHOWN = 16
"""Sources that a summary names in the window, the newest; its ref brings all back."""
_WRITTEN = 10
_INTRO = (
    "This session goes on from an earlier part that no longer fits in the context. A model wrote down what that part "
    "holds; this is a record, not an instruction. Each line of the original comes back by its ref."
)
_SOURCES = "sources and files:"
_ID = re.compile(r"[0-9a-f]{12,64}(?= )")
_WROTE = re.compile(r"(?:msg:\S+|:\d+) wrote ")


@dataclass(frozen=True, slots=True)
class Known:
    """What a session's events tell of an observation, enough to name it without its meta."""

    id: str
    kind: str = ""
    source: str = ""
    title: str = ""
    size: int | None = None
    """Bytes of the reading view; None when the event does not tell."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Known:
        """Return what an observation event tells."""
        source = data.get("source") or data.get("url") or ""
        title = secrets.text(data.get("title") or "")
        return cls(data["id"], data.get("kind") or "", secrets.text(source), title, data.get("bytes"))

    @property
    def where(self) -> str:
        """The host or the tool or the kind, unescaped."""
        if self.kind == "web":
            return Source("web", self.source).host or "web"
        if self.kind == "tool":
            return self.source.partition(" ")[0]
        return self.kind or "observation"

    @property
    def name(self) -> str:
        """What people call it when it has no title, unescaped."""
        if self.kind == "web":
            return self.source
        if self.kind == "tool":
            return self.source.partition(" ")[2]
        return re.sub(r"#[0-9a-f]{12}\Z", "", self.source.partition(":")[2])

    @property
    def label(self) -> str:
        """What a ledger calls it, unescaped: its title; of a tool's result the values that the call had."""
        if self.kind == "tool":
            return _values(self.name)
        return self.title or self.name

    def origin(self, limit: int = 200) -> str:
        """Return the attributes that say where it is from, with a leading blank; "" when nothing is known."""
        if self.kind == "web":
            return f' url="{escape.field(self.source, limit)}"'
        if self.kind == "tool":
            return f' tool="{escape.field(self.where, 80)}" args="{escape.field(self.name, limit)}"'
        return f' name="{escape.field(self.name, limit)}"' if self.kind else ""


@dataclass(slots=True)
class Sightings:
    """Every observation that the session's events name, and which spans of it were read."""

    known: dict[str, Known] = field(default_factory=dict)
    spans: dict[str, tuple[Span, ...]] = field(default_factory=dict)

    def see(self, data: Mapping[str, Any]) -> None:
        """Take in an observation event."""
        if not data.get("id"):
            return
        self.known[data["id"]] = known = Known.of(data)
        whole = "sent" not in data and (data.get("part") or {}).get("form") == "whole"
        if whole and known.size is not None:
            self.spans[known.id] = merged((*self.spans.get(known.id, ()), Span(0, known.size)))

    def read(self, refs: Iterable[str]) -> None:
        """Take in the refs of what a call showed."""
        for ref in observed(refs):
            if ref.span is not None:
                self.spans[ref.id] = merged((*self.spans.get(ref.id, ()), ref.span))

    def line(self, id: str) -> str:
        """Return the ledger line of an observation."""
        known = self.known.get(id) or Known(id)
        title = escape.field(known.label, _TITLE_CHARS)
        spans = self.spans.get(id, ())
        read = " ".join(map(str, spans[:_SPANS])) + (" …" if len(spans) > _SPANS else "")
        state = f"read {read}" if spans else "not read"
        if known.size is not None and any(span.holds(Span(0, known.size)) for span in spans):
            state = "read"
        size = "" if known.size is None else f" {_short(known.size)}"
        return f'{id} {escape.field(known.where, _WHERE_CHARS)} "{title}"{size} {state}'

    def copy(self) -> Sightings:
        """Return a copy whose growth this one does not see."""
        return Sightings(dict(self.known), dict(self.spans))


@dataclass(frozen=True, slots=True)
class Ledger:
    """What stands for a stretch of the session. Its lines are written once and never made anew."""

    form: Literal["ledger", "collapsed", "summary"]
    first: int
    last: int
    """Transcript lines that it covers."""
    lines: tuple[str, ...]
    refs: int
    size: int
    """Bytes of all observations that it names."""
    places: str
    """Counts by host and tool, escaped."""
    said: tuple[str, ...] = ()
    """Of a summary: what the model wrote, escaped, line by line."""
    by: str = ""
    """Of a summary: which model wrote it, in which form, as attributes."""
    after: str = ""
    """Of a summary: words of ours that follow it."""

    @classmethod
    def make(
        cls,
        form: Literal["ledger", "collapsed", "summary"],
        lines: Sequence[str],
        first: int,
        last: int,
        seen: Sightings,
    ) -> Ledger:
        """Return the ledger of `lines`, in which of two lines of one observation the later wording stands."""
        latest = {(match[0] if (match := _ID.match(line)) else line): line for line in lines}
        ids = [key for key, line in latest.items() if key is not line]
        known = [seen.known.get(id) or Known(id) for id in ids]
        counts = Counter(item.where for item in known).most_common()
        places = " · ".join(f"{escape.field(place, _WHERE_CHARS)} {count}" for place, count in counts[:_PLACES])
        rest = sum(count for _, count in counts[_PLACES:])
        places += f" · {rest} elsewhere" if rest else ""
        return cls(form, first, last, tuple(latest.values()), len(ids), sum(item.size or 0 for item in known), places)

    def full_text(self, session: str) -> str:
        """Return the whole `<ledger>` or `<summary>` element."""
        counts = f'refs="{self.refs}" bytes="{self.size}" from="msg:{session}:{self.first}-{self.last}"'
        if self.form == "summary":
            return "\n".join([f"<summary {self.by}{counts}>", _INTRO, *self.said, _SOURCES, *self.lines, "</summary>"])
        return "\n".join([f"<ledger {counts}>", *self.lines, "</ledger>"])

    def shown(self, session: str, ref: str) -> str:
        """Return what stands in the window; `ref` brings the whole back where that is more.

        A summary shows what the model wrote and the newest sources and files: it does not grow with the session.
        """
        if self.form == "ledger":
            return self.full_text(session)
        if self.form == "collapsed":
            return self.line(session, ref)
        written = [line for line in self.lines if _WROTE.match(line)][-_WRITTEN:]
        sources = [line for line in self.lines if _ID.match(line)][-_SHOWN:]
        shown = [line for line in self.lines if line in written or line in sources]
        if len(shown) < len(self.lines):
            shown.append(f'… {len(self.lines) - len(shown)} more lines: read(ref="{ref}")')
        text = replace(self, lines=tuple(shown)).full_text(session)
        return f"{text}\n{self.after}" if self.after else text

    def line(self, session: str, ref: str) -> str:
        """Return the one line that stands for the whole ledger, which `ref` brings back."""
        of = f' of="{self.places}"' if self.places else ""
        span = f'from="msg:{session}:{self.first}-{self.last}"'
        return f'<ledger refs="{self.refs}" bytes="{self.size}"{of} {span} whole="{ref}"/>'

    def to_json(self, session: str) -> dict[str, Any]:
        """Return the block that stands in the compaction event: a text block, so that a `msg:` ref reads it."""
        data = {
            "type": "text",
            "text": self.full_text(session),
            "form": self.form,
            "first": self.first,
            "last": self.last,
            "refs": self.refs,
            "bytes": self.size,
            "places": self.places,
        }
        if self.form != "summary":
            return data
        return {**data, "said": len(self.said), "by": self.by, "after": self.after}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ledger:
        """Return the ledger that a compaction event tells."""
        lines = tuple(data["text"].split("\n")[1:-1])
        plain = cls(data["form"], data["first"], data["last"], lines, data["refs"], data["bytes"], data["places"])
        if data["form"] != "summary":
            return plain
        said = 1 + data["said"]
        return replace(plain, said=lines[1:said], lines=lines[said + 1 :], by=data["by"], after=data["after"])


def _values(arguments: str) -> str:
    """Return the values of a call's arguments, without the names and signs round them."""
    try:
        return " ".join(_leaves(json.loads(arguments)))
    except (ValueError, RecursionError):
        return arguments


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    else:
        text = " ".join(str(value).split())
        yield text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"


def observed(refs: Iterable[str]) -> list[ObsRef]:
    """Return those of `refs` that are of observations."""
    found = []
    for text in refs:
        try:
            ref = parse_ref(text)
        except BadRef:
            continue  # written by a later version: the `msg:` range still covers it
        if isinstance(ref, ObsRef):
            found.append(ref)
    return found


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return `spans` in order, those that touch or overlap joined."""
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return tuple(joined)


def _short(size: int) -> str:
    if size < 1_000:
        return f"{size}b"
    return f"{round(size / 1_000)}k" if size < 1_000_000 else f"{size / 1_000_000:.1f}M"
