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
    return []


def _years(quote: Quote) -> list[tuple[str, str, str]]:
    found = dict.fromkeys(_YEAR.findall(quote.core.text))
    # A sentence with several years tells a story: which of them answers is not for rules to say.
    return [("year", year, year) for year in found] if len(found) == 1 else []


def _numbers(quote: Quote) -> list[tuple[str, str, str]]:
    found = []
    for match in _NUMBER.finditer(quote.core.text):
        number, scale, thing = match.groups()
        key = (terms(thing) or [""])[0] if thing else ""
        found.append((key, f"{number.replace(',', '')} {(scale or '').casefold()}", match[0].strip()))
    return found
