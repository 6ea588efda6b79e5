"""The offline model's words: its note and its report, every quote with the bytes where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from manusfs.models.offline.certainty import sure
from manusfs.models.offline.differences import differing
from manusfs.models.offline.evidence import Quote, Support
from manusfs.models.offline.phrases import dated, how_sure, one_line, plain, row
from manusfs.models.offline.questions import Question
from manusfs.models.offline.seen import Seen
from manusfs.models.offline.words import has_unspaced

__all__ = ["WHAT_IT_IS", "answer", "note"]

WHAT_IT_IS = (
    "Offline mode: no language model was used. What follows are word-for-word quotes, chosen by rules; nothing is "
    "inferred, translated or summarised."
)
_SHORT_CHARS = 200
"""A longer quote is shown in the short answer by the one sentence of it that answers."""


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
            self._lines.append(
                f'[^{number}]: "{one_line(quote.sentence.text)}" — {_title(quote)}, {place}{quote.address}'
            )
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
        parts.append("## No support found\n\n" + "\n".join(_absent(support, seen, notes) for support in lost))
    parts.append(f"> {_sources(seen, links)}")
    if footnotes := notes.text():
        parts.append(footnotes)
    return "\n\n".join(parts)


def note(seen: Seen, supports: Sequence[Support]) -> str:
    """Return the note that is kept of the findings."""
    parts = [f"# Findings: {one_line(seen.task)[:100]}\n\nTask: {one_line(seen.task)}"]
    for support in supports:
        lines = [f"## {support.question.text}", f"Support: {how_sure(support)}"]
        lines += [f'- "{one_line(quote.sentence.text)}" ({quote.address})' for quote in support.quotes] or [
            "- nothing found"
        ]
        parts.append("\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:]))
    return "\n\n".join(parts) + "\n"


def _short(support: Support, notes: _Notes) -> str:
    """Return the question with the sentence that answers it best; where sources differ, with what each of them says."""
    asked = f"* **{one_line(support.question.text)}**"
    if differ := differing(support.question, support.quotes):
        said = "; ".join(f"“{value}” {notes.mark(quote)}" for value, quote in differ)
        return f"{asked} The sources differ: {said}"
    if support.question.sides and len(support.quotes) > 1:
        return f"{asked} {' '.join(f'{_quoted(one, one.core.text)} {notes.mark(one)}' for one in support.quotes[:2])}"
    best = support.quotes[0]
    size = len(best.sentence.text) * (3 if has_unspaced(best.sentence.text) else 1)
    alone = size > _SHORT_CHARS and best.fits and not best.core.text.endswith((":", "："))
    words = best.core if alone else best.sentence
    unsure = " (weakly supported)" if sure(support) == "weak" else ""
    return f"{asked} {_quoted(best, words.text)} {notes.mark(best)}{unsure}"


def _evidence(support: Support, notes: _Notes) -> str:
    lines = [f"### {one_line(support.question.text)}", f"> {how_sure(support)}."]
    by_source: dict[str, list[Quote]] = {}
    for quote in support.quotes:
        by_source.setdefault(quote.source.ref, []).append(quote)
    for quotes in by_source.values():
        url = quotes[0].source.url
        lines.append(f"From **{_title(quotes[0])}**{f' ({url})' if url.startswith('http') else ''}:")
        lines.append("\n".join(_entry(quote, support.question, notes) for quote in quotes))
    return "\n\n".join(lines)


def _entry(quote: Quote, question: Question, notes: _Notes) -> str:
    told = dated(quote, question.wants)
    return f"- {_quoted(quote, quote.sentence.text)} {notes.mark(quote)}{f' — {told}' if told else ''}"


def _quoted(quote: Quote, words: str) -> str:
    return row(quote) if quote.sentence.row else f"“{plain(words)}”"


def _title(quote: Quote) -> str:
    return one_line(quote.source.title or quote.source.url or quote.source.ref)


def _absent(support: Support, seen: Seen, notes: _Notes) -> str:
    count = len({text.ref.removesuffix("/full") for text in seen.texts})
    read = f"read in {count} source{'' if count == 1 else 's'}" if count else "the search found nothing to read"
    if support.missing and count:
        why = f"no passage read holds: {', '.join(support.missing[:8])}"
    elif count:
        why = "its words stand in what was read, but not together in an answer"
    else:
        why = "nothing that is stored holds its words"
    near = ""
    if support.quotes:
        near = (
            f"; nearest: {_quoted(support.quotes[0], support.quotes[0].sentence.text)} {notes.mark(support.quotes[0])}"
        )
    return f"> * {one_line(support.question.text)} — {read}; {why}{near}."


def _unread(seen: Seen) -> str:
    failed = [call for call in seen.made("web_fetch") if call.failed]
    reasons = [(call.arguments.get("url", ""), one_line(call.result.partition("<observation")[0])) for call in failed]
    told = {url for url, _ in reasons}
    textless = [source for source in seen.sources.values() if source.no_text and source.url not in told]
    reasons += [(one_line(source.url or source.ref), one_line(source.no_text)) for source in textless]
    return "\n".join(f"> * {url} — {reason[:300]}" for url, reason in reasons)


def _sources(seen: Seen, links: Sequence[str]) -> str:
    read = len({text.ref.removesuffix("/full") for text in seen.texts})
    known = len({ref.removesuffix("/full") for ref, source in seen.sources.items() if source.kind != "tool"})
    lines = [f"Sources read: {read} of {max(read, known)} that the search or the user brought up."]
    if links:
        lines.append(f"Links that may hold more and were not followed (max_pages is 0): {' '.join(links)}")
    return "\n> ".join(lines)
