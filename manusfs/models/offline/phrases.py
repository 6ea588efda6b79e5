"""How the report words a quote, what it says of its date, and how sure an answer is and why."""

from __future__ import annotations

import re

from manusfs.models.offline.evidence import Quote, Support
from manusfs.models.offline.questions import Wants
from manusfs.models.offline.signs import DATE, RELATIVE

__all__ = ["dated", "how_sure", "one_line", "plain", "row"]

_LEVELS = {
    "high": "Well supported",
    "medium": "Supported in part",
    "low": "Weakly supported, read the source before relying on it",
    "none": "No support",
}
_KINDS = {
    "number": "number",
    "when": "date",
    "who": "name",
    "where": "place",
    "why": "reason",
    "how": "way of doing it",
}
_SUPERSCRIPT = re.compile(
    r"<su([bp])>(?:\[[^<]*|<[^<]*)?</su\1>|\[\[edit\][^\]]*\]|\[\*?\[?citation needed\*?\]?[^\]]*\]"
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s\"[^\"]*\")?\)")
_EMPHASIS = re.compile(r"(\*\*|__|\*|_)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_TAG = re.compile(r"</?(?:sup|sub|b|i|em|strong|span|br|small)\b[^>\n]*>")
_CELL = re.compile(r"\s*\|\s*")
_MOST_WORDS = 6


def plain(text: str) -> str:
    """Return the words of `text` as they are read: without links' targets, emphasis and the tags of notes."""
    text = _SUPERSCRIPT.sub("", one_line(text))
    for _ in range(3):
        text = _LINK.sub(r"\1", text)
    if text.count("[") > text.count("]"):
        text = text.removeprefix("[")
    text = _TAG.sub("", text)
    for _ in range(2):
        text = _EMPHASIS.sub(r"\2", text)
    return one_line(text)


def row(quote: Quote) -> str:
    """Return a row of a table, each cell with the name of its column where that is known."""
    cells, names = _cells(quote.sentence.text), _cells(quote.sentence.columns)
    if len(cells) == len(names):
        return (
            "“" + " · ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True)) + "”"
        )
    return f"“{' · '.join(cells)}”"


def dated(quote: Quote, wants: Wants) -> str:
    """Return what is to be known of the quote's date: the heading it stands under, and what "yesterday" counts from.

    A relative date is told as such and never worked out: the day that it counts from may be another than it seems.
    """
    heading = plain(quote.sentence.heading)
    said = DATE.search(heading) is not None
    relative = re.search(RELATIVE, quote.sentence.text, re.IGNORECASE)
    if relative is not None:
        word = f"“{one_line(relative[0])}”"
        if said:
            return f"{word} counts from: {heading}"
        return f"{word}: the source does not say here from which day" if wants == "when" else ""
    return f"under: {heading}" if said else ""


def how_sure(support: Support) -> str:
    """Return how sure the answer is, and why."""
    reasons: list[str] = []
    if support.missing:
        reasons.append(f"no source holds {_listed(support.missing)}")
    if support.meant:
        reasons += [f"“{word}” was taken for “{close}”" for word, close in support.meant]
    if support.quotes:
        best = support.quotes[0]
        if not support.missing:
            whole = best.held >= 0.75
            reasons.append("the words of the question stand together" if whole else "some of its words stand elsewhere")
        if support.question.wants in _KINDS:
            article, kind = ("a" if best.fits else "no"), _KINDS[support.question.wants]
            reasons.append(f"the best quote has {article} {kind}")
        sources = len({quote.source.ref for quote in support.quotes})
        reasons.append("one source" if sources == 1 else f"{sources} sources")
    level = _LEVELS[support.level]
    return f"{level}: {'; '.join(reasons)}" if reasons else level


def one_line(text: str) -> str:
    """Return `text` with its white space as single blanks."""
    return " ".join(text.split())


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"“{word}”" for word in words[:_MOST_WORDS]) + (" …" if len(words) > _MOST_WORDS else "")


def _cells(text: str) -> list[str]:
    text = one_line(text)
    if text.startswith("|"):
        return [plain(cell) for cell in _CELL.split(text.strip("| "))]
    for separator in ("\t", ";", ","):
        if text.count(separator) >= 2:
            return [cell.strip() for cell in text.split(separator)]
    return [plain(text)] if text else []
