"""The child process: reads jobs from a pipe, extracts under limits, writes pieces back as they come."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from manusfs.extract.frames import HEAD, extracted_head, job_from, pack, unpack_head
from manusfs.extract.job import FormatExtractor, Job, Page, plain_view, title_line
from manusfs.records import Extracted, valid_text

__all__ = ["TimeUp", "main", "time_limit"]


class TimeUp(BaseException):
    """A part of the work took longer than it may; no `except Exception` of a library swallows it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeUp in the block after `seconds`; without effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    armed = True

    def up(signum: int, frame: object) -> None:
        if armed:
            raise TimeUp

    before = signal.signal(signal.SIGALRM, up)
    # again and again: one that falls into a callback of C code is lost
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01), 0.25)
    try:
        yield
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> None:
    """Serve jobs until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = os.dup(0), os.dup(1)
    # a library that prints must not write between frames
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 0)
    os.dup2(quiet, 1)
    sys.setrecursionlimit(3_000)
    while True:
        head = _read(source, HEAD.size)
        if len(head) < HEAD.size:
            return
        _, json_bytes, body_bytes = unpack_head(head)
        _serve(sink, _read(source, json_bytes), _read(source, body_bytes))


def _serve(sink: int, head: bytes, raw: bytes) -> None:
    import json

    data = json.loads(head)
    try:
        extractor = _load(data["extractor"])
    except BaseException as error:  # noqa: BLE001 - the parent must hear of it, whatever it is
        _write(sink, b"X", {"error": _wording(error), "started": False})
        return
    _write(sink, b"R", {})
    job = job_from(data, raw)
    _limit(job)
    try:
        for item in extractor.extract(job):
            _send(sink, item)
        _write(sink, b"D", {})
    except BrokenPipeError:
        raise SystemExit from None
    except (Exception, TimeUp) as error:  # noqa: BLE001 - a library may raise anything; the parent is told
        _write(sink, b"X", {"error": _wording(error), "started": True})


def _load(name: str) -> FormatExtractor:
    from manusfs.extract.formats import EXTRACTORS

    extractor: FormatExtractor = EXTRACTORS.load(name)()
    return extractor


def _wording(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "memory limit"
    if isinstance(error, TimeUp):
        return "time limit"
    return f"{type(error).__name__}: {title_line(str(error), 200)}"


def _limit(job: Job) -> None:
    """Bound memory on top of what the libraries hold, and processor time of this job."""
    memory = _virtual_bytes() + (job.limits.memory_mb << 20)
    used = time.process_time()
    seconds = int(used + job.limits.seconds) + 2
    bounds = ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0))
    for what, soft in bounds:
        hard = resource.getrlimit(what)[1]
        try:
            resource.setrlimit(what, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
        except (ValueError, OSError):
            # macOS refuses RLIMIT_AS; the wall limit holds all the same
            continue


def _virtual_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 1 << 30


def _send(sink: int, item: Page | Extracted) -> None:
    if isinstance(item, Page):
        _write(sink, b"P", {"label": plain_view(item.label)}, _utf8(item.text))
        return
    _write(sink, b"E", extracted_head(item), _utf8(item.text))
    if item.full is not None:
        _write(sink, b"F", {}, _utf8(item.full))


def _utf8(text: str) -> bytes:
    return valid_text(text).encode("utf-8")


def _write(sink: int, kind: bytes, data: dict[str, object], body: bytes = b"") -> None:
    for piece in (pack(kind, data, body), body):
        view = memoryview(piece)
        while view:
            view = view[os.write(sink, view) :]


def _read(source: int, size: int) -> bytes:
    """Return `size` bytes, or fewer at the end of the pipe."""
    pieces = bytearray()
    while len(pieces) < size:
        piece = os.read(source, min(1 << 20, size - len(pieces)))
        if not piece:
            break
        pieces += piece
    return bytes(pieces)


if __name__ == "__main__":
    main()
