"""The way from raw bytes to text views: decide the type, read it here or in the child, never fail."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from manusfs.extract.charset import decode, decode_utf8
from manusfs.extract.collect import Collector
from manusfs.extract.image import Image
from manusfs.extract.job import Job, Limits
from manusfs.extract.sniff import Sniffed, sniff
from manusfs.extract.strip import strip_tags
from manusfs.extract.text import Text
from manusfs.records import Extracted

if TYPE_CHECKING:
    from types import TracebackType

    from manusfs.extract.child import Pool

__all__ = ["Extractor", "extract"]

_DEFAULT = Limits()
_WORDS = {
    "application/zip": "a zip archive",
    "application/x-tar": "a tar archive",
    "application/x-ole-storage": "an old Office file",
    "application/octet-stream": "binary data",
}


class Extractor:
    """Extracts documents, several threads at a time if they like; holds the warm child processes."""

    def __init__(self, children: int = 2) -> None:
        self._children = children
        self._pool: Pool | None = None
        self._lock = threading.Lock()

    def extract(
        self,
        raw: bytes,
        *,
        media_type: str = "",
        charset: str = "",
        name: str = "",
        source_url: str = "",
        limits: Limits = _DEFAULT,
    ) -> Extracted:
        """Return the text views of `raw`; what can't be extracted has an empty text and a note that says why.

        `media_type`, `charset` and `name` are hints. Links of a page are resolved against `source_url`.
        Never raises for bad input: a document that breaks its reader or a limit gives what was read before that.
        """
        if not raw:
            return Extracted("text/plain", "", charset="utf-8", extractor="text/1", notes=("empty: 0 bytes",))
        kind = sniff(raw, media_type, name or source_url)
        job = Job(raw, kind.media_type, charset, name, source_url, limits)
        collector = Collector(kind.media_type, limits.text_bytes)
        if kind.extractor == "image" or (kind.extractor == "text" and _cheap(raw)):
            for item in (Image() if kind.extractor == "image" else Text()).extract(job):
                collector.add(item)
            return collector.result()
        if not kind.extractor:
            return self._foreign(job, collector)
        trouble = self._in_child(job, kind.extractor, collector)
        if trouble and kind.extractor == "pdf":
            trouble = self._go_on(job, collector, trouble)
        if collector.empty and trouble:
            return _without_child(job, kind, collector.result(trouble))
        if kind.extractor == "pdf" and collector.empty and not raw.startswith(b"%PDF") and _cheap(raw):
            # a text that only talks about PDF files
            return next(iter(Text().extract(replace(job, media_type="text/plain"))), collector.result())  # type: ignore[return-value]
        return collector.result(trouble)

    def close(self) -> None:
        """End the child processes; the next document starts new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def __enter__(self) -> Extractor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _in_child(self, job: Job, extractor: str, collector: Collector) -> str:
        with self._lock:
            if self._pool is None:
                from manusfs.extract.child import Pool

                self._pool = Pool(self._children)
            pool = self._pool
        return pool.run(job, extractor, collector)

    def _go_on(self, job: Job, collector: Collector, trouble: str) -> str:
        """Give a PDF that crashed its reader to a fresh child, so that a crash costs a page and not the document."""
        from manusfs.extract.child import DIED

        for falls in (1, 2):
            left = job.started + job.limits.seconds - time.monotonic()
            if not trouble.startswith(DIED) or left < 1:
                break
            limits = replace(job.limits, seconds=left)
            trouble = self._in_child(replace(job, limits=limits, done=collector.go_on(), falls=falls), "pdf", collector)
        return trouble

    def _foreign(self, job: Job, collector: Collector) -> Extracted:
        from manusfs.extract.formats import foreign

        if job.media_type in foreign():
            return collector.result(self._in_child(job, job.media_type, collector))
        what = _WORDS.get(job.media_type, job.media_type)
        note = f"no text: {what} is not read by this version; the {len(job.raw)} raw bytes are kept as they came"
        return Extracted(job.media_type, "", notes=(note,))


def _cheap(raw: bytes) -> bool:
    return decode_utf8(raw) is not None


def _without_child(job: Job, kind: Sniffed, got: Extracted) -> Extracted:
    """Return what can be had with the standard library alone, after the child died before it gave any text."""
    if kind.extractor == "html":
        decoded = decode(job.raw, job.charset, markup=True)
        note = "the text is the page without its tags, in the order of the source"
        text = strip_tags(decoded.text)
        return replace(got, text=text, charset=decoded.charset, extractor="strip/1", notes=(*got.notes, note))
    if kind.extractor in ("text", "notebook"):
        text = job.raw.decode("utf-8", "replace").replace("\x00", "\ufffd")
        return replace(got, text=text, charset="utf-8", extractor="text/1")
    return got


_shared = Extractor()


def extract(
    raw: bytes,
    *,
    media_type: str = "",
    charset: str = "",
    name: str = "",
    source_url: str = "",
    limits: Limits = _DEFAULT,
) -> Extracted:
    """Return `Extractor.extract` of an extractor that the whole process shares."""
    return _shared.extract(raw, media_type=media_type, charset=charset, name=name, source_url=source_url, limits=limits)
