"""Ctrl-C while somebody else is slow: each command stops at once, keeps what came, and says so."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.conftest import Call
from servers.web import Request, WebServer

PATIENCE_S = 60
"""Far less than the servers and the settings here would let a command wait."""
QUICK = "<p>The tower was built in 1920 by Holm, who never saw it finished."


@pytest.fixture
def web() -> Iterator[WebServer]:
    """A server that answers /quick, and nothing else before the test is over."""
    over = threading.Event()

    def never(_: Request) -> str:
        over.wait(300)
        return ""

    with WebServer({"/quick": QUICK, "/robots.txt": "", "*": never}) as server:
        yield server
        over.set()


def _stopped(web: WebServer, path: str, where: Path, *arguments: str) -> tuple[int, str, str]:
    """Call manusfs, press Ctrl-C when `path` was asked for, and return exit code, stdout and stderr."""
    environment = {**os.environ, "MANUSFS_FETCH_TIMEOUT_S": "600", "ANTHROPIC_API_KEY": "none-that-counts"}
    command = [sys.executable, "-m", "manusfs", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=where, env=environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        while not web.asked(path) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    return process.returncode, out, err


def test_a_stop_of_add_keeps_what_came_and_says_what_is_left(filled: Call, tmp_path: Path, web: WebServer) -> None:
    """I9: nothing is half-done, and the numbers are told."""
    sources = (web.url("/never"), web.url("/quick"), "../none.md")
    code, out, err = _stopped(web, "/never", tmp_path / "ws", "add", "--allow-host", "127.0.0.1", *sources)
    assert code == 130 and "Traceback" not in err
    if "/quick" in out:  # it came before the key was pressed
        assert "stopped on request: 1 of 3 sources stored, 1 failed, 1 left out" in err
    assert filled("verify").code == 0
    assert len(filled("ls", "--json").records) == 1 + out.count("/quick")


def test_a_stop_of_add_before_anything_came_leaves_no_session(filled: Call, tmp_path: Path, web: WebServer) -> None:
    before = filled("ls", "sessions", "--json").out
    code, out, err = _stopped(web, "/never", tmp_path / "ws", "add", "--allow-host", "127.0.0.1", web.url("/never"))
    assert (code, out) == (130, "") and "stopped on request: 0 of 1 source stored, 1 left out" in err
    assert filled("ls", "sessions", "--json").out == before


@pytest.mark.slow
def test_a_run_stops_while_its_model_is_silent(filled: Call, tmp_path: Path, web: WebServer) -> None:
    """A model may think for minutes before its first word; what it would say is not kept, so nobody waits for it."""
    model = ("--model", "some", "--base-url", web.url(""))
    code, _, err = _stopped(web, "/v1/messages", tmp_path / "ws", "run", "When was it built?", *model)
    assert code == 130 and "Traceback" not in err and err.count("stopped on request") == 1
    web.requests.clear()
    code, _, err = _stopped(web, "/v1/messages", tmp_path / "ws", "resume", *model)
    assert code == 130 and err.count("stopped on request") == 1
    assert filled("resume", "--model", "offline").code in (0, 3)


def test_a_run_does_not_wait_for_a_page_that_never_comes(filled: Call, tmp_path: Path, web: WebServer) -> None:
    given = ("--model", "offline", "--allow-host", "127.0.0.1", "--source", web.url("/never"))
    code, _, err = _stopped(web, "/never", tmp_path / "ws", "run", "When was it built?", *given)
    assert code == 130 and err.count("stopped on request") == 1
    assert filled("verify").code == 0


@pytest.mark.slow
def test_read_and_doctor_stop_while_a_server_is_silent(filled: Call, tmp_path: Path, web: WebServer) -> None:
    assert filled("add", web.url("/quick"), "--allow-host", "127.0.0.1").code == 0
    stored = filled("ls", "--json").records[-1]
    del web.pages["/quick"]
    web.requests.clear()
    for place in (tmp_path / "ws" / stored["path"], tmp_path / "ws" / ".manusfs"):
        for file in [*place.glob("raw*"), *place.glob("text*"), *place.glob("full*"), *place.glob("cache")]:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    Path("manusfs.toml").write_text('format = 1\nallow_hosts = ["127.0.0.1"]\n', "utf-8")
    assert filled("trust", "--yes").code == 0
    code, out, err = _stopped(web, "/quick", tmp_path / "ws", "read", stored["ref"])
    assert (code, out) == (130, "") and "nothing is half-done" in err and "resume" not in err
    Path("manusfs.toml").write_text(f'format = 1\nmodel = "some"\nbase_url = "{web.url("")}"\n', "utf-8")
    assert filled("trust", "--yes").code == 0
    code, _, err = _stopped(web, "/v1/models/some", tmp_path / "ws", "doctor")
    assert code == 130 and "nothing is half-done" in err
