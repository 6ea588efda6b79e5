"""Brings a recorded run through the real intake into a workspace, once: all policies are replayed on what came in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from manusfs.errors import ManusfsError
from manusfs.lab.needs import Need, needs_of
from manusfs.lab.recording import Recording, Step
from manusfs.lab.words import Sight
from manusfs.memory import Doors, Workspace
from manusfs.records import Extracted, Fetched, ObsRef, Source, Span, parse_ref, valid_text
from manusfs.workspace.fs import FileSystem
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.memory import Taken

__all__ = ["Arrived", "Stage", "staged"]

_TOP = 5
_SESSION = "20260101-lab0"
_SYNTAX = re.compile(r'"|(?<!\S)-+|(?<=\w)[:=](?=\S)')
"""What means something in a query: the sentence is asked for by its words."""
_CLOCK = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Arrived:
    """One result of the run: its text and, if it was stored, what intake made of it."""

    step: int
    place: int
    text: str
    is_error: bool
    taken: Taken | None
    returns: bool = True
    """The workspace gave its bytes back exactly."""

    @property
    def id(self) -> str:
        """Of the observation, "" when it was not stored."""
        return self.taken.meta.id if self.taken is not None else ""

    def span(self, start: int, end: int) -> Span:
        """Return characters `start` to `end` of the text as bytes of the stored view."""
        first = len(self.text[:start].encode("utf-8"))
        return Span(first, first + len(self.text[start:end].encode("utf-8")))


@dataclass(slots=True)
class Stage:
    """A run in its workspace: what arrived, what each reply needs, what a search would have found."""

    recording: Recording
    workspace: Workspace
    needs: list[list[Need]]
    arrived: list[Arrived] = field(default_factory=list)
    """Every result of the run, in order."""
    shown: set[Need] = field(default_factory=set)
    """Those that one search with the quoting sentence shows word for word among its first five hits."""
    found: set[Need] = field(default_factory=set)
    """Those for which one of these hits is where they first stood."""

    _by_step: dict[int, list[Arrived]] = field(default_factory=dict)

    def of_step(self, step: int) -> list[Arrived]:
        """Return the results of the calls of `step`."""
        return self._by_step.get(step, [])

    def take(self, step: int, recorded: Step) -> None:
        """Store the results of one step, as a turn's results are: together."""
        calls = [(place, *pair) for place, pair in enumerate(zip(recorded.calls, recorded.results, strict=True))]
        stored = [(place, call, result) for place, call, result in calls if result.stored]
        bodies = [
            Fetched(Source.call(call.name, call.arguments), valid_text(result.text).encode("utf-8"), "text/plain")
            for _, call, result in stored
        ]
        taken = self.workspace.intake.take(bodies, _SESSION, [f"call_{step}_{place}" for place, _, _ in stored])
        by_place = {place: one for (place, _, _), one in zip(stored, taken, strict=True)}
        self.workspace.intake.index(taken)
        for place, _, result in calls:
            one = by_place.get(place)
            text = valid_text(result.text)
            arrived = Arrived(step, place, text, result.is_error, one, self._returns(one, text))
            self.arrived.append(arrived)
            self._by_step.setdefault(step, []).append(arrived)

    def search(self, step: int) -> None:
        """Look for what the reply of `step` quotes, before its own results come in."""
        for need in self.needs[step]:
            arrived = self.arrived[need.observation]
            if not arrived.id:
                continue
            hits = self.workspace.search(_SYNTAX.sub(" ", need.sentence), limit=_TOP)
            span = arrived.span(need.start, need.end)
            if any(_leads(text, arrived.id, span) for hit in hits for text in (hit.ref, *hit.also)):
                self.found.add(need)
                self.shown.add(need)
            elif any(Sight.of(hit.snippet).keys.issuperset(need.keys) for hit in hits):
                self.shown.add(need)

    def _returns(self, taken: Taken | None, text: str) -> bool:
        if taken is None:
            return True
        try:
            body = self.workspace.observations.read(taken.meta.id, "text") if text else b""
        except ManusfsError:
            return False
        return body == text.encode("utf-8")


@contextmanager
def staged(recording: Recording, settings: Settings, *, searches: bool = True) -> Iterator[Stage]:
    """Yield the run, stored in a temporary workspace that is removed afterwards.

    `searches` False leaves out what a search would have found, which takes most of the time.
    """
    with TemporaryDirectory(prefix="manusfs-replay-") as folder:
        doors = Doors(extractor=_Plain(), clock=lambda: _CLOCK, network=False)
        path = Path(folder) / "workspace"
        with Workspace.create(path, settings, doors=doors, fs=_Fleeting()) as workspace:
            stage = Stage(recording, workspace, needs_of(recording))
            for at, step in enumerate(recording.steps):
                if searches:
                    stage.search(at)
                stage.take(at, step)
            yield stage


class _Plain:
    """An extractor for what is text already."""

    def extract(self, raw: bytes, *, media_type: str, charset: str, name: str, source_url: str) -> Extracted:
        """Return `raw` as text."""
        return Extracted("text/plain", raw.decode("utf-8", "replace"), charset="utf-8", extractor="recorded")


class _Fleeting(FileSystem):
    """Files that need not survive a power failure."""

    def sync(self, fd: int) -> None:
        """Do nothing."""

    def sync_dir(self, dirfd: int) -> None:
        """Do nothing."""

    def sync_all(self, files: Sequence[int], folders: Sequence[int] = ()) -> None:
        """Do nothing."""


def _leads(text: str, id: str, span: Span) -> bool:
    """Return True if the ref in `text` is of observation `id` and touches `span`."""
    ref = parse_ref(text)
    if not isinstance(ref, ObsRef) or ref.id != id:
        return False
    return ref.span is None or (ref.span.start < span.end and span.start < ref.span.end)
