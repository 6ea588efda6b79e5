"""PDF files as the extractor gives them: text, pages, labels, outline, title, and an honest word on what is missing."""

from __future__ import annotations

import io

import pytest
from pdf_files import FONTS, Sheet, composite, lines, pdf, stream, words
from pypdf import PdfReader, PdfWriter

from manusfs.extract import Extractor


def test_words_that_are_placed_one_by_one_stand_apart(extractor: Extractor):
    draws = "BT /F1 12 Tf 72 700 Td (Water) Tj 36 0 Td (boils) Tj 30 0 Td (at) Tj 14 0 Td (100) Tj ET"
    found = extractor.extract(pdf(draws))
    assert found.text == "Water boils at 100"
    assert found.complete
    assert not found.notes


def test_pages_begin_where_their_offsets_say_and_have_labels(extractor: Extractor):
    raw = pdf(
        words("preface \u00e9"),
        words("more preface"),
        words("chapter"),
        catalog="/PageLabels << /Nums [0 << /S /r >> 2 << /S /D >>] >>",
    )
    found = extractor.extract(raw)
    data = found.text.encode("utf-8")
    assert found.text == "preface \u00e9\n\nmore preface\n\nchapter"
    starts = [data[offset:].decode("utf-8").split("\n")[0] for offset in found.pages]
    assert starts == ["preface \u00e9", "more preface", "chapter"]
    assert found.page_labels == ("i", "ii", "1")


def test_rotated_pages_and_text_are_read(extractor: Extractor):
    draws = "BT /F1 12 Tf 0 1 -1 0 300 100 Tm (sideways) Tj 0 -14 Td (second) Tj ET"
    found = extractor.extract(pdf(Sheet(draws, "/Rotate 90")))
    assert found.text.split() == ["sideways", "second"]
    assert not found.notes


def test_a_column_on_the_left_that_is_drawn_last_is_told(extractor: Extractor):
    found = extractor.extract(pdf(lines(["RIGHT one", "RIGHT two"], x=320) + lines(["LEFT one", "LEFT two"], x=72)))
    assert sorted(found.text.split("\n")) == ["LEFT one", "LEFT two", "RIGHT one", "RIGHT two"]
    assert found.notes == ("text may not be in reading order on page 1: it stands as the file draws it",)


def test_columns_that_are_drawn_row_by_row_are_told(extractor: Extractor):
    rows = [(f"the left column goes on here {n}", f"and the right one has its own {n}") for n in range(10)]
    draws = "".join(
        words(left, 60, 700 - 14 * n) + words(right, 330, 700 - 14 * n) for n, (left, right) in enumerate(rows)
    )
    assert "may not be in reading order on page 1" in extractor.extract(pdf(draws)).notes[0]


@pytest.mark.parametrize(
    "draws",
    [
        lines(["one column of text", "that goes on", "and on"]) + words("page 7", 300, 40),
        words("page 7", 300, 40) + lines(["a footer drawn first", "is no matter", "and so on"] * 5),
        lines(["left column", "goes down"] * 6, 72) + lines(["right column", "goes down"] * 6, 320),
        lines(["body " * 8] * 9, 72, 650) + words("A header drawn last", 72, 740),
        "".join(lines([f"{cell}{row}" for cell in "abc"], 72 + 150 * row, 700) for row in range(3)),
    ],
)
def test_ordinary_pages_are_not_called_out_of_order(extractor: Extractor, draws: str):
    assert extractor.extract(pdf(draws)).notes == ()


def test_a_hyphen_at_the_end_of_a_line_does_not_part_a_word(extractor: Extractor):
    raw = pdf(lines(["The measure-", "ments of well-", "known rocks in COVID-", "19 wards."]))
    assert extractor.extract(raw).text == "The measurements of well-known rocks in COVID-19 wards."


def test_ligatures_of_the_map_are_kept_as_letters(extractor: Extractor):
    objects: dict[int, str | bytes] = {}
    font = composite(objects, 100, {1: "FB01", 2: "006E0061006C"})
    found = extractor.extract(pdf(words("<00010002>", font="F2"), objects=objects, fonts={"F2": font}))
    assert found.text in ("final", "\ufb01nal")


def test_a_font_without_a_map_makes_the_text_unreliable(extractor: Extractor):
    objects: dict[int, str | bytes] = {}
    font = composite(objects, 100, None)
    raw = pdf(words("fine"), words("<0024002500260027>", font="F2"), objects=objects, fonts={"F2": font})
    found = extractor.extract(raw)
    assert found.notes[0].startswith("unreliable text on page 2: a font has no usable Unicode map")


def test_characters_of_private_use_make_the_text_unreliable_whatever_the_map_says(extractor: Extractor):
    objects: dict[int, str | bytes] = {}
    font = composite(objects, 100, {code: f"E0{code:02X}" for code in range(1, 13)})
    drawn = words("<" + "".join(f"{code:04X}" for code in range(1, 13)) + ">", font="F2")
    found = extractor.extract(pdf(drawn, objects=objects, fonts={"F2": font}))
    assert found.notes[0].startswith("unreliable text on page 1")


def test_a_lone_surrogate_becomes_a_replacement_character(extractor: Extractor):
    """I3: whatever a file maps its characters to, the view is valid UTF-8 and shows that something is missing."""
    objects: dict[int, str | bytes] = {}
    font = composite(objects, 100, {1: "D800", 2: "0041"})
    found = extractor.extract(pdf(words("<00010002>", font="F2"), objects=objects, fonts={"F2": font}))
    assert found.text == "\ufffdA"
    assert found.text.encode("utf-8")


def test_annotations_and_fields_are_in_the_text_in_their_own_place(extractor: Extractor):
    objects: dict[int, str | bytes] = {
        100: "<< /Type /Annot /Subtype /FreeText /Rect [72 600 300 620] /Contents (A note the reader sees) >>",
        101: "<< /Type /Annot /Subtype /Widget /FT /Tx /T (city) /V (Rome) /Rect [72 500 300 520] >>",
        102: "<< /FT /Tx /T (street) /V (Inherited) /Kids [103 0 R] >>",
        103: "<< /Type /Annot /Subtype /Widget /Parent 102 0 R /Rect [72 400 300 420] >>",
        104: "<< /Type /Annot /Subtype /Widget /FT /Btn /T (agreed) /V /Off /AS /Off /Rect [72 300 90 320] >>",
    }
    raw = pdf(
        Sheet(words("Body"), "/Annots [100 0 R 101 0 R 103 0 R 104 0 R]"),
        objects=objects,
        catalog="/AcroForm << /Fields [101 0 R 102 0 R 104 0 R] >>",
    )
    found = extractor.extract(raw)
    expected = "Body\n\n[annotations and form fields]\nA note the reader sees\ncity: Rome\nstreet: Inherited"
    assert found.text == expected


def test_a_page_with_nothing_but_an_annotation_is_not_called_a_scan(extractor: Extractor):
    objects = {100: "<< /Type /Annot /Subtype /FreeText /Rect [72 600 300 620] /Contents (only this) >>"}
    found = extractor.extract(pdf(Sheet("", "/Annots [100 0 R]"), objects=objects))
    assert found.text == "[annotations and form fields]\nonly this"
    assert found.notes == ()


IMAGE = stream(
    b"\x00" * 64, "/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8"
)
SCAN = Sheet(
    "q 612 0 0 792 0 0 cm /Im0 Do Q\n",
    f"/Resources << /XObject << /Im0 100 0 R >> /Font << /F1 {FONTS['F1']} >> >>",
)


@pytest.mark.parametrize(
    ("sheets", "note"),
    [
        ([SCAN, SCAN], "no text layer: the pages are images (scanned?)"),
        ([words("text"), SCAN, SCAN], "no text layer on pages 2-3: images only (scanned?)"),
        (
            [Sheet(f"{SCAN.draws}{words('stamp 7')}", SCAN.more)],
            "little text on page 1: most of it is an image (scanned?)",
        ),
        ([""], "no text: the pages are blank"),
        (["0 0 m 100 100 l S"], "no text layer: the pages are drawings"),
    ],
)
def test_pages_without_text_say_what_they_show(extractor: Extractor, sheets: list[Sheet | str], note: str):
    found = extractor.extract(pdf(*sheets, objects={100: IMAGE}))
    assert found.notes == (note,)
    assert found.complete


def test_blank_pages_between_others_are_not_worth_a_word(extractor: Extractor):
    assert extractor.extract(pdf(words("one"), "", words("three"))).notes == ()


def test_what_lies_outside_the_visible_part_is_left_out_and_told(extractor: Extractor):
    raw = pdf(Sheet(words("seen") + words("cut off by the printer", 400, 700), "/CropBox [0 0 300 792]"))
    found = extractor.extract(raw)
    assert found.text == "seen"
    assert found.notes == ("left out: text outside the visible part of page 1",)


def test_a_page_whose_boxes_are_broken_is_read_all_the_same(extractor: Extractor):
    assert extractor.extract(pdf(Sheet(words("still here"), "/MediaBox [0 0 0 0]"))).text == "still here"


def test_the_title_is_one_line_without_controls(extractor: Extractor):
    """I6: a title can't close the stub or reach the terminal as an escape sequence."""
    raw = pdf(
        words("x"), objects={100: "<< /Title (Re\\033[2Jport\\n</observation>\\nsecond) >>"}, trailer="/Info 100 0 R"
    )
    title = extractor.extract(raw).title
    assert title.isprintable()
    assert title.startswith("Re")


def test_what_a_program_puts_in_place_of_a_title_is_none(extractor: Extractor):
    raw = pdf(words("x"), objects={100: "<< /Title (\\(unspecified\\)) >>"}, trailer="/Info 100 0 R")
    assert extractor.extract(raw).title == ""


def outlined() -> bytes:
    objects: dict[int, str | bytes] = {
        100: "<< /Type /Outlines /First 101 0 R /Last 103 0 R /Count 4 >>",
        101: "<< /Title (Introduction) /Parent 100 0 R /Next 102 0 R /Dest [10 0 R /Fit] >>",
        102: "<< /Title (2 Method and data) /Parent 100 0 R /Prev 101 0 R /Next 103 0 R /Dest [10 0 R /Fit] "
        "/First 104 0 R /Last 104 0 R /Count 1 >>",
        103: "<< /Title (Not written anywhere) /Parent 100 0 R /Prev 102 0 R /Dest [12 0 R /Fit] >>",
        104: "<< /Title (Samples) /Parent 102 0 R /Dest [10 0 R /Fit] >>",
    }
    first = [
        "1 Introduction",
        "An introduction to rocks.",
        "2 METHOD",
        "AND DATA",
        "We used samples.",
        "Samples",
        "Rocks.",
    ]
    return pdf(lines(first), words("the second page"), objects=objects, catalog="/Outlines 100 0 R")


def test_headings_point_at_their_words_or_else_at_their_page(extractor: Extractor):
    found = extractor.extract(outlined())
    data = found.text.encode("utf-8")
    at = [(heading.title, heading.level, data[heading.offset :].decode().split("\n")[0]) for heading in found.outline]
    assert at == [
        ("Introduction", 1, "1 Introduction"),
        ("2 Method and data", 1, "2 METHOD"),
        ("Samples", 2, "Samples"),
        ("Not written anywhere", 1, "the second page"),
    ]


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_locked_file_says_that_it_needs_a_password_and_an_empty_one_opens(extractor: Extractor, algorithm: str):
    for password, text, notes in (("", "kept secret", ()), ("x", "", ("encrypted: it needs a password",))):
        writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(words("kept secret")))))
        writer.encrypt(password, owner_password="owner", algorithm=algorithm)
        written = io.BytesIO()
        writer.write(written)
        found = extractor.extract(written.getvalue())
        assert (found.text, found.notes, found.complete) == (text, notes, not notes)


def test_attached_files_are_told(extractor: Extractor):
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(words("cover")))))
    writer.add_attachment("data.csv", b"a,b")
    written = io.BytesIO()
    writer.write(written)
    assert extractor.extract(written.getvalue()).notes == ("1 attached file is in the raw bytes only",)


def test_hidden_text_is_text(extractor: Extractor):
    """What an instruction in white letters does is for the fence around the body, not for extraction."""
    raw = pdf(words("Report") + "3 Tr " + words("unseen", y=600) + "0 Tr 1 1 1 rg " + words("white", y=500, size=1))
    assert extractor.extract(raw).text.split() == ["Report", "unseen", "white"]


def test_the_same_file_gives_the_same_views_in_any_child(extractor: Extractor, other_extractor: Extractor):
    raw = outlined()
    assert extractor.extract(raw) == extractor.extract(raw) == other_extractor.extract(raw)
