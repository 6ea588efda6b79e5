"""How sure the best quote makes an answer: the words that the report uses, and what each of them is worth.

Fitted by logistic regression on three of five long dialogues, questions without an answer among them, and looked at on
the two others (`docs/offline.md`): the share of first quotes that held the answer. What told little there is not in it:
how many sources were quoted, whether a word stands nowhere, and whether the quote has the kind of thing that is asked.
"""

from __future__ import annotations

import math
from typing import Literal

from manusfs.models.offline.differences import differing
from manusfs.models.offline.evidence import Support

__all__ = ["Sure", "lead", "rivals", "share", "sure"]

Sure = Literal["well", "part", "weak", "none"]
_HELD, _LEAD, _RIVAL, _WORD, _ANOTHER, _BASE = 2.6, 0.95, -0.25, 0.4, -2.3, -3.4
_MOST_WORDS = 6
_WELL, _PART = 0.6, 0.35
"""Shares of right answers from which on the words are said."""


def sure(support: Support) -> Sure:
    """Return how sure the answer is."""
    if support.level == "none" or not support.quotes:
        return "none"
    likely = share(support)
    if likely < _PART:
        return "weak"
    # With a word that stands nowhere, without the kind of thing that was asked for, or against another source, nothing
    # is well supported.
    plain = support.quotes[0].fits and not support.missing and not differing(support.question, support.quotes)
    return "well" if likely >= _WELL and plain else "part"


def share(support: Support) -> float:
    """Return the share of answers like it that were right, 0 to 1."""
    best, words = support.quotes[0], min(_MOST_WORDS, support.words)
    value = _BASE + _HELD * best.held + _LEAD * lead(support) + _RIVAL * rivals(support) + _WORD * words
    return 1 / (1 + math.exp(-value - _ANOTHER * best.another))


def lead(support: Support) -> float:
    """Return by what share of its score the best quote is ahead of the next; 1 when there is none."""
    return 1 - support.quotes[1].score / support.quotes[0].score if len(support.quotes) > 1 else 1.0


def rivals(support: Support) -> int:
    """Return how many other quotes fit nearly as well."""
    return len(support.quotes) - 1
