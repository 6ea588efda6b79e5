"""What the warm, limited extraction child adds to a document, against the same extractor in this process.

    python benchmarks/child.py --json child.json

Pages of 5, 50 and 500 KB go in turn through the child and straight through the extractor, alternated. The figure is the
median over the pages of the least wall time through the child less the least without it: what a busy machine adds to
single tries is not counted. CPU is that of both processes together.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import Any

from _measure import Goal, parser, report, values
from _texts import english

SIZES = (5_000, 50_000, 500_000)
DOCUMENTS = 20


def pages(size: int) -> list[bytes]:
    """Return HTML pages of about `size` bytes, all different."""
    made = []
    for number, text in enumerate(english(DOCUMENTS, seed=size)):
        body = (text * (1 + size // len(text)))[:size]
        lines = "".join(f"<p>{line}</p>" for line in body.split("\n\n"))
        made.append(
            f"<html><head><title>Page {number}</title></head><body><h1>{number}</h1>{lines}</body></html>".encode()
        )
    return made


def here(raw: bytes) -> Any:
    """Return what the extractor gives in this process."""
    from manusfs.extract.collect import Collector
    from manusfs.extract.html import Html
    from manusfs.extract.job import Job

    job = Job(raw, "text/html")
    collector = Collector("text/html", job.limits.text_bytes)
    for item in Html().extract(job):
        collector.add(item)
    return collector.result()


def timed(work: Any, raw: bytes) -> float:
    """Return the milliseconds that `work` takes."""
    began = time.perf_counter()
    work(raw)
    return 1000 * (time.perf_counter() - began)


def _cpu(work: Any, found: list[bytes]) -> float:
    """Return the milliseconds of CPU that `work` takes for a page, in this process and its children."""
    before = _used()
    for raw in found:
        work(raw)
    return 1000 * (_used() - before) / len(found)


def _used() -> float:
    children = Path("/proc/self/task").glob("*/children")
    pids = [pid for file in children for pid in file.read_text().split()]
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    made = parser(__doc__, rounds=5)
    options = made.parse_args()
    from manusfs.extract import Extractor

    goals, details = [], {}
    with Extractor() as extractor:

        def child(raw: bytes) -> Any:
            return extractor.extract(raw, media_type="text/html")

        for size in SIZES:
            found = pages(size)
            for raw in found[:3]:  # both warm
                if child(raw).text != here(raw).text:
                    raise SystemExit("the two texts are not the same")
            pairs = [[(timed(child, raw), timed(here, raw)) for _ in range(options.rounds)] for raw in found]
            added = [min(one for one, _ in tries) - min(other for _, other in tries) for tries in pairs]
            name = f"added to a page of {size // 1000} KB"
            cpu = _cpu(child, found) - _cpu(here, found)
            goals.append(Goal(name, statistics.median(added), 30, "ms", also=f"{cpu:.1f} ms of CPU"))
            details[name] = {**values(added), "cpu": round(cpu, 2)}
    report(f"child, {DOCUMENTS} pages of each size, {options.rounds} rounds", goals, {"ms": details}, options.out)


if __name__ == "__main__":
    main()
