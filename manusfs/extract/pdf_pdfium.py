"""PDF by pdfium: fast, tolerant, and in C, which is why it runs in the child only."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pypdfium2
import pypdfium2.raw as raw

from manusfs.extract.pdf_document import Entry, Unreadable

__all__ = ["VERSION", "open_pdfium"]

VERSION = f"pypdfium2/{version('pypdfium2')}"
_MOST_ENTRIES = 2_000
_MOST_ANNOTATIONS = 200


def open_pdfium(data: bytes) -> _Pdfium:
    """Return `data` opened.

    Raises:
        Unreadable: pdfium refuses it, or it needs a password.
    """
    try:
        document = pypdfium2.PdfDocument(data)
        return _Pdfium(document)
    except pypdfium2.PdfiumError as error:
        locked = "assword" in str(error)
        message = "encrypted: it needs a password" if locked else f"not readable as PDF: {error}"
        raise Unreadable(message, locked=locked) from error


class _Pdfium:
    name = "pdfium"
    version = VERSION

    def __init__(self, document: Any) -> None:
        self._document = document
        self._at = -1
        self._page: Any = None

    def page_count(self) -> int:
        return len(self._document)

    def title(self) -> str:
        return str(self._document.get_metadata_value("Title") or "")

    def text(self, page: int) -> str:
        text_page = None
        try:
            text_page = self._load(page).get_textpage()
            return str(text_page.get_text_bounded()) if text_page.count_chars() else ""
        except (pypdfium2.PdfiumError, ValueError, UnicodeError) as error:
            raise Unreadable(f"page {page + 1}: {error}") from error
        finally:
            if text_page is not None:
                text_page.close()

    def doubtful(self, page: int) -> bool:
        """True if a good part of the page's characters have no Unicode map: pdfium guessed them."""
        try:
            text_page = self._load(page).get_textpage()
        except pypdfium2.PdfiumError:
            return False
        try:
            count = text_page.count_chars()
            step = max(1, count // 200)
            looked = [raw.FPDFText_HasUnicodeMapError(text_page, i) == 1 for i in range(0, count, step)]
            return bool(looked) and sum(looked) > len(looked) // 5
        finally:
            text_page.close()

    def extras(self, page: int) -> str:
        """Return the contents of annotations and the values of form fields, one a line."""
        try:
            loaded = self._load(page)
        except pypdfium2.PdfiumError:
            return ""
        lines: list[str] = []
        for number in range(min(raw.FPDFPage_GetAnnotCount(loaded), _MOST_ANNOTATIONS)):
            annotation = raw.FPDFPage_GetAnnot(loaded, number)
            if annotation:
                lines += [value for key in (b"Contents", b"V") if (value := _string(annotation, key).strip())]
                raw.FPDFPage_CloseAnnot(annotation)
        return "\n".join(dict.fromkeys(lines))

    def label(self, page: int) -> str:
        return str(self._document.get_page_label(page) or "")

    def outline(self) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        for bookmark in self._document.get_toc():
            target = bookmark.get_dest()
            page = target.get_index() if target is not None else None
            if page is not None and page >= 0:
                entries.append(Entry(bookmark.get_title(), bookmark.level + 1, page))
            if len(entries) == _MOST_ENTRIES:
                break
        return tuple(entries)

    def notes(self) -> tuple[str, ...]:
        return ()

    def _load(self, page: int) -> Any:
        if self._at != page:
            if self._page is not None:
                self._page.close()
                self._page = None
            self._page = self._document[page]
            self._at = page
        return self._page


def _string(annotation: Any, key: bytes) -> str:
    import ctypes

    size = raw.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    raw.FPDFAnnot_GetStringValue(annotation, key, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")
