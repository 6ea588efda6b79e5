"""Which spans were shown whole since the epoch began, so that a second look can be answered with a pointer."""

from __future__ import annotations

import re

from manusfs.errors import BadRef, ManusfsError
from manusfs.records import Event, MsgRef, ObsRef, Span, parse_ref
from manusfs.session import Transcript
from manusfs.workspace import Folder

__all__ = ["Standing", "shown_refs"]


def shown_refs(folder: Folder, report: str) -> tuple[str, ...] | None:
    """Return what the session that wrote `report` was ever shown of observations; None when that is not known.

    A report is named after its session, whose transcript tells.
    """
    match = re.search(r"(?:\A|/)([\w.-]+)-\d+\.md\Z", report)
    if match is None or not report.startswith("reports/"):
        return None
    try:
        with Transcript.open(folder, match[1]) as transcript:
            standing = Standing(match[1])
            for event in transcript.events:
                standing.apply(event)
    except ManusfsError:
        return None
    return standing.refs()


class Standing:
    """Follows the events of one session. What an epoch closes stands no longer in the window as it was shown."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._shown: dict[str, list[tuple[Span, int]]] = {}
        self.seen: dict[str, list[Span]] = {}
        """For each view, what the model was ever shown of it, in any epoch."""

    def apply(self, event: Event) -> None:
        """Take the next event of the transcript."""
        if event.kind == "epoch":
            pairs = event.data.get("pairs", ())
            for view, shown in self._shown.items():
                kept = [(span, seq) for span, seq in shown if any(first <= seq <= last for first, last in pairs)]
                self._shown[view] = kept
            for part in event.data.get("opening", ()):
                # Kept turns carry what was read or stood whole: it is in the window again, in full.
                self._see_part(part, event.seq if part.get("form") in ("read", "whole") else None)
        elif event.kind == "shown" and not event.data.get("is_error"):
            sent = "sent" not in event.data
            for text in event.data.get("reads", ()):
                self._see(text, event.seq if sent else None)
            for text in event.data.get("hits", ()):
                self._see(text, None)
        elif event.kind == "child":
            # What a sub-agent read and cited may be cited by its parent, who never saw it.
            for text in event.data.get("cites", ()):
                self._see(text, None)
        elif event.kind == "observation":
            whole = event.data["part"].get("form") == "whole"
            self._see_part(event.data["part"], event.seq if whole else None)

    def refs(self) -> tuple[str, ...]:
        """Return all that the model was ever shown of observations, as refs with spans."""
        return tuple(f"{view}@{span}" for view, spans in self.seen.items() for span in spans)

    def has_seen(self, ref: ObsRef) -> bool:
        """Return True if any of the bytes of `ref` were shown."""
        spans = self.seen.get(str(ref.whole), ())
        return any(ref.span is None or (s.start < ref.span.end and ref.span.start < s.end) for s in spans)

    def where(self, ref: str, span: Span) -> str:
        """Return the `msg:` ref of the showing that holds `span` of the view `ref` and still stands, or ""."""
        for shown, seq in self._shown.get(ref, ()):
            if shown.holds(span):
                return str(MsgRef(self._session, seq))
        return ""

    def _see_part(self, part: dict[str, object], seq: int | None = None) -> None:
        spans = part.get("spans")
        if isinstance(spans, list):
            for start, end in spans:
                self._see(f"{part['ref']}@{start}-{end}", seq)

    def _see(self, text: str, seq: int | None) -> None:
        try:
            ref = parse_ref(text)
        except BadRef:
            return
        if not isinstance(ref, ObsRef) or ref.span is None:
            return
        view = str(ref.whole)
        self.seen.setdefault(view, []).append(ref.span)
        if seq is not None:
            self._shown.setdefault(view, []).append((ref.span, seq))
