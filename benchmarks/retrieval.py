"""How well search finds: recall on question sets given as files, beside a plain OR of all words, and the parts of it.

    python benchmarks/retrieval.py dialogues.json.gz news.json.gz records/ pages/ --json out.json
    python benchmarks/retrieval.py --chunks 100000 1000000

What the sets look like is told in `_sets.py`. Recall at k is the mean share of a question's places that the first k
results hold; a place is held when its middle lies in the result. Three lists are measured: the rows of the plain index,
the ranked passages (each one chunk: of a dialogue, one turn), and the hits as they are served, whose snippets also show
what stands beside a short passage. Where texts are wanted, ranks are those of texts. With `--chunks`, see `_speed.py`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from _measure import Goal, parser, report
from _plain import Plain
from _sets import Group, Place, Question, Set, load
from _speed import speed

from manusfs.memory.search import Search
from manusfs.memory.search.query import parse
from manusfs.memory.search.rank import WEIGHTS, Weights, ranked
from manusfs.records import ObsRef, Source, parse_ref
from manusfs.store import Draft, Index, Observations, index_find
from manusfs.workspace import Folder

AT = (5, 10, 20)
PLAIN, PASSAGES, SERVED = "plain OR", "ours, passages", "ours, as served"
_DEEP = 60
"""Results of which the texts are ranked, where texts are wanted."""

PARTS: dict[str, Weights] = {
    "words alone": Weights(neighbours=(), head=0, title=0, asks=0, lent=0),
    "without neighbours": replace(WEIGHTS, neighbours=(), lent=0),
    "own words only": replace(WEIGHTS, lent=0),
    "without headings": replace(WEIGHTS, head=0),
    "without titles": replace(WEIGHTS, title=0),
    "without questions": replace(WEIGHTS, asks=0),
}
"""What is left out for the ablation."""


class Indexed:
    """The texts of a group in a workspace with its search, and where its chunks stand."""

    def __init__(self, base: Path, texts: list[str], names: Sequence[str] = ()) -> None:
        self.folder = Folder.create(base)
        self.index = Index(self.folder)
        observations = Observations(self.folder)
        self.search = Search(observations, self.index, self.folder)
        self.search.refresh()
        self.number: dict[str, int] = {}
        for at in range(0, len(texts), 50):
            bodies = [text.encode() for text in texts[at : at + 50]]
            titles = names[at : at + 50] or [""] * len(bodies)
            drafts = [
                Draft(Source.user(f"{at + n}"), body, "txt", {"text": body}, title=titles[n])
                for n, body in enumerate(bodies)
            ]
            for n, done in enumerate(observations.commit([observations.stage(draft) for draft in drafts])):
                self.search.add(done.meta, at + n + 1, drafts[n].texts)
                self.number.setdefault(done.meta.id, at + n)
        self.index.flush()

    def passages(self, query: str, weights: Weights) -> list[tuple[Place, ...]]:
        """Return the ranked passages."""
        order = [number for number, _ in ranked(self.index, parse(query), 400, weights=weights).order][:_DEEP]
        places = index_find.segments(self.index, order)
        found: list[tuple[Place, ...]] = []
        for number in order:
            if number in places:
                segment = places[number]
                start = segment.start + sum(segment.lengths[: number - segment.first])
                end = start + segment.lengths[number - segment.first]
                found.append((Place(self.number[segment.owner[4:]], start, end),))
        return found

    def served(self, query: str, limit: int) -> list[tuple[Place, ...]]:
        """Return the spans of the hits, each with those of the passages that say the same, which it names."""
        return [
            tuple(
                Place(self.number[ref.id], ref.span.start, ref.span.end)
                for ref in map(parse_ref, (hit.ref, *hit.also))
                if isinstance(ref, ObsRef) and ref.span is not None
            )
            for hit in self.search.search(query, limit=limit)
        ]

    def bytes(self) -> int:
        """Return the size of the index after its journal is folded in."""
        self.index.select("PRAGMA wal_checkpoint(TRUNCATE)")
        return (self.folder.path / ".manusfs" / "index.db").stat().st_size

    def close(self) -> None:
        """Let go of it."""
        self.index.close()
        self.folder.close()


class Score:
    """Sums of recall at each rank, and how many questions had no result."""

    def __init__(self) -> None:
        self.sums, self.questions, self.empty, self.seconds = dict.fromkeys(AT, 0.0), 0, 0, 0.0

    def add(self, found: list[tuple[Place, ...]], question: Question, *, whole: bool) -> None:
        """Count what the first results hold; a result is a place, with all that say the same."""
        if whole:
            texts = dict.fromkeys(place.text for places in found for place in places)
            found = [(Place(text, 0, 1 << 40),) for text in texts]
        self.questions += 1
        self.empty += not found
        for at in AT:
            self.sums[at] += sum(_holds(found[:at], wanted) for wanted in question.wanted) / len(question.wanted)

    def figures(self) -> dict[str, float]:
        """Return the means."""
        count = max(1, self.questions)
        found = {f"R@{at}": round(value / count, 4) for at, value in self.sums.items()}
        return found | {"zero-hit": round(self.empty / count, 4), "ms": round(1000 * self.seconds / count, 2)}


def _holds(found: list[tuple[Place, ...]], wanted: Place) -> bool:
    middle = (wanted.start + wanted.end) // 2
    return any(place.text == wanted.text and place.start <= middle < place.end for places in found for place in places)


def measure(one: Set, parts: Iterable[str]) -> dict[str, Any]:
    """Return the figures of a set: by method, the sizes of index and text, and the number of questions."""
    scores: dict[str, Score] = {}
    index_bytes = text_bytes = 0
    for group in one.groups:
        with tempfile.TemporaryDirectory() as base:
            indexed = Indexed(Path(base) / "w", group.texts, group.names)
            _measure_group(group, indexed, scores, parts)
            index_bytes += indexed.bytes()
            indexed.close()
        text_bytes += sum(len(text.encode()) for text in group.texts)
    count = scores[PLAIN].questions if scores else 0
    methods = {name: score.figures() for name, score in scores.items()}
    return {"questions": count, "index/text": round(index_bytes / max(1, text_bytes), 3), "methods": methods}


def _measure_group(group: Group, indexed: Indexed, scores: dict[str, Score], parts: Iterable[str]) -> None:
    plain = Plain()
    plain.add([group.texts[unit.text].encode()[unit.start : unit.end].decode() for unit in group.units])
    ways: dict[str, Callable[[str], list[tuple[Place, ...]]]] = {
        PLAIN: lambda query: [(group.units[row],) for row in plain.find(query, _DEEP if group.whole else max(AT))],
        PASSAGES: lambda query: indexed.passages(query, WEIGHTS),
        SERVED: lambda query: indexed.served(query, _DEEP if group.whole else max(AT)),
    }
    for name in parts:
        ways[name] = lambda query, name=name: indexed.passages(query, PARTS[name])  # type: ignore[misc]
    for question in group.questions:
        for name, way in ways.items():
            score = scores.setdefault(name, Score())
            begun = time.process_time()
            found = way(question.query)
            score.seconds += time.process_time() - begun
            score.add(found, question, whole=group.whole)


def substrings(texts: list[str]) -> dict[str, float]:
    """Return, for pieces of 2, 3 and 4 Chinese characters, the share of searches with a hit that holds the piece."""
    import random
    import re

    runs = [match[0] for text in texts[::25] for match in re.finditer("[\u4e00-\u9fff]{6,}", text[200:])][:200]
    result = {}
    with tempfile.TemporaryDirectory() as base:
        indexed = Indexed(Path(base) / "w", texts)
        for length in (2, 3, 4) if runs else ():
            chance, good = random.Random(length), 0
            for run in runs:
                at = chance.randrange(len(run) - length + 1)
                wanted = run[at : at + length]
                good += any(wanted in hit.snippet for hit in indexed.search.search(wanted, limit=3))
            result[f"{length} characters"] = round(good / len(runs), 4)
        indexed.close()
    return result


def _show(name: str, found: dict[str, Any]) -> list[Goal]:
    print(f"\n{name}: {found['questions']} questions, index/text {found['index/text']}")
    for method, row in found["methods"].items():
        print(f"  {method:<20}" + "".join(f"  {key} {value:.4f}" for key, value in row.items()))
    plain, ours, served = (found["methods"][key] for key in (PLAIN, PASSAGES, SERVED))
    goals = [Goal(f"{name}: as served against plain, R@10", served["R@10"], plain["R@10"], "", ">=")]
    goals.append(Goal(f"{name}: passages against plain, R@10", ours["R@10"], plain["R@10"], "", ">="))
    goals.append(Goal(f"{name}: zero-hit", served["zero-hit"], 0.001, "", "<="))
    if name == "dialogues, an index each":
        goals += [
            Goal(f"{name}: passages R@{at}", ours[f"R@{at}"], goal, "", ">=") for at, goal in ((10, 0.76), (20, 0.82))
        ]
        goals.append(Goal(f"{name}: index/text", found["index/text"], 1.3))
    if name.startswith("documents, "):
        goals.append(Goal(f"{name}: as served R@10", served["R@10"], 0.88, "", ">="))
    return goals


def main() -> None:
    """Measure what is given, print the tables, and write JSON if asked."""
    options = parser(__doc__, 1)
    options.add_argument("sets", nargs="*", type=Path, metavar="FILE", help="question sets: files or folders")
    options.add_argument("--no-parts", action="store_true", help="leave the ablation out")
    options.add_argument("--chunks", nargs="*", type=int, default=[], metavar="N", help="speed at so many chunks")
    given = options.parse_args()
    goals: list[Goal] = []
    details: dict[str, Any] = {"sets": {}}
    for path in given.sets:
        for one in load(path):
            found = details["sets"][one.name] = measure(one, [] if given.no_parts else PARTS)
            goals += _show(one.name, found)
            if one.name == "documents, questions":
                found["substrings"] = substrings(one.groups[0].texts)
                goals += [Goal(f"{one.name}: {k}", v, 1.0, "", ">=") for k, v in found["substrings"].items()]
    for count in given.chunks:
        more, details[f"{count} chunks"] = speed(count, given.rounds)
        goals += more
    print()
    report("retrieval", goals, details, given.out or "/dev/null")


if __name__ == "__main__":
    main()
