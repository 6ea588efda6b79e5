"""What a search answers: hits with a ref, a place, and a short snippet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Hit", "Hits"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that fits a query. `ref` has the span of `snippet`, so that `read` gives just that text."""

    ref: str
    path: str
    """The file that the text stands in, inside the workspace."""
    url: str
    title: str
    score: float
    snippet: str
    """At most 700 characters, exactly as stored: whoever shows it escapes it."""
    line_start: int
    line_end: int
    kind: str = ""
    also: tuple[str, ...] = ()
    """Refs of passages that say the same and were left out."""

    def to_json(self) -> dict[str, Any]:
        """Return the hit as `search --json` prints it."""
        return {
            "ref": self.ref,
            "path": self.path,
            "url": self.url,
            "title": self.title,
            "score": round(self.score, 4),
            "snippet": self.snippet,
            "line_start": self.line_start,
            "line_end": self.line_end,
            "kind": self.kind,
            "also": list(self.also),
        }


class Hits(list[Hit]):
    """The hits of one query, best first, and what the searcher should know about them."""

    def __init__(self, hits: Iterator[Hit] | list[Hit] = (), note: str = "") -> None:  # type: ignore[assignment]
        super().__init__(hits)
        self.note = note
        """Why there are none, or what was left out; empty when there is nothing to say."""
