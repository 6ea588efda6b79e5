"""The second reader of a PDF, opened when the first leaves a page empty or broken, and asked only while that pays."""

from __future__ import annotations

from collections.abc import Callable

from manusfs.extract.job import Job
from manusfs.extract.pdf_content import asks_for_words, is_deep
from manusfs.extract.pdf_document import PageText, SecondReader, Unreadable
from manusfs.extract.pdf_text import is_garbage
from manusfs.extract.worker import TimeUp, time_limit

__all__ = ["Spare"]

_PATIENCE = 4
"""After so many pages in a row for which pypdf was of no use it is not asked again: it takes long."""


class Spare:
    """pypdf, as a stand-in for single pages."""

    version = ""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._document: SecondReader | None = None
        self._failed: Unreadable | None = None
        self._vain = 0
        self._asked = True
        self._pages: int | None = None
        self.used = False
        """True once the text of a page came from here."""

    def expect(self, pages: int) -> None:
        """Say how many pages the first reader sees: one that sees another number would give wrong pages."""
        self._pages = pages

    def helped(self) -> None:
        """Say that what came from here was of use."""
        self.used = True
        self._vain = 0

    def open(self, share: float = 0.5) -> SecondReader:
        """Return the whole document, opened once.

        Raises:
            Unreadable: pypdf can't open it in that `share` of the time that is left, or it needs a password.
        """
        from manusfs.extract.pdf_pypdf import VERSION, open_pypdf

        if self._failed is not None:
            raise self._failed
        if self._document is None:
            self.version = VERSION
            try:
                with time_limit(self._job.seconds_left() * share):
                    self._document = open_pypdf(self._job.raw)
                    pages = self._document.page_count()
                if self._pages not in (None, pages):
                    raise Unreadable(f"it sees {pages} pages, not {self._pages}")
            except (Unreadable, TimeUp) as error:
                self._document = None
                self._failed = error if isinstance(error, Unreadable) else Unreadable("opening it takes too long")
                raise self._failed from None
        return self._document

    def read(self, page: int) -> PageText:
        """Return the text of a page, or raise Unreadable."""
        document = self.open()
        try:
            with time_limit(self._job.seconds_left() / 2):
                return document.read(page)
        except TimeUp:
            raise Unreadable(f"page {page + 1}: it takes too long") from None

    def read_again(self, page: int) -> PageText | None:
        """Return what pypdf reads on a page that another could not, None if that is of no use either."""
        if self._vain >= _PATIENCE or self._job.seconds_left() < self._job.limits.seconds / 4:
            return None
        self._vain += 1
        try:
            found = self.read(page)
        except Unreadable:
            return None
        return None if not found.text.strip() or is_garbage(found.text) else found

    def asks(self, page: int) -> bool | None:
        """Return True if a page on which another reader found nothing should show something; None if nobody knows."""
        return self._judged(page, lambda part: part is None or asks_for_words(part))

    def nests(self, page: int) -> bool | None:
        """Return True if commands of a page are nested deeper than readers follow; None if nobody knows."""
        return self._judged(page, lambda part: part is not None and is_deep(part))

    def _judged(self, page: int, judge: Callable[[bytes | None], bool]) -> bool | None:
        if not self._asked or self._job.seconds_left() < self._job.limits.seconds / 4:
            return None
        try:
            document = self.open(0.1)
            with time_limit(self._job.seconds_left() / 20):
                return _any(document, page, judge)
        except (Unreadable, TimeUp):
            self._asked = False
            return None

    def extras(self, page: int) -> str:
        """Return the text of annotations and form fields of a page."""
        return self._document.extras(page) if self._document is not None else ""

    def label(self, page: int) -> str:
        """Return the page's own label, "" without one."""
        return self._document.label(page) if self._document is not None else ""

    def close(self) -> None:
        """Give back what the document holds."""
        if self._document is not None:
            self._document.close()


def _any(document: SecondReader, page: int, judge: Callable[[bytes | None], bool]) -> bool:
    try:
        return any(map(judge, document.parts(page)))
    except Unreadable:
        # neither reader knows what to make of it
        return True
