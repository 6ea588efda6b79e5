"""A gzip file as the text of what it holds, one layer deep and bounded."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace

from manusfs.extract.formats import EXTRACTORS
from manusfs.extract.job import FormatExtractor, Job, Page
from manusfs.extract.sniff import sniff
from manusfs.records import Extracted

__all__ = ["Gzip"]

_MOST = 100_000_000


class Gzip:
    """Extractor of .gz files."""

    media_types = ("application/gzip",)

    def extract(self, job: Job) -> Iterator[Page | Extracted]:
        """Yield what the extractor of the content yields, marked as decompressed."""
        raw, trouble = _decompressed(job.raw)
        name = job.name.removesuffix(".gz")
        inner = sniff(raw, name=name)
        note = f"gzip: the text is of the {len(raw)} bytes inside, {inner.media_type}"
        notes = (note, trouble) if trouble else (note,)
        if not inner.extractor or inner.extractor == "gzip":
            missing = "no text is extracted from this type; the raw bytes are kept"
            yield Extracted(job.media_type, "", extractor="gzip/1", notes=(*notes, missing), complete=not trouble)
            return
        extractor: FormatExtractor = EXTRACTORS.load(inner.extractor)()
        for item in extractor.extract(replace(job, raw=raw, media_type=inner.media_type, name=name)):
            if isinstance(item, Extracted):
                complete = item.complete and not trouble
                item = replace(item, media_type=job.media_type, notes=(*notes, *item.notes), complete=complete)
            yield item


def _decompressed(raw: bytes) -> tuple[bytes, str]:
    pieces: list[bytes] = []
    size = 0
    rest = raw
    while rest[:2] == b"\x1f\x8b":
        decoder = zlib.decompressobj(wbits=31)
        try:
            piece = decoder.decompress(rest, _MOST - size + 1)
        except zlib.error as error:
            return b"".join(pieces), f"damaged gzip data: {error}"
        pieces.append(piece)
        size += len(piece)
        if size > _MOST:
            return b"".join(pieces)[:_MOST], f"only the first {_MOST} bytes were decompressed"
        if not decoder.eof:
            return b"".join(pieces), "the gzip data ends too early"
        rest = decoder.unused_data
    return b"".join(pieces), ""
