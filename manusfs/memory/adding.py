"""Adding many sources outside a run: brought in parallel, stored in groups, told one by one."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import asdict, dataclass
from typing import Any

from manusfs.errors import ManusfsError, StorageError
from manusfs.memory.intake import Intake, Taken
from manusfs.records import Event, Fetched, secrets

__all__ = ["Added", "add_all"]

_THREADS = 4
_AHEAD = 8
"""Sources that are brought before the first of them is stored."""
_GROUP = 8
_GROUP_BYTES = 16 << 20
_TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class Added:
    """What became of one source."""

    source: str
    """As it was given, secrets masked."""
    ref: str = ""
    kind: str = ""
    path: str = ""
    url: str = ""
    title: str = ""
    media_type: str = ""
    bytes: int = 0
    text_bytes: int = 0
    tokens: int = 0
    sha256: str = ""
    status: str = "error"
    error: str = ""
    """Why it failed; an error page or a cut body is stored all the same and has a ref."""
    note: str = ""
    """Why there is no text to read, for what was stored without one."""

    @classmethod
    def of(cls, source: str, taken: Taken) -> Added:
        """Return what is told of a source that was stored."""
        meta = taken.meta
        return cls(
            source=secrets.text(source),
            ref=f"obs:{meta.id}",
            kind=meta.source.kind,
            path=meta.folder,
            url=secrets.url(meta.source.url),
            title=secrets.text(meta.title),
            media_type=meta.media_type,
            bytes=meta.raw_size,
            text_bytes=meta.files["text"].size if "text" in meta.files else 0,
            tokens=meta.tokens,
            sha256=meta.raw_sha256,
            status=taken.status,
            error=taken.notice.partition("\n")[0].removeprefix("Error: ") if taken.is_error else "",
            note=meta.no_text,
        )

    @property
    def ok(self) -> bool:
        """True if it was stored and is what was asked for; else `error` says why not."""
        return not self.error

    def to_json(self) -> dict[str, Any]:
        """Return the object that `add --json` prints."""
        return asdict(self)


Bring = Callable[[str], Fetched]
Record = Callable[[Sequence[Event]], None]


def add_all(
    sources: Iterable[str],
    bring: Bring,
    intake: Intake,
    session: Callable[[], str],
    record: Record,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Added]:
    """Yield what became of each of `sources`, in their order, as soon as it is durable.

    They are brought by a few threads, a few ahead; what came is stored in groups. A source that fails is told as an
    error and stops no other. `session` is asked for its name when there is something to store. Once `stopped` says so,
    what came is stored, and what is still on its way is left and not waited for.

    Raises:
        StorageError: the workspace can't be written: then nothing else could be added either.
    """
    bringers = _Bringers(bring)
    waiting: deque[_Coming] = deque()
    rest = iter(sources)
    try:
        while True:
            while len(waiting) < _AHEAD and not stopped() and (source := next(rest, None)) is not None:
                waiting.append((source, bringers.send_for(source)))
            if not waiting:
                return
            yield from _store(_group(waiting, stopped), intake, session, record)
    finally:
        bringers.close()


_Coming = tuple[str, "Future[Fetched]"]


class _Bringers:
    """Threads that bring sources. They are daemons: one that waits for a server keeps nobody who wants to stop."""

    def __init__(self, bring: Bring) -> None:
        self._bring = bring
        self._wanted: queue.SimpleQueue[_Coming | None] = queue.SimpleQueue()
        self._threads = 0

    def send_for(self, source: str) -> Future[Fetched]:
        """Return what will hold the body of `source`."""
        coming: Future[Fetched] = Future()
        self._wanted.put((source, coming))
        if self._threads < _THREADS:
            self._threads += 1
            threading.Thread(target=self._work, name="add", daemon=True).start()
        return coming

    def close(self) -> None:
        """Let each thread end with what it is about; what was not begun is not brought."""
        try:
            while True:
                self._wanted.get_nowait()
        except queue.Empty:
            pass
        for _ in range(self._threads):
            self._wanted.put(None)

    def _work(self) -> None:
        while (wanted := self._wanted.get()) is not None:
            source, coming = wanted
            try:
                coming.set_result(self._bring(source))
            except BaseException as error:  # noqa: BLE001 - handed over to the thread that asked, which raises it
                coming.set_exception(error)


def _group(waiting: deque[_Coming], stopped: Callable[[], bool]) -> list[tuple[str, Fetched | ManusfsError]]:
    """Take the next source, waiting for it, and those behind it that are there; empty when a stop came before any."""
    group: list[tuple[str, Fetched | ManusfsError]] = []
    size = 0
    while waiting and len(group) < _GROUP and size < _GROUP_BYTES and (not group or waiting[0][1].done()):
        source, coming = waiting.popleft()
        while not wait([coming], _TICK_S).done and not stopped():
            pass
        if not coming.done():
            continue
        try:
            fetched = coming.result()
        except ManusfsError as error:
            group.append((source, error))
            continue
        group.append((source, fetched))
        size += len(fetched.raw)
    return group


def _store(
    group: Sequence[tuple[str, Fetched | ManusfsError]], intake: Intake, session: Callable[[], str], record: Record
) -> Iterator[Added]:
    bodies = [fetched for _, fetched in group if isinstance(fetched, Fetched)]
    taken = iter(_taken(bodies, intake, session, record))
    for source, fetched in group:
        if isinstance(fetched, Fetched):
            yield Added.of(source, next(taken))
        else:
            error = f"{fetched}" + (f" ({fetched.hint})" if fetched.hint else "")
            yield Added(secrets.text(source), error=secrets.text(error))


def _taken(bodies: Sequence[Fetched], intake: Intake, session: Callable[[], str], record: Record) -> list[Taken]:
    if not bodies:
        return []
    taken = intake.take(bodies, session(), [""] * len(bodies))
    record([intake.event(one, "") for one in taken])
    try:
        intake.index(taken)
    except StorageError:
        # The index is derived: what it lacks is added at the next opening.
        pass
    return taken
