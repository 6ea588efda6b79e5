"""Keys that lead from one record to others: an order's number, a person's id."""

from __future__ import annotations

import re
from dataclasses import replace

from manusfs.models.offline.evidence import Support
from manusfs.models.offline.questions import Question
from manusfs.models.offline.words import terms

__all__ = ["keys_in", "linked"]

MOST = 3
_KEY = re.compile(r"(?<![\w-])(?=[\w-]*[A-Za-z])[A-Za-z]{1,10}[-_#]\d{3,12}(?![\w-])")


def keys_in(support: Support) -> tuple[str, ...]:
    """Return the keys that stand in or above the two best quotes, and not in the question, at most three."""
    found: list[str] = []
    for quote in support.quotes[:2]:
        found += _KEY.findall(f"{quote.sentence.heading} {quote.sentence.text}")
    return tuple(dict.fromkeys(key for key in found if key not in support.question.text))[:MOST]


def linked(question: Question, keys: tuple[str, ...]) -> Question:
    """Return `question` with the keys that were followed for it: what holds one is about the same thing."""
    added = tuple(term for key in keys for term in terms(key)[:1])
    return replace(question, context=(*question.context, *added))
