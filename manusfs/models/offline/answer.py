"""The offline model's words: its note and its report, every quote with the bytes where it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from manusfs.models.offline.evidence import Quote, Support
from manusfs.models.offline.seen import Seen

__all__ = ["WHAT_IT_IS", "answer", "note"]

WHAT_IT_IS = (
    "Offline mode: no language model was used. What follows are word-for-word quotes, chosen by rules; nothing is "
    "inferred, translated or summarised."
)
_SURE = {
    "high": "well supported: the words of the question stand together in the source:",
    "medium": "supported in part: some words of the question stand elsewhere or not at all:",
    "low": "weakly supported, read the source before relying on it:",
}


class _Notes:
    """Footnotes in the order of their first use; one quote is one footnote."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._lines: list[str] = []

    def mark(self, quote: Quote) -> str:
        """Return the mark of `quote`'s footnote."""
        if quote.address not in self._numbers:
            self._numbers[quote.address] = len(self._numbers) + 1
            place = f"<{quote.source.url}>, " if quote.source.url.startswith("http") else ""
            number = self._numbers[quote.address]
            title = _one_line(quote.source.title or quote.source.url or quote.source.ref)
            self._lines.append(f'[^{number}]: "{_one_line(quote.sentence.text)}" — {title}, {place}{quote.address}')
        return f"[^{self._numbers[quote.address]}]"

    def text(self) -> str:
        """Return all footnotes, one a line."""
        return "\n".join(self._lines)


def answer(seen: Seen, supports: Sequence[Support], links: Sequence[str] = ()) -> str:
    """Return the report: the short answer first, then the evidence by source, then what found no support.

    `links` are pages that may hold what is missing and were not followed.
    """
    notes = _Notes()
    found = [support for support in supports if support.level != "none"]
    parts = [f"> {WHAT_IT_IS}"]
    if unread := _unread(seen):
        parts.append(f"## Could not be read\n\n{unread}")
    if found:
        parts.append("## Short answer\n\n" + "\n".join(_short(support, notes) for support in found))
        parts.append("## Evidence\n\n" + "\n\n".join(_evidence(support, notes) for support in found))
    lost = [support for support in supports if support.level == "none"]
    if lost:
        parts.append("## No support found\n\n" + "\n".join(_absent(support, seen) for support in lost))
    parts.append(f"> {_sources(seen, links)}")
    if footnotes := notes.text():
        parts.append(footnotes)
    return "\n\n".join(parts)


def note(seen: Seen, supports: Sequence[Support]) -> str:
    """Return the note that is kept of the findings."""
    parts = [f"# Findings: {_one_line(seen.task)[:100]}\n\nTask: {_one_line(seen.task)}"]
    for support in supports:
        lines = [f"## {support.question.text}", f"Support: {support.level}"]
        lines += [f'- "{_one_line(quote.sentence.text)}" ({quote.address})' for quote in support.quotes] or [
            "- nothing found"
        ]
        parts.append("\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:]))
    return "\n\n".join(parts) + "\n"


def _short(support: Support, notes: _Notes) -> str:
    best = support.quotes[0]
    return f"* **{_one_line(support.question.text)}** “{_plain(best)}” {notes.mark(best)}"


def _evidence(support: Support, notes: _Notes) -> str:
    lines = [f"### {_one_line(support.question.text)}", _SURE[support.level].capitalize()]
    by_source: dict[str, list[Quote]] = {}
    for quote in support.quotes:
        by_source.setdefault(quote.source.ref, []).append(quote)
    for quotes in by_source.values():
        source = quotes[0].source
        place = f" ({source.url})" if source.url.startswith("http") else ""
        lines.append(f"From **{_one_line(source.title or source.ref)}**{place}:")
        lines.append("\n".join(f"- “{_plain(quote)}” {notes.mark(quote)}" for quote in quotes))
    return "\n\n".join(lines)


def _absent(support: Support, seen: Seen) -> str:
    count = len({text.ref.removesuffix("/full") for text in seen.texts})
    read = f"read in {count} source{'' if count == 1 else 's'}" if count else "the search found nothing to read"
    if support.missing and count:
        why = f"no passage read holds: {', '.join(support.missing[:8])}"
    elif count:
        why = "its words stand in what was read, but not together in an answer"
    else:
        why = "nothing that is stored holds its words"
    return f"> * {_one_line(support.question.text)} — {read}; {why}."


def _unread(seen: Seen) -> str:
    failed = [call for call in seen.made("web_fetch") if call.failed]
    reasons = ((call.arguments.get("url", ""), _one_line(call.result.partition("<observation")[0])) for call in failed)
    return "\n".join(f"> * {url} — {reason[:300]}" for url, reason in reasons)


def _sources(seen: Seen, links: Sequence[str]) -> str:
    read = len({text.ref.removesuffix("/full") for text in seen.texts})
    lines = [f"Sources read: {read} of {len(seen.sources)} that the search or the user brought up."]
    if links:
        lines.append(f"Links that may hold more and were not followed (max_pages is 0): {' '.join(links)}")
    return "\n> ".join(lines)


def _plain(quote: Quote) -> str:
    text = _one_line(quote.sentence.text)
    if quote.sentence.row:
        return text
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("**", "").replace("__", "")


def _one_line(text: str) -> str:
    return " ".join(text.split())
