"""Texts that are their own view, notebooks, images, archives of one file; and how pieces become one result."""

from __future__ import annotations

import gzip
import json
import struct
from dataclasses import replace

import pytest
from extract_documents import PLAIN, notebook, page, png
from hypothesis import given
from hypothesis import strategies as st

from manusfs.extract import Extractor, Job, Limits, Page
from manusfs.extract.collect import PAGE_BREAK, Collector
from manusfs.extract.frames import HEAD, extracted_from, extracted_head, job_from, job_head, pack, unpack_head
from manusfs.extract.image import pixel_size
from manusfs.extract.job import plain_view, title_line
from manusfs.extract.notebook import fenced
from manusfs.extract.strip import strip_tags
from manusfs.extract.text import markdown_outline
from manusfs.records import Extracted, Heading

JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(10) + b"\xff\xff\xc0\x00\x11\x08" + struct.pack(">HH", 30, 40) + bytes(12)
)
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(8) + (39).to_bytes(3, "little") + (29).to_bytes(3, "little")
BMP = b"BM" + bytes(12) + struct.pack("<III", 40, 40, 2**32 - 30) + bytes(40)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"a,b\r\n1,2\r\n", "a.csv"),
        (b'{"b": 1,\r\n "a": "\xc3\xa9"}', "a.json"),
        (b"def f():\n\treturn 1 \n\n\n", "a.py"),
        (b"# T\r\n\r\ntext  \r\n", "a.md"),
        (b'<?xml version="1.0"?><rss><title>x</title></rss>', "a.xml"),
        (b"\x0c\x1b[1m listing\x07 \r", "a.log"),
    ],
)
def test_a_text_is_its_own_view_byte_for_byte(extractor: Extractor, raw: bytes, name: str):
    """What a person cites must stand in the file as it came."""
    assert extractor.extract(raw, name=name).text.encode() == raw


@pytest.mark.parametrize(
    ("raw", "name", "note"),
    [
        (b"a,b\n1,2\n3,4\n\n", "a.csv", "2 rows under 2 columns: a, b"),
        (b"a;b;c\n1,5;2;3\n", "a.csv", "1 rows under 3 columns: a, b, c"),
        (b'{"b": 1, "a": 2}', "a.json", "object with keys: b, a"),
        (b"[1, 2, 3]", "a.json", "array of 3"),
        (b"[" * 100_000 + b"]" * 100_000, "a.json", "nested too deeply to list its keys"),
        (b"  \n ", "a.txt", "empty: no text"),
    ],
)
def test_the_shape_of_data_is_told(extractor: Extractor, raw: bytes, name: str, note: str):
    assert extractor.extract(raw, name=name).notes == (note,)


def test_the_outline_of_markdown_passes_over_code(extractor: Extractor):
    code = "```\n# not one\n```\n~~~~\n## nor this\n~~~\n~~~~\n"
    text = f"# Über ##\n\n{code}   ## 甲 乙   \r\n####### seven\n#hash\n## \n### C#\n"
    found = extractor.extract(text.encode(), name="a.md")
    assert [(entry.level, entry.title) for entry in found.outline] == [(1, "Über"), (2, "甲 乙"), (3, "C#")]
    assert found.title == "Über"
    assert found.text.encode()[found.outline[1].offset :].startswith("   ## 甲".encode())


_LINE = st.sampled_from(["# a", "## é", "text", "```", "~~~", "", "甲", "#", "### x #", "    # code"])


@given(st.lists(_LINE, max_size=30))
def test_outline_offsets_point_at_headings(lines: list[str]):
    data = "\n".join(lines).encode()
    for entry in markdown_outline(data.decode()):
        line = data[entry.offset :].split(b"\n", 1)[0].decode()
        assert line.startswith("#" * entry.level + " ")
        assert entry.title in line


def test_a_line_of_blanks_costs_no_time():
    assert markdown_outline("# a" + " " * 500_000 + "b")[0].title == "a"


def test_a_notebook_is_its_cells_in_order(extractor: Extractor):
    found = extractor.extract(PLAIN["notebook"])
    code = "```python\ndef f():\n    return 1\n```"
    assert found.text == f"# Oranges\n\n{code}\n\nOutput:\n\n```\noranges\n```\n\nOutput:\n\n```\nboom\n```\n"
    assert found.title == "Oranges"
    assert found.notes == ("notebook of 2 cells", "outputs that are no text are left out: image/png")


def test_a_notebook_of_format_3_is_read(extractor: Extractor):
    cells = [
        {"cell_type": "heading", "level": 2, "source": "H"},
        {"cell_type": "code", "input": "x = 1", "outputs": []},
    ]
    raw = json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3, "metadata": {}}).encode()
    assert extractor.extract(raw, name="a.ipynb").text == "## H\n\n```python\nx = 1\n```\n"


def test_a_long_output_of_a_notebook_is_cut_and_says_so(extractor: Extractor):
    output = {"output_type": "stream", "text": "x" * 30_000}
    found = extractor.extract(notebook({"cell_type": "code", "source": "f()", "outputs": [output]}))
    assert "… 10000 more characters of this output are in the raw file" in found.text


@given(st.text(alphabet="`a\n ", max_size=40))
def test_a_fence_is_longer_than_what_it_holds(code: str):
    lines = fenced(code).split("\n")
    assert lines[0] == lines[-1]
    assert lines[0] not in lines[1:-1]


@pytest.mark.parametrize(
    ("raw", "media_type"),
    [
        (png(40, 30), "image/png"),
        (b"GIF89a" + struct.pack("<HH", 40, 30) + bytes(5), "image/gif"),
        (JPEG, "image/jpeg"),
        (WEBP, "image/webp"),
        (BMP, "image/bmp"),
        (b'<svg xmlns="http://www.w3.org/2000/svg" width="40px" height="30"/>', "image/svg+xml"),
        (b'<svg viewBox="0 0 40 30.5"/>', "image/svg+xml"),
    ],
)
def test_an_image_is_described_by_type_and_size(extractor: Extractor, raw: bytes, media_type: str):
    found = extractor.extract(raw)
    assert found.media_type == media_type
    assert found.text == f"Image: {media_type}, 40 x 30 pixels, {len(raw)} bytes.\n"


def test_the_labels_of_a_drawing_are_its_text(extractor: Extractor):
    found = extractor.extract(
        b"<svg><title>Tides &amp; more</title><text x='1'>High</text><text>\x1b</text><text>Low</text></svg>"
    )
    assert found.text.endswith("Tides &amp; more\nHigh\nLow\n")
    assert found.title == "Tides &amp; more"


@given(st.binary(max_size=80), st.sampled_from(["image/png", "image/gif", "image/jpeg", "image/webp", "image/bmp"]))
def test_any_bytes_have_a_size_or_none(raw: bytes, media_type: str):
    size = pixel_size(raw, media_type)
    assert size is None or min(size) > 0


def test_a_packed_file_is_read_as_what_it_holds(extractor: Extractor):
    found = extractor.extract(gzip.compress(page("<h2>Inside</h2>"), mtime=0), name="page.html.gz")
    assert found.media_type == "application/gzip"
    assert "oranges" in found.text
    assert found.notes[0].endswith("bytes inside, text/html")


def test_a_gzip_file_cut_short_gives_what_it_has(extractor: Extractor):
    found = extractor.extract(gzip.compress(b"".join(b"%d oranges\n" % n for n in range(5_000)), mtime=0)[:-2_000])
    assert found.text.startswith("0 oranges\n")
    assert not found.complete
    assert "the gzip data ends too early" in found.notes


def test_a_gzip_bomb_is_bounded(extractor: Extractor, monkeypatch: pytest.MonkeyPatch):
    """269 bytes may stand for a gigabyte; one layer, and no more than a set number of bytes."""
    inner = gzip.compress(bytes(1 << 20), mtime=0)
    found = extractor.extract(gzip.compress(inner, mtime=0))
    assert found.text == ""
    assert "no text is extracted from this type; the raw bytes are kept" in found.notes
    monkeypatch.setattr("manusfs.extract.gzipped._MOST", 1_000)
    from manusfs.extract.gzipped import Gzip

    (last,) = Gzip().extract(Job(gzip.compress(b"a" * 50_000, mtime=0), "application/gzip"))
    assert isinstance(last, Extracted)
    assert (last.text, last.complete) == ("a" * 1_000, False)


def test_an_xml_bomb_stays_text(extractor: Extractor):
    raw = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    assert extractor.extract(raw).text.encode() == raw


def test_stripping_tags_is_a_last_resort_that_never_fails():
    assert (
        strip_tags("<p>a &lt; b<br>c <b>d</b><script>x</script> 1 < 2 <!-- no --> e<style>p") == "a < b\nc d 1 < 2 e p"
    )
    assert strip_tags("<" * 100_000).count("<") == 100_000
    assert strip_tags("<script>" * 100_000) == ""


@given(st.lists(st.tuples(st.text(alphabet="aé甲\n", max_size=6), st.sampled_from(["", "1", "2", "i"])), max_size=8))
def test_pages_join_to_the_text_that_their_offsets_divide(pages: list[tuple[str, str]]):
    collector = Collector("application/pdf", 1 << 20)
    for text, label in pages:
        collector.add(Page(text, label))
    found = collector.result()
    data = found.text.encode()
    assert found.text == PAGE_BREAK.join(text for text, _ in pages)
    assert len(found.pages) == len(pages)
    for offset, (text, _) in zip(found.pages, pages, strict=True):
        assert data[offset:].decode().startswith(text.rstrip("\n")) or offset == len(data)


@given(st.text(max_size=60), st.integers(1, 80))
def test_a_cut_text_is_a_prefix_on_a_border_and_says_so(text: str, limit: int):
    """I9."""
    collector = Collector("text/plain", limit)
    collector.add(Extracted("text/plain", plain_view(text)))
    found = collector.result()
    assert plain_view(text).startswith(found.text)
    assert len(found.text.encode()) <= limit
    assert found.complete == (found.text == plain_view(text)) == (not found.notes)


_LINES = st.text(max_size=12)
_FOUND = st.builds(
    Extracted,
    media_type=_LINES,
    text=st.just("body"),
    charset=_LINES,
    title=_LINES,
    extractor=_LINES,
    complete=st.booleans(),
    notes=st.tuples(_LINES),
    pages=st.tuples(st.integers(0, 9)),
    page_labels=st.tuples(_LINES),
    outline=st.tuples(st.builds(Heading, st.integers(0, 9), st.integers(1, 6), _LINES)),
)


@given(_FOUND)
def test_what_an_extractor_found_goes_through_the_pipe_unchanged(found: Extracted):
    frame = pack(b"E", extracted_head(found), b"body")
    kind, json_bytes, body_bytes = unpack_head(frame[: HEAD.size])
    assert (kind, body_bytes) == (b"E", 4)
    assert extracted_from(json.loads(frame[HEAD.size : HEAD.size + json_bytes]), "body") == found


def test_a_job_goes_through_the_pipe_unchanged():
    job = Job(b"raw", "text/html", "koi8-r", "a.html", "https://example.test/", Limits(seconds=1.5, pages=3))
    assert replace(job_from(json.loads(json.dumps(job_head(job, "html"))), b"raw"), started=job.started) == job


@given(st.binary(min_size=HEAD.size, max_size=HEAD.size))
def test_a_frame_of_nobody_is_refused(head: bytes):
    try:
        kind, json_bytes, body_bytes = unpack_head(head)
    except ValueError:
        return
    assert kind in b"JRPEFXD"
    assert max(json_bytes, body_bytes) <= 1 << 30


@given(st.text())
def test_a_view_has_no_controls_and_keeps_all_else(text: str):
    view = plain_view(text)
    view.encode("utf-8")
    assert plain_view(view) == view
    assert not [char for char in view if (char < " " and char not in "\t\n") or "\x7f" <= char <= "\x9f"]
    assert len(title_line(text)) <= 300
    assert "\n" not in title_line(text)
