"""Where the quotes for one question do not agree: other numbers of the same thing, other years."""

from __future__ import annotations

import re
from collections.abc import Sequence

from manusfs.models.offline.evidence import Quote
from manusfs.models.offline.questions import Question
from manusfs.models.offline.words import terms

__all__ = ["differing"]

_NEAR_BEST = 0.8
"""Only quotes that answer nearly as well as the best one are held against it."""
_NUMBER = re.compile(
    r"(?<![\w.,/-])(\d[\d.,]*\d|\d)(?:\s*(%|million|billion|thousand|万|亿))?[\s-]*([^\W\d_]{2,20})?(?!\d)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\d.,])(1[0-9]\d\d|20\d\d)(?:年|\b(?![.,]\d))")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY_BEFORE = re.compile(
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MONTH}|{_MONTH}(?: \d{{1,2}}(?:st|nd|rd|th)?)?),? \Z", re.IGNORECASE
)
_DAY_AFTER = re.compile(r"(?<=年)\d{1,2}月(?:\d{1,2}日)?")


def differing(question: Question, quotes: Sequence[Quote]) -> list[tuple[str, Quote]]:
    """Return one value a source, where the sources give different ones to a question for a number or a date."""
    if question.wants not in ("number", "when"):
        return []
    best = max((quote.score for quote in quotes), default=0.0)
    strong = [quote for quote in quotes if quote.fits and quote.score >= _NEAR_BEST * best]
    by_thing: dict[str, dict[str, tuple[str, Quote]]] = {}
    for quote in strong:
        values = _years(quote) if question.wants == "when" else _numbers(quote)
        for thing, value, shown in values:
            by_thing.setdefault(thing, {}).setdefault(value, (shown, quote))
    for thing, known in by_thing.items():
        sources = {quote.source.ref for _, quote in known.values()}
        if (thing == "year" or thing in question.terms) and len(known) > 1 and len(sources) > 1:
            return list(known.values())
    return _days(strong) if question.wants == "when" else []


def _days(quotes: Sequence[Quote]) -> list[tuple[str, Quote]]:
    """Return one whole date a source, where the sources give different days of one year."""
    days = {
        tuple(terms(shown)): (shown, quote) for quote in quotes for _, year, shown in _years(quote) if shown != year
    }
    whole = {key: (shown, quote) for key, (shown, quote) in days.items() if len(key) > 2}
    return list(whole.values()) if len({quote.source.ref for _, quote in whole.values()}) > 1 else []


def _years(quote: Quote) -> list[tuple[str, str, str]]:
    found = {match[1]: match for match in _YEAR.finditer(quote.core.text)}
    # A sentence with several years tells a story: which of them answers is not for rules to say.
    if len(found) != 1:
        return []
    ((year, match),) = found.items()
    text = quote.core.text
    before, after = _DAY_BEFORE.search(text[: match.start()]), _DAY_AFTER.match(text, match.end())
    shown = text[before.start() if before else match.start() : after.end() if after else match.end()]
    return [("year", year, shown)]


def _numbers(quote: Quote) -> list[tuple[str, str, str]]:
    found = []
    for match in _NUMBER.finditer(quote.core.text):
        number, scale, thing = match.groups()
        key = (terms(thing) or [""])[0] if thing else ""
        found.append((key, f"{number.replace(',', '')} {(scale or '').casefold()}", match[0].strip()))
    return found
