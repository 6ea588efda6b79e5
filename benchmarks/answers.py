"""How often the offline researcher's quotes hold the answer, on question sets that are given as files.

    python benchmarks/answers.py --locomo locomo_conv_0-4.json.gz --records letta_filesystem/ --chinese crud_zh.json.gz

Each question is one run of the agent over stored texts, as `manusfs run` makes it; what counts are the first 5
footnotes of its report, each cut at 300 characters. Files may be gzipped:

* `--locomo`: `[{conversation: {session_1: [{speaker, dia_id, text}], session_1_date_time}, qa: [{question, answer,
  category}]}]`. Counted are the questions of `--category` (4: single-hop) whose answer stands in the texts.
* `--records`: a folder with `*.jsonl` (`{input, ground_truth}`) and `files/*.txt` beside it.
* `--chinese`: `{docs: [text], qa: [{question, gold: [number of a document]}]}`; counted is a quote out of a gold one.

Beside it: the best hits of one search for the question, cut the same way; and, for records, a chain of look-ups.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _measure import Goal, parser, report

from manusfs import Agent, Workspace
from manusfs.memory.footnotes import footnotes

QUOTES, CHARS = 5, 300
GOAL = 0.60
HOPS = 3
_WITHOUT, MOST_WITHOUT = 5, 24
"""The category of LoCoMo's questions without an answer, which count as wrong, and how many are asked a dialogue."""
_MARKS = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})
_QUOTED = re.compile(r"['\"]([^'\"]{2,60})['\"]")
_KEY = re.compile(r"\b[a-z]{2,8}-\d{3,8}\b")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question: whether the quotes, and the baseline's passages, hold the answer."""

    question: str
    answer: str
    ours: bool
    search: bool
    level: str
    """How sure the report says it is; empty when it found no support."""
    wrong: int
    """Quotes that do not stand in their span."""
    quotes: tuple[str, ...]
    first: bool = False
    """Whether the first quote, which is the short answer, holds it."""
    chain: bool = False
    """Whether a chain of look-ups brings the answer, where one is tried."""


def load(path: Path) -> bytes:
    """Return the bytes of a file that may be gzipped."""
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def flat(text: str) -> str:
    """Return `text` in one form of case, blanks, quotation marks and dashes."""
    return " ".join(text.translate(_MARKS).casefold().split())


def holds(text: str, answer: str) -> bool:
    """Return True if `answer` stands in `text` as whole words; marks round it and a full stop do not count."""
    wanted = flat(answer).strip("\"' .")
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", flat(text)) is not None


def dialogue(conversation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and text of each session: its date as heading, one turn a paragraph."""
    for number in range(1, 100):
        turns = conversation.get(f"session_{number}")
        if not turns:
            continue
        lines = [f"## Session {number}, {conversation.get(f'session_{number}_date_time', '')}"]
        for turn in turns:
            caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            lines.append(f"{turn['speaker']}: {' '.join(turn['text'].split())}{caption}")
        yield f"session-{number}.md", "\n\n".join(lines) + "\n"


def asked(workspace: Workspace, question: str, answer: str, gold: Sequence[str] = ()) -> Outcome:
    """Return the outcome of one run; with `gold` a quote counts when its ref is one of these."""
    result = Agent(workspace, "offline").run(question)
    notes = footnotes(result.answer)[:QUOTES]
    hits = workspace.search(f"{question} kind:observation", limit=QUOTES)
    texts = [note.quotes[0][:CHARS] for note in notes]
    level = re.search(r"\b(well supported|supported in part|weakly supported)\b", result.answer, re.IGNORECASE)
    if gold:
        inside = [note.ref.split("@")[0].split("/")[0] in gold for note in notes]
        found = any(hit.ref.split("@")[0].split("/")[0] in gold for hit in hits)
    else:
        inside = [holds(text, answer) for text in texts]
        found = any(holds(around(hit.snippet, question), answer) for hit in hits)
    wrong = result.citations.total - result.citations.verified
    said = level[1].casefold() if level else ""
    return Outcome(question, answer, any(inside), found, said, wrong, tuple(texts), any(inside[:1]))


def around(snippet: str, question: str) -> str:
    """Return the 300 characters of `snippet` that hold most words of `question`."""
    words = set(re.findall(r"\w{3,}", question.casefold()))
    starts = range(0, max(1, len(snippet) - CHARS + 1), 50)
    best = max(starts, key=lambda at: len(words & set(re.findall(r"\w{3,}", snippet[at : at + CHARS].casefold()))))
    return snippet[best : best + CHARS]


def locomo(path: Path, category: int, wanted: Sequence[int], *, joined: bool) -> Iterator[tuple[int, Outcome]]:
    """Yield the number of the conversation and the outcome of each question whose answer stands in its texts."""
    for number, item in enumerate(json.loads(load(path))):
        if wanted and number not in wanted:
            continue
        texts = list(dialogue(item["conversation"]))
        if joined:
            texts = [("dialogue.md", "\n".join(text for _, text in texts))]
        if category == _WITHOUT:
            questions = [(q["question"], "") for q in item["qa"] if q.get("category") == category][:MOST_WITHOUT]
        else:
            questions = _answered(item["qa"], category, texts)
        with tempfile.TemporaryDirectory() as base, Workspace.at(base) as workspace:
            for name, text in texts:
                workspace.add_bytes(text.encode("utf-8"), name)
            for question, answer in questions:
                yield number, asked(workspace, question, answer)


def _answered(qa: Sequence[dict[str, Any]], category: int, texts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the questions of a category whose answer stands in the texts, with it."""
    return [
        (q["question"], str(q["answer"]))
        for q in qa
        if q.get("category") == category and any(holds(text, str(q.get("answer", ""))) for _, text in texts)
    ]


def records(folder: Path) -> Iterator[Outcome]:
    """Yield the outcome of each question over files of linked records, and what a chain of look-ups brings."""
    lines = [json.loads(line) for path in sorted(folder.glob("*.jsonl*")) for line in load(path).splitlines() if line]
    files = {path.name.removesuffix(".gz"): load(path) for path in sorted((folder / "files").glob("*.txt*"))}
    blocks = [block for data in files.values() for block in re.split(r"\n(?=###)", data.decode("utf-8"))]
    with tempfile.TemporaryDirectory() as base, Workspace.at(base) as workspace:
        for name, data in files.items():
            workspace.add_bytes(data, name)
        for line in lines:
            question = line["input"].rpartition("Question:")[2].strip()
            found = asdict(asked(workspace, question, line["ground_truth"]))
            chain = any(holds(block, line["ground_truth"]) for block in chained(question, blocks))
            yield Outcome(**{**found, "chain": chain})


def chained(question: str, blocks: Sequence[str]) -> list[str]:
    """Return the records that a chain of look-ups brings: those with a name the question quotes, then by their keys.

    All of them, with no choice made: what any method that looks up keys could have had in its hands.
    """
    keys, brought = {match.strip() for match in _QUOTED.findall(question)}, []
    for _ in range(HOPS):
        fresh = [block for block in blocks if block not in brought and any(key in block for key in keys)][:400]
        brought += fresh
        keys = {key for block in fresh for key in _KEY.findall(block.partition("\n")[0])}
    return brought


def chinese(path: Path) -> Iterator[Outcome]:
    """Yield the outcome of each question over Chinese news: a quote out of a document that holds the answer."""
    data = json.loads(load(path))
    with tempfile.TemporaryDirectory() as base, Workspace.at(base) as workspace:
        refs = [workspace.add_bytes(text.encode("utf-8"), f"{n}.txt").ref for n, text in enumerate(data["docs"])]
        for item in data["qa"]:
            yield asked(workspace, item["question"], "", [refs[number] for number in item["gold"]])


def table(name: str, outcomes: Sequence[Outcome], goal: float | None, *, chain: bool = False) -> Iterator[Goal]:
    """Yield the figures of one set."""
    if not outcomes:
        return
    share = sum(one.ours for one in outcomes) / len(outcomes)
    base = sum(one.search for one in outcomes) / len(outcomes)
    spread = ", ".join(
        f"{level or 'no support'} {sum(o.first for o in group)} (any {sum(o.ours for o in group)}) of {len(group)}"
        for level in ("well supported", "supported in part", "weakly supported", "")
        if (group := [one for one in outcomes if one.level == level])
    )
    yield Goal(f"{name}: answer in a quote, of {len(outcomes)}", round(share, 3), goal, "", ">=", spread)
    yield Goal(f"{name}: in the best 5 hits of one search", round(base, 3), None, "")
    if chain:
        brought = sum(one.chain for one in outcomes) / len(outcomes)
        yield Goal(f"{name}: among all that {HOPS} look-ups bring", round(brought, 3), None, "")
    yield Goal(f"{name}: quotes that do not stand in their span", sum(one.wrong for one in outcomes), 0, "")


def _goal(category: int) -> float | None:
    return None if category == _WITHOUT else GOAL


def main() -> int:
    """Run the sets that are given; return 1 if a goal was missed."""
    arguments = parser(__doc__, rounds=1)
    arguments.add_argument("--locomo", type=Path)
    arguments.add_argument("--category", type=int, default=4, help="of the LoCoMo questions; default 4, single-hop")
    arguments.add_argument("--only", type=int, nargs="*", default=[], help="numbers of LoCoMo conversations")
    arguments.add_argument("--joined", action="store_true", help="one file a conversation in place of one a session")
    arguments.add_argument("--records", type=Path)
    arguments.add_argument("--chinese", type=Path)
    options = arguments.parse_args()
    goals: list[Goal] = []
    details: dict[str, Any] = {}
    if options.locomo:
        by: dict[int, list[Outcome]] = {}
        for number, outcome in locomo(options.locomo, options.category, options.only, joined=options.joined):
            by.setdefault(number, []).append(outcome)
        for number, outcomes in by.items():
            goals += list(table(f"dialogue {number}", outcomes, None))[:2]
        goals += table("all dialogues", [one for outcomes in by.values() for one in outcomes], _goal(options.category))
        details["locomo"] = {number: [asdict(one) for one in outcomes] for number, outcomes in by.items()}
    if options.records:
        outcomes = list(records(options.records))
        goals += table("records", outcomes, None, chain=True)
        details["records"] = [asdict(one) for one in outcomes]
    if options.chinese:
        outcomes = list(chinese(options.chinese))
        goals += table("Chinese news", outcomes, None)
        details["chinese"] = [asdict(one) for one in outcomes]
    if not goals:
        arguments.error("no set is given")
    report("answers", goals, details, options.out)
    return 0 if all(goal.met for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
