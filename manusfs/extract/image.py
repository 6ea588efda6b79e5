"""Images described by type and size in pixels, read from their headers alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from manusfs.extract.charset import decode
from manusfs.extract.job import Job, Page, plain_view, title_line
from manusfs.records import Extracted

__all__ = ["Image", "pixel_size"]

_SVG_TAG = re.compile(r"<(?:\w+:)?svg\b([^>]{0,5000})", re.IGNORECASE)
_SVG_TITLE = re.compile(r"<title[^<>]{0,500}>([^<]{1,2000})", re.IGNORECASE)
_SVG_LENGTH = r"(?<![\w-]){}\s*=\s*[\"']\s*(\d{{1,7}})(?:\.\d+)?(?:px)?\s*[\"']"
_SVG_BOX = re.compile(r"viewBox\s*=\s*[\"']\s*[-\d.]+[\s,]+[-\d.]+[\s,]+(\d{1,7})[\d.]*[\s,]+(\d{1,7})")


_SEGMENTS = 10_000


class Image:
    """Extractor of images: no text of theirs is recognised, and the note says so."""

    media_types = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/svg+xml")

    def extract(self, job: Job) -> Iterator[Page | Extracted]:
        """Yield a one-line description as the text."""
        title = ""
        svg = job.media_type == "image/svg+xml"
        if svg:
            source = decode(job.raw, job.charset, markup=True).text
            size = _svg_size(source)
            found = _SVG_TITLE.search(source)
            title = title_line(found[1]) if found else ""
        else:
            size = pixel_size(job.raw, job.media_type)
        pixels = f"{size[0]} x {size[1]} pixels" if size else "size unknown"
        text = f"Image: {job.media_type}, {pixels}, {len(job.raw)} bytes.\n"
        notes = ("an image: described by type and size, text in it is not recognised",)
        if svg:
            words = _svg_words(source)
            text += f"\n{words}\n" if words else ""
            notes = ("a drawing: the text is its labels, in the order of the file",) if words else notes
        yield Extracted(job.media_type, text, title=title, extractor="image/1", notes=notes)


def pixel_size(raw: bytes, media_type: str) -> tuple[int, int] | None:
    """Return width and height in pixels, or None when the header does not tell."""
    reader = _READERS.get(media_type)
    try:
        size = reader(raw) if reader else None
    except (IndexError, ValueError):
        return None
    return size if size and min(size) > 0 else None


def _png(raw: bytes) -> tuple[int, int] | None:
    return (_big(raw, 16, 4), _big(raw, 20, 4)) if raw[12:16] == b"IHDR" else None


def _gif(raw: bytes) -> tuple[int, int] | None:
    return _little(raw, 6, 2), _little(raw, 8, 2)


def _bmp(raw: bytes) -> tuple[int, int] | None:
    if _little(raw, 14, 4) == 12:
        return _little(raw, 18, 2), _little(raw, 20, 2)
    height = int.from_bytes(_bytes(raw, 22, 4), "little", signed=True)
    return _little(raw, 18, 4), abs(height)


def _webp(raw: bytes) -> tuple[int, int] | None:
    kind = raw[12:16]
    if kind == b"VP8X":
        return _little(raw, 24, 3) + 1, _little(raw, 27, 3) + 1
    if kind == b"VP8 ":
        return _little(raw, 26, 2) & 0x3FFF, _little(raw, 28, 2) & 0x3FFF
    if kind == b"VP8L":
        bits = _little(raw, 21, 4)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    at = 2
    for _ in range(_SEGMENTS):
        at = raw.find(b"\xff", at)
        if at < 0 or at + 9 >= len(raw):
            return None
        marker = raw[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(raw, at + 7, 2), _big(raw, at + 5, 2)
        if marker == 0xFF or 0xD0 <= marker <= 0xD8 or marker == 0x01:
            at += 1 if marker == 0xFF else 2
        elif marker in (0xD9, 0xDA):
            return None
        else:
            at += 2 + max(2, _big(raw, at + 2, 2))
    return None


_READERS = {"image/png": _png, "image/gif": _gif, "image/bmp": _bmp, "image/webp": _webp, "image/jpeg": _jpeg}


def _bytes(raw: bytes, at: int, size: int) -> bytes:
    found = raw[at : at + size]
    if len(found) < size:
        raise IndexError(at)
    return found


def _big(raw: bytes, at: int, size: int) -> int:
    return int.from_bytes(_bytes(raw, at, size), "big")


def _little(raw: bytes, at: int, size: int) -> int:
    return int.from_bytes(_bytes(raw, at, size), "little")


def _svg_size(source: str) -> tuple[int, int] | None:
    tag = _SVG_TAG.search(source)
    if tag is None:
        return None
    sides = [re.search(_SVG_LENGTH.format(side), tag[1]) for side in ("width", "height")]
    if sides[0] and sides[1]:
        return int(sides[0][1]), int(sides[1][1])
    box = _SVG_BOX.search(tag[1])
    return (int(box[1]), int(box[2])) if box else None


def _svg_words(source: str) -> str:
    """Return the text of an SVG's text, title and desc elements."""
    found = re.findall(r"<(?:text|tspan|title|desc)\b[^<>]{0,2000}>([^<]{1,5000})", source[: 4 << 20])
    lines = (" ".join(plain_view(words).split()) for words in found[:2_000])
    return "\n".join(line for line in lines if line)
