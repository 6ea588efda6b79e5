"""What the catalogue of many skills costs: the first scan, each later look, and the text within its budget.

    python benchmarks/skills.py [--count 1000]

Skills lie half in the user's folder and half, approved, in a workspace, where each file is hashed as well. CPU time,
and as a ratio to reading the same files once with plain Python, which is the least that a first scan can cost. "After
the first scan" is a whole look again: every folder is listed and every file asked for its size and time anew.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from _measure import Goal, parser, report, values

from manusfs.skills import Facts, Homes, Skills
from manusfs.skills.catalogue import lines_of
from manusfs.workspace.settings import Settings

BODY = "A step of the manual, in a sentence of a usual length.\n" * 80
METADATA = '{"openclaw": {"requires": {"anyBins": ["git", "sh"]}, "os": ["linux", "darwin", "win32"]}}'


def write(root: Path, first: int, count: int) -> None:
    """Write `count` skills of 5 KB, each with a file beside it."""
    for number in range(first, first + count):
        folder = root / f"skill-{number:04}"
        folder.mkdir(parents=True)
        words = f"Does task {number} with files of kind {number % 17}. Use it when somebody asks for that, or names it."
        head = f"---\nname: skill-{number:04}\ndescription: {words}\nlicense: MIT\nmetadata: {METADATA}\n---\n"
        (folder / "SKILL.md").write_text(head + BODY, "utf-8")
        (folder / "reference.md").write_text(BODY, "utf-8")


def spent(job: Callable[[], object]) -> float:
    """Return the CPU milliseconds of `job`."""
    gc.collect()
    begun = time.process_time()
    job()
    return (time.process_time() - begun) * 1_000


def read_all(folders: list[Path]) -> int:
    """Return the bytes of all SKILL.md, read plainly."""
    return sum(len((path / "SKILL.md").read_bytes()) for folder in folders for path in sorted(folder.iterdir()))


def main() -> None:
    """Measure and print."""
    options = parser(__doc__, 7)
    options.add_argument("--count", type=int, default=1_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        home, own = base / "home", base / "ws" / "skills"
        write(home, 0, given.count // 2)
        write(own, given.count // 2, given.count - given.count // 2)
        pins: dict[str, str] = {}

        def fresh() -> Skills:
            facts = Facts("linux", lambda name: True)
            return Skills(base / "ws", Settings(), Homes(personal=home), facts, lambda: pins)

        pins.update({entry.skill.home: entry.skill.pin for entry in fresh().entries if entry.skill.place.guarded})
        skills = fresh()
        first = [spent(lambda: fresh().entries) for _ in range(3)]
        plain = [spent(lambda: read_all([home, own])) for _ in range(given.rounds)]
        text = [spent(lambda: skills.catalogue(200_000)) for _ in range(given.rounds)]

        def again() -> None:
            skills.refresh()
            skills.catalogue(200_000)

        looks = [spent(again) for _ in range(given.rounds)]
        offered, lines = len(skills.offered), lines_of(skills.offered, 10_000)
    what = f"catalogue of {given.count:,} skills"
    goals = [
        Goal(f"{what}, assembled after the first scan", statistics.median(text), 50, "ms"),
        Goal("the same with a new look at every folder", statistics.median(looks), 50, "ms"),
        Goal("first scan", statistics.median(first), None, "ms"),
        Goal("first scan against reading the files once", statistics.median(first) / statistics.median(plain), None),
        Goal("a new look against reading the files once", statistics.median(looks) / statistics.median(plain), None),
        Goal("characters of its lines, of 10,000", float(len("\n".join(lines))), 10_000, "ch"),
    ]
    details = {"offered": offered, "lines": len(lines), "first_ms": values(first), "again_ms": values(looks)}
    report("skills", goals, {**details, "catalogue_ms": values(text), "plain_ms": values(plain)}, given.out)


if __name__ == "__main__":
    main()
