"""What search is compared with: a bare FTS5 table, one row a unit, all words of the question joined with OR.

It shares no code with the product, so that a fault there cannot hide here.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

__all__ = ["CREATE", "Plain"]

CREATE = 'CREATE VIRTUAL TABLE f USING fts5(body, content="", tokenize="porter unicode61")'


class Plain:
    """A contentless FTS5 table with the porter stemmer."""

    def __init__(self, path: str | Path = ":memory:") -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = NORMAL")
        self.connection.execute(CREATE)

    def add(self, bodies: Sequence[str], first: int = 1) -> None:
        """Add rows in one transaction, numbered from `first` on."""
        self.connection.execute("BEGIN")
        self.connection.executemany("INSERT INTO f(rowid, body) VALUES (?, ?)", enumerate(bodies, first))
        self.connection.execute("COMMIT")

    def find(self, query: str, limit: int) -> list[int]:
        """Return the numbers of the best rows, from 0, best first."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query.lower()))
        if not words:
            return []
        sql = "SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f) LIMIT ?"
        return [row - 1 for (row,) in self.connection.execute(sql, (words, limit))]
