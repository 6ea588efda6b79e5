"""PDF, page by page: pdfium reads, pypdf takes over where pdfium can't; what the text is worth is said plainly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from manusfs.extract.collect import PAGE_BREAK
from manusfs.extract.job import Job, Page, title_line
from manusfs.extract.pdf_content import nests_deep
from manusfs.extract.pdf_document import Document, PageText, Unreadable
from manusfs.extract.pdf_notes import Kind, Tally
from manusfs.extract.pdf_outline import Places
from manusfs.extract.pdf_spare import Spare
from manusfs.extract.pdf_text import is_garbage, mend, reads_well, real_title, strangeness
from manusfs.extract.worker import TimeUp, time_limit
from manusfs.records import Extracted

__all__ = ["Pdf"]

_RESCUED = "the file is cut or damaged: these are the pages that were found in it, in the order of the file"
_EXTRAS = "[annotations and form fields]"
_OUTSIDE = 4
"""So many characters outside the visible part of a page are told."""


class Pdf:
    """Extractor of PDF files."""

    media_types = ("application/pdf",)

    def extract(self, job: Job) -> Iterator[Page | Extracted]:
        """Yield each page as soon as it is read, and at the end what is known of the document.

        A page that pdfium can't read, or reads as garbage, is asked of pypdf. Pages end at the limit on pages or when
        time is up, with a note; what was yielded stays. A job that killed its child goes on behind the pages that it
        gave: the next page is read by pypdf, after a second fall all that are left.
        """
        known = Extracted(job.media_type, "", complete=False)
        yield known
        spare = Spare(job)
        try:
            document, notes = _open(job, spare)
        except Unreadable as error:
            yield replace(known, notes=(str(error),))
            return
        try:
            yield from _Reading(job, document, spare, notes).run(known)
        finally:
            document.close()
            spare.close()


def _open(job: Job, spare: Spare) -> tuple[Document, tuple[str, ...]]:
    """Return the document, by pypdf if pdfium can't open it or has killed two children, and what is to be said of it.

    Raises:
        Unreadable: neither can open it, or it needs a password.
    """
    first: Unreadable | None = None
    if job.falls < 2:
        from manusfs.extract.pdf_pdfium import open_pdfium

        try:
            document = open_pdfium(job.raw)
            if document.page_count():
                return document, ()
            first = Unreadable("no text: the file has no pages")
        except Unreadable as error:
            first = error
    try:
        return spare.open(), ()
    except Unreadable as second:
        locked = second.locked or (first is not None and first.locked)
        rescued = None if locked or first is None else _rescued(job.raw)
        if rescued is not None:
            return rescued, (_RESCUED,)
        raise (second if second.locked or first is None else first) from None


def _rescued(raw: bytes) -> Document | None:
    from manusfs.extract.pdf_pdfium import open_pdfium
    from manusfs.extract.pdf_repair import rebuilt

    mended = rebuilt(raw)
    try:
        return open_pdfium(mended) if mended is not None else None
    except Unreadable:
        return None


class _Reading:
    """One document being read."""

    def __init__(self, job: Job, document: Document, spare: Spare, notes: tuple[str, ...]) -> None:
        self._job = job
        self._notes = (*notes, *document.notes())
        self._rescued = _RESCUED in notes
        self._document = document
        self._spare = spare
        self._count = document.page_count()
        spare.expect(self._count)
        self._tally = Tally()
        self._offsets = list(job.done[:-1])
        self._size = job.done[-1] if job.done else 0

    def run(self, known: Extracted) -> Iterator[Page | Extracted]:
        title = real_title(self._document.title())
        known = replace(known, title=title, extractor=self._name(), notes=self._notes)
        yield known
        said = self._notes
        places = Places(self._document.outline())
        for number in range(len(self._offsets), min(self._count, self._job.limits.pages)):
            if self._job.seconds_left() <= 0:
                break
            try:
                page = self._page(number)
            except TimeUp:
                break
            places.page_read(number, page.text, self._size)
            self._offsets.append(self._size)
            self._size += len((page.text + PAGE_BREAK).encode("utf-8"))
            yield page
            if (*self._notes, *self._tally.notes()) != said:
                said = (*self._notes, *self._tally.notes())
                yield replace(known, notes=said, extractor=self._name())
        self._look_for_nests()
        outline = tuple(places.headings())
        notes = (*self._missing(), *self._notes, *self._tally.notes())
        complete = len(self._offsets) == self._count and not self._tally.lacking and not self._rescued
        yield replace(known, extractor=self._name(), complete=complete, notes=notes, outline=outline)

    def _missing(self) -> Iterator[str]:
        read = len(self._offsets)
        if read < self._count:
            why = "the limit on pages" if read == self._job.limits.pages else "time was up"
            have = f"pages 1-{read} of {self._count}" if read else f"none of {self._count} pages"
            yield f"{have}: {why}; the rest is in the raw bytes only"

    def _name(self) -> str:
        mine = self._document.version
        return f"{mine}+{self._spare.version}" if self._spare.used and self._spare.version != mine else mine

    def _page(self, number: int) -> Page:
        """Return page `number`, and count what has to be said of it."""
        fell_here = self._job.falls == 1 and number == len(self._job.done[:-1])
        document = self._spare if fell_here else self._document
        kinds: set[Kind] = set()
        try:
            found = self._read(document, number)
        except Unreadable:
            found = PageText("")
            kinds.add("broken")
        text = mend(found.text)
        extra = mend(document.extras(number)).strip()
        if text:
            kinds |= _worth(found) | ({"rough"} if fell_here else set())
        elif not kinds:
            # what a page of a cut file drew is lost with the rest
            lost = fell_here or (self._rescued and found.shows == "nothing")
            shows: Kind = "deep" if found.deep else found.shows
            kinds.add("broken" if lost else self._blank(number) if shows == "nothing" else shows)
        self._tally.page_read(number + 1, kinds, silent=not text and not extra)
        if extra and extra not in text:
            text = f"{text}\n\n{_EXTRAS}\n{extra}" if text else f"{_EXTRAS}\n{extra}"
        return Page(text, title_line(document.label(number), 40))

    def _blank(self, number: int) -> Kind:
        """Return what is to be said of a page on which nothing was found."""
        asks = self._document.name == "pdfium" and self._spare.asks(number)
        return "unsure" if asks is None else "broken" if asks else "nothing"

    def _look_for_nests(self) -> None:
        """Count the pages with text of which the first reader left out what is nested too deep."""
        if self._document.name != "pdfium" or not nests_deep(self._job.raw):
            return
        for number in range(len(self._offsets)):
            if not self._tally.is_unread(number + 1) and (nests := self._spare.nests(number)) is not False:
                self._tally.also(number + 1, "perhaps" if nests is None else "nested")

    def _read(self, document: Document | Spare, number: int) -> PageText:
        """Return what the better reader makes of the page, or raise Unreadable."""
        if document is self._spare:
            found = self._spare.read(number)
            self._spare.helped()
            return found
        if self._document.name == "pypdf":
            with time_limit(self._job.seconds_left()):
                return self._document.read(number)
        first = _attempt(document, number)
        if first is not None and not _wants_help(first):
            return first
        other = self._spare.read_again(number)
        if other is not None and (first is None or not first.text.strip() or _is_better(other, first)):
            self._spare.helped()
            return other
        if first is None:
            raise Unreadable(f"page {number + 1}")
        return first


def _attempt(document: Document | Spare, number: int) -> PageText | None:
    try:
        return document.read(number)
    except Unreadable:
        return None


def _wants_help(found: PageText) -> bool:
    return _is_doubtful(found) if found.text.strip() else found.shows == "characters"


def _is_doubtful(found: PageText) -> bool:
    return is_garbage(found.text) or (found.unmapped and not reads_well(found.text))


def _is_better(other: PageText, found: PageText) -> bool:
    if reads_well(other.text) and not reads_well(found.text):
        return True
    return strangeness(other.text) + 0.1 < strangeness(found.text)


def _worth(found: PageText) -> set[Kind]:
    kinds: set[Kind] = set()
    if _is_doubtful(found):
        kinds.add("doubtful")
    if found.disordered:
        kinds.add("disordered")
    if found.outside >= _OUTSIDE:
        kinds.add("outside")
    if found.shows == "images":
        kinds.add("sparse")
    if found.deep:
        kinds.add("deep")
    return kinds
