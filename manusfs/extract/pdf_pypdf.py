"""PDF by pypdf: slower than pdfium, reads some files, encryptions and fonts that pdfium does not."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pypdf
from pypdf.errors import DependencyError, DeprecationError, PyPdfError
from pypdf.generic import NullObject

from manusfs.extract.pdf_content import drawn
from manusfs.extract.pdf_document import Entry, PageText, Unreadable

__all__ = ["VERSION", "open_pypdf"]

VERSION = f"pypdf/{version('pypdf')}"
_MOST_ENTRIES = 2_000
_MOST_CONTENT = 8 << 20
"""So many bytes of a page's commands are looked at."""
_FAULTS = (
    PyPdfError,
    DeprecationError,
    DependencyError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    AssertionError,
    NotImplementedError,
    OSError,
    LookupError,
    MemoryError,
)
"""What a broken file makes pypdf raise."""


def open_pypdf(data: bytes) -> _PyPdf:
    """Return `data` opened, with an empty password if it is encrypted.

    Raises:
        Unreadable: pypdf refuses it, or it needs a password.
    """
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("encrypted: it needs a password", locked=True)
        return _PyPdf(reader)
    except _FAULTS as error:
        raise Unreadable(f"not readable as PDF: {type(error).__name__}: {error}") from error


class _PyPdf:
    name = "pypdf"
    version = VERSION

    def __init__(self, reader: pypdf.PdfReader) -> None:
        self._reader = reader

    def page_count(self) -> int:
        try:
            return len(self._reader.pages)
        except _FAULTS as error:
            raise Unreadable(f"the page tree can't be read: {type(error).__name__}: {error}") from error

    def title(self) -> str:
        try:
            metadata = self._reader.metadata
            return str(metadata.title or "") if metadata is not None else ""
        except _FAULTS:
            return ""

    def read(self, page: int) -> PageText:
        try:
            loaded: Any = self._reader.pages[page]
            text = loaded.extract_text()
            if text.strip():
                return PageText(text, unmapped=_has_unmapped(loaded))
            drawn = [form.get_object() for form in loaded["/Resources"].get("/XObject", {}).values()]
            return PageText("", shows="images" if any(form["/Subtype"] == "/Image" for form in drawn) else "nothing")
        except _FAULTS as error:
            raise Unreadable(f"page {page + 1}: {type(error).__name__}: {error}") from error

    def parts(self, page: int) -> Iterator[bytes | None]:
        try:
            loaded: Any = self._reader.pages[page]
            contents = _entry(loaded, "/Contents", [])
            parts = [part.get_object() for part in (contents if isinstance(contents, list) else [contents])]
            content = b"\n".join(part.get_data() for part in parts if not isinstance(part, NullObject))
            yield from _with_forms(content, _entry(loaded, "/Resources", {}), set())
        except _FAULTS as error:
            raise Unreadable(f"page {page + 1}: {type(error).__name__}: {error}") from error

    def extras(self, page: int) -> str:
        lines: list[str] = []
        try:
            for reference in self._reader.pages[page].get("/Annots") or ():
                annotation = reference.get_object()
                lines += [str(annotation[key]).strip() for key in ("/Contents", "/V") if annotation.get(key)]
        except _FAULTS:
            pass
        return "\n".join(dict.fromkeys(filter(None, lines)))

    def label(self, page: int) -> str:
        try:
            return self._reader.page_labels[page] if "/PageLabels" in self._reader.root_object else ""
        except _FAULTS:
            return ""

    def outline(self) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        try:
            self._collect(self._reader.outline, 1, entries)
        except _FAULTS:
            pass
        return tuple(entries[:_MOST_ENTRIES])

    def notes(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self._reader.close()

    def _collect(self, nodes: Any, level: int, entries: list[Entry]) -> None:
        for node in nodes:
            if isinstance(node, list):
                self._collect(node, level + 1, entries)
            elif len(entries) < _MOST_ENTRIES:
                page = self._reader.get_destination_page_number(node)
                if page is not None and page >= 0:
                    entries.append(Entry(str(node.title), level, page))


def _has_unmapped(page: Any) -> bool:
    """Return True if a composite font of the page has no ToUnicode map."""
    try:
        fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
        return any(font.get("/Subtype") == "/Type0" and "/ToUnicode" not in font for font in fonts)
    except _FAULTS:
        return False


def _with_forms(content: bytes, resources: Any, seen: set[int]) -> Iterator[bytes | None]:
    """As `parts`; `seen` holds the forms that were looked into."""
    content = content[:_MOST_CONTENT]
    yield content
    forms = _entry(resources, "/XObject", {})
    for name in drawn(content):
        form = _entry(forms, name, None)
        if form is None or id(form) in seen:
            continue
        seen.add(id(form))
        if form.get("/Subtype") == "/Image":
            yield None
        else:
            yield from _with_forms(form.get_data(), _entry(form, "/Resources", resources), seen)


def _entry(holder: Any, key: str, otherwise: Any) -> Any:
    """Return what stands under `key`; `otherwise` if nothing does."""
    value = holder.get(key)
    found = value.get_object() if value is not None else None
    return otherwise if found is None or isinstance(found, NullObject) else found
