"""Keys that lead from one record to others: an order's number, a person's id."""

from __future__ import annotations

import re
from dataclasses import replace

from manusfs.models.offline.evidence import Evidence, Support
from manusfs.models.offline.words import terms

__all__ = ["joined", "keys_in"]

MOST = 3
_KEY = re.compile(r"(?<![\w-])(?=[\w-]*[A-Za-z])[A-Za-z]{1,10}[-_#]\d{3,12}(?![\w-])")


def keys_in(support: Support) -> tuple[str, ...]:
    """Return the keys that stand in or above the two best quotes, and not in the question, at most three."""
    found: list[str] = []
    for quote in support.quotes[:2]:
        found += _KEY.findall(f"{quote.sentence.heading} {quote.sentence.text}")
    return tuple(dict.fromkeys(key for key in found if key not in support.question.text))[:MOST]


def joined(support: Support, evidence: Evidence, keys: tuple[str, ...]) -> Support:
    """Return `support` with the quotes that the records under `keys` hold for what its own best quote lacks."""
    if not keys or not support.quotes:
        return support
    best = support.quotes[0]
    held = {*terms(best.sentence.text), *terms(best.sentence.heading)}
    lacking = tuple(term for term in support.question.terms if term not in held)
    added = tuple(term for key in keys for term in terms(key)[:1])
    onward = evidence.support(replace(support.question, terms=(*added, *lacking), context=(), names=added, query=""))
    quotes = {quote.address: quote for quote in (*support.quotes[:2], *onward.quotes, *support.quotes[2:])}
    return replace(support, quotes=tuple(quotes.values())[: len(support.quotes) + MOST])
