"""Several processes in one workspace: nothing is lost, one session has one writer, and the dead hold nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from cli.conftest import Call

from manusfs.memory import Workspace
from manusfs.records import Fetched, Source

PROCESSES = 8
EACH = 12
_ADD = """
    import sys
    from manusfs.memory import Workspace

    number = int(sys.argv[2])
    with Workspace.open(sys.argv[1]) as workspace:
        print("ready", flush=True)
        sys.stdin.readline()
        for at in range({each}):
            own = workspace.add_bytes(f"text {{number}} {{at}} ".encode() * 300, f"own {{number}} {{at}}")
            same = workspace.add_bytes(f"text of all {{at}} ".encode() * 300, f"shared {{at}}")
            note = workspace.note(f"{{number}} {{at}}: {{own.ref}} {{same.ref}}", f"note {{number}} {{at}}")
            print(own.ref, same.ref, note, flush=True)
"""
_HOLD = """
    import sys
    from manusfs.session import Transcript
    from manusfs.workspace import Folder

    held = Transcript.open(Folder.open(sys.argv[1]), sys.argv[2], write=True)
    print("ready", flush=True)
    sys.stdin.readline()
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_eight_processes_that_add_to_one_workspace_lose_nothing(tmp_path: Path) -> None:
    """Promise 5: own texts, the same texts at the same moment, notes; each order is given once."""
    Workspace.create(tmp_path / "w").close()
    code = _ADD.format(each=EACH)
    processes = [start(code, tmp_path / "w", number) for number in range(PROCESSES)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    told = [line for process in processes for line in process.communicate("go\n", timeout=120)[0].splitlines()]
    assert [process.returncode for process in processes] == [0] * PROCESSES
    assert len(told) == PROCESSES * EACH
    with Workspace.open(tmp_path / "w") as workspace:
        report = workspace.verify()
        assert report.ok and report.orphans == ()
        assert len(list(workspace.observations.ids())) == PROCESSES * EACH + EACH
        for line in told:
            own, same, note = line.split(" ", 2)
            assert len(workspace.read(own).data) > 2_000 and workspace.read(same).data.startswith(b"text of all")
            assert own in (tmp_path / "w" / note).read_text()
        orders = [
            event.data["order"]
            for info in (tmp_path / "w/sessions").iterdir()
            for event in _events(workspace, info.name)
            if event.kind == "observation"
        ]
        assert len(orders) == len(set(orders)) == 2 * PROCESSES * EACH
        assert len(workspace.search("text")) == 10 and len(workspace.ls()) == PROCESSES * EACH + EACH


def _events(workspace: Workspace, session: str) -> tuple[object, ...]:
    from manusfs.session import Transcript

    with Transcript.open(workspace.folder, session) as transcript:
        return transcript.events


@pytest.fixture
def ran(filled: Call) -> Call:
    assert filled("run", "When did the Aldon Bridge open?", "--model", "offline").code in (0, 3)
    return filled


def test_a_second_process_on_a_session_is_refused_and_a_dead_one_holds_nothing(ran: Call, tmp_path: Path) -> None:
    """Promise 5: exit 75 and what to do; after kill -9 of the holder the session goes on."""
    session = next(path.name for path in (tmp_path / "ws/sessions").iterdir() if _is_run(tmp_path, path.name))
    holder = start(_HOLD, tmp_path / "ws", session)
    assert holder.stdout is not None and holder.stdout.readline() == "ready\n"
    refused = ran("resume", session, "And the toll?", "--model", "offline")
    assert refused.code == 75 and "another process" in refused.err and "Try:" in refused.err
    for command in (["gc", "--yes"], ["verify", "--repair"]):
        assert ran(*command).code in (0, 75), command
    assert ran("verify", "--repair").code == 75, "nobody repairs under a run"
    assert ran("show", session).code == 0, "looking needs no lock"
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert ran("resume", session, "And the toll?", "--model", "offline").code in (0, 3)
    assert ran("verify", "--repair").code == 0


def _is_run(tmp_path: Path, session: str) -> bool:
    return '"purpose":"run"' in (tmp_path / "ws/sessions" / session / "transcript.jsonl").read_text()


def test_two_agents_share_a_workspace_and_see_what_the_other_brought(tmp_path: Path) -> None:
    """Promise 5: what one stored a moment ago the other finds, and stores only once."""
    with Workspace.create(tmp_path / "w") as one, Workspace.open(tmp_path / "w") as two:
        body = Fetched(Source.web("https://example.org/a"), b"the bridge of one " * 50, "text/plain")
        (first,) = one.intake.take([body], "20261130-aaaa", [""])
        one.intake.index(first)
        one.index.flush()
        assert two.search("bridge")[0].ref.startswith(f"obs:{first.meta.id}")
        (second,) = two.intake.take([body], "20261130-bbbb", [""])
        assert second.status == "known" and second.meta.id == first.meta.id and second.order > first.order
