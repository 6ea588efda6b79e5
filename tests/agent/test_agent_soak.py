"""Random kills of a working agent, failing disks and damage; the long form is benchmarks/soak.py by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))
URL = "https://example.org/1"
TEXT = b"The plant opened in 1987.\n"


@pytest.mark.slow
def test_forty_random_kills_lose_nothing(tmp_path: Path) -> None:
    """I1, promise 1: kill -9 at any moment, three failing operations in a row, damage; then everything is there."""
    out = tmp_path / "tally.json"
    short = ["--json", str(out), "--fork", "--plain", "--requests", "4", "--start-s", "0.1", "--minutes", "4"]
    command = [sys.executable, str(BENCHMARKS / "soak.py"), "--kills", "40", *short]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    tally = json.loads(out.read_text())
    assert tally["kills"] >= 40 and tally["breaches"] == []
    assert tally["checks"] > 400 and tally["requests"] > 40 and tally["damages"]


def _seen(folder: Path, **changed: str) -> Any:
    """Return a checker that saw one stub and one read of an observation that is stored in `folder`."""
    from _soak_check import Checker

    from manusfs.memory import Workspace

    with Workspace.create(folder) as workspace:
        id = workspace.add_bytes(TEXT, "paste").ref.removeprefix("obs:")
        meta = workspace.observations.meta(id)
        path = workspace.observations.path(id)
    named = {"kind": "user", "path": path, "bytes": str(len(TEXT)), "sha256": meta.raw_sha256[:8], **changed}
    attributes = " ".join(f'{name}="{value}"' for name, value in named.items())
    checker = Checker(lambda url: TEXT)
    checker.take(f'<observation ref="obs:{id}" {attributes}>\ntext 0-{len(TEXT)}:\n{TEXT.decode()}\n</observation>')
    checker.take(f'<read ref="obs:{id}" view="text" start="4" end="9" total="26" next="9">\nplant\n</read>')
    return checker


def test_the_checker_finds_all_in_order(tmp_path: Path) -> None:
    checker = _seen(tmp_path / "w")
    assert checker.problems(tmp_path / "w") == [] and checker.broken_lines(tmp_path / "w") == 0
    assert len(checker.pieces) == 2 and checker.checks == 3


@pytest.mark.parametrize("harm", ["flip", "gone", "hash", "line", "size", "ref"])
def test_the_checker_notices_each_kind_of_loss(tmp_path: Path, harm: str) -> None:
    """The harness itself: a checker that lets one of these pass proves nothing."""
    folder = tmp_path / "w"
    checker = _seen(folder, **{"hash": {"sha256": "00000000"}, "size": {"bytes": "9"}}.get(harm, {}))
    body = next(folder.glob("observations/user/*/text.md"))
    (transcript,) = folder.glob("sessions/*/transcript.jsonl")
    if harm == "flip":
        body.write_bytes(TEXT.replace(b"1987", b"1978"))
    elif harm == "gone":
        body.unlink()
    elif harm == "line":
        transcript.write_bytes(transcript.read_bytes().splitlines(keepends=True)[0])
    elif harm == "ref":
        checker.take("see obs:0123456789ab")
    assert checker.problems(folder)


def test_the_checker_counts_lines_that_prove_nothing(tmp_path: Path) -> None:
    checker = _seen(tmp_path / "w")
    (transcript,) = tmp_path.glob("w/sessions/*/transcript.jsonl")
    lines = transcript.read_bytes().splitlines(keepends=True)
    transcript.write_bytes(b"".join([lines[0], b"half a line", b"\n", *lines[1:]]))
    assert checker.broken_lines(tmp_path / "w") == 1
    transcript.write_bytes(b"".join([*lines, lines[0]]))
    with pytest.raises(ValueError, match="after line"):
        checker.broken_lines(tmp_path / "w")
