"""How fast search answers and takes in, beside a bare FTS5 table: synthetic texts, in which words are as common as in
languages (the n-th word stands in proportion to 1/(n + 2.7)), of some 50 KB with a heading every ten paragraphs.

CPU time of this process, one after the other for each question, so that a loaded machine disturbs both alike.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from _measure import Goal
from _plain import Plain

from manusfs.memory.search import Search
from manusfs.records import Source
from manusfs.store import Draft, Index, Observations
from manusfs.workspace import Folder

__all__ = ["speed"]

_VOCABULARY, _STOPS = 60_000, 60
_PARAGRAPHS = 100
_QUESTIONS = 40
_SINGLES = 300


def _words() -> list[str]:
    chance, found = random.Random(1), set[str]()
    while len(found) < _VOCABULARY:
        syllables = (
            chance.choice("bcdfghjklmnprstvwz") + chance.choice("aeiou") for _ in range(int(chance.choice("12234")))
        )
        found.add("".join(syllables) + chance.choice(("", "n", "r", "t", "s", "l")))
    words = sorted(found)
    chance.shuffle(words)
    return words


_WORDS = _words()
_SHARES = list(accumulate(1 / (at + 2.7) for at in range(_VOCABULARY)))


def _texts(chunks: int, seed: int) -> Iterator[list[str]]:
    """Yield texts as lists of paragraphs, each of which becomes a chunk of about 500 bytes."""
    chance = random.Random(seed)
    for start in range(0, chunks, _PARAGRAPHS):
        drawn = chance.choices(_WORDS, cum_weights=_SHARES, k=85 * min(_PARAGRAPHS, chunks - start))
        made = [" ".join(drawn[at : at + 85]) + "." for at in range(0, len(drawn), 85)]
        yield [f"## {' '.join(p.split()[:4])}\n\n{p}" if at % 10 == 0 else p for at, p in enumerate(made)]


def _questions(terms: int) -> list[list[str]]:
    chance, found = random.Random(5), list[list[str]]()
    shares = [share - _SHARES[_STOPS - 1] for share in _SHARES[_STOPS:]]
    while len(found) < _QUESTIONS:
        words = list(dict.fromkeys(chance.choices(_WORDS[_STOPS:], cum_weights=shares, k=terms)))
        if len(words) == terms:
            found.append(words)
    return found


class _Both:
    """The same texts in a workspace and in the bare table."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.folder = Folder.create(base / "w")
        self.index, self.observations = Index(self.folder), Observations(self.folder)
        self.search = Search(self.observations, self.index, self.folder)
        self.search.refresh()
        self.plain = Plain(base / "plain.db")
        self.rows = self.count = 0
        self.spent = {"ours": 0.0, "plain": 0.0}

    def fill(self, chunks: int) -> None:
        """Store and index `chunks` passages in both, and count the CPU seconds of indexing."""
        for texts in _batches(_texts(chunks, 2), 40):
            bodies = ["\n\n".join(text).encode() for text in texts]
            drafts = [Draft(Source.user(f"{self.count + n}"), b, "txt", {"text": b}) for n, b in enumerate(bodies)]
            done = self.observations.commit([self.observations.stage(draft) for draft in drafts])
            with _Clock(self.spent, "ours"):
                for n, (draft, one) in enumerate(zip(drafts, done, strict=True)):
                    self.search.add(one.meta, self.count + n + 1, draft.texts)
                self.index.flush()
            rows = [paragraph for text in texts for paragraph in text]
            with _Clock(self.spent, "plain"):
                self.plain.add(rows, self.rows + 1)
            self.rows += len(rows)
            self.count += len(texts)

    def close(self) -> None:
        """Let go of both."""
        self.index.close()
        self.folder.close()
        self.plain.connection.close()


class _Clock:
    def __init__(self, spent: dict[str, float], name: str) -> None:
        self._spent, self._name = spent, name

    def __enter__(self) -> None:
        self._begun = time.process_time()

    def __exit__(self, *_: object) -> None:
        self._spent[self._name] += time.process_time() - self._begun


def _batches(texts: Iterator[list[str]], size: int) -> Iterator[list[list[str]]]:
    batch: list[list[str]] = []
    for text in texts:
        batch.append(text)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def speed(chunks: int, rounds: int) -> tuple[list[Goal], dict[str, Any]]:
    """Return goals and figures at so many chunks; questions are asked `rounds` times, and the medians taken."""
    details: dict[str, Any] = {}
    goals: list[Goal] = []
    with tempfile.TemporaryDirectory() as base:
        both = _Both(Path(base))
        both.fill(chunks)
        for terms in (3, 8):
            figures = [_asked(both, terms) for _ in range(max(1, rounds))]
            details[f"{terms} words"] = figures
            goals += _query_goals(chunks, terms, figures)
        bulk = both.spent["plain"] / both.spent["ours"]
        wide = _with_columns(Path(base), chunks) / both.spent["ours"]
        ones = statistics.median(_one_by_one(both, number) for number in range(max(1, rounds)))
        details["ingest"] = {"bulk": round(bulk, 3), "same columns": round(wide, 3), "one by one": round(ones, 3)}
        details["chunks/s"] = round(both.rows / both.spent["ours"])
        both.close()
    goals.append(Goal(f"{chunks} chunks: in bulk, rate against plain", bulk, 0.55, "x", ">="))
    goals.append(Goal(f"{chunks} chunks: against the same columns", wide, 0.7, "x", ">="))
    goals.append(Goal(f"{chunks} chunks: one by one, rate against plain", ones, 0.5, "x", ">="))
    return goals, details


def _query_goals(chunks: int, terms: int, figures: list[dict[str, float]]) -> list[Goal]:
    middle = sorted(figures, key=lambda one: one["ratio"])[len(figures) // 2]
    what = f"{chunks} chunks, {terms} words"
    also = f"ours {middle['ours p50']} ms, plain {middle['plain p50']} ms"
    return [
        Goal(f"{what}: query against plain, sum", middle["ratio"], 2.0 if chunks <= 100_000 else 1.0, "x", "<=", also),
        Goal(f"{what}: median against plain's", middle["ours p50"] / middle["plain p50"], None),
    ]


def _asked(both: _Both, terms: int) -> dict[str, float]:
    ours, plain = [], []
    for words in _questions(terms):
        query = " ".join(words)
        for times, ask in (
            (ours, lambda q: both.search.search(q, limit=10)),
            (plain, lambda q: both.plain.find(q, 10)),
        ):
            begun = time.process_time()
            ask(query)  # type: ignore[operator]
            times.append(1000 * (time.process_time() - begun))
    return {
        "ours p50": round(statistics.median(ours), 2),
        "ours p95": round(sorted(ours)[-len(ours) // 20], 2),
        "plain p50": round(statistics.median(plain), 2),
        "plain p95": round(sorted(plain)[-len(plain) // 20], 2),
        "ratio": round(sum(ours) / sum(plain), 3),
    }


def _with_columns(base: Path, chunks: int) -> float:
    """Return the CPU seconds of a bare table that has the heading beside each body, for `chunks` rows."""
    connection = sqlite3.connect(base / "columns.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute('CREATE VIRTUAL TABLE f USING fts5(body, head, title, content="", tokenize="porter unicode61")')
    spent = {"": 0.0}
    for texts in _batches(_texts(chunks, 2), 40):
        rows = [(p, text[at - at % 10].split("\n")[0], f"text {at}") for text in texts for at, p in enumerate(text)]
        with _Clock(spent, ""):
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO f(body, head, title) VALUES (?, ?, ?)", rows)
            connection.execute("COMMIT")
    connection.close()
    return spent[""]


def _one_by_one(both: _Both, number: int) -> float:
    """Return our rate of adding single passages, each written at once, against the bare table's."""
    texts = ["\n\n".join(text) for text in _texts(_SINGLES * _PARAGRAPHS, 100 + number)]
    singles = [text[:500].rpartition(" ")[0] for text in texts]
    ours: Callable[[Any, int], None] = lambda meta, at: both.search.add(meta[0], both.count + at + 1, meta[1])  # noqa: E731
    drafts = [
        Draft(Source.user(f"s{number}-{at}"), t.encode(), "txt", {"text": t.encode()}) for at, t in enumerate(singles)
    ]
    metas = [(d.meta(d.files()[0]).with_(id=f"{number:04x}{at:08x}"), d.texts) for at, d in enumerate(drafts)]
    spent = {"ours": 0.0, "plain": 0.0}
    for at, (meta, text) in enumerate(zip(metas, singles, strict=True)):
        with _Clock(spent, "ours"):
            ours(meta, at)
            both.index.flush()
        with _Clock(spent, "plain"):
            both.plain.add([text], both.rows + 1)
        both.rows += 1
    return spent["plain"] / spent["ours"]
