"""Runs the calls of one turn side by side."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

__all__ = ["run_all"]

T = TypeVar("T")
_TICK_S = 0.2
_BRIEF_S = 0.8


def run_all(
    jobs: Sequence[Callable[[], T]],
    *,
    threads: int,
    stopped: Callable[[], bool],
    skipped: T,
    grace_s: float = 5.0,
    brief: Collection[int] = (),
) -> list[T]:
    """Return what each of `jobs` returns, in their order; jobs must not raise, and what one raises ends the turn.

    Once `stopped` says so, no further job begins, and those that run are waited for at most `grace_s` seconds, where
    only jobs in `brief` are left for less than one; what did not finish is `skipped`. Threads are daemons: one that
    hangs does not keep the process.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(jobs)):
        waiting.put(index)
    # No SimpleQueue: its `get` never ends when a signal comes as its time runs out (CPython 3.11, measured).
    done: queue.Queue[tuple[int, T] | BaseException | None] = queue.Queue()

    begun: set[int] = set()

    def work() -> None:
        try:
            while not stopped():
                try:
                    index = waiting.get_nowait()
                except queue.Empty:
                    break
                begun.add(index)
                done.put((index, jobs[index]()))
        except BaseException as error:  # noqa: BLE001 (a thread that just ended would be waited for without end)
            done.put(error)
        done.put(None)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, len(jobs)))]
    for worker in workers:
        worker.start()

    def brief_only(missing: Collection[int]) -> bool:
        return all(index in brief for index in missing if index in begun)

    return _collected(len(jobs), len(workers), done, stopped, skipped, grace_s, brief_only)


def _collected(
    count: int,
    running: int,
    done: queue.Queue[tuple[int, T] | BaseException | None],
    stopped: Callable[[], bool],
    skipped: T,
    grace_s: float,
    brief_only: Callable[[Collection[int]], bool],
) -> list[T]:
    results = [skipped] * count
    left_s, missing = grace_s, set(range(count))
    while running and left_s > 0 and not (left_s <= grace_s - _BRIEF_S and brief_only(missing)):
        try:
            item = done.get(timeout=_TICK_S)
        except queue.Empty:
            left_s -= _TICK_S if stopped() else 0.0
            continue
        if isinstance(item, BaseException):
            raise item
        if item is None:
            running -= 1
        else:
            results[item[0]] = item[1]
            missing.discard(item[0])
    return results
