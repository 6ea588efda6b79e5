"""Question sets in one shape: texts, questions, and the byte spans that answer them.

What a file is shows in its form: a list of `{conversation: {session_1: [{speaker, dia_id, text}]}, qa: [{question,
evidence}]}` is dialogues, `{docs: [text], qa: [{question, gold: [number]}]}` documents with questions, a folder with
`files/` and a `.jsonl` of `{input, …}` records, and any other folder documents to be read. All may be gzipped.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Group", "Place", "Question", "Set", "load"]

_HAN = re.compile("[\u4e00-\u9fff]{8,}")
_SENTENCE = re.compile(r"[^.!?\n]{60,300}[.!?]")
_QUOTED = re.compile(r"'([^'?,]{3,40})'")
_RECORD = re.compile(r"^### .*(?:\n(?!### ).*)*", re.MULTILINE)
_MOST = 300


class Place(NamedTuple):
    """A half-open byte range of a text of the group."""

    text: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and all the places that answer it."""

    query: str
    wanted: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Texts that are indexed together, their units (what a plain index would hold as rows), and questions on them."""

    texts: list[str]
    units: list[Place]
    questions: list[Question]
    whole: bool = False
    """Whether a text counts as found with any place in it: the ranks are then those of texts."""
    names: tuple[str, ...] = ()
    """What the texts are called, where they have names: the product takes them as titles."""


@dataclass(frozen=True, slots=True)
class Set:
    """Questions of one sort."""

    name: str
    groups: list[Group]


def load(path: Path) -> Iterator[Set]:
    """Yield the question sets that a file or folder gives."""
    if path.is_dir():
        lines = [*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")]
        yield from _records(path / "files", lines[0]) if lines else _folder(path)
        return
    data = json.loads(_read(path))
    if isinstance(data, list):
        groups = [_dialogue(item) for item in data]
        yield Set("dialogues, an index each", groups)
        yield Set("dialogues, one index", [_joined(groups)])
        return
    docs, units = data["docs"], [Place(at, 0, len(text.encode())) for at, text in enumerate(data["docs"])]
    asked = [Question(one["question"], tuple(units[gold] for gold in one["gold"])) for one in data["qa"]]
    yield Set("documents, questions", [Group(docs, units, asked, whole=True)])
    yield Set("documents, known items", [Group(docs, units, _known(docs), whole=True)])


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _dialogue(item: dict[str, Any]) -> Group:
    """Return a conversation as one text with a heading a session; each turn is a unit and may be evidence."""
    conversation, parts, spans, at = item["conversation"], [], {}, 0
    for number in range(1, 200):
        turns = conversation.get(f"session_{number}") or []
        lines = [f"\n## Session {number}, {conversation.get(f'session_{number}_date_time', '')}\n\n"] if turns else []
        for turn in turns:
            caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            lines.append(f"{turn['speaker']}: {' '.join(turn['text'].split())}{caption}\n")
        for line, turn in zip(lines, [None, *turns], strict=False):
            size = len(line.encode())
            if turn is not None:
                spans[turn["dia_id"]] = Place(0, at, at + size - 1)
            parts.append(line)
            at += size
    questions = []
    for one in item["qa"]:
        # Some ids are written together or with a stray mark.
        ids = [id for text in one.get("evidence", []) for id in re.findall(r"D\d+:\d+", text) if id in spans]
        if ids:
            questions.append(Question(one["question"], tuple(spans[id] for id in ids)))
    return Group(["".join(parts)], list(spans.values()), questions)


def _joined(groups: list[Group]) -> Group:
    def moved(place: Place, by: int) -> Place:
        return place._replace(text=place.text + by)

    texts = [text for group in groups for text in group.texts]
    units = [moved(unit, at) for at, group in enumerate(groups) for unit in group.units]
    asked = [
        Question(one.query, tuple(moved(place, at) for place in one.wanted))
        for at, group in enumerate(groups)
        for one in group.questions
    ]
    return Group(texts, units, asked)


def _records(folder: Path, questions: Path) -> Iterator[Set]:
    """Yield the files of records with questions that name some: wanted is each record with a line of that value."""
    paths = sorted(folder.iterdir())
    texts = [_read(path).decode() for path in paths]
    names = [path.name.removesuffix(".gz") for path in paths]
    units, by_value = [], dict[str, list[Place]]()
    for number, text in enumerate(texts):
        for match in _RECORD.finditer(text):
            start = len(text[: match.start()].encode())
            place = Place(number, start, start + len(match[0].encode()))
            units.append(place)
            for line in match[0].splitlines()[1:]:
                by_value.setdefault(line.partition(": ")[2], []).append(place)
    named, filed = [], []
    for line in _read(questions).decode().splitlines():
        one = json.loads(line)
        query = one["input"].rpartition("Question:")[2].strip()
        wanted = dict.fromkeys(place for name in _QUOTED.findall(query) for place in by_value.get(name, ()))
        if wanted and len(wanted) <= 10:
            named.append(Question(query, tuple(wanted)))
        files = [names.index(name) for name in one["agent_args"]["extra"]["required_files"]]
        filed.append(Question(query, tuple(Place(at, 0, len(texts[at].encode())) for at in files)))
    yield Set("records, the ones named", [Group(texts, units, named)])
    yield Set("records, files needed", [Group(texts, units, filed, whole=True)])
    called = tuple(names)
    yield Set("records with the names of their files, the ones named", [Group(texts, units, named, names=called)])
    yield Set("records with the names of their files, files needed", [Group(texts, units, filed, True, called)])


def _folder(folder: Path) -> Iterator[Set]:
    """Yield known items of the documents in a folder, read as the product reads them; a unit is a paragraph."""
    from manusfs.extract import Extractor

    texts, extractor = [], Extractor()
    for path in sorted(item for item in folder.rglob("*") if item.is_file()):
        text = extractor.extract(_read(path), name=path.name.removesuffix(".gz")).text
        if len(text) > 500:
            texts.append(text)
    extractor.close()
    units = []
    for number, text in enumerate(texts):
        for match in re.finditer(r"\S[^\n]*(?:\n(?!\n)[^\n]+)*", text):
            start = len(text[: match.start()].encode())
            units.append(Place(number, start, start + len(match[0].encode())))
    yield Set(f"{folder.name}, known passages", [Group(texts, units, _known(texts))])


def _known(texts: list[str]) -> list[Question]:
    """Return a question for up to 300 texts: five words of one sentence, or two pieces of four Chinese characters."""
    found = []
    for number in sorted(random.Random(7).sample(range(len(texts)), min(_MOST, len(texts)))):
        text, chance = texts[number], random.Random(number)
        runs = list(_HAN.finditer(text))
        sentences = [match for match in _SENTENCE.finditer(text) if len(match[0].split()) >= 9]
        if not runs and not sentences:
            continue
        match = chance.choice(runs or sentences)
        if runs:
            query = f"{match[0][:4]} {match[0][-4:]}"
        else:
            words = re.findall(r"\w{4,}", match[0]) or match[0].split()
            query = " ".join(words[at] for at in sorted(chance.sample(range(len(words)), min(5, len(words)))))
        start = len(text[: match.start()].encode())
        found.append(Question(query, (Place(number, start, start + len(match[0].encode())),)))
    return found
