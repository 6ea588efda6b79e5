"""Signals at a real process: Ctrl-C, a polite kill, a closed terminal; each can be resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.conftest import Call
from servers.web import Raw, Request, WebServer

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PROGRAM = (sys.executable, "-m", "manusfs")


def _drip(_: Request) -> Raw:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>The tower was built in 1920."
    return Raw([head, *([0.2, b"."] * 8)])


def _wait_for(web: WebServer, path: str) -> None:
    while not web.asked(path):
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_finishes_writing_stops_and_can_be_resumed(
    filled: Call, tmp_path: Path, number: signal.Signals
) -> None:
    environment = {**os.environ, "MANUSFS_ROBOTS": "false"}
    with WebServer({"/slow": _drip}) as web:
        command = ("run", "When was the tower built?", "--model", "offline", "--source", web.url("/slow"))
        run = subprocess.Popen(
            [*PROGRAM, *command, "--allow-host", "127.0.0.1"],
            cwd=tmp_path / "ws",
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        _wait_for(web, "/slow")
        run.send_signal(number)
        err = run.communicate()[1]
        assert run.returncode == 130 and "Traceback" not in err
        assert err.count("stopped on request") == 1
    assert filled("verify").code == 0
    assert '"tool_use"' in filled("context", "--json").out
    assert filled("resume", "--max-turns", "1", "--json").code == 75


def test_a_signal_that_the_shell_ignores_stays_ignored(filled: Call, tmp_path: Path) -> None:
    """`nohup manusfs run …` goes on when the terminal is closed."""
    with WebServer({"/page": "<p>The tower was built in 1920 by Holm.", "/robots.txt": ""}) as web:
        run = subprocess.Popen(
            [*PROGRAM, "run", "When was the tower built?", "--source", web.url("/page"), "--allow-host", "127.0.0.1"],
            cwd=tmp_path / "ws",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
        _wait_for(web, "/page")
        run.send_signal(signal.SIGHUP)
        assert run.wait() == 0


def test_ctrl_c_while_the_program_is_loaded_leaves_no_traceback(tmp_path: Path) -> None:
    """The signal comes with the first import of the command line."""
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n", "utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    done = subprocess.run([*PROGRAM, "--help"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_run_goes_on_when_its_terminal_is_gone(filled: Call, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*PROGRAM, "run", "When did the Aldon Bridge open?", "--source", "../bridge.md", "--model", "offline"],
        cwd=tmp_path / "ws",
        stdout=subprocess.PIPE,
        stderr=writer,
    )
    os.close(writer)
    assert done.returncode == 0 and b"4 May 1998" in done.stdout
    closed = subprocess.run([*PROGRAM, "verify"], cwd=tmp_path / "ws", preexec_fn=lambda: os.close(2))
    assert closed.returncode == 0
