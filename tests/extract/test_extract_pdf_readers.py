"""One suite over both PDF readers, so that either can stand in for the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pdf_files import Sheet, composite, pdf, words

from manusfs.extract.pdf_document import Document, Unreadable
from manusfs.extract.pdf_pdfium import open_pdfium
from manusfs.extract.pdf_pypdf import open_pypdf

Opener = Callable[[bytes], Document]
each_reader = pytest.mark.parametrize("opened", [open_pdfium, open_pypdf])


@each_reader
def test_a_document_tells_its_pages_title_and_labels(opened: Opener):
    raw = pdf(
        words("one"),
        words("two"),
        objects={100: "<< /Title (A title) >>"},
        trailer="/Info 100 0 R",
        catalog="/PageLabels << /Nums [0 << /S /r >>] >>",
    )
    document = opened(raw)
    assert document.page_count() == 2
    assert document.title() == "A title"
    assert [document.label(page) for page in range(2)] == ["i", "ii"]
    assert [document.read(page).text.strip() for page in range(2)] == ["one", "two"]
    document.close()


@each_reader
def test_the_outline_has_levels_and_pages(opened: Opener):
    objects: dict[int, str | bytes] = {
        100: "<< /Type /Outlines /First 101 0 R /Last 101 0 R /Count 2 >>",
        101: "<< /Title (Top) /Parent 100 0 R /Dest [10 0 R /Fit] /First 102 0 R /Last 102 0 R /Count 1 >>",
        102: "<< /Title (Below) /Parent 101 0 R /Dest [12 0 R /Fit] >>",
    }
    document = opened(pdf(words("a"), words("b"), objects=objects, catalog="/Outlines 100 0 R"))
    entries = document.outline()
    assert [(entry.title, entry.level, entry.page) for entry in entries] == [("Top", 1, 0), ("Below", 2, 1)]
    document.close()


@each_reader
def test_an_outline_that_goes_round_ends(opened: Opener):
    objects: dict[int, str | bytes] = {
        100: "<< /Type /Outlines /First 101 0 R /Last 102 0 R /Count 2 >>",
        101: "<< /Title (A) /Parent 100 0 R /Next 102 0 R /Dest [10 0 R /Fit] >>",
        102: "<< /Title (B) /Parent 100 0 R /Next 101 0 R /Dest [10 0 R /Fit] /First 101 0 R /Last 102 0 R >>",
    }
    document = opened(pdf(words("a"), objects=objects, catalog="/Outlines 100 0 R"))
    assert len(document.outline()) <= 2_000
    document.close()


@each_reader
def test_titles_that_are_no_valid_text_are_read(opened: Opener):
    """A lone surrogate in title, label or heading must not end the document."""
    objects: dict[int, str | bytes] = {
        99: "<< /Title <FEFFD8000041> >>",
        100: "<< /Type /Outlines /First 101 0 R /Last 101 0 R /Count 1 >>",
        101: "<< /Title <FEFFD8000041> /Parent 100 0 R /Dest [10 0 R /Fit] >>",
    }
    labels = "/PageLabels << /Nums [0 << /P <FEFFD8000041> >>] >>"
    document = opened(pdf(words("a"), objects=objects, trailer="/Info 99 0 R", catalog=f"/Outlines 100 0 R {labels}"))
    document.title(), document.label(0), document.outline(), document.extras(0)
    assert document.read(0).text.strip() == "a"
    document.close()


@each_reader
def test_a_font_without_a_map_is_told(opened: Opener):
    objects: dict[int, str | bytes] = {}
    font = composite(objects, 100, None)
    document = opened(pdf(words("<00240025>", font="F2"), words("plain"), objects=objects, fonts={"F2": font}))
    assert document.read(0).unmapped
    document.close()


@each_reader
def test_annotations_are_extras_and_not_text(opened: Opener):
    objects = {100: "<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (remark) >>"}
    document = opened(pdf(Sheet(words("a"), "/Annots [100 0 R null 999 0 R]"), objects=objects))
    assert document.extras(0) == "remark"
    document.close()


@each_reader
def test_what_is_no_pdf_is_refused_in_words(opened: Opener):
    with pytest.raises(Unreadable) as caught:
        opened(b"%PDF-1.4\nnothing").page_count()
    assert "PDF" in str(caught.value) or "page tree" in str(caught.value)
