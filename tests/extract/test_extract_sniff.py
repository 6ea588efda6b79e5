"""What bytes are: the content decides, header and name only break ties."""

from __future__ import annotations

import json

import pytest
from extract_documents import PLAIN, notebook, png
from hypothesis import given
from hypothesis import strategies as st

from manusfs.extract import sniff

HTML = b"<!DOCTYPE html><html><body><p>words</p></body></html>"
LATE_PDF = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n" + PLAIN["pdf"]

TABLE = [
    # raw, header, name, media type
    (HTML, "", "", "text/html"),
    (HTML, "application/pdf", "report.pdf", "text/html"),
    (b"\n\n  <!-- hello --><HTML><head>", "", "", "text/html"),
    (b"\xef\xbb\xbf<html>", "", "", "text/html"),
    ("\ufeff<html><body>words".encode("utf-16-le"), "", "", "text/html"),
    (b"<p>words</p>", "", "", "text/html"),
    (b"words <b>and</b> <p>more", "text/html; charset=x", "", "text/html"),
    (b"words and more", "text/html", "", "text/plain"),
    (b"only <b>one</b> word is bold &amp; no more", "text/html", "", "text/html"),
    (b"std::vector<int> x = List<T>(); if (a <b) {}", "text/html", "", "text/plain"),
    (b"<html> is how a page begins", "text/plain", "a.md", "text/html"),
    (b"<div>\n# not a page\n", "text/markdown", "", "text/markdown"),
    (b"<html>{% for x in y %}", "", "page.j2", "text/x-template"),
    (b'<?xml version="1.0"?><html xmlns="x">', "", "", "application/xhtml+xml"),
    (b'<?xml version="1.0"?>\n<!-- c --><rss version="2.0">', "text/html", "", "application/xml"),
    (b"<feed>", "application/atom+xml", "", "application/xml"),
    (b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "", "", "image/svg+xml"),
    (b"<svg width='1'>", "", "", "image/svg+xml"),
    (PLAIN["pdf"], "text/html", "page.html", "application/pdf"),
    (LATE_PDF, "", "", "application/pdf"),
    (b"A text that speaks of %PDF-1.4 files", "", "", "text/plain"),
    (b"<p>A page that speaks of %PDF-1.4 and endobj</p>", "", "", "text/html"),
    (png(1, 1), "image/jpeg", "a.jpg", "image/png"),
    (b"\xff\xd8\xff\xe0", "", "", "image/jpeg"),
    (b"GIF89a\x01\x00\x01\x00", "", "", "image/gif"),
    (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "", "", "image/webp"),
    (b"RIFF\x00\x00\x00\x00WAVEfmt ", "", "", "audio/wav"),
    (PLAIN["gzip"], "", "a.txt.gz", "application/gzip"),
    (
        b"PK\x03\x04" + bytes(26) + b"word/document.xml",
        "",
        "",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/epub+zip", "", "", "application/epub+zip"),
    (b"PK\x03\x04" + bytes(26) + b"a.txt", "", "", "application/zip"),
    (b'{"a": 1}', "", "", "application/json"),
    (b"[1, 2]", "text/plain", "", "application/json"),
    (b'{"a": 1}\n{"a": 2}\n', "", "", "application/x-ndjson"),
    (b"{not json}", "", "", "text/plain"),
    (b'{"a": 1}', "", "a.py", "text/x-python"),
    (notebook(), "", "", "application/x-ipynb+json"),
    (b"a,b,c\n1,2,3\n4,5,6\n7,8,9\n", "", "", "text/csv"),
    (b"a;b\n1;2\n", "", "a.csv", "text/csv"),
    (b"a\tb\tc\n1\t2\t3\n4\t5\t6\n7\t8\t9\n", "", "", "text/tab-separated-values"),
    (b"# T\n\n## S\n\n- one\n- two\n", "", "", "text/markdown"),
    (b"words", "", "notes.md", "text/markdown"),
    (b"#!/usr/bin/env python\nprint()", "", "", "text/x-python"),
    (b"print()", "", "https://example.test/a/b.py?raw=1#L3", "text/x-python"),
    ("тихо".encode("cp1251"), "", "", "text/plain"),
    ("тихо".encode("utf-16"), "", "", "text/plain"),
    ("plain words".encode("utf-16-le"), "", "", "text/plain"),
    (bytes(range(256)) * 8, "text/plain", "a.txt", "application/octet-stream"),
    (b"\x1b$B;z\x1b(B", "", "", "text/plain"),
]


@pytest.mark.parametrize(("raw", "header", "name", "expected"), TABLE)
def test_sniffing_table(raw: bytes, header: str, name: str, expected: str):
    assert sniff(raw, header, name).media_type == expected


def test_a_login_page_served_as_a_pdf_file_is_a_page():
    """Case p24."""
    assert sniff(HTML, "application/pdf", "https://example.test/report.pdf").extractor == "html"


def test_a_large_json_array_is_not_parsed_to_be_told():
    raw = b"[" + b",".join(json.dumps({"n": number}).encode() for number in range(120_000)) + b"]"
    assert len(raw) > 1 << 20
    assert sniff(raw).media_type == "application/json"


@given(st.binary(max_size=300), st.sampled_from(["", "text/html", "application/json", "x"]), st.text(max_size=20))
def test_any_bytes_have_a_type(raw: bytes, header: str, name: str):
    found = sniff(raw, header, name)
    assert found == sniff(raw, header, name)
    assert "/" in found.media_type


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_what_it_says(codec: str) -> None:
    """Half of its bytes are NUL: neither binary data nor a text full of tags."""
    page = "<!DOCTYPE html><html><body><p>Grüße an alle</p></body></html>".encode(codec)
    assert sniff(page, "text/html", "a.html").media_type == "text/html"
    assert sniff('{"a": 1, "b": [2, 3]}'.encode(codec), "application/json").media_type == "application/json"
    assert sniff("Nur ein Satz, mehr nicht.".encode(codec)).media_type == "text/plain"
