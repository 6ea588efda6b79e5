"""Commits and appends as a run makes them, and what must be true of the folder after whatever happened to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from disks.faulty import FaultyDisk

from manusfs.errors import Damaged, NotFound, StorageError
from manusfs.records import Event, Source
from manusfs.session import Transcript
from manusfs.store import Draft, Observations
from manusfs.workspace import FileSystem, Folder

Acked = tuple[str, tuple[Event, ...]]


def draft(number: int) -> Draft:
    """Return the same draft for the same number; every third one is text whose raw bytes are the text."""
    text = f"text {number}\n".encode() * (number * 7 + 1)
    raw = text if number % 3 == 0 else b"<html>" + text
    source = Source.web(f"https://h{number % 2}.example/page/{number}")
    return Draft(source, raw, raw_suffix="html", texts={"text": text}, title=f"page {number}")


GROUPS = ((0,), (1, 2), (1, 3), (4,))


def empty_workspace(path: Path) -> None:
    """Make the least that opens."""
    path.mkdir()
    (path / "manusfs.toml").write_text("format = 1\n")


def run(path: Path, fs: FileSystem, ack: Callable[[Acked], None]) -> None:
    """Do the work, going on after errors as an agent does, and tell what was acknowledged."""
    folder = Folder.open(path, fs)
    transcript: Transcript | None = None
    try:
        observations = Observations(folder)
        for group in GROUPS:
            try:
                transcript = _writable(folder, transcript)
                staged = []
                try:
                    staged = [observations.stage(draft(number)) for number in group]
                except StorageError:
                    for one in staged:
                        observations.discard(one)
                    raise
                done = observations.commit(staged)
                events = transcript.append([Event("observation", {"id": one.meta.id}) for one in done])
            except StorageError:
                continue
            ack((transcript.session, events))
    finally:
        if transcript is not None:
            transcript.close()
        folder.close()


def _writable(folder: Folder, transcript: Transcript | None) -> Transcript:
    if transcript is None:
        return Transcript.create(folder)
    try:
        transcript.append([])
        return transcript
    except StorageError:
        transcript.close()
        return Transcript.open(folder, transcript.session, write=True)


def problems(path: Path, acked: list[Acked]) -> list[str]:
    """Return how the folder fails what was promised; opens it as a resumed run does, and goes on working in it."""
    found: list[str] = []
    # Syncs cost time and prove nothing here.
    with Folder.open(path, FaultyDisk()) as folder:
        assert folder.root.staging.fd >= 0
        observations = Observations(folder)
        found += [problem for id in observations.ids() for problem in observations.check(id)]
        for session in sorted({session for session, _ in acked}):
            try:
                found += _session_problems(
                    folder, session, [event for name, events in acked if name == session for event in events]
                )
            except NotFound as error:
                found.append(str(error))
        drafts = [draft(number) for group in GROUPS for number in group]
        for one, done in zip(drafts, observations.commit([observations.stage(one) for one in drafts]), strict=True):
            if done.repairs or observations.read(done.meta.id, "raw") != one.raw:
                found.append(f"stored again: {done.meta.id} {done.repairs}")
        found += [f"left behind: {name}" for name in folder.root.walk(".manusfs/tmp")]
    return found


def _session_problems(folder: Folder, session: str, promised: list[Event]) -> list[str]:
    observations = Observations(folder)
    with Transcript.open(folder, session, write=True) as transcript:
        loaded = {event.seq: event for event in transcript.events}
        found = [f"lost event {event.seq}" for event in promised if loaded.get(event.seq) != event]
        for event in transcript.events:
            if event.kind == "observation":
                found += _unreadable(observations, event)
        before = len(transcript.events)
        transcript.append([Event("end", {"stop": "end_turn"})])
    with Transcript.open(folder, session, write=True) as again:
        if len(again.events) != before + 1 or again.repairs:
            found.append(f"appending after recovery: {len(again.events) - before} events, {again.repairs}")
    return found


def _unreadable(observations: Observations, event: Event) -> list[str]:
    try:
        observations.read(event.data["id"], "raw")
        observations.read(event.data["id"], "text")
    except (Damaged, NotFound) as error:
        return [f"event {event.seq} resolves to nothing: {error}"]
    return []
