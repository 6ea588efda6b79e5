"""PDF files that are broken or meant to break their reader: bounded, never nothing, never silence."""

from __future__ import annotations

import os
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from pdf_files import FONTS, Sheet, lines, packed, pdf, stream, words

from manusfs.extract import EXTRACTORS, Extractor, Job, Limits, Page
from manusfs.records import Extracted


def run(job: Job) -> tuple[list[Page], Extracted]:
    """Return what the extractor yields without a child: the pages, and the last that is known."""
    pages: list[Page] = []
    known: list[Extracted] = []
    for item in EXTRACTORS.load("pdf")().extract(job):
        pages.append(item) if isinstance(item, Page) else known.append(item)
    return pages, known[-1]


def nested(levels: int) -> dict[int, str | bytes]:
    """Return forms of which each draws the next ten times."""
    forms: dict[int, str | bytes] = {}
    for level in range(levels):
        more = f"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X {201 + level} 0 R >> >>"
        forms[200 + level] = stream("/X Do " * 10, more)
    forms[200 + levels] = stream(words("x", 1, 1, 9), "/Type /XObject /Subtype /Form /BBox [0 0 9 9]")
    return forms


def test_a_page_that_crashes_the_reader_costs_that_page_alone(extractor: Extractor):
    """The child dies; another goes on behind the pages that came, with pypdf for the one that killed it."""
    bomb = Sheet("/X Do", "/Resources << /XObject << /X 200 0 R >> >>")
    raw = pdf(words("first"), bomb, words("third"), objects=nested(9))
    found = extractor.extract(raw, limits=Limits(memory_mb=80))
    starts = [found.text.encode()[offset:].split(b"\n")[0] for offset in found.pages]
    assert starts[0] == b"first"
    assert starts[2] == b"third"
    assert len(found.pages) == 3
    assert found.notes[0] == "can't be read: page 2"
    assert not found.complete
    assert extractor.extract(pdf(words("the next document"))).text == "the next document"


def test_after_a_fall_the_work_goes_on_behind_the_pages_that_came():
    raw = pdf(words("first"), words("second"), words("third"))
    whole, _ = run(Job(raw, "application/pdf"))
    rest, known = run(Job(raw, "application/pdf", done=(0, 7), falls=1))
    assert rest == whole[1:]
    assert "pypdfium2" in known.extractor
    assert "pypdf/" in known.extractor
    assert known.notes == ("page 2 crashed the first reader; the text is by a second one and may lack parts",)
    assert not known.complete
    rest, known = run(Job(raw, "application/pdf", done=(0, 7, 15), falls=2))
    assert rest == whole[2:]
    assert "pypdfium2" not in known.extractor


def test_a_page_tree_that_contains_itself_is_told(extractor: Extractor):
    found = extractor.extract(pdf("", kids="2 0 R 10 0 R", count=2))
    assert not found.complete
    assert "can't be read: page 2" in found.notes


def test_a_million_pages_end_at_the_limit(extractor: Extractor):
    raw = pdf(
        words("same page"),
        kids="100 0 R",
        count=1_000_000,
        objects={100: f"<< /Type /Pages /Kids [{'10 0 R ' * 100}] /Parent 2 0 R /Count 1000000 >>"},
    )
    found = extractor.extract(raw, limits=Limits(pages=40))
    assert found.notes == ("pages 1-40 of 1000000: the limit on pages; the rest is in the raw bytes only",)
    assert len(found.pages) == 40
    assert not found.complete


@pytest.mark.slow
def test_pages_that_cost_too_much_time_end_with_what_was_read(extractor: Extractor):
    drawn = zlib.compress(b"BT /F1 9 Tf 9 9 Td (a) Tj (b) Tj 1 0 Td ET\n" * 20_000)
    objects = {300: stream(drawn, "/Filter /FlateDecode")}
    raw = pdf(Sheet("", "/Contents 300 0 R"), kids="10 0 R " * 500, count=500, objects=objects)
    found = extractor.extract(raw.replace(b"/Contents 11 0 R", b""), limits=Limits(seconds=4))
    assert found.notes[0].startswith("pages 1-")
    assert " of 500: time was up" in found.notes[0]
    assert found.text.startswith("ab")


def test_an_unreadable_page_leaves_the_others(extractor: Extractor):
    raw = pdf(words("one"), words("two"), words("three"), kids="10 0 R 999 0 R 14 0 R")
    found = extractor.extract(raw)
    assert found.text == "one\n\n\n\nthree"
    assert found.notes == ("can't be read: page 2",)
    assert not found.complete


def test_deep_nesting_ends_no_reader(extractor: Extractor):
    raw = pdf(Sheet("BT /F1 12 Tf " + "[" * 50_000 + "]" * 50_000 + " TJ (after) Tj ET"), words("next page"))
    assert "next page" in extractor.extract(raw).text


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: b"HTTP junk\r\n" * 40 + raw,
        lambda raw: raw.replace(b"/Root", b"/Prev %d /Root" % raw.index(b"xref\n")),
        lambda raw: raw[: raw.index(b"xref\n")] + raw[raw.index(b"trailer") :],
        lambda raw: raw.replace(b"startxref\n", b"startxref\n9"),
        lambda raw: raw + b"\x00" * 2_000,
        lambda raw: raw.replace(b"%%EOF", b""),
    ],
)
def test_damage_around_the_text_does_not_lose_it(extractor: Extractor, spoil):
    assert extractor.extract(spoil(pdf(words("still there")))).text == "still there"


RESOURCES = f"/Resources << /Font << /F1 {FONTS['F1']} >> >> /MediaBox [0 0 612 792]"
PACKED = pdf(
    objects={
        11: stream(words("first page")),
        13: stream(words("second page")),
        60: packed({n: f"<< /Type /Page /Parent 2 0 R /Contents {n + 1} 0 R {RESOURCES} >>" for n in (10, 12)}),
        61: "<< >>",
    }
)


@pytest.mark.parametrize(
    "raw", [pdf(words("first page"), words("second page"), objects={61: "<< >>"}), PACKED], ids=["plain", "packed"]
)
def test_a_download_that_was_cut_gives_the_pages_that_came(extractor: Extractor, raw: bytes):
    """The directory stands at the end of the file: without it no reader opens what came."""
    found = extractor.extract(raw[: raw.index(b"61 0 obj")])
    assert found.text == "first page\n\nsecond page"
    assert not found.complete
    assert found.notes == (
        "the file is cut or damaged: these are the pages that were found in it, in the order of the file",
    )


def test_a_file_cut_anywhere_gives_text_or_a_reason(extractor: Extractor):
    """I9: never nothing, never silence."""
    raw = pdf(lines(["some text", "and more"]), words("second"))
    for end in range(9, len(raw), len(raw) // 25):
        found = extractor.extract(raw[:end])
        assert found.text.strip() or found.notes, end


def test_a_login_page_served_as_pdf_is_html(extractor: Extractor):
    page = b"<!DOCTYPE html><html><title>Sign in</title><p>Please sign in to download this PDF</p></html>"
    found = extractor.extract(page, media_type="application/pdf", name="report.pdf")
    assert found.media_type == "text/html"
    assert "Please sign in" in found.text


def test_memory_does_not_grow_with_the_pages():
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("no /proc")
    raw = pdf(*(lines([f"line {n} of page {page}" for n in range(20)]) for page in range(1_000)))
    used = []
    for number, item in enumerate(EXTRACTORS.load("pdf")().extract(Job(raw, "application/pdf"))):
        if number % 100 == 0:
            used.append(int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        del item
    assert len(used) >= 10
    assert used[-1] - used[2] < 16 << 20


def test_notes_come_as_the_pages_do_so_that_a_kill_loses_none():
    """What is known of a page's worth is told before the next page is tried."""
    raw = pdf(lines(["R one", "R two"], x=320) + lines(["L one", "L two"]), words("second"), words("third"))
    items = list(EXTRACTORS.load("pdf")().extract(Job(raw, "application/pdf")))
    kinds = [type(item).__name__ if isinstance(item, Page) else item.notes for item in items]
    told = ("text may not be in reading order on page 1: it stands as the file draws it",)
    assert ("Page", told) in list(pairwise(kinds))
