"""The parent's side of extraction: a small pool of warm child processes, deadlines, and no zombies."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

from manusfs.extract.collect import Collector
from manusfs.extract.frames import HEAD, Frame, extracted_from, job_head, pack, unpack_head
from manusfs.extract.job import Job, Page

__all__ = ["DIED", "Child", "Pool"]

DIED = "extraction stopped: the child was ended by signal"
"""So begins what is told of a child that a library crashed."""

_CLOSED = "extraction stopped: nobody waits for it any more"
_JOBS_PER_CHILD = 500
"""A child is replaced after this many jobs, so that what a library leaks stays bounded."""
_START_S = 60.0
"""A new child may take this long to import its libraries; a loaded machine is slow at that."""
_BOOT = (
    "import sys; here, *rest = sys.argv[1:]; sys.path.insert(0, here); from manusfs.extract.worker import main; "
    "del sys.path[0]; sys.path += [entry for entry in rest if entry not in sys.path]; main()"
)
"""Takes this very package, whatever else is installed, and after that what the parent can import, in its order."""


class _Stopped(Exception):
    """The child is of no further use; the message says why."""


class Child:
    """One child process, used by one thread at a time."""

    def __init__(self) -> None:
        # its own process group: Ctrl-C in the terminal is for the agent, which then lets the running job end
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-X", "utf8", "-c", _BOOT, *_import_path()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            close_fds=True,
            cwd="/",
            # a fixed hash seed: the same bytes give the same text in every child
            env={"LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "PATH": os.defpath},
            process_group=0,
        )
        pipes = [pipe.fileno() for pipe in (self._process.stdin, self._process.stdout) if pipe is not None]
        self._to, self._from = pipes
        os.set_blocking(self._to, False)
        self._buffer = bytearray()
        self.jobs = 0

    def run(self, job: Job, extractor: str, collector: Collector) -> str:
        """Give `job` to the child and what it yields to `collector`; return what went wrong, or an empty text.

        After a text that is not empty the child is of no further use.
        """
        self.jobs += 1
        try:
            head = pack(b"J", job_head(job, extractor), job.raw)
            self._write(head, time.monotonic() + _START_S)
            self._write(job.raw, time.monotonic() + _START_S)
            return self._collect(job, collector)
        except _Stopped as stopped:
            return str(stopped)

    def _collect(self, job: Job, collector: Collector) -> str:
        deadline = time.monotonic() + _START_S
        while True:
            kind, data, body = self._frame(deadline)
            if kind == b"R":
                deadline = time.monotonic() + job.limits.seconds
            elif kind == b"P":
                collector.add(Page(body.decode("utf-8", "replace"), data["label"]))
                if collector.full:
                    return "stopped: the text is larger than is taken"
            elif kind == b"E":
                collector.add(extracted_from(data, body.decode("utf-8", "replace")))
            elif kind == b"F":
                collector.add_full_view(body.decode("utf-8", "replace"))
            elif kind == b"X":
                return f"extraction stopped: {data['error']}"
            elif kind == b"D":
                return ""

    def _frame(self, deadline: float) -> Frame:
        kind, json_bytes, body_bytes = unpack_head(self._read(HEAD.size, deadline))
        head = self._read(json_bytes, deadline)
        return kind, json.loads(head), self._read(body_bytes, deadline)

    def _read(self, size: int, deadline: float) -> bytes:
        while len(self._buffer) < size:
            self._wait(self._from, select.POLLIN, deadline)
            piece = os.read(self._from, 1 << 20)
            if not piece:
                raise _Stopped(self._death())
            self._buffer += piece
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _write(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._to, select.POLLOUT, deadline)
            try:
                view = view[os.write(self._to, view[: 1 << 20]) :]
            except BlockingIOError:
                continue
            except OSError:
                raise _Stopped(self._death()) from None

    def _wait(self, fd: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(fd, event)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise _Stopped("extraction stopped: time limit")

    def _death(self) -> str:
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "extraction stopped: the child closed its pipe"
        if code == -signal.SIGXCPU:
            return "extraction stopped: time limit"
        if code < 0:
            return f"{DIED} {-code}"
        return f"extraction stopped: the child ended with code {code}"

    def kill(self) -> None:
        """End the child at once and reap it."""
        process = self._process
        if process.poll() is None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except OSError:
                process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()


def _import_path() -> list[str]:
    """Return what the child needs to import what we can: our own place first, then ours of the rest."""
    here = str(Path(__file__).resolve().parent.parent.parent)
    return [here, *(entry for entry in sys.path if entry and os.path.isabs(entry))]  # noqa: PTH117


class Pool:
    """At most `size` children, started when wanted, kept warm, ended with the pool or the interpreter."""

    def __init__(self, size: int = 2) -> None:
        self._slots = threading.BoundedSemaphore(size)
        self._idle: list[Child] = []
        self._alive: set[Child] = set()
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._closed = False
        self._finalizer = weakref.finalize(self, _end_all, self._alive, self._owner)

    def run(self, job: Job, extractor: str, collector: Collector) -> str:
        """Run `job` in a child; return what went wrong, or an empty text."""
        with self._slots:
            if self._closed:
                return _CLOSED
            try:
                child = self._take()
            except OSError as error:
                return f"extraction stopped: no child process could be started: {error}"
            trouble = "interrupted"
            try:
                trouble = child.run(job, extractor, collector)
            finally:
                self._give_back(child, usable=not trouble)
            return _CLOSED if self._closed and trouble else trouble

    def close(self) -> None:
        """End all children; jobs that run, wait or come get no text."""
        with self._lock:
            self._closed = True
            self._idle.clear()
            _end_all(self._alive, self._owner)

    def _take(self) -> Child:
        with self._lock:
            if self._owner != os.getpid():
                # a fork took copies of the pipes along; two writers on one pipe would mix their frames
                self._idle.clear()
                self._alive.clear()
                self._owner = os.getpid()
            if self._idle:
                return self._idle.pop()
            child = Child()
            self._alive.add(child)
            return child

    def _give_back(self, child: Child, *, usable: bool) -> None:
        with self._lock:
            if usable and child.jobs < _JOBS_PER_CHILD and child in self._alive:
                self._idle.append(child)
                return
            self._alive.discard(child)
        child.kill()


def _end_all(children: set[Child], owner: int) -> None:
    while owner == os.getpid() and children:
        children.pop().kill()
