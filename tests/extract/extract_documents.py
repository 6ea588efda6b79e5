"""Small documents of every kind that an extractor reads: a plain one and a broken one each."""

from __future__ import annotations

import gzip
import json
import struct
import zlib

__all__ = ["BROKEN", "PLAIN", "WORDS", "page", "png"]

WORDS = "The harbour master of Carrow dropped oranges from the ferry and timed them with a kitchen clock. "


def page(body: str, *, title: str = "Oranges", head: str = "") -> bytes:
    """Return a web page whose article is long enough to be taken for the main content."""
    return (
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title>{head}</head><body>'
        f"<article><h1>{title}</h1><p>{WORDS * 3}</p>{body}<p>{WORDS * 3}</p></article></body></html>"
    ).encode()


def png(width: int, height: int) -> bytes:
    """Return a PNG file of one black line after another."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = zlib.compress((b"\x00" + bytes(width)) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


def pdf(words: str) -> bytes:
    """Return a PDF file of one page."""
    stream = f"BT /F1 12 Tf 72 700 Td ({words}) Tj ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
        b"/Resources << /Font << /F1 4 0 R >> >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return bytes(out + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start)


def notebook(*cells: dict[str, object]) -> bytes:
    """Return a notebook of those cells."""
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


_CODE = {
    "cell_type": "code",
    "source": ["def f():\n", "    return 1\n"],
    "outputs": [
        {"output_type": "execute_result", "data": {"text/plain": ["oranges"], "image/png": "iVBORw0KGgo="}},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mboom\x1b[0m"]},
    ],
}

PLAIN: dict[str, bytes] = {
    "text": "oranges, œuvre, 甲乙\n".encode(),
    "image": png(40, 30),
    "notebook": notebook({"cell_type": "markdown", "source": "# Oranges"}, _CODE),
    "html": page(
        "<h2>Café über alles 甲</h2><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    ),
    "pdf": pdf("Oranges in a file"),
    "gzip": gzip.compress(b"oranges, packed\n", mtime=0),
}
"""By name of the extractor. Each has the word "oranges" in its text, but the image."""

BROKEN: dict[str, bytes] = {
    "text": b"oranges \xff\xfe\x81 \x80 cut in a charact\xc3",
    "image": png(40, 30)[:14],
    "notebook": b'{"cells": [{"cell_type": "code", "source": 7, "outputs": [3, {"data": []}]}, 5], "nbformat": 4}',
    "html": b"<html><table><tr><td>oranges<p></b></table><div <a href='x<!-- never closed <p>more",
    "pdf": pdf("Oranges in a file")[:300],
    "gzip": gzip.compress(WORDS.encode() * 500, mtime=0)[:-40],
}
