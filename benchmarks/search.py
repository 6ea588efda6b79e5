"""How well and how fast search finds: recall on dialogues and Chinese news, chunks a second, index size per text.

    python benchmarks/search.py --locomo locomo_conv_0-4.json.gz --chinese crud_zh.json.gz --json out.json

The LoCoMo file is a list of `{conversation: {session_1: [{speaker, dia_id, text}]}, qa: [{question, evidence}]}`, the
Chinese one `{docs: [text], qa: [{question, gold: [number of a document]}]}`; both may be gzipped.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from manusfs.memory.search import Search
from manusfs.memory.search.query import parse
from manusfs.memory.search.rank import ranked
from manusfs.memory.search.reindex import texts_of
from manusfs.records import ObsRef, Source, Span, parse_ref
from manusfs.store import Draft, Index, Observations, index_find
from manusfs.workspace import Folder

AT = (5, 10, 20)


class Place:
    """A new workspace in a temporary folder, with its search."""

    def __init__(self, base: Path) -> None:
        self.folder = Folder.create(base)
        self.index = Index(self.folder)
        self.observations = Observations(self.folder)
        self.search = Search(self.observations, self.index, self.folder)
        self.search.refresh()

    def add(self, name: str, texts: list[str]) -> list[str]:
        """Store texts and index them; return their ids."""
        ids = []
        for at in range(0, len(texts), 50):
            drafts = [
                Draft(Source.user(f"{name}-{at + n}"), text.encode(), "txt", {"text": text.encode()})
                for n, text in enumerate(texts[at : at + 50])
            ]
            committed = self.observations.commit([self.observations.stage(draft) for draft in drafts])
            for draft, done in zip(drafts, committed, strict=True):
                self.search.add(done.meta, 1, draft.texts)
                ids.append(done.meta.id)
        self.index.flush()
        return ids

    def spans(self, numbers: list[int]) -> list[Span]:
        """Return where chunks stand, in their order."""
        found = []
        segments = index_find.segments(self.index, numbers)
        for number in numbers:
            segment = segments[number]
            start = segment.start + sum(segment.lengths[: number - segment.first])
            found.append(Span(start, start + segment.lengths[number - segment.first]))
        return found

    def index_bytes(self) -> int:
        """Return the size of the index after its journal is folded in."""
        self.index.select("PRAGMA wal_checkpoint(TRUNCATE)")
        return (self.folder.path / ".manusfs" / "index.db").stat().st_size


def load(path: str) -> Any:
    """Return the JSON in a file that may be gzipped."""
    data = Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def dialogue(conversation: dict[str, Any]) -> tuple[str, dict[str, Span]]:
    """Return a conversation as text, and the span of each turn by its id."""
    parts: list[str] = []
    spans: dict[str, Span] = {}
    at = 0
    for number in range(1, 100):
        turns = conversation.get(f"session_{number}")
        if not turns:
            continue
        head = f"\n## Session {number}, {conversation.get(f'session_{number}_date_time', '')}\n\n"
        parts.append(head)
        at += len(head.encode())
        for turn in turns:
            caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            line = f"{turn['speaker']}: {' '.join(turn['text'].split())}{caption}\n"
            size = len(line.encode())
            spans[turn["dia_id"]] = Span(at, at + size - 1)
            parts.append(line)
            at += size
    return "".join(parts), spans


def locomo(path: str) -> dict[str, Any]:
    """Return the mean recall of evidence turns, of hits, of ranked passages and of a plain OR of all words.

    A turn is found when its middle stands in the span of a hit or passage.
    """
    total = {name: dict.fromkeys(AT, 0.0) for name in ("hits", "passages", "plain OR")}
    questions = empty = 0
    spent = 0.0
    for item in load(path):
        text, spans = dialogue(item["conversation"])
        with tempfile.TemporaryDirectory() as base:
            place = Place(Path(base) / "w")
            place.add("talk", [text])
            for question in item["qa"]:
                wanted = [spans[id] for id in evidence(question) if id in spans]
                if not wanted:
                    continue
                started = time.process_time()
                hits = place.search.search(question["question"], limit=max(AT))
                spent += time.process_time() - started
                questions += 1
                empty += not hits
                refs = [parse_ref(hit.ref) for hit in hits]
                _score(total["hits"], [ref.span for ref in refs if isinstance(ref, ObsRef) and ref.span], wanted)
                order, _ = ranked(place.index, parse(question["question"]), 400)
                _score(total["passages"], place.spans([number for number, _ in order[: max(AT)]]), wanted)
                words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question["question"].lower()))
                plain = index_find.matches(place.index, words, max(AT))
                _score(total["plain OR"], place.spans([number for number, _ in plain]), wanted)
    result: dict[str, Any] = {
        f"{name} R@{at}": round(value / questions, 4) for name, by in total.items() for at, value in by.items()
    }
    return result | {"questions": questions, "empty": empty, "ms/search": round(1000 * spent / questions, 2)}


def _score(total: dict[int, float], found: list[Span], wanted: list[Span]) -> None:
    for at in AT:
        held = sum(any(s.start <= (w.start + w.end) // 2 < s.end for s in found[:at]) for w in wanted)
        total[at] += held / len(wanted)


def evidence(question: dict[str, Any]) -> Iterator[str]:
    """Yield the turn ids of a question; some are written together or with a stray mark."""
    for text in question.get("evidence", []):
        yield from re.findall(r"D\d+:\d+", text)


def chinese(path: str) -> dict[str, Any]:
    """Return recall of gold documents, of substrings of two to four characters, and the size of the index."""
    data = load(path)
    with tempfile.TemporaryDirectory() as base:
        place = Place(Path(base) / "w")
        ids = place.add("news", data["docs"])
        number = {id: at for at, id in enumerate(ids)}
        total = dict.fromkeys(AT, 0.0)
        for question in data["qa"]:
            hits = place.search.search(question["question"], limit=60)
            found = list(dict.fromkeys(number[hit.ref[4:].split("@")[0].split("/")[0]] for hit in hits))
            for at in AT:
                total[at] += len(set(found[:at]) & set(question["gold"])) / len(question["gold"])
        size = sum(len(text.encode()) for text in data["docs"])
        result = {f"R@{at}": round(total[at] / len(data["qa"]), 4) for at in AT}
        return result | {
            "questions": len(data["qa"]),
            "substrings": substrings(place, data["docs"]),
            "index/text": round(place.index_bytes() / size, 3),
        }


def substrings(place: Place, docs: list[str]) -> dict[str, float]:
    """Return, for substrings of 2, 3 and 4 Chinese characters, how many searches hit a passage that holds them."""
    result = {}
    runs = [match[0] for text in docs[::25] for match in re.finditer(r"[\u4e00-\u9fff]{6,}", text[200:])][:60]
    for length in (2, 3, 4):
        good = 0
        for run in runs:
            wanted = run[1 : 1 + length]
            good += any(wanted in hit.snippet for hit in place.search.search(f'"{wanted}"', limit=3))
        result[str(length)] = round(good / len(runs), 3)
    return result


def throughput(texts: list[str]) -> dict[str, Any]:
    """Return chunks a second and the CPU ratio to a bare loop that puts the same rows into the same table."""
    with tempfile.TemporaryDirectory() as base:
        place = Place(Path(base) / "w")
        drafts = [Draft(Source.user(f"t{n}"), t.encode(), "txt", {"text": t.encode()}) for n, t in enumerate(texts)]
        metas = [(draft.meta(draft.files()[0]).with_(id=f"{n:012x}"), draft.texts) for n, draft in enumerate(drafts)]
        started = time.process_time()
        for meta, bodies in metas:
            place.search.add(meta, 1, bodies)
        place.index.flush()
        ours = time.process_time() - started
        rows = [
            (head, body)
            for meta, bodies in metas
            for text in texts_of(meta, bodies)
            for head, body in zip(text.heads, text.bodies, strict=True)
        ]
        bare = bare_loop(Path(base) / "bare.db", rows)
        size = sum(len(text.encode()) for text in texts)
        return {
            "chunks": len(rows),
            "chunks/s": round(len(rows) / ours),
            "MB/s": round(size / ours / 1e6, 2),
            "CPU/bare": round(ours / bare, 3),
            "index/text": round(place.index_bytes() / size, 3),
        }


def bare_loop(path: Path, rows: list[tuple[str, str]]) -> float:
    """Return the CPU seconds of putting `rows` into such a table, a thousand a transaction."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(
        'CREATE VIRTUAL TABLE f USING fts5(body, head, content="", tokenize="porter unicode61 remove_diacritics 2'
        " categories 'L* N* Co Mn Mc'\")"
    )
    started = time.process_time()
    for at in range(0, len(rows), 4_000):
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO f(head, body) VALUES (?, ?)", rows[at : at + 4_000])
        connection.execute("COMMIT")
    spent = time.process_time() - started
    connection.close()
    return spent


def english_texts(path: str, count: int) -> list[str]:
    """Return `count` texts of about 50 KB made of the turns of the dialogues, each in another order."""
    import random

    lines = [line for item in load(path) for line in dialogue(item["conversation"])[0].splitlines() if len(line) > 40]
    texts = []
    for number in range(count):
        random.Random(number).shuffle(lines)
        out, size = [f"# Text {number}"], 0
        for line in lines:
            out.append(" ".join(line.split(": ", 1)[-1:]))
            size += len(out[-1]) + 2
            if size > 50_000:
                break
        texts.append("\n\n".join(out))
    return texts


def main() -> None:
    """Run what the given files allow, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo")
    parser.add_argument("--chinese")
    parser.add_argument("--texts", type=int, default=200, help="texts of 50 KB for the throughput")
    parser.add_argument("--json", dest="out")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    if options.locomo:
        results["locomo"] = locomo(options.locomo)
        results["throughput, English"] = throughput(english_texts(options.locomo, options.texts))
    if options.chinese:
        results["chinese"] = chinese(options.chinese)
        results["throughput, Chinese"] = throughput(load(options.chinese)["docs"])
    for name, values in results.items():
        print(name)
        for key, value in values.items():
            print(f"  {key:<16} {value}")
    if options.out:
        Path(options.out).write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
