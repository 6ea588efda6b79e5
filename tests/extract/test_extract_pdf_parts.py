"""The parts of PDF extraction that need no file: words, garbage, order, headings, notes, titles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.extract.pdf_document import Entry
from manusfs.extract.pdf_layout import Box, is_disordered
from manusfs.extract.pdf_notes import Tally
from manusfs.extract.pdf_outline import Places
from manusfs.extract.pdf_text import is_garbage, mend, reads_well, real_title, strangeness


@pytest.mark.parametrize(
    ("raw", "view"),
    [
        ("adip\x02iscing elit", "adipiscing elit"),
        ("self\x02attention", "self-attention"),
        ("low\x02er", "lower"),
        ("the long-run view of long\x02run rates", "the long-run view of long-run rates"),
        ("GPT\x024 and Anglo\x02Saxon", "GPT-4 and Anglo-Saxon"),
        ("at the end con\x02", "at the end con-"),
        ("a  \r\nb\t\r\n", "a\nb"),
        ("关 于 红 军 作 战 的 原 则", "关于红军作战的原则"),
        ("中文 English 中文", "中文 English 中文"),
        ("한국어 는 띄어 쓴다 정말 로 그렇다 네", "한국어 는 띄어 쓴다 정말 로 그렇다 네"),
        ("\ud800A\x00", "\ufffdA"),
    ],
)
def test_words_are_mended(raw: str, view: str):
    assert mend(raw) == view


@given(st.text(st.characters(), max_size=200))
def test_a_mended_text_is_valid_utf8_and_mending_it_again_changes_nothing(raw: str):
    """I3: also with lone surrogates in it."""
    view = mend(raw)
    assert view.encode("utf-8") is not None
    assert "\x00" not in view
    assert mend(view) == view
    assert 0 <= strangeness(raw) <= 1


def test_long_runs_are_mended_in_linear_time():
    """A page of a million letters or spaces with one broken word costs no more than others: no assertion on the clock,
    the test's own limit ends it otherwise."""
    assert mend("a" * 1_000_000 + "\x02b").endswith("ab")
    assert mend("x" + " " * 1_000_000 + "y\n") == "x" + " " * 1_000_000 + "y"


@pytest.mark.parametrize(
    "raw",
    [
        "\ue001\ue002\ue003\ue004\ue005\ue006\ue007\ue008",
        "\ufffd" * 12,
        "\x04\x05\x06 \x07\x08\x0e\x0f \x10\x11\x12",
        "/g18 /g152/g135/g148/g152/g139/g135/g153/g3",
        "̽ଋҨǥƹ̽ୡȥဎഁୡࣧҨ ဌʾဎಱ̽ೌ¢܆ȥ¢ ਮΝ੧ͱʸ",
        "7KH TXLFN EURZQ IR[ MXPSV RYHU WKH OD]\\ GRJ DQG WKH TXLFN EURZQ IR[ UHVWV",
    ],
)
def test_garbage_is_told(raw: str):
    assert is_garbage(raw)
    assert not reads_well(raw)


@pytest.mark.parametrize(
    "raw",
    [
        "The quick brown fox jumps over the lazy dog.",
        "KEY INVESTOR INFORMATION: THE RISKS OF THIS FUND AND WHAT THE FIRST YEARS HAVE SHOWN",
        "Příliš žluťoučký kůň úpěl ďábelské ódy",
        "Быстрая коричневая лиса, α-частицы и 5 μm",
        "关于红军作战的原则 (PLA) 一九三七年",
        "日本語のテキスト PDF です。カタカナ",
        "x = α + β² ≤ ∑ fᵢ(t) ∈ ℝⁿ, Δt → 0",
        "1.5 2.7 3.9 12 44 0.01 -3 17 19 23",
        "اللغة العربية جميلة",
    ],
)
def test_text_is_not_called_garbage(raw: str):
    assert not is_garbage(raw)


def test_guessed_characters_that_read_well_are_trusted():
    assert reads_well("Parallel Genetic Algorithms for larger problems")
    assert not reads_well("$%&'")
    assert not reads_well("9ROXPHV RI WKH")


def column(x: float, top: float, rows: int, width: float = 200) -> list[Box]:
    return [Box(x, top - 12 * row - 10, x + width, top - 12 * row) for row in range(rows)]


@pytest.mark.parametrize(
    ("boxes", "expected"),
    [
        (column(72, 700, 40, 450), False),
        (column(72, 700, 30) + column(320, 700, 30), False),
        (column(320, 700, 30) + column(72, 700, 30), True),
        (column(72, 300, 20) + column(72, 700, 20), True),
        (column(72, 690, 30, 450) + column(72, 740, 2, 450), False),
        (column(72, 60, 2, 450) + column(72, 700, 30, 450), False),
        ([box for row in range(12) for x in (60, 330) for box in column(x, 700 - 12 * row, 1)], True),
        ([box for row in range(12) for x in (60, 200, 330) for box in column(x, 700 - 12 * row, 1, 60)], False),
        ([Box(100 - 12 * n, 100, 110 - 12 * n, 700) for n in range(8)], False),
        ([], False),
    ],
)
def test_order_is_judged_by_where_the_lines_stand(boxes: list[Box], expected: bool):
    assert is_disordered(boxes) is expected


@given(st.lists(st.builds(Box, *[st.floats(-1e6, 1e6)] * 4), max_size=40))
def test_any_boxes_are_judged_without_a_fault(boxes: list[Box]):
    assert is_disordered(boxes) in (True, False)


def places(page: str, *titles: str) -> list[str]:
    found = Places(Entry(title, 1, 0) for title in titles)
    found.page_read(0, page, 5)
    return [page.encode()[heading.offset - 5 :].decode().split("\n")[0] for heading in found.headings()]


def test_headings_are_found_in_their_order():
    page = "Contents Results\n\u00e9\n1. Results\nresults are\n2. Results\nend"
    assert places(page, "Results", "Nowhere") == ["1. Results", "1. Results"]
    assert places(page, "1 Results", "end") == ["1. Results", "end"]
    assert places(page, "Nowhere") == ["Contents Results"]


def test_headings_of_pages_that_were_not_read_are_left_out():
    found = Places([Entry("a", 1, 3), Entry(" ", 1, 0)])
    found.page_read(0, "a", 0)
    assert list(found.headings()) == []


def test_notes_name_pages_in_ranges():
    tally = Tally()
    for page in range(1, 30):
        tally.page_read(page, {"images"} if page % 2 or page < 5 else set(), silent=False)
    assert tally.notes() == ("no text layer on pages 1-5, 7, 9, 11, 13, 15, 17, 19 and 5 more: images only (scanned?)",)


def test_blank_pages_are_told_only_where_there_is_no_text_at_all():
    for silent, notes in ((True, ("no text: the pages are blank",)), (False, ())):
        tally = Tally()
        tally.page_read(1, {"nothing"}, silent=silent)
        assert tally.notes() == notes


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("(unspecified)", ""),
        ("Untitled-1", ""),
        ("Untitled Document", ""),
        ("PowerPoint Presentation", ""),
        ("", ""),
        ("Microsoft Word - Final report v2.docx", "Final report v2"),
        ("C:\\Users\\me\\paper.dvi", "paper"),
        ("On documents", "On documents"),
        ("Attention Is All You Need", "Attention Is All You Need"),
        ("a\nb", "a b"),
    ],
)
def test_titles_that_are_none_are_dropped(given: str, title: str):
    assert real_title(given) == title
