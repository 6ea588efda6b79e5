"""PDF pages on which nothing was found: told as unread, unless they are blank."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdf_files import FONTS, Sheet, pdf, stream, words

from manusfs.extract import EXTRACTORS, Job, Page
from manusfs.extract.pdf_content import asks_for_words, drawn
from manusfs.records import Extracted

DEEP = 20_000
FONT = f"/Font << /F1 {FONTS['F1']} >>"
DRAWS_200 = f"/Resources << {FONT} /XObject << /X 200 0 R >> >>"


def read(raw: bytes) -> tuple[list[str], Extracted]:
    """Return the texts of the pages and the last that is known, without a child."""
    pages: list[str] = []
    known: list[Extracted] = []
    for item in EXTRACTORS.load("pdf")().extract(Job(raw, "application/pdf")):
        pages.append(item.text) if isinstance(item, Page) else known.append(item)
    return pages, known[-1]


def form(draws: str, more: str = "") -> bytes:
    """Return the body of a form that draws `draws`."""
    return stream(draws, f"/Type /XObject /Subtype /Form /BBox [0 0 612 792] {more}")


def chain(levels: int, bottom: str) -> dict[int, str | bytes]:
    """Return forms of which each draws the next, and the last one `bottom`."""
    forms: dict[int, str | bytes] = {
        200 + level: form("/X Do", f"/Resources << {FONT} /XObject << /X {201 + level} 0 R >> >>")
        for level in range(levels)
    }
    return {**forms, 200 + levels: form(bottom, f"/Resources << {FONT} >>")}


def tree(levels: int) -> dict[int, str | bytes]:
    """Return branches of a page tree, each below the one before, the first object 200; the last holds a page."""
    nodes: dict[int, str | bytes] = {
        200 + level: f"<< /Type /Pages /Parent {199 + level if level else 2} 0 R /Count 1 /Kids [{201 + level} 0 R] >>"
        for level in range(levels)
    }
    leaf = (
        f"<< /Type /Page /Parent {199 + levels} 0 R /Resources << {FONT} >> /MediaBox [0 0 612 792] /Contents 11 0 R >>"
    )
    return {**nodes, 200 + levels: leaf}


def pointing(contents: str) -> dict[int, str | bytes]:
    """Return the first page with that in place of a reference to what it draws."""
    return {10: f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {contents} >>"}


NEXT = words("next page")
UNREAD = {
    "arrays": pdf("[" * DEEP + "]" * DEEP + " TJ", NEXT),
    "arrays round words": pdf("BT /F1 12 Tf 72 700 Td " + "[" * DEEP + "(x)" + "]" * DEEP + " TJ ET", NEXT),
    "arrays without an end": pdf("BT /F1 12 Tf 72 700 Td " + "[" * DEEP + " (words) Tj ET", NEXT),
    "dictionaries": pdf("/P " + "<< /A " * DEEP + ">>" * DEEP + " BDC EMC", NEXT),
    "forms": pdf(Sheet("/X Do", DRAWS_200), NEXT, objects=chain(60, words("bottom"))),
    "a form of arrays": pdf(Sheet("/X Do", DRAWS_200), NEXT, objects=chain(1, "[" * DEEP + "]" * DEEP + " TJ")),
    "the page tree": pdf(words("deep"), NEXT, kids="200 0 R 12 0 R", objects=tree(1_500)),
    "contents that are no stream": pdf(words("lost"), NEXT, objects=pointing("[[[11 0 R]]]")),
}


@pytest.mark.parametrize("raw", UNREAD.values(), ids=UNREAD.keys())
def test_a_page_that_is_nested_too_deep_is_told_as_unread(raw: bytes):
    """I9: never silence; whatever is nested, a page that gave nothing and is not blank has a note."""
    pages, known = read(raw)
    assert len(pages) == 2
    assert pages[0] or any(
        "can't be read: page" in note or "more than 40 deep on page 1" in note for note in known.notes
    )
    assert pages[0] or not known.complete
    assert pages[1] == "next page" or any("can't be read: pages 1-2" in note for note in known.notes)


def test_what_stands_in_forms_that_are_nested_too_deep_is_told_beside_the_text():
    raw = pdf(Sheet(words("top") + "/X Do", DRAWS_200), NEXT, objects=chain(60, words("bottom")))
    pages, known = read(raw)
    assert pages == ["top", "next page"]
    assert known.notes == ("left out: what stands in forms nested more than 40 deep on page 1",)
    assert not known.complete


def test_as_deep_as_readers_go_nothing_is_lost_and_nothing_told():
    pages, known = read(
        pdf(Sheet(words("top") + "/X Do", DRAWS_200), NEXT, objects=chain(38, words("bottom", 72, 600)))
    )
    assert pages == ["top\nbottom", "next page"]
    assert known.notes == () and known.complete


SKIPPED = "[" * DEEP + "(lost)" + "]" * DEEP + " TJ "
PARTLY = {
    "arrays": Sheet(f"BT /F1 12 Tf 72 700 Td {SKIPPED} (read) Tj ET"),
    "dictionaries": Sheet("/P " + "<< /A " * DEEP + ">>" * DEEP + " BDC EMC " + words("read")),
    "arrays in a form": Sheet(words("read") + "/X Do", DRAWS_200),
    "arrays without an end": Sheet(words("read") + "[" * DEEP + "(lost) Tj"),
    "strings between": Sheet(words("read") + "[(a) 5 " * 600 + "]" * 600 + " TJ"),
    "deflated": Sheet("", "/Contents 300 0 R"),
}


@pytest.mark.parametrize("sheet", PARTLY.values(), ids=PARTLY.keys())
def test_a_page_with_text_of_which_a_part_is_nested_too_deep_is_told(sheet: Sheet):
    """I9: what a reader skips in the middle of a page is told with the page."""
    deflated = stream(zlib.compress((words("read") + SKIPPED).encode()), "/Filter /FlateDecode")
    raw = pdf(NEXT, sheet, NEXT, objects={200: form(SKIPPED), 300: deflated})
    pages, known = read(raw.replace(b"/Contents 13 0 R", b"") if "300 0 R" in sheet.more else raw)
    assert pages == ["next page", "read", "next page"]
    assert known.notes == ("part of page 2 can't be read: arrays or dictionaries are nested more than 500 deep there",)
    assert not known.complete


def test_nesting_as_deep_as_readers_go_is_not_told():
    sheet = (
        words("read") + "[" * 400 + "]" * 400 + " 0 d " + "[(a) 5 (b)] TJ " * 3_000 + "/P <</MCID 0>> BDC EMC " * 900
    )
    pages, known = read(pdf(sheet, NEXT))
    assert pages[0].startswith("read") and pages[1] == "next page"
    assert not any("nested" in note for note in known.notes) and known.complete


def test_pages_of_which_nobody_knows_whether_they_nest_too_deep_are_told_as_doubtful():
    raw = pdf(words("one"), NEXT, kids="200 0 R 12 0 R", objects={**tree(200), 500: stream(SKIPPED)})
    pages, known = read(raw)
    assert pages == ["one", "next page"]
    assert known.notes == (
        "part of the text may be unread on pages 1-2: somewhere in the file arrays are nested more than 500 deep",
    )


def test_a_file_nested_so_deep_that_nobody_can_check_a_page_says_so():
    raw = pdf(words("lost"), NEXT, objects=pointing("[" * DEEP + "11 0 R" + "]" * DEEP))
    pages, known = read(raw)
    assert pages == ["", "next page"]
    assert known.notes == ("nothing was found on page 1; whether something stands there could not be checked",)


@pytest.mark.parametrize(
    "sheet",
    [
        "",
        "q Q",
        "BT /F1 12 Tf ET",
        "BT /F1 12 Tf () Tj [] TJ ET",
        Sheet("q /X Do Q", DRAWS_200),
        Sheet("/Missing Do"),
        "[" * 300 + "]" * 300 + " 0 d",
        "[] 0 d " * 2_000,
    ],
)
def test_a_blank_page_is_not_called_unread(sheet: str | Sheet):
    """A note that cries wolf is one that nobody reads."""
    pages, known = read(pdf(sheet, NEXT, objects=chain(1, "q Q")))
    assert pages == ["", "next page"]
    assert known.notes == () and known.complete


@pytest.mark.parametrize("contents", ["null", "[]", "[ null ]", "999 0 R"])
def test_a_page_whose_contents_are_not_there_is_blank(contents: str):
    pages, known = read(pdf("", NEXT, objects=pointing(contents)))
    assert pages == ["", "next page"]
    assert known.notes == ()


def test_unread_and_blank_pages_of_one_file_are_told_apart():
    deep = "[" * DEEP + "]" * DEEP + " TJ"
    pages, known = read(pdf("", deep, NEXT, deep, deep, ""))
    assert pages == ["", "", "next page", "", "", ""]
    assert known.notes == ("can't be read: pages 2, 4-5",)


def test_forms_that_draw_each_other_are_looked_into_once():
    loops: dict[int, str | bytes] = {
        200 + n: form("/X Do", f"/Resources << /XObject << /X {201 - n} 0 R >> >>") for n in range(2)
    }
    pages, known = read(pdf(Sheet("/X Do", DRAWS_200), NEXT, objects=loops))
    assert pages == ["", "next page"] and not any("can't be read" in note for note in known.notes)


@given(st.binary(), st.sampled_from([b"(", b"[(", b"<", b"[", b"<<"]), st.integers(0, 3_000))
def test_any_commands_are_judged(content: bytes, mark: bytes, times: int):
    """Whatever stands in a page, looking at it ends, and adding what nobody can read makes it unread."""
    assert asks_for_words(content + b" " + b"[" * 501 * (b"(" not in content)) or b"(" in content
    assert isinstance(asks_for_words(mark * times + content), bool)
    assert len(drawn(content)) == len(set(drawn(content)))
