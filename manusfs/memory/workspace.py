"""The public face of a workspace: add, read, search, grep, list, note, verify."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from manusfs.errors import StorageError, UsageError
from manusfs.store import Index, Observations
from manusfs.workspace.folder import MARKER, Folder
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.fetch import Fetcher
    from manusfs.memory.adding import Added
    from manusfs.memory.intake import Extractor, Intake
    from manusfs.memory.listing import NoteLine, ObservationLine, SessionLine
    from manusfs.memory.reading import Reading
    from manusfs.memory.recovery import Recovery
    from manusfs.memory.renderer import Renderer
    from manusfs.memory.resolver import Resolver
    from manusfs.memory.search import Hits, Matches, Search
    from manusfs.memory.verify import Report
    from manusfs.records import Event, Fetched, Meta, Ref
    from manusfs.session import Transcript
    from manusfs.workspace.fs import FileSystem

__all__ = ["Doors", "Workspace"]


@dataclass(frozen=True, slots=True)
class Doors:
    """What a workspace uses of the world outside; each is made when it is first needed unless it is given."""

    extractor: Extractor | None = None
    fetcher: Fetcher | None = None
    clock: Callable[[], str] | None = None
    """Gives the UTC time that is written beside an observation."""
    network: bool = True
    """False: nothing is ever fetched, not even to repair."""


class Workspace:
    """A workspace folder, open. Opening it loads no library that only fetching, extracting or adding needs."""

    def __init__(
        self,
        folder: Folder,
        settings: Settings | None = None,
        *,
        told: Callable[[str], None] | None = None,
        doors: Doors | None = None,
    ) -> None:
        """`told` gets one line when something was repaired, or made anew, that the person should know of."""
        self.folder = folder
        self.settings = settings or Settings()
        self.index = Index(folder)
        """For finding, never trusted for bytes; opened when it is first asked."""
        self.observations = Observations(folder, self.index.locate)
        self._told = told or _silent
        self._doors = doors or Doors()
        self._lock = threading.Lock()
        self._writing = threading.RLock()
        self._transcript: Transcript | None = None
        self._own_fetcher: Fetcher | None = None
        self._own_extractor: Extractor | None = None

    @classmethod
    def open(
        cls,
        path: Path | str,
        settings: Settings | None = None,
        *,
        told: Callable[[str], None] | None = None,
        doors: Doors | None = None,
        fs: FileSystem | None = None,
    ) -> Self:
        """Return the workspace at `path`.

        Raises:
            NoWorkspace, NewerFormat, ConfigError: as they say.
        """
        return cls(Folder.open(path, fs), settings, told=told, doors=doors)

    @classmethod
    def create(
        cls,
        path: Path | str,
        settings: Settings | None = None,
        *,
        told: Callable[[str], None] | None = None,
        doors: Doors | None = None,
        fs: FileSystem | None = None,
    ) -> Self:
        """Make a workspace at `path` from the template and return it.

        Raises:
            ConfigError: there is one already.
        """
        return cls(Folder.create(path, fs), settings, told=told, doors=doors)

    @classmethod
    def at(cls, path: Path | str, settings: Settings | None = None) -> Self:
        """Return the workspace at `path`, made if there is none: the usual way in for a program.

        Raises:
            NewerFormat, ConfigError: as they say.
        """
        return (cls.open if (Path(path) / MARKER).exists() else cls.create)(path, settings)

    # -- the parts, each made when it is first wanted

    @cached_property
    def finder(self) -> Search:
        """Search, grep and listings over everything; brings the index up to date."""
        from manusfs.memory.search import Search

        return Search(self.observations, self.index, self.folder, self._told)

    @cached_property
    def intake(self) -> Intake:
        """The one way in."""
        from manusfs.memory.extracting import Late
        from manusfs.memory.intake import Intake, latest_by_source, utc_now
        from manusfs.memory.stubs import StubLimits

        finder = self.finder
        if not self.index.ensure() or next(self.observations.ids(), None) is None:
            finder.refresh()
        # Else the index was deleted, or did not come along: it is filled by the first query, as that takes its time,
        # and until then the transcripts say what is the latest of a source.
        limits = StubLimits.of(self.settings)
        clock = self._doors.clock or utc_now
        return Intake(
            self.observations,
            self.index,
            Late(lambda: self.extractor),
            limits,
            clock,
            lambda: latest_by_source(self.folder),
        )

    @cached_property
    def resolver(self) -> Resolver:
        """The one way out."""
        from manusfs.memory.resolver import Resolver

        return Resolver(self.folder, self.observations, self.index, self._recovery, self._refresh)

    @cached_property
    def renderer(self) -> Renderer:
        """Gives the texts of a transcript's parts; damaged bodies are mended on the way where that can be proved."""
        from manusfs.memory.renderer import Renderer

        return Renderer(self.observations, mend=lambda ref: self.resolver.mend(ref, network=self._doors.network))

    @property
    def extractor(self) -> Extractor:
        """What makes text of bytes."""
        if self._doors.extractor is not None:
            return self._doors.extractor
        with self._lock:
            if self._own_extractor is None:
                from manusfs.memory.outside import extractor

                self._own_extractor = extractor(self.settings)
            return self._own_extractor

    @property
    def fetcher(self) -> Fetcher:
        """What reaches the network."""
        if self._doors.fetcher is not None:
            return self._doors.fetcher
        with self._lock:
            if self._own_fetcher is None:
                from manusfs.memory.outside import fetcher

                self._own_fetcher = fetcher(self.settings, self.folder)
            return self._own_fetcher

    # -- what people and programs do

    def fetch(self, url: str) -> Fetched:
        """Return what `url` answers now, or the cache while it is fresh; nothing is stored.

        Raises:
            AddressRefused, Refused, Unavailable, UsageError: as they say.
        """
        return self.fetcher.fetch(url)

    def add(self, source: str) -> Added:
        """Store one source, a URL or a file, and return what became of it; a failure is told in `error`."""
        (added,) = self.add_all([source])
        return added

    def add_all(self, sources: Iterable[str], stopped: Callable[[], bool] = lambda: False) -> Iterator[Added]:
        """Yield what became of each source, in order, as soon as it is durable and can be read; a few at a time.

        Once `stopped` says so, what came is stored and yielded, and what is still on its way is left.

        Raises:
            StorageError: the workspace can't be written.
        """
        from manusfs.memory.adding import add_all

        yield from add_all(sources, self._bring, self.intake, self._intake_name, self._record, stopped)
        self.index.flush()

    def add_bytes(self, data: bytes, label: str = "stdin") -> Added:
        """Store what was given directly, as standard input or a paste, and return what became of it."""
        from manusfs.memory.adding import add_all
        from manusfs.memory.sources import from_bytes

        body = from_bytes(data, label)
        (added,) = add_all([label], lambda _: body, self.intake, self._intake_name, self._record)
        self.index.flush()
        return added

    def read(
        self,
        ref: Ref | str,
        start: int = 0,
        limit: int | None = None,
        *,
        chars: int | None = None,
        lines: Sequence[int] | None = None,
        page: int | None = None,
        raw: bool = False,
        tail: bool = False,
    ) -> Reading:
        """Return a piece of a ref, path or URL: from byte `start` on, `limit` bytes and `chars` characters at most.

        See `Resolver.read` for lines, pages and tails, and for what is raised.
        """
        made = self.resolver.read(
            ref, start, limit, chars=chars, lines=lines, page=page, raw=raw, tail=tail, network=self._doors.network
        )
        if made.message:
            self._told(made.message)
        return made

    def search(self, query: str, within: str | None = None, limit: int = 10) -> Hits:
        """Return the passages of everything stored that fit `query` best; a `note` says why there are none."""
        return self.finder.search(query, within, limit)

    def grep(
        self,
        pattern: str,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        within: str | None = None,
        limit: int = 100,
    ) -> Matches:
        """Return where `pattern` stands, literally or as an expression, in everything stored.

        Raises:
            UsageError: the pattern is empty, too long, or no regular expression.
        """
        return self.finder.grep(pattern, regex=regex, ignore_case=ignore_case, within=within, limit=limit)

    def ls(self, kind: str = "observations") -> list[ObservationLine | NoteLine | SessionLine]:
        """Return what there is of "observations", "notes", "sessions" or "reports", oldest first.

        Raises:
            UsageError: another kind.
        """
        from manusfs.memory.listing import KINDS, lines

        if kind not in KINDS:
            raise UsageError(f"can't list {kind!r}", hint=f"one of {', '.join(KINDS)}")
        if kind == "observations":
            self.finder.refresh()
        return list(lines(self.folder, self.observations, self.index, kind))

    def note(self, text: str, title: str, folder: str = "findings") -> str:
        """Write a note to `notes/<folder>/` and return its path; another note is never overwritten."""
        from manusfs.memory.notes import note

        return note(self.folder.root, text, title, folder)

    def verify(self, *, repair: bool = False, progress: Callable[[str], None] | None = None) -> Report:
        """Return what is wrong in the workspace, network off; with `repair`, mend what can be.

        Raises:
            Locked: repair was asked for while someone works in it.
        """
        from manusfs.memory.mending import Mender
        from manusfs.memory.verify import verify

        mender = None
        if repair:
            # Our own session would hold the workspace against us; the next source begins another one.
            self._end_intake_session()
            mender = Mender(self.folder, self._recovery, self.intake.draft)
        return verify(self.folder, self.observations, repair=repair, mender=mender, progress=progress)

    def rebuild_index(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Make the index anew from the tree and return how many observations it holds.

        Raises:
            StorageError: its file can't be written.
        """
        count = self.finder.rebuild(progress).observations
        if not self.index.lasts:
            raise StorageError(
                "the index can't be written: .manusfs/ is read-only, the disk is full or a limit is reached",
                hint="nothing is lost: without it each command makes its own in memory",
            )
        return count

    def close(self) -> None:
        """Write what the index still owes and let everything go."""
        self.index.close()
        self._end_intake_session()
        for own in (self._own_fetcher, self._own_extractor):
            close = getattr(own, "close", None)
            if close is not None:
                close()
        self._own_fetcher = self._own_extractor = None
        self.folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # -- inside

    def _bring(self, source: str) -> Fetched:
        from manusfs.memory.sources import classify, read_file

        kind = classify(source)
        if kind == "url":
            return self.fetch(source.strip())
        if kind == "-":
            raise UsageError("standard input is not read here", hint="give its bytes to add_bytes")
        return read_file(source, self.folder.root, self.settings.max_body_bytes)

    def _intake_session(self) -> Transcript:
        from manusfs.session import Transcript

        with self._writing:
            if self._transcript is None:
                self._transcript = Transcript.create(self.folder, "intake", title="added")
            return self._transcript

    def _intake_name(self) -> str:
        return self._intake_session().session

    def _end_intake_session(self) -> None:
        with self._writing:
            if self._transcript is not None:
                self._transcript.close()
                self._transcript = None

    def _record(self, events: Sequence[Event]) -> None:
        with self._writing:
            self._intake_session().append(events)

    def _keep(self, fetched: Fetched) -> Meta:
        (taken,) = self.intake.take([fetched], self._intake_name(), [""])
        self._record([self.intake.event(taken, "")])
        self.intake.index(taken)
        return taken.meta

    def _recovery(self, keep: bool = True) -> Recovery:
        from manusfs.memory.recovery import Origin, Recovery

        origin = Origin(
            extractor=lambda: self.extractor,
            cached=self._cached,
            fetch=self.fetch if self._doors.network else None,
            keep=self._keep if keep else None,
        )
        return Recovery(self.folder, self.observations, self.index, origin)

    def _refresh(self) -> None:
        self.finder.refresh()

    def _cached(self, sha256: str) -> bytes | None:
        from manusfs.memory.outside import cached

        return cached(self.settings, self.folder, sha256)


def _silent(line: str) -> None:
    """Say nothing."""
