"""What it costs to keep a text: 1,000 of 50 KB made durable and searchable, against a bare loop of the same writes.

    python benchmarks/intake.py --json intake.json
    python benchmarks/intake.py --language chinese

All sides take turns, a block of texts each, in one process; the memory is that of a process of its own. The bare loop
commits the rows of each text with it. A second one commits those of 50 texts together, as the index does until somebody
asks: then no text can be found before its block is done. What durability costs is told by a workspace whose file system
never waits for the disk.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from _measure import Goal, parser, report, run, tree_bytes, values

BLOCK = 50
"""Texts of one turn; at its end both sides write what their index owes."""


def take(workspace: Any, transcript: Any, sources: Sequence[Any], raws: Sequence[bytes]) -> None:
    """Store a group as the agent does: commit, transcript line, then the rows of the index."""
    from manusfs.records import Fetched

    calls = [f"toolu_{at}" for at in range(len(raws))]
    bodies = [Fetched(source, raw, name="text.txt") for source, raw in zip(sources, raws, strict=True)]
    taken = workspace.intake.take(bodies, transcript.session, calls)
    transcript.append([workspace.intake.event(one, call) for one, call in zip(taken, calls, strict=True)])
    workspace.intake.index(taken)


def timed(job: Callable[[], None]) -> tuple[float, float]:
    """Return the CPU and the wall seconds of `job`."""
    cpu, wall = time.process_time(), time.perf_counter()
    job()
    return time.process_time() - cpu, time.perf_counter() - wall


def unsynced() -> Any:
    """Return a file system that never waits for the disk."""
    from manusfs.workspace import FileSystem

    class Unsynced(FileSystem):
        def sync_all(self, files: Sequence[int], folders: Sequence[int] = ()) -> None:
            """Wait for nothing."""

        def sync(self, fd: int) -> None:
            """Wait for nothing."""

        def sync_dir(self, dirfd: int) -> None:
            """Wait for nothing."""

    return Unsynced()


class Ours:
    """A workspace that takes texts in groups."""

    def __init__(self, base: Path, group: int, fs: Any = None) -> None:
        from manusfs.memory import Workspace
        from manusfs.session import Transcript

        self.workspace = Workspace.create(base, fs=fs)
        self.transcript = Transcript.create(self.workspace.folder)
        self._group = group
        self.cpu: list[float] = []
        self.wall: list[float] = []

    def block(self, sources: Sequence[Any], raws: Sequence[bytes]) -> None:
        """Take a block and make it searchable."""

        def job() -> None:
            for at in range(0, len(raws), self._group):
                to = at + self._group
                take(self.workspace, self.transcript, sources[at:to], raws[at:to])
            self.workspace.index.flush()

        cpu, wall = timed(job)
        self.cpu.append(cpu)
        self.wall.append(wall)


def texts(language: str, count: int, seed: int) -> Any:
    """Yield source and bytes of each text."""
    import _texts

    from manusfs.records import Source

    for number, text in enumerate(getattr(_texts, language)(count, seed)):
        yield Source.web(f"https://site{number % 20}.example/pages/{number}.txt"), text.encode()


def blocks(language: str, count: int, seed: int) -> Any:
    """Yield the texts in blocks."""
    sources, raws = [], []
    for source, raw in texts(language, count, seed):
        sources.append(source)
        raws.append(raw)
        if len(raws) == BLOCK:
            yield sources, raws
            sources, raws = [], []
    if raws:
        yield sources, raws


def compared(base: Path, language: str, count: int, seed: int) -> dict[str, Any]:
    """Return the seconds of each block: ours one at a time, ours 8 at a time, and the bare loop."""
    from _bare import Bare, prepare

    single, eight, loose = Ours(base / "single", 1), Ours(base / "eight", 8), Ours(base / "loose", 8, unsynced())
    loose.workspace.index.select("PRAGMA synchronous = OFF")
    loops = {"bare": Bare(base / "bare"), "bulk": Bare(base / "bulk", bulk=True)}
    found: dict[str, Any] = {name: {"cpu_s": [], "wall_s": []} for name in loops}
    size = number = 0
    for sources, raws in blocks(language, count, seed):
        prepared = [
            prepare(source, raw, number + at) for at, (source, raw) in enumerate(zip(sources, raws, strict=True))
        ]
        number += len(raws)
        size += sum(map(len, raws))
        # What is prepared here is no work of ours to collect.
        gc.collect()
        gc.freeze()
        for name, loop in loops.items():
            cpu, wall = timed(lambda loop=loop, group=prepared: loop.block(group))
            found[name]["cpu_s"].append(cpu)
            found[name]["wall_s"].append(wall)
        single.block(sources, raws)
        eight.block(sources, raws)
        loose.block(sources, raws)
    last = raws[-1].decode()
    query = last.split()[-3].strip(".,").lower() if language == "english" else last.splitlines()[-1][3:7]
    hits = len(single.workspace.search(query))
    single.workspace.index.select("PRAGMA wal_checkpoint(TRUNCATE)")
    root = base / "single"
    return {
        "text_bytes": size,
        "tree_bytes": tree_bytes(root / "observations"),
        "index_bytes": (root / ".manusfs" / "index.db").stat().st_size,
        "hits": hits,
        **found,
        "single": {"cpu_s": single.cpu, "wall_s": single.wall},
        "eight": {"cpu_s": eight.cpu, "wall_s": eight.wall},
        "unsynced": {"cpu_s": loose.cpu, "wall_s": loose.wall},
    }


def alone(base: Path, language: str, count: int, seed: int) -> None:
    """Take all texts one at a time and nothing else, for the memory that it needs."""
    ours = Ours(base / "w", 1)
    for source, raw in texts(language, count, seed):
        take(ours.workspace, ours.transcript, [source], [raw])
    ours.workspace.index.flush()


def _wall(side: dict[str, Any]) -> float:
    return float(sum(side["wall_s"]))


def goals_of(found: dict[str, Any], peak_mb: float, language: str, count: int) -> list[Goal]:
    """Return the figures with their goals."""
    bare, bulk, single, eight = found["bare"], found["bulk"], found["single"], found["eight"]
    ends = max(1, min(200, count // 3) // BLOCK)
    flat, bare_flat = (sum(one["cpu_s"][-ends:]) / sum(one["cpu_s"][:ends]) for one in (single, bare))
    each = f"{1000 * sum(single['cpu_s']) / count:.1f} / {1000 * sum(bare['cpu_s']) / count:.1f} ms a text"
    waited = f"{1000 * sum(single['wall_s']) / count:.1f} / {1000 * sum(bare['wall_s']) / count:.1f} ms a text"
    rate, bulk_rate = (sum(one["wall_s"]) / sum(eight["wall_s"]) for one in (bare, bulk))
    return [
        Goal("CPU / bare loop, one at a time", sum(single["cpu_s"]) / sum(bare["cpu_s"]), 2.0, also=each),
        Goal("wall / bare loop, one at a time", sum(single["wall_s"]) / sum(bare["wall_s"]), 1.5, also=waited),
        Goal("rate 8 at a time / bare loop", rate, 1.1, sign=">=", also=f"{count / sum(eight['wall_s']):.0f} texts/s"),
        Goal("wall 8 at a time / the same without any sync", _wall(eight) / _wall(found["unsynced"]), 2.0),
        Goal("CPU / bare loop with rows in bulk", sum(single["cpu_s"]) / sum(bulk["cpu_s"]), None),
        Goal("wall / bare loop with rows in bulk", sum(single["wall_s"]) / sum(bulk["wall_s"]), None),
        Goal("rate 8 at a time / the same", bulk_rate, None, sign=">="),
        Goal(f"last {ends * BLOCK} / first {ends * BLOCK}, CPU", flat, 1.3, also=f"the bare loop: {bare_flat:.2f}"),
        Goal("peak memory", peak_mb, 200, "MB"),
        Goal("tree / text", found["tree_bytes"] / found["text_bytes"], 1.2),
        Goal("index / text", found["index_bytes"] / found["text_bytes"], 1.3 if language == "english" else 2.0),
    ]


def main() -> None:
    """Measure memory in one process and time in another, and print both."""
    made = parser(__doc__, rounds=1)
    made.add_argument("--count", type=int, default=1_000, help="texts; default 1000")
    made.add_argument("--language", choices=("english", "chinese"), default="english")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--child", choices=("alone", "compared"), help="used by the script itself")
    options = made.parse_args()
    what = (options.language, options.count, options.seed)
    if options.child:
        with tempfile.TemporaryDirectory() as base:
            if options.child == "alone":
                alone(Path(base), *what)
            else:
                print(json.dumps(compared(Path(base), *what)))
        return
    again = [sys.executable, __file__, "--language", what[0], "--count", str(what[1]), "--seed", str(what[2])]
    peak = run([*again, "--child", "alone"]).peak_mb
    for _ in range(options.rounds):
        found = json.loads(run([*again, "--child", "compared"]).output)
        if not found["hits"]:
            sys.exit("what was stored last is not found")
        details = {
            name: {key: values(times) for key, times in found[name].items()}
            for name in ("bare", "bulk", "single", "eight", "unsynced")
        }
        report(
            f"intake, {what[1]} {what[0]} texts",
            goals_of(found, peak, what[0], what[1]),
            {"per_block": details},
            options.out,
        )


if __name__ == "__main__":
    main()
