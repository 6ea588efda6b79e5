"""How much of real pages survives extraction, and what it costs against the libraries alone.

python benchmarks/extraction.py FOLDER... --json extraction.json

FOLDER holds .html, .htm and .pdf files, each may be gzipped. Pages are compared with plain trafilatura: 4-gram F1 where
there is a truth (ground-truth.json[.gz] as of article-extraction-benchmark, or NAME.expected.html beside
NAME.source.html; the list of links that ends a view does not count), cells of data tables and lines of code that the
views keep, CPU time. PDF files are compared with pypdf.

CPU time of web pages: in life a page is seen once, by a process that is warm. So all pages are extracted once untimed,
both ways (what is kept is judged from that), and only then come the timed rounds over all of them, so that each page
was last seen a whole round ago. Before each timed run trafilatura's caches of texts are emptied, since the other's run
on the same page has just filled them, and garbage is collected, so that nobody pays for what the other left; who goes
first alternates from page to page and from round to round. What counts is the sum over pages of the least of a page's
rounds.
"""

from __future__ import annotations

import gc
import gzip
import io
import json
import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import lxml.html
import trafilatura
from _measure import Goal, parser, report

from manusfs.extract import EXTRACTORS, Extractor, Job
from manusfs.extract.collect import Collector
from manusfs.extract.job import Page

FONT = {"Type": "Font", "Subtype": "Type1", "BaseFont": "Helvetica"}
_TARGET = re.compile(r"\]\((?:<[^>\n]*>|[^)\s]*)\)")
URL = "http://example.test/"


@dataclass(slots=True)
class Tally:
    """Sums over documents."""

    figures: Counter[str] = field(default_factory=Counter)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    losses: dict[str, str] = field(default_factory=dict)
    ratios: list[float] = field(default_factory=list)
    """CPU time of web pages, ours by theirs, of each round."""

    def share(self, part: str, whole: str) -> float:
        """Return the quotient of two sums, 1 if there was nothing."""
        return self.figures[part] / self.figures[whole] if self.figures[whole] else 1.0


def f1(tally: Tally, who: str) -> float:
    """Return the F1 of article-extraction-benchmark: of sums over documents of which each weighs the same."""
    hit, extra, lost = (tally.figures[f"{who} {kind}"] for kind in ("hit", "extra", "lost"))
    return 2 * hit / (2 * hit + extra + lost) if hit else 0.0


def compare(tally: Tally, who: str, truth: str, found: str) -> None:
    """Add how the 4-word shingles of `found` agree with those of `truth`."""
    wanted, got = shingles(truth), shingles(found)
    hit = sum((wanted & got).values())
    extra, lost = sum(got.values()) - hit, sum(wanted.values()) - hit
    whole = hit + extra + lost
    if whole:
        tally.figures.update({f"{who} hit": hit / whole, f"{who} extra": extra / whole, f"{who} lost": lost / whole})


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Return the runs of four words of `text`, counted."""
    words = re.findall(r"\w+", text)
    return Counter(tuple(words[at : at + 4]) for at in range(max(1, len(words) - 3))) if words else Counter()


def prose(view: str) -> str:
    """Return what a reading view says, without where its links lead and the list of links at its end."""
    body = view.rsplit("\n## Links\n", 1)[0]
    return _TARGET.sub("]", body)


def facts(source: bytes) -> tuple[list[str], list[str]]:
    """Return the cells of data tables and the lines of code of a page, by an eye that is not the extractor's."""
    tree = lxml.html.document_fromstring(source, parser=lxml.html.HTMLParser(encoding="utf-8", remove_comments=True))
    for node in tree.xpath("//script|//style|//template|//noscript|//svg|//*[@hidden]|//*[contains(@style,'none')]"):
        node.drop_tree()
    cells: list[str] = []
    for table in tree.xpath("//table[not(.//table)]"):
        rows = [[words_of(cell.text_content()) for cell in row.xpath("./td|./th")] for row in table.xpath(".//tr")]
        rows = [row for row in rows if sum(map(bool, row)) > 1]
        if len(rows) > 1 and not any(len(cell) > 500 for row in rows for cell in row):
            cells += [cell for row in rows for cell in row if cell]
    lines = [
        line.rstrip()
        for code in tree.xpath("//pre[not(ancestor::pre)]")
        for line in code.text_content().split("\n")
        if line.strip()
    ]
    return cells, lines


def words_of(text: str) -> str:
    """Return the words of `text`, one blank between them."""
    return " ".join(re.findall(r"\w+", text))


def kept(wanted: Iterable[str], text: str) -> int:
    """Return how many of the word runs stand in `text`."""
    words = f" {words_of(_TARGET.sub(']', text))} "
    return sum(1 for one in wanted if f" {one} " in words)


def page(tally: Tally, name: str, raw: bytes, truth: str | None) -> None:
    """Add what is kept of one web page."""
    theirs, done = trafilatura.extract(raw) or "", extracted("html", "text/html", raw)
    figures = tally.figures
    figures.update({"pages": 1, "page bytes": len(raw)})
    figures.update({"text chars": len(done.text), "full chars": len(done.full or ""), "full views": bool(done.full)})
    figures["empty"] += not done.text.strip()
    if truth is not None:
        figures["with truth"] += 1
        compare(tally, "ours", truth, prose(done.text))
        compare(tally, "theirs", truth, theirs)
    cells, lines = facts(raw.decode(done.charset or "utf-8", "replace").encode())
    both = f"{done.text}\n{done.full or ''}"
    verbatim = {line.rstrip() for line in both.split("\n")}
    found = {"cells text": kept(cells, done.text), "cells both": kept(cells, both), "cells theirs": kept(cells, theirs)}
    figures.update({"cells": len(cells), "lines": len(lines), **found})
    figures["lines both"] += sum(line in verbatim for line in lines)
    figures["lines theirs"] += sum(line in {one.rstrip() for one in theirs.split("\n")} for line in lines)
    if found["cells both"] < len(cells) or any(line not in verbatim for line in lines):
        lost_lines = sum(line not in verbatim for line in lines)
        tally.losses[name] = f"{len(cells) - found['cells both']} of {len(cells)} cells, {lost_lines} lines of code"


def timed(tally: Tally, pages: Sequence[tuple[str, bytes]], rounds: int) -> None:
    """Add the CPU time of web pages that were all extracted before, both ways in turn."""
    spent: dict[str, list[list[float]]] = {"ours": [], "theirs": []}
    for number in range(rounds):
        for of in spent.values():
            of.append([])
        for at, (_, raw) in enumerate(pages):
            jobs: dict[str, Callable[[], object]] = {
                "ours": lambda raw=raw: extracted("html", "text/html", raw),  # type: ignore[misc]
                "theirs": lambda raw=raw: trafilatura.extract(raw),  # type: ignore[misc]
            }
            for who in sorted(jobs, reverse=bool((at + number) % 2)):
                forget()
                begun = time.process_time()
                jobs[who]()
                spent[who][number].append(time.process_time() - begun)
    tally.ratios = [sum(ours) / sum(theirs) for ours, theirs in zip(spent["ours"], spent["theirs"], strict=True)]
    least = {who: [min(of) for of in zip(*times, strict=True)] for who, times in spent.items()}
    tally.figures.update({f"{who} s": sum(of) for who, of in least.items()})
    tally.slowest += [(round(1000 * of, 1), name) for of, (name, _) in zip(least["ours"], pages, strict=True)]


def forget() -> None:
    """Empty trafilatura's caches of texts, and collect garbage."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "trafilatura":
            for cached in vars(module).values():
                if callable(getattr(cached, "cache_clear", None)):
                    cached.cache_clear()
    gc.collect()


def extracted(extractor: str, media_type: str, raw: bytes) -> Any:
    """Return what an extractor makes of `raw`, in this process so that its CPU time can be told."""
    collector = Collector(media_type, 64 << 20)
    for item in EXTRACTORS.load(extractor)().extract(Job(raw, media_type, source_url=URL)):
        collector.add(item)
    return collector.result()


def paper(tally: Tally, name: str, raw: bytes) -> None:
    """Add one PDF file."""
    begun = time.process_time()
    done = extracted("pdf", "application/pdf", raw)
    ours = time.process_time() - begun
    begun = time.process_time()
    pages = pypdf_pages(raw)
    theirs = "\n".join(pages)
    figures = tally.figures
    starts = [*done.pages, len(done.text.encode())]
    ours_pages = [done.text.encode()[start:end].strip() for start, end in pairwise(starts)]
    lost = [number for number, page in enumerate(pages, 1) if page.strip() and not any(ours_pages[number - 1 : number])]
    figures.update({"pypdf pages": len(pages), "pages lost": len(lost)})
    figures.update({"files": 1, "pdf pages": len(done.pages), "pdf s": ours, "pypdf s": time.process_time() - begun})
    figures["files with text"] += bool(done.text.strip())
    figures["files with text, pypdf"] += bool(theirs.strip())
    figures["files without text and without a note"] += not done.text.strip() and not done.notes
    if theirs.strip() and not done.text.strip():
        tally.losses[name] = "pypdf reads text, we do not"
    tally.slowest.append((round(1000 * ours, 1), name))


def pypdf_pages(raw: bytes) -> list[str]:
    """Return what plain pypdf reads of each page, up to where it fails."""
    import pypdf

    pages: list[str] = []
    try:
        pages.extend(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(raw)).pages)
    except Exception:
        return pages
    return pages


def first_page(pages: int = 500) -> float:
    """Return the CPU time to the first page of a long file, in percent of that of the whole."""
    import pypdf
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    font = DictionaryObject({NameObject(f"/{key}"): NameObject(f"/{value}") for key, value in FONT.items()})
    for number in range(pages):
        page = writer.add_blank_page(612, 792)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        lines = " ".join(f"(line {line} of page {number}, some words of a long text) Tj T*" for line in range(50))
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 9 Tf 14 TL 50 750 Td {lines} ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    made = io.BytesIO()
    writer.write(made)
    begun, first = time.process_time(), 0.0
    for item in EXTRACTORS.load("pdf")().extract(Job(made.getvalue(), "application/pdf", source_url=URL)):
        if not first and isinstance(item, Page):
            first = time.process_time() - begun
    return 100 * first / (time.process_time() - begun)


def documents(folders: Sequence[Path]) -> Iterable[tuple[str, bytes, str | None]]:
    """Yield name, bytes and truth of every document below `folders`."""
    for folder in folders:
        bodies = truths(folder)
        for path in sorted(folder.rglob("*")):
            name = path.name.removesuffix(".gz")
            if not name.endswith((".html", ".htm", ".pdf")) or name.endswith(".expected.html"):
                continue
            truth = bodies.get(name.split(".", 1)[0])
            beside = [path.with_name(path.name.replace(".source.", ".expected.")) if ".source." in name else None]
            for other in filter(None, beside):
                if other.exists():
                    truth = " ".join(lxml.html.document_fromstring(read(other).decode("utf-8")).itertext())
            yield name, read(path), truth


def truths(folder: Path) -> dict[str, str]:
    """Return the article texts of a folder in the form of article-extraction-benchmark."""
    for path in (folder / "ground-truth.json.gz", folder / "ground-truth.json"):
        if path.exists():
            return {name: entry["articleBody"] for name, entry in json.loads(read(path)).items()}
    return {}


def read(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if it is gzipped."""
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


def child_overhead(rounds: int = 40) -> float:
    """Return milliseconds of wall time that the warm child adds to a small page, by medians."""
    raw = b"<html><body><article><h1>A</h1>" + b"<p>some words in a row</p>" * 20 + b"</article></body></html>"
    there, here = [], []
    with Extractor() as extractor:
        for _ in range(rounds):
            begun = time.perf_counter()
            extractor.extract(raw, media_type="text/html")
            there.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            extracted("html", "text/html", raw)
            here.append(time.perf_counter() - begun)
    return 1000 * (sorted(there)[rounds // 2] - sorted(here)[rounds // 2])


def goals(tally: Tally) -> list[Goal]:
    """Return what was found against what it should be."""
    figures = tally.figures
    found = [Goal("warm child, small page: overhead", child_overhead(), 30, "ms")]
    if figures["pages"]:
        lost = f1(tally, "theirs") - f1(tally, "ours")
        per_page = 1000 / figures["pages"]
        both = f"{per_page * figures['ours s']:.1f} / {per_page * figures['theirs s']:.1f} ms a page; rounds "
        both += ", ".join(f"{ratio:.3f}" for ratio in tally.ratios)
        words = f"{f1(tally, 'ours'):.5f} / {f1(tally, 'theirs'):.5f} on {figures['with truth']:.0f} pages"
        cells = (
            f"{tally.share('cells text', 'cells'):.3f} in text alone; {tally.share('cells theirs', 'cells'):.3f} theirs"
        )
        lines = f"of {figures['lines']}; {tally.share('lines theirs', 'lines'):.3f} theirs"
        found += [
            Goal("F1 of trafilatura less ours", lost, 0.01, "", also=words),
            Goal("F1 of the reading view", f1(tally, "ours"), 0.95 if figures["with truth"] else None, "", ">="),
            Goal("cells of tables in text or full", tally.share("cells both", "cells"), 0.97, "", ">=", cells),
            Goal("lines of code verbatim in text or full", tally.share("lines both", "lines"), 1.0, "", ">=", lines),
            Goal("CPU / trafilatura alone", figures["ours s"] / max(figures["theirs s"], 1e-9), 1.25, also=both),
            Goal("pages with a full view", 100 * tally.share("full views", "pages"), 100, "%"),
            Goal("pages without any text", figures["empty"], 0, ""),
        ]
    if figures["files"]:
        texts = f"{figures['files with text']} / {figures['files with text, pypdf']} of {figures['files']} have text"
        silent = figures["files without text and without a note"]
        theirs = figures["pypdf pages"] / max(figures["pypdf s"], 1e-9)
        speed = figures["pdf pages"] / max(figures["pdf s"], 1e-9) / max(theirs, 1e-9)
        found += [
            Goal("PDF: pages a second / pypdf alone", speed, 5, "x", ">=", also=texts),
            Goal("PDF: pages that pypdf reads and we do not", figures["pages lost"], 0, ""),
            Goal("PDF: first of 500 pages / the whole", first_page(), 3, "%"),
            Goal("PDF: without text and without a note", silent, 0, ""),
        ]
    return found


def main() -> None:
    """Extract every document and print what was kept and what it took."""
    made = parser(__doc__, rounds=3)
    made.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    options = made.parse_args()
    logging.disable(logging.CRITICAL)
    sys.setrecursionlimit(3_000)
    tally = Tally()
    pages: list[tuple[str, bytes]] = []
    for name, raw, truth in documents(options.folders):
        if name.endswith(".pdf"):
            paper(tally, name, raw)
        else:
            page(tally, name, raw, truth)
            pages.append((name, raw))
    if pages:
        timed(tally, pages, options.rounds)
    tally.slowest.sort(reverse=True)
    details = {"figures": dict(tally.figures), "slowest_ms": tally.slowest[:10], "losses": tally.losses}
    report("extraction", goals(tally), details, options.out)


if __name__ == "__main__":
    main()
