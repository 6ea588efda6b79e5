"""The wording of the plan's items: a later epoch reads off them what was done."""

from __future__ import annotations

from manusfs.models.offline.questions import Question
from manusfs.models.offline.seen import Seen

__all__ = ["failed", "fetched", "found", "looked"]


def failed(url: str) -> str:
    """Return the item of a fetch that failed."""
    return f"tried to fetch {url}: it failed"


def fetched(seen: Seen, url: str) -> str:
    """Return the item of a fetch, as it went."""
    return failed(url) if url in seen.failed or failed(url) in seen.done else f"fetch {url}"


def looked(question: Question) -> str:
    """Return the item of a question that was searched for."""
    return f"looked for: {' '.join(question.text.split())}"


def found(question: Question) -> str:
    """Return the item of a question that is to be answered."""
    return f"find out: {' '.join(question.text.split())}"
