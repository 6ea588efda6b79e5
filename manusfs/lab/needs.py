"""What each reply of a recorded run takes word for word from earlier observations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from manusfs.lab.recording import Recording, Step
from manusfs.lab.words import atoms, runs, strings

__all__ = ["Need", "needs_of"]

_Origin = tuple[int, int, int]
_SENTENCE = 240
"""Most characters of a sentence on either side of what it quotes."""
_END = re.compile(r"\n|[.!?](?=\s)|[。！？]")


@dataclass(frozen=True, slots=True)
class Need:
    """A span in a reply or a tool input that first appeared in an observation."""

    step: int
    observation: int
    """Number of the result in which it first stood, counted over the whole run."""
    age: int
    """Results between that one and this reply."""
    keys: tuple[int, ...]
    """Of its runs of six words, or of the one identifier, number or URL. It is visible where all of them are."""
    start: int
    end: int
    """Where it stands in the observation's text, in characters."""
    sentence: str
    """The sentence of the reply that it stands in, or those."""


@dataclass(slots=True)
class _Reader:
    """Reads a run in its order; what was said before by anybody else is no need."""

    first: dict[int, _Origin | None] = field(default_factory=dict)
    """For each key where it first stood: observation, start, end; None for other places."""

    def heard(self, text: str) -> None:
        for key, _, _ in runs(text):
            self.first.setdefault(key, None)
        for atom in atoms(text):
            self.first.setdefault(hash(atom.key), None)

    def observed(self, number: int, text: str) -> None:
        for key, start, end in runs(text):
            self.first.setdefault(key, (number, start, end))
        for atom in atoms(text):
            self.first.setdefault(hash(atom.key), (number, atom.start, atom.end))

    def taken(self, step: int, now: int, text: str) -> Iterator[Need]:
        """Yield the longest stretches of `text` that come from one observation, then the atoms outside of them."""
        covered: list[tuple[int, int]] = []
        open_: list[tuple[int, int, int, _Origin]] = []
        for key, start, end in (*runs(text), (0, -1, -1)):
            origin = self.first.get(key) if start >= 0 else None
            if open_ and not (origin and _goes_on(open_[-1][3], origin)):
                covered.append((open_[0][1], open_[-1][2]))
                yield _need(step, now, text, open_)
                open_ = []
            if origin:
                open_.append((key, start, end, origin))
        for atom in atoms(text):
            origin = self.first.get(hash(atom.key))
            if origin and not any(start <= atom.start and atom.end <= end for start, end in covered):
                yield _need(step, now, text, [(hash(atom.key), atom.start, atom.end, origin)])


def needs_of(recording: Recording) -> list[list[Need]]:
    """Return for each step what its reply and its tool inputs need, each span once."""
    reader = _Reader()
    reader.heard(recording.system)
    reader.heard(recording.task)
    found: list[list[Need]] = []
    number = 0
    for at, step in enumerate(recording.steps):
        texts = said(step)
        unique = {(need.observation, need.keys): need for text in texts for need in reader.taken(at, number, text)}
        found.append(list(unique.values()))
        for text in texts:
            reader.heard(text)
        for result in step.results:
            reader.observed(number, result.text)
            number += 1
        reader.heard(step.user)
    return found


def said(step: Step) -> list[str]:
    """Return the texts of a reply: its words and the texts in its tool inputs."""
    texts = [step.text] if step.text else []
    for call in step.calls:
        texts += strings(call.arguments)
    return texts


def _goes_on(before: _Origin, after: _Origin) -> bool:
    return before[0] == after[0] and before[1] < after[1] <= before[2]


def _need(step: int, now: int, text: str, taken: list[tuple[int, int, int, _Origin]]) -> Need:
    first, last = taken[0], taken[-1]
    sentence = " ".join(text[slice(*_sentence(text, first[1], last[2]))].split())[: 2 * _SENTENCE]
    keys = tuple(key for key, _, _, _ in taken)
    number = first[3][0]
    return Need(step, number, now - 1 - number, keys, first[3][1], last[3][2], sentence)


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the sentence, or those, round `start` to `end` begin and end."""
    least, most = max(0, start - _SENTENCE), min(len(text), end + _SENTENCE)
    before = max((match.end() for match in _END.finditer(text, least, start)), default=least)
    after = _END.search(text, end, most)
    return before, after.end() if after is not None else most
