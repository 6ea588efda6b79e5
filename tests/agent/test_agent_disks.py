"""Whole runs on disks that fail, die and lose power: every write point of the product is among those that are tried."""

from __future__ import annotations

import ast
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_stage import PAGES, Pages, PlainExtractor, assert_sound, fetches, page, results
from disks.faulty import ERRORS, KILLS, FaultyDisk, Killed
from disks.powerless import RecordingDisk, build, crash_states

from manusfs.agent import Agent
from manusfs.errors import ManusfsError
from manusfs.memory import Doors, Workspace, garbage
from manusfs.messages import Request
from manusfs.models import ScriptedModel, call
from manusfs.records import Fetched, Source
from manusfs.session import Transcript, sessions
from manusfs.workspace import FileSystem
from manusfs.workspace.settings import Settings

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
PACKAGE = Path(__file__).parents[2] / "manusfs"
TEXTS = {f"{PAGES}{name}": page(name, 12) for name in "abc"}
SETTINGS = Settings(summary_tokens=0)
OPERATIONS = frozenset("mkdir create append write sync sync_all sync_dir close rename truncate unlink rmdir".split())
ELSEWHERE = {
    ("workspace/folder.py", "_sync_name"): "the folder above the workspace, at its making",
    ("workspace/paths.py", "_drop"): "after an error alone: the leftover is cleaned by the next process",
    ("session/transcript.py", "_take_back"): "after an error alone: tests/store/test_store_crash.py",
}
"""Write points that a run without faults does not pass, and where they are tried."""


def open_workspace(path: Path, fs: FileSystem | None = None) -> Workspace:
    doors = Doors(extractor=PlainExtractor(), fetcher=Pages(TEXTS), network=False)  # type: ignore[arg-type]
    return Workspace.open(path, SETTINGS, doors=doors, fs=fs)


def script(request: Request) -> Any:
    """Answer from the request alone, so that it can be asked again after every fault."""
    shown = results(request)
    if sum("All about" in text for text in shown) < 2:
        return fetches([f"{PAGES}a", f"{PAGES}b"])
    if not any(text.startswith(("Wrote", "Replaced")) for text in shown):
        write = call("write", path="notes/findings/n.md", content="A note.\n")
        return [write, call("todo", items=["[x] fetch", "answer"]), *fetches([f"{PAGES}a", f"{PAGES}c"])]
    return "The answer."


def prepare(path: Path) -> None:
    """Make a workspace in which something of everything is waiting to be repaired, cleaned and freed."""
    with Workspace.create(path, SETTINGS, doors=Doors(extractor=PlainExtractor())) as made:
        kept = made.add_bytes(b"kept " * 500, "kept").ref
        made.note(f"see {kept}", "kept")
        body = Fetched(Source.user("nobody"), b"nobody refers to this " * 100, "text/plain")
        made.intake.take([body], "20261130-aaaa", [""])
        Agent(made, ScriptedModel(["Begun."]), SETTINGS).run("Begin.")
    lost = path / "observations/user/x-0123456789ab"
    lost.mkdir()
    (lost / "meta.json").write_text("no description of anything")
    left = path / ".manusfs/tmp/99999-dead"
    (left / "1-abc").mkdir(parents=True)
    (left / "1-abc/text.md").write_text("half")
    (left / "2-file").write_text("half")
    (path / ".manusfs/cache").mkdir(exist_ok=True)
    (path / ".manusfs/cache/cache.db").write_bytes(b"cached")
    (path / ".manusfs/index.db").write_bytes(b"no index")
    with max(path.glob("sessions/*/transcript.jsonl")).open("ab") as transcript:
        transcript.write(b'{"seq":9,"time":"half a li')


def work(path: Path, fs: FileSystem, seen: Callable[[str], None]) -> None:
    """Resume, run, repair and free, telling every text that reached the model."""

    def watched(request: Request) -> Any:
        for text in _texts(request):
            seen(text)
        return script(request)

    with open_workspace(path, fs) as workspace:
        runs = [info.session for info in sessions(workspace.folder) if info.purpose == "run"]
        agent = Agent(workspace, ScriptedModel(watched), SETTINGS)
        agent.resume(runs[0], "Go on.") if runs else agent.run("Begin.")
        workspace.add_bytes(b"given by hand", "paste")
        if runs:
            Transcript.child(workspace.folder, f"{runs[0]}.1", runs[0], "a part").close()
        workspace.verify(repair=True)
        garbage.free(workspace.folder, workspace.observations, garbage.find(workspace.folder, workspace.observations))


def _texts(request: Request) -> list[str]:
    from _soak_agent import texts_of

    return texts_of(request.to_json()["messages"])


def problems(path: Path, seen: list[str]) -> list[str]:
    """Return what is wrong: by a checker that shares no code with the store, by verify, and by going on."""
    from _soak_check import Checker

    checker = Checker(lambda url: TEXTS[url].encode())
    for text in seen:
        checker.take(text)
    found = checker.problems(path)
    with open_workspace(path) as workspace:
        repaired = workspace.verify(repair=True)
        found += [*repaired.damaged, *repaired.lost, *repaired.lost_for_good]
        model = ScriptedModel(script)
        agent = Agent(workspace, model, SETTINGS)
        runs = [info.session for info in sessions(workspace.folder) if info.purpose == "run"]
        try:
            answer = (agent.resume(runs[0], "And now?") if runs else agent.run("Begin.")).answer
        except ManusfsError as error:
            return [*found, f"it can't go on: {error!r}"]
        assert_sound(model.requests)
        found += [] if answer == "The answer." else [f"it answered {answer!r}"]
        found += [*workspace.verify().damaged, *workspace.verify().lost]
    return [*found, *checker.problems(path)]


class Points(FaultyDisk):
    """Notes from which function of the product each operation came."""

    def __init__(self, at: int = 0, mode: str = "") -> None:
        super().__init__(at, mode)
        self.points: set[tuple[str, str]] = set()

    def _point(self, name: str, act: Any, half: Any = None) -> Any:
        self._note()
        return super()._point(name, act, half)

    def close(self, fd: int) -> None:
        """Close, and note who asked."""
        self._note()
        super().close(fd)

    def _note(self) -> None:
        frame: Any = sys._getframe()
        while frame is not None:
            file = Path(frame.f_code.co_filename)
            if file.is_relative_to(PACKAGE) and file.name != "fs.py":
                self.points.add((file.relative_to(PACKAGE).as_posix(), frame.f_code.co_name))
                return
            frame = frame.f_back


def write_points() -> set[tuple[str, str]]:
    """Return each function of the product that calls an operation of the seam, from its source."""
    found = set()
    for file in PACKAGE.rglob("*.py"):
        for function in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and _is_operation(node.func):
                        found.add((file.relative_to(PACKAGE).as_posix(), function.name))
    return found - {point for point in found if point[0] == "workspace/fs.py"}


def _is_operation(node: ast.expr) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr not in OPERATIONS:
        return False
    owner = node.value
    return (isinstance(owner, ast.Attribute) and owner.attr in ("fs", "_fs")) or (
        isinstance(owner, ast.Name) and owner.id == "fs"
    )


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("disks") / "start"
    prepare(path)
    return path


def test_every_write_point_of_the_product_is_among_those_that_are_tried(start: Path, tmp_path: Path) -> None:
    """Promise 1: a new call of the seam that no workload passes fails here: add it to `work`, or say where it is."""
    shutil.copytree(start, tmp_path / "w")
    disk = Points()
    work(tmp_path / "w", disk, lambda text: None)
    assert write_points() - disk.points == set(ELSEWHERE)
    assert set(ELSEWHERE) <= write_points(), "a point that is no more"
    assert OPERATIONS - {"sync_all", "close"} <= set(disk.names)


def test_nothing_writes_past_the_seam() -> None:
    """Promise 1: else a fault could come where no test puts one. What lies outside a workspace is not meant."""
    allowed = {
        "workspace/fs.py",  # the seam itself
        "workspace/folder.py",  # the workspace's own folder
        "workspace/trust.py",  # the user's configuration, as the next two
        "cli/app.py",
        "cli/demo_cmd.py",
        "fetch/cache.py",  # may vanish
        "cli/replay_cmd.py",  # a table and a picture where the user says
    }
    writes = {"write_text", "write_bytes", "mkdir", "unlink", "rename", "rmdir", "replace", "touch", "rmtree", "move"}
    found = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not _is_operation(node.func):
                owner = node.func.value
                named = isinstance(owner, ast.Name) and owner.id in ("os", "shutil", "Path", "path", "file", "folder")
                if (node.func.attr in writes and named) or node.func.attr in ("write_text", "write_bytes"):
                    found.add(file.relative_to(PACKAGE).as_posix())
    assert found <= allowed, found - allowed


@pytest.mark.slow
@pytest.mark.parametrize("mode", [*KILLS, *ERRORS])
def test_a_fault_at_any_operation_of_a_run_loses_nothing(start: Path, tmp_path: Path, mode: str) -> None:
    """I1, promises 1 and 3: before, after and half-way; then all that reached the model is there, and it goes on."""
    whole = FaultyDisk()
    shutil.copytree(start, tmp_path / "w")
    work(tmp_path / "w", whole, lambda text: None)
    failures = {}
    # Every point in one of the kills; the errors take turns.
    step, first = (1, 1) if mode in KILLS else (len(ERRORS), 1 + ERRORS.index(mode))
    for at in range(first, whole.count + 1, step):
        shutil.rmtree(tmp_path / "w")
        shutil.copytree(start, tmp_path / "w")
        seen: list[str] = []
        disk = FaultyDisk(at, mode)
        try:
            work(tmp_path / "w", disk, seen.append)
        except (Killed, ManusfsError):
            pass
        if found := problems(tmp_path / "w", seen):
            failures[at, whole.names[at - 1]] = found
    assert not failures


@pytest.mark.slow
def test_a_power_cut_at_any_operation_of_a_run_loses_nothing(tmp_path: Path) -> None:
    """I1, promise 2: at least 500 states; every one is checked, every eighth is also verified and resumed."""
    path, left = tmp_path / "w", tmp_path / "left"
    path.mkdir()
    (path / "manusfs.toml").write_text("format = 1\n")
    disk = RecordingDisk(path)
    work(path, disk, disk.ack)
    from _soak_check import Checker

    states = 0
    for states, (state, acked) in enumerate(crash_states(disk.ops, seed=3), 1):
        shutil.rmtree(left, ignore_errors=True)
        build(state, left)
        (left / "manusfs.toml").write_text("format = 1\n")
        if states % 8 == 0:
            assert not problems(left, acked), states
            continue
        checker = Checker(lambda url: TEXTS[url].encode())
        for text in acked:
            checker.take(text)
        assert not checker.problems(left), states
    assert states >= 500


def test_a_folder_that_can_not_be_written_can_be_read_and_says_why_it_can_not_be_written(tmp_path: Path) -> None:
    """Promise 3: a read-only file system, by the real mode bits where they count."""
    prepare(tmp_path / "w")
    with open_workspace(tmp_path / "w") as workspace:
        workspace.verify(repair=True)
    for folder, _, files in os.walk(tmp_path / "w"):
        for name in files:
            (Path(folder) / name).chmod(0o400)
        Path(folder).chmod(0o500)
    try:
        with open_workspace(tmp_path / "w", FaultyDisk(1, "EROFS", lasting=True)) as workspace:
            assert workspace.verify().ok and workspace.search("kept")
            with pytest.raises(ManusfsError, match=r"read-only|permission|can't"):
                Agent(workspace, ScriptedModel(["x"]), SETTINGS).run("Go.")
    finally:
        for folder, _, _ in os.walk(tmp_path / "w"):
            Path(folder).chmod(0o700)
