"""What one reply works with: what the request shows, what the task asks, and the evidence so far."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from manusfs.models.offline.evidence import Evidence, Support
from manusfs.models.offline.keys import joined, keys_in
from manusfs.models.offline.questions import Question
from manusfs.models.offline.seen import Seen
from manusfs.models.offline.words import content_words
from manusfs.records import sha256_hex

__all__ = ["Call", "Step", "Work"]

Call = tuple[str, dict[str, Any]]
"""A tool's name and its arguments."""
SMALL_WINDOW = 24_000
"""Tokens: below it one question is worked on at a time, and its quotes are written down before the next."""
_TOKENS_A_HIT = 20_000
_HITS = (4, 10)
_HITS_IN_ALL = 42
"""What is read for all questions together leaves room for the search hits and for what was shown before."""
_URL = re.compile(r"https?://[^\s<>\"'）」』，。]+[^\s<>\"'.,;:!?)\]}）」』，。]")


@dataclass(frozen=True, slots=True)
class Step:
    """What to say, and what to call."""

    text: str
    calls: Sequence[Call]


@dataclass(frozen=True)
class Work:
    """One reply's view of the whole. Nothing of it outlives the reply."""

    seen: Seen
    questions: tuple[Question, ...]
    window: int
    max_pages: int = 0
    _known: dict[Question, Support] = field(default_factory=dict)

    @cached_property
    def evidence(self) -> Evidence:
        """Everything that was read, ready to be asked."""
        return Evidence(self.seen)

    def support(self, question: Question) -> Support:
        """Return what was found for `question`, with what the records hold that its keys were followed to."""
        if question not in self._known:
            found = self.evidence.support(question)
            followed = tuple(key for key in self.keys(found) if self.seen.looked_for(key))
            self._known[question] = joined(found, self.evidence, followed)
        return self._known[question]

    @property
    def supports(self) -> list[Support]:
        """What was found for each question."""
        return [self.support(question) for question in self.questions]

    @staticmethod
    def keys(support: Support) -> tuple[str, ...]:
        """Return the keys in the best quotes that may lead on to other records."""
        return keys_in(support)

    @property
    def small(self) -> bool:
        """Whether only one question at a time finds room in the window."""
        return self.window < SMALL_WINDOW

    @property
    def hits(self) -> int:
        """How many hits are read around for each question."""
        if self.small:
            return 2
        most = min(_HITS[1], self.window // _TOKENS_A_HIT, _HITS_IN_ALL // max(1, len(self.questions)))
        return max(_HITS[0], most)

    @property
    def given(self) -> list[str]:
        """The URLs that the task names."""
        return list(dict.fromkeys([*self.seen.named, *_URL.findall(self.seen.task)]))

    @property
    def path(self) -> str:
        """Where the findings are kept."""
        task = self.seen.task
        words = "-".join(word for word in content_words(task) if word.isascii() and word.isalnum())[:40].strip("-")
        return f"notes/findings/{words or 'findings'}-{sha256_hex(task.encode('utf-8'))[:6]}.md"
