"""Signals that come while the calls of a turn run."""

from __future__ import annotations

import signal
import threading
import time

from manusfs.agent.interrupt import Interrupt
from manusfs.agent.pool import run_all


def test_a_signal_that_comes_as_a_wait_runs_out_still_stops_the_turn() -> None:
    """`queue.SimpleQueue.get(timeout)` waits for ever once a handler has outlived its timeout (CPython 3.11)."""
    stop, release = Interrupt(), threading.Event()

    def handler(*_: object) -> None:
        time.sleep(0.4)
        stop.press()

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        done = run_all(
            [lambda: release.wait(15)], threads=1, stopped=stop.is_set, skipped="not waited for", grace_s=0.4
        )
    finally:
        signal.signal(signal.SIGALRM, before)
        release.set()
    assert done == ["not waited for"]
