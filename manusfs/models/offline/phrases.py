"""How the report words a quote, what it says of its date, and how sure an answer is and why."""

from __future__ import annotations

import re
from collections.abc import Iterator

from manusfs.models.offline.certainty import Sure, lead, rivals, sure
from manusfs.models.offline.differences import differing
from manusfs.models.offline.evidence import Quote, Support
from manusfs.models.offline.questions import Wants
from manusfs.models.offline.signs import DATE, RELATIVE
from manusfs.records import counted

__all__ = ["dated", "how_sure", "one_line", "plain", "row"]

_LEVELS: dict[Sure, str] = {
    "well": "Well supported",
    "part": "Supported in part",
    "weak": "Weakly supported, read the source before relying on it",
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
_AHEAD = 0.2
"""By this share of its score a passage stands out."""


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
        reasons += _reasons(support)
    level = _LEVELS[sure(support)]
    return f"{level}: {'; '.join(reasons)}" if reasons else level


def _reasons(support: Support) -> Iterator[str]:
    best, wants = support.quotes[0], support.question.wants
    if best.another:
        yield "somebody says it whom the question does not name"
    if not support.missing:
        yield "the words of the question stand together" if best.held >= 0.75 else "some of its words stand elsewhere"
    if wants in _KINDS:
        yield f"the best quote has {'a' if best.fits else 'no'} {_KINDS[wants]}"
    if differing(support.question, support.quotes):
        yield "the sources differ"
    if lead(support) >= _AHEAD:
        yield "one passage stands out"
    elif others := rivals(support):
        yield f"{counted(others, 'other passage fits', 'other passages fit')} nearly as well"
    sources = len({quote.source.ref for quote in support.quotes})
    yield "one source" if sources == 1 else f"{sources} sources"


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
