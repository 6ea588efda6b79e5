"""PDF, page by page: pdfium reads, pypdf takes over where pdfium can't; what the text is worth is said plainly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from manusfs.extract.collect import PAGE_BREAK
from manusfs.extract.job import Job, Page, plain_view, title_line
from manusfs.extract.pdf_document import Document, Entry, Unreadable
from manusfs.records import Extracted, Heading

__all__ = ["Pdf"]

_UNRELIABLE = 0.3
"""Share of characters that are no text (private use, replacement, controls) from which a page counts as garbage."""


@dataclass(slots=True)
class _Tally:
    """What is counted on the way."""

    offsets: list[int] = field(default_factory=list)
    size: int = 0
    empty: int = 0
    broken: list[int] = field(default_factory=list)
    doubtful: list[int] = field(default_factory=list)
    helped: bool = False
    late: bool = False


class Pdf:
    """Extractor of PDF files."""

    media_types = ("application/pdf",)

    def extract(self, job: Job) -> Iterator[Page | Extracted]:
        """Yield each page as soon as it is read, and at the end what is known of the document.

        A page that pdfium can't read, or reads as garbage, is asked of pypdf. Pages end at the limit on pages or when
        time is up, with a note; what was yielded stays.
        """
        known = Extracted(job.media_type, "")
        yield replace(known, complete=False)
        document, other = _open(job)
        if document is None:
            yield replace(known, complete=False, notes=(other,))
            return
        spare = _Spare(job, document.name)
        known = replace(known, title=title_line(document.title()))
        tally = _Tally()
        count = document.page_count()
        for number in range(min(count, job.limits.pages)):
            if job.seconds_left() <= 0:
                tally.late = True
                break
            text = _page(document, spare, number, tally)
            tally.offsets.append(tally.size)
            tally.size += len((text + PAGE_BREAK).encode("utf-8"))
            yield Page(text, document.label(number))
        yield _finished(known, document, spare, tally, count)


class _Spare:
    """pypdf, opened when pdfium leaves a page empty or broken."""

    def __init__(self, job: Job, first: str) -> None:
        self._job = job
        self._first = first
        self._document: Document | None = None
        self.used = False

    def text(self, number: int) -> str:
        """Return what pypdf reads on the page, "" when it can't."""
        if self._first == "pypdf" or self._job.seconds_left() < self._job.limits.seconds / 4:
            return ""
        try:
            if self._document is None:
                from manusfs.extract.pdf_pypdf import open_pypdf

                self._document = open_pypdf(self._job.raw)
            found = plain_view(self._document.text(number))
        except Unreadable:
            return ""
        self.used = self.used or bool(found.strip())
        return found


def _open(job: Job) -> tuple[Document | None, str]:
    """Return the document and "", or None and why nobody can open it."""
    from manusfs.extract.pdf_pdfium import open_pdfium
    from manusfs.extract.pdf_pypdf import open_pypdf

    reason = ""
    for opened in (open_pdfium, open_pypdf):
        try:
            document = opened(job.raw)
            if document.page_count():
                return document, ""
            reason = reason or "the file has no pages"
        except Unreadable as error:
            reason = str(error) if error.locked or not reason else reason
    return None, reason


def _page(document: Document, spare: _Spare, number: int, tally: _Tally) -> str:
    try:
        text = plain_view(document.text(number))
        doubtful = document.doubtful(number) or _is_garbage(text)
    except Unreadable:
        tally.broken.append(number + 1)
        text, doubtful = "", False
    if not text.strip() or doubtful:
        other = spare.text(number)
        if other.strip() and not _is_garbage(other):
            text, doubtful = other, doubtful and document.doubtful(number)
            if number + 1 in tally.broken:
                tally.broken.remove(number + 1)
    if doubtful and text.strip():
        tally.doubtful.append(number + 1)
    if not text.strip():
        tally.empty += 1
    extra = plain_view(document.extras(number)).strip()
    return (
        f"{text.rstrip()}\n\n[annotations and form fields]\n{extra}" if extra and extra not in text else text.rstrip()
    )


def _is_garbage(text: str) -> bool:
    signs = [c for c in text if not c.isspace()]
    if len(signs) < 8:
        return False
    bad = sum(c == "\ufffd" or "\ue000" <= c <= "\uf8ff" for c in signs)
    return bad > _UNRELIABLE * len(signs)


def _finished(known: Extracted, document: Document, spare: _Spare, tally: _Tally, count: int) -> Extracted:
    read = len(tally.offsets)
    notes = list(document.notes())
    if read < count:
        why = "time was up" if tally.late else "the limit on pages"
        notes.append(f"pages 1-{read} of {count}: {why}; the rest is in the raw bytes only")
    silent = tally.empty - len(tally.broken)
    if read and silent == read:
        notes.append("no text layer: the pages are images (scanned?)")
    elif silent:
        notes.append(f"{silent} of {read} pages have no text layer")
    if tally.broken:
        notes.append(f"pages that can't be read: {_numbers(tally.broken)}")
    if tally.doubtful:
        notes.append(f"unreliable text on pages {_numbers(tally.doubtful)}: a font has no Unicode map")
    name = document.version + (f"+{_pypdf_version()}" if spare.used else "")
    outline = tuple(_headings(document.outline(), tally.offsets))
    return replace(known, extractor=name, complete=read == count, notes=tuple(notes), outline=outline)


def _headings(entries: tuple[Entry, ...], offsets: list[int]) -> Iterator[Heading]:
    for entry in entries:
        if entry.page < len(offsets) and entry.title.strip():
            yield Heading(offsets[entry.page], entry.level, title_line(entry.title, 120))


def _numbers(pages: list[int]) -> str:
    shown = ", ".join(str(page) for page in pages[:8])
    return shown if len(pages) <= 8 else f"{shown} and {len(pages) - 8} more"


def _pypdf_version() -> str:
    from manusfs.extract.pdf_pypdf import VERSION

    return VERSION
