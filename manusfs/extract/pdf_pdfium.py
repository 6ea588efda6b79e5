"""PDF by pdfium: fast, tolerant, and in C, which is why it runs in the child only."""

from __future__ import annotations

import ctypes
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pypdfium2
import pypdfium2.raw as raw

from manusfs.extract.pdf_document import Entry, PageText, Shows, Unreadable
from manusfs.extract.pdf_layout import MOST_BOXES, Box, is_disordered

__all__ = ["VERSION", "open_pdfium"]

VERSION = f"pypdfium2/{version('pypdfium2')}"
_MOST_ENTRIES = 2_000
_MOST_ANNOTATIONS = 500
_MOST_OBJECTS = 2_000
_DEEPEST = 41
"""At this level pdfium sees a form and no longer what is in it."""
_FORM = re.compile(rb"/Subtype\s{0,9}/Form\b")
_LITTLE = 120
"""A page with fewer characters on a large image may be a scan with a stamp."""
_SAMPLES = 64
"""So many characters of a page are asked for their Unicode map."""
_FAULTS = (pypdfium2.PdfiumError, ValueError, IndexError, ctypes.ArgumentError, MemoryError)
_EVERYWHERE = (-1e6, -1e6, 1e6, 1e6)
_BUTTONS = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)


def open_pdfium(data: bytes) -> _Pdfium:
    """Return `data` opened.

    Raises:
        Unreadable: pdfium refuses it, or it needs a password.
    """
    # it tells through its logger, and thereby on standard error, what the notes say
    logging.getLogger("pypdfium2").setLevel(logging.CRITICAL)
    try:
        many_forms = data.count(b"/Form") >= _DEEPEST and len(_FORM.findall(data)) >= _DEEPEST
        return _Pdfium(pypdfium2.PdfDocument(data), many_forms)
    except _FAULTS as error:
        locked = "assword" in str(error)
        message = "encrypted: it needs a password" if locked else f"not readable as PDF: {error}"
        raise Unreadable(message, locked=locked) from error


class _Pdfium:
    name = "pdfium"
    version = VERSION

    def __init__(self, document: Any, many_forms: bool) -> None:
        self._document = document
        self._many_forms = many_forms
        self._at = -1
        self._page: Any = None
        self._forms = raw.FPDF_GetFormType(document)
        if self._forms != raw.FORMTYPE_NONE:
            # field values that widgets inherit are told by the form environment only; it must be there before any page
            document.init_forms()

    def page_count(self) -> int:
        return len(self._document)

    def title(self) -> str:
        return _wide(raw.FPDF_GetMetaText, self._document, b"Title")

    def read(self, page: int) -> PageText:
        text_page = None
        try:
            loaded = self._load(page)
            text_page = loaded.get_textpage()
            found = _read(loaded, text_page)
            return replace(found, deep=True) if self._many_forms and _is_deep(loaded) else found
        except _FAULTS as error:
            raise Unreadable(f"page {page + 1}: {error}") from error
        finally:
            if text_page is not None:
                text_page.close()

    def extras(self, page: int) -> str:
        """Return the contents of annotations and the values of form fields, one a line."""
        try:
            loaded = self._load(page)
        except _FAULTS:
            return ""
        lines: list[str] = []
        for number in range(min(raw.FPDFPage_GetAnnotCount(loaded), _MOST_ANNOTATIONS)):
            annotation = raw.FPDFPage_GetAnnot(loaded, number)
            if annotation:
                lines += self._words(annotation)
                raw.FPDFPage_CloseAnnot(annotation)
        return "\n".join(dict.fromkeys(lines))

    def label(self, page: int) -> str:
        return _wide(raw.FPDF_GetPageLabel, self._document, page)

    def outline(self) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        for seen, bookmark in enumerate(self._document.get_toc()):
            target = bookmark.get_dest()
            page = target.get_index() if target is not None else None
            if page is not None and page >= 0:
                entries.append(Entry(_wide(raw.FPDFBookmark_GetTitle, bookmark), bookmark.level + 1, page))
            if len(entries) == _MOST_ENTRIES or seen > 5 * _MOST_ENTRIES:
                break
        return tuple(entries)

    def notes(self) -> tuple[str, ...]:
        notes = []
        files = raw.FPDFDoc_GetAttachmentCount(self._document)
        if files > 0:
            notes.append(f"{files} attached {'file is' if files == 1 else 'files are'} in the raw bytes only")
        if self._forms == raw.FORMTYPE_XFA_FULL:
            notes.append("an XFA form: what it shows to people may not be in the text")
        return tuple(notes)

    def close(self) -> None:
        self._leave()
        self._document.close()

    def _load(self, page: int) -> Any:
        if self._at != page:
            self._leave()
            self._page = self._document[page]
            self._at = page
        return self._page

    def _leave(self) -> None:
        if self._page is not None:
            self._page.close()
        self._page, self._at = None, -1

    def _words(self, annotation: Any) -> Iterator[str]:
        contents = _wide(raw.FPDFAnnot_GetStringValue, annotation, b"Contents").strip()
        if contents:
            yield contents
        value, name = _wide(raw.FPDFAnnot_GetStringValue, annotation, b"V").strip(), ""
        environment = self._document.formenv
        if environment is not None and raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET:
            if raw.FPDFAnnot_GetFormFieldType(environment, annotation) in _BUTTONS and value in ("", "Off"):
                return
            value = _wide(raw.FPDFAnnot_GetFormFieldValue, environment, annotation).strip() or value
            name = _wide(raw.FPDFAnnot_GetFormFieldName, environment, annotation).strip()
        if not value:
            return
        yield f"{name}: {value}" if name else value


def _read(page: Any, text_page: Any) -> PageText:
    count = text_page.count_chars()
    if count <= 0:
        return PageText("", shows=_shows(page))
    # a lone surrogate must come through, to be told; by default it is dropped
    text = str(text_page.get_text_bounded(errors="surrogatepass"))
    outside = 0
    if len(text) < count:
        whole = str(text_page.get_text_bounded(*_EVERYWHERE, errors="surrogatepass"))
        outside = _signs(whole) - _signs(text)
        if not text.strip():
            # a page whose boxes are broken shows all or nothing
            text, outside = whole, 0
    if not text.strip():
        return PageText("", shows=_shows(page))
    shows: Shows = "images" if _signs(text) < _LITTLE and _is_mostly_image(page) else "nothing"
    disordered = is_disordered(list(_boxes(text_page, page.get_bbox())))
    return PageText(text, _is_unmapped(text_page, count), disordered, max(outside, 0), shows)


def _signs(text: str) -> int:
    return sum(map(len, text.split()))


def _is_unmapped(text_page: Any, count: int) -> bool:
    looked: list[bool] = [
        raw.FPDFText_HasUnicodeMapError(text_page, i) == 1 for i in range(0, count, max(1, count // _SAMPLES))
    ]
    return sum(looked) > len(looked) // 5


def _boxes(text_page: Any, visible: tuple[float, float, float, float]) -> Iterator[Box]:
    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    count = raw.FPDFText_CountRects(text_page, 0, -1)
    for number in range(count if count <= MOST_BOXES else 0):
        raw.FPDFText_GetRect(text_page, number, left, top, right, bottom)
        box = Box(left.value, bottom.value, right.value, top.value)
        if box.left < visible[2] and box.right > visible[0] and box.bottom < visible[3] and box.top > visible[1]:
            yield box


def _is_mostly_image(page: Any) -> bool:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for number in range(min(raw.FPDFPage_CountObjects(page), _MOST_OBJECTS)):
        found = raw.FPDFPage_GetObject(page, number)
        if raw.FPDFPageObj_GetType(found) == raw.FPDF_PAGEOBJ_IMAGE:
            raw.FPDFPageObj_GetBounds(found, left, bottom, right, top)
            area = (right.value - left.value) * (top.value - bottom.value)
            if area > 0.5 * page.get_width() * page.get_height():
                return True
    return False


def _shows(page: Any) -> Shows:
    kinds = set(_kinds(page, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, 0))
    if raw.FPDF_PAGEOBJ_TEXT in kinds:
        return "characters"
    if raw.FPDF_PAGEOBJ_IMAGE in kinds:
        return "images"
    return "drawings" if kinds else "nothing"


def _is_deep(page: Any) -> bool:
    """Return True if forms stand in forms at the level that pdfium no longer reads."""
    holders: list[tuple[Callable[..., int], Callable[..., Any], Any, int]] = [
        (raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, page, 1)
    ]
    left = _MOST_OBJECTS
    while holders:
        count, get, holder, depth = holders.pop()
        number = min(count(holder), left)
        left -= number
        found = (get(holder, at) for at in range(number))
        forms = [one for one in found if one and raw.FPDFPageObj_GetType(one) == raw.FPDF_PAGEOBJ_FORM]
        if forms and depth == _DEEPEST:
            return True
        holders += [(raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, form, depth + 1) for form in forms]
    return False


def _kinds(holder: Any, count: Callable[..., int], get: Callable[..., Any], depth: int) -> Iterator[int]:
    for number in range(min(count(holder), _MOST_OBJECTS)):
        found = get(holder, number)
        kind = raw.FPDFPageObj_GetType(found) if found else 0
        if kind == raw.FPDF_PAGEOBJ_FORM and depth < 3:
            yield from _kinds(found, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, depth + 1)
        elif kind:
            yield kind


def _wide(function: Callable[..., int], *arguments: Any) -> str:
    """Return the text that a pdfium function writes as UTF-16, "" if there is none."""
    size = function(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "surrogatepass")
