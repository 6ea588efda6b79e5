"""Signals that come while the calls of a turn run."""

from __future__ import annotations

import signal
import threading
import time

import pytest

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


@pytest.mark.timeout(60)
@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), RuntimeError("x")])
def test_what_a_call_raises_against_its_contract_ends_the_turn_and_hangs_nobody(error: BaseException) -> None:
    """Found by killing a run in the middle of a call: a thread that ends without a word was waited for without end."""

    def bad() -> int:
        raise error

    with pytest.raises(type(error)):
        run_all([lambda: 1, bad, lambda: 2], threads=2, stopped=lambda: False, skipped=0)
