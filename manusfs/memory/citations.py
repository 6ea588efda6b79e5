"""Checks that every quote of a report stands word for word where its footnote says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from manusfs.errors import ManusfsError
from manusfs.memory.footnotes import Footnote, footnotes, format_footnote, uncited_claims, used_labels
from manusfs.memory.quotes import find
from manusfs.memory.reading import decoded
from manusfs.records import ObsRef, Ref, Span, escape, parse_ref, secrets

__all__ = ["STATES", "Citation", "CitationReport", "check", "fix", "format_footnote", "narrowed"]

CitationState = Literal["exact", "normalised", "elsewhere", "absent", "unresolved", "undefined"]

_SHORTENED = "words are left out where the quote has an ellipsis"
_DANGLING = "used, but no footnote defines it"
_MOST_OTHERS = 20


class Source(Protocol):
    """What a check needs of the resolver."""

    def data(self, ref: Ref) -> bytes:
        """Return the bytes of `ref` without the network."""
        ...

    def url(self, id: str) -> str:
        """Return the URL of the observation `id`, empty when it has none."""
        ...


@dataclass(frozen=True, slots=True)
class Citation:
    """One footnote and how it fared."""

    label: str
    quote: str
    ref: str
    state: CitationState
    line: int
    """Of the report, from 1; 0 for a mark without a footnote."""
    right_ref: str = ""
    """Where the quote stands, when that is not where the footnote says."""
    message: str = ""
    read: bool = True
    """False when the model was never shown the cited bytes."""

    @property
    def verified(self) -> bool:
        """True if the quote stands in its span, white space, quotation marks, dashes and markup aside."""
        return self.state in ("exact", "normalised")

    def to_json(self) -> dict[str, Any]:
        """Return the object that `cite --json` prints."""
        names = ("label", "quote", "ref", "state", "line", "right_ref", "message", "read")
        return {name: getattr(self, name) for name in names}


# Words for people: what each state means.
STATES: dict[CitationState, str] = {
    "exact": "the quote stands in its span, byte for byte",
    "normalised": "it stands there word for word, with other white space, quotation marks, dashes or markup",
    "elsewhere": "it stands in the source, but not in its span: `manusfs cite REPORT --fix` sets the span right",
    "absent": "it does not stand in the source",
    "unresolved": "the footnote has no quote, or no ref that leads to stored bytes",
    "undefined": "a mark in the text has no footnote",
}


@dataclass(frozen=True, slots=True)
class CitationReport:
    """How the citations of one report fared."""

    citations: tuple[Citation, ...]
    uncited: tuple[str, ...]
    """Sentences and list items without a footnote."""
    undefined: tuple[str, ...] = ()
    """Labels that are used and never defined."""

    @property
    def total(self) -> int:
        """How many citations there are, those without a footnote included."""
        return len(self.citations) + len(self.undefined)

    @property
    def verified(self) -> int:
        """How many of them stand in their span."""
        return sum(citation.verified for citation in self.citations)

    @property
    def normalised(self) -> int:
        """How many of the verified differ from their span in white space, quotation marks, dashes or markup."""
        return sum(citation.state == "normalised" for citation in self.citations)

    @property
    def all(self) -> tuple[Citation, ...]:
        """All citations, the marks without a footnote last, as citations in the state "undefined"."""
        dangling = (Citation(label, "", "", "undefined", 0, message=_DANGLING) for label in self.undefined)
        return (*self.citations, *dangling)

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each citation that is wrong, points elsewhere, or was never read."""
        lines = [f"[^{c.label}] line {c.line}: {c.message}" for c in self.citations if c.message]
        return (*lines, *(f"[^{label}]: {_DANGLING}" for label in self.undefined))

    @property
    def ok(self) -> bool:
        """True if every citation is verified."""
        return self.verified == self.total

    def to_json(self) -> dict[str, Any]:
        """Return the totals, each citation, and what has none."""
        return {
            "total": self.total,
            "verified": self.verified,
            "normalised": self.normalised,
            "citations": [citation.to_json() for citation in self.all],
            "problems": list(self.problems),
            "uncited": list(self.uncited),
        }


def check(report: str, resolver: Source, read_refs: Iterable[str] | None = None) -> CitationReport:
    """Return how each footnote of `report` fares against the stored bytes; the network is not asked.

    With `read_refs`, the spans that the model was shown, citations of anything else are marked as never read.
    """
    shown = None if read_refs is None else _shown(read_refs)
    defined = footnotes(report)
    labels = {note.label.casefold() for note in defined}
    others = _cited(defined)
    return CitationReport(
        citations=tuple(_citation(note, resolver, shown, others) for note in defined),
        uncited=uncited_claims(report),
        undefined=tuple(label for label in used_labels(report) if label.casefold() not in labels),
    )


def fix(report: str, resolver: Source) -> tuple[str, int]:
    """Return `report` with the right span wherever a quote stands elsewhere in what it cites, and how many were set."""
    count = 0
    for note in reversed(footnotes(report)):
        citation = _citation(note, resolver, None, ())
        if citation.right_ref:
            report = _with_ref(report, note, citation.right_ref)
            count += 1
    return report, count


def narrowed(report: str, resolver: Source, labels: Iterable[str]) -> str:
    """Return `report` with the spans of the footnotes `labels` narrowed to their quotes.

    What a model cites by itself is cited by the whole that was read; its words stand somewhere in that.
    """
    wanted = set(labels)
    for note in reversed(footnotes(report)):
        if note.label not in wanted or not note.ref:
            continue
        try:
            ref = parse_ref(note.ref)
            if not isinstance(ref, ObsRef) or ref.span is None:
                continue
            right = next((found for one in note.quotes if (found := _within(escape.body(one), ref, resolver))), None)
        except ManusfsError:
            continue
        if right is not None:
            report = _with_ref(report, note, str(right))
    return report


def _within(wanted: str, ref: ObsRef, resolver: Source) -> ObsRef | None:
    text = escape.body(decoded(resolver.data(ref)))
    if ref.span is None or (match := find(wanted, text)) is None:
        return None
    start = ref.span.start + len(text[: match.start].encode("utf-8"))
    return replace(ref, span=Span(start, start + len(text[match.start : match.end].encode("utf-8"))))


def _with_ref(report: str, note: Footnote, ref: str) -> str:
    start, end = note.ref_at
    return report[:start] + ref + report[end:]


def _cited(notes: Sequence[Footnote]) -> list[ObsRef]:
    """Return the views that the footnotes cite, each once, the first twenty."""
    found: dict[ObsRef, None] = {}
    for note in notes:
        try:
            ref = parse_ref(note.ref)
        except ManusfsError:
            continue
        if isinstance(ref, ObsRef):
            found[ref.whole] = None
    return list(found)[:_MOST_OTHERS]


def _citation(
    note: Footnote, resolver: Source, shown: dict[str, list[Span | None]] | None, others: Sequence[ObsRef]
) -> Citation:
    quote = note.quotes[0] if note.quotes else ""
    blank = Citation(note.label, quote, note.ref, "unresolved", note.line)
    if not note.quotes:
        return replace(blank, message="the footnote has no quote between quotation marks")
    if not note.ref:
        return replace(blank, message="the footnote names no obs: or msg: ref with a span")
    try:
        ref = parse_ref(note.ref)
        tried = [_compare(blank, one, ref, resolver, others) for one in note.quotes]
    except ManusfsError as error:
        return replace(blank, message=f"{note.ref} does not resolve: {error}")
    order: list[CitationState] = ["exact", "normalised", "elsewhere", "absent"]
    best = min(tried, key=lambda citation: order.index(citation.state))
    return _remarks(best, note, ref, resolver, shown)


def _compare(blank: Citation, quote: str, ref: Ref, resolver: Source, others: Sequence[ObsRef]) -> Citation:
    wanted = escape.body(quote)
    data = resolver.data(ref)
    # A span that runs past the end is cut there when it is read, but whoever wrote it never saw such bytes.
    span: Span | None = getattr(ref, "span", None)
    past = span is not None and span.start + len(data) < span.end
    if not past and (match := find(wanted, escape.body(decoded(data)))):
        told = _SHORTENED if match.shortened else ""
        return replace(blank, quote=quote, state="exact" if match.exact else "normalised", message=told)
    where = f"{ref} ends past the end of its source" if past else f"the quote does not stand in {ref}"
    if not isinstance(ref, ObsRef):
        return replace(blank, quote=quote, state="absent", message=where)
    for view in dict.fromkeys((ref.view, "text", "full")):
        if right := _standing(wanted, ObsRef(ref.id, view), resolver, span.start if span is not None else 0):
            message = f"{where}; the quote stands in {right}" if past else f"{where}, but in {right}"
            return replace(blank, quote=quote, state="elsewhere", right_ref=str(right), message=message)
    message = f"the quote stands nowhere in obs:{ref.id}"
    for other in others:
        if other.id != ref.id and (right := _standing(wanted, other, resolver, 0)):
            message = f"{message}; it stands in {right}, another source that the report cites"
            break
    return replace(blank, quote=quote, state="absent", message=message)


def _standing(wanted: str, place: ObsRef, resolver: Source, near: int) -> ObsRef | None:
    """Return where `wanted` stands in the view `place`, nearest to the byte `near`; None when nowhere."""
    try:
        data = resolver.data(place)
    except ManusfsError:
        return None
    whole = escape.body(decoded(data))
    match = find(wanted, whole, len(data[:near].decode("utf-8", "ignore")))
    if match is None:
        return None
    start = len(whole[: match.start].encode("utf-8"))
    return replace(place, span=Span(start, start + len(whole[match.start : match.end].encode("utf-8"))))


def _remarks(
    citation: Citation, note: Footnote, ref: Ref, resolver: Source, shown: dict[str, list[Span | None]] | None
) -> Citation:
    if not isinstance(ref, ObsRef):
        return citation
    if shown is not None and not _was_shown(ref, shown):
        said = citation.message or "the quote stands there"
        citation = replace(citation, read=False, message=f"{said}; this part was never read")
    # The model knows a URL with a secret in it by its masked form alone.
    url = secrets.url(resolver.url(ref.id))
    if (
        note.url
        and url
        and secrets.url(note.url.partition("#")[0]) != url
        and format_footnote("", "", "", url, "").find(note.url) < 0
    ):
        message = f"{citation.message}; " if citation.message else ""
        citation = replace(citation, message=f"{message}the footnote's URL is not that of obs:{ref.id}, <{url}>")
    return citation


def _shown(refs: Iterable[str]) -> dict[str, list[Span | None]]:
    shown: dict[str, list[Span | None]] = {}
    for text in refs:
        ref = parse_ref(text)
        if isinstance(ref, ObsRef):
            shown.setdefault(str(ref.whole), []).append(ref.span)
    return shown


def _was_shown(ref: ObsRef, shown: dict[str, list[Span | None]]) -> bool:
    for span in shown.get(str(ref.whole), ()):
        if span is None or ref.span is None:
            return True
        if span.start < ref.span.end and ref.span.start < span.end:
            return True
    return False
