"""How long a read of 16 KB takes at any offset of a text of 100 MB, and how much memory.

    python benchmarks/read_large.py --json read_large.json

The text is made in one process and read in another, by the library's `Workspace.read`, from a warm page cache.
"""

from __future__ import annotations

import json
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from _measure import Goal, parser, report, run, values

PIECE = 16 * 1024


def build(base: Path, megabytes: int) -> None:
    """Store a text of that size, and print its ref."""
    from _texts import english

    from manusfs.records import Source
    from manusfs.store import Draft, Index, Observations
    from manusfs.workspace import Folder

    pages = [text.encode() for text in english(200)]
    source = random.Random(1)
    text = bytearray()
    while len(text) < megabytes << 20:
        text += source.choice(pages)
    raw = bytes(text[: megabytes << 20])
    folder = Folder.create(base)
    index, observations = Index(folder), Observations(folder)
    draft = Draft(Source.user("large"), raw, "txt", {"text": raw}, media_type="text/plain", charset="utf-8")
    (done,) = observations.commit([observations.stage(draft)])
    index.add_observation(done.meta, 1)
    index.close()
    print(f"obs:{done.meta.id}")


def read(base: Path, ref: str, megabytes: int, count: int) -> None:
    """Read at random offsets and print milliseconds and memory."""
    from manusfs.memory import Workspace

    source = random.Random(2)
    size = megabytes << 20
    with Workspace.open(base) as workspace:
        first = _timed(workspace, ref, 0)
        before = _peak_mb()
        offsets = [0, size - PIECE, size - 10, *(source.randrange(size) for _ in range(count))]
        times = [_timed(workspace, ref, offset) for offset in offsets]
        lines = [_timed_lines(workspace, ref, source.randrange(1, 100_000)) for _ in range(min(20, count))]
    print(json.dumps({"first_ms": first, "ms": times, "lines_ms": lines, "before_mb": before, "after_mb": _peak_mb()}))


def _timed(workspace, ref: str, offset: int) -> float:  # type: ignore[no-untyped-def]
    begun = time.perf_counter()
    made = workspace.read(ref, offset, PIECE)
    spent = 1000 * (time.perf_counter() - begun)
    if not made.data:
        sys.exit(f"nothing at {offset}")
    return spent


def _timed_lines(workspace, ref: str, line: int) -> float:  # type: ignore[no-untyped-def]
    begun = time.perf_counter()
    workspace.read(ref, lines=(line, line + 40))
    return 1000 * (time.perf_counter() - begun)


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    """Make the text in a child process, read it in others, and print the figures."""
    made = parser(__doc__, rounds=5)
    made.add_argument("--megabytes", type=int, default=100)
    made.add_argument("--count", type=int, default=500, help="reads of a round; default 500")
    made.add_argument("--child", nargs="+", help="used by the script itself")
    options = made.parse_args()
    if options.child:
        what, base, *rest = options.child
        if what == "build":
            build(Path(base), options.megabytes)
        else:
            read(Path(base), rest[0], options.megabytes, options.count)
        return
    again = [sys.executable, __file__, "--megabytes", str(options.megabytes), "--count", str(options.count), "--child"]
    with tempfile.TemporaryDirectory() as base:
        place = str(Path(base) / "w")
        ref = run([*again, "build", place]).output.strip()
        rounds = [json.loads(run([*again, "read", place, ref]).output) for _ in range(options.rounds)]
    times = [one["ms"] for one in rounds]
    # Each offset is read in every round: its best time is the product's, the rest is the machine's.
    best = sorted(map(min, zip(*times, strict=True)))
    goals = [
        Goal("16 KB, median of all offsets", statistics.median(best), 5, "ms"),
        Goal("16 KB, slowest offset", best[-1], 5, "ms", also=f"{len(best)} offsets, best of {len(times)} rounds"),
        Goal("first read of a process", min(one["first_ms"] for one in rounds), None, "ms", also="opens the index"),
        Goal("41 lines anywhere, median", statistics.median(rounds[0]["lines_ms"]), None, "ms"),
        Goal("memory that reading added", max(one["after_mb"] - one["before_mb"] for one in rounds), 5, "MB"),
        Goal("peak memory", max(one["after_mb"] for one in rounds), None, "MB"),
    ]
    details = {"rounds_ms": [values(one) for one in times], "megabytes": options.megabytes}
    report(f"read_large, {options.megabytes} MB", goals, details, options.out)


if __name__ == "__main__":
    main()
