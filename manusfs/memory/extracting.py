"""How what was fetched becomes text: through an extractor, never at the price of the bytes, and not without end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from manusfs.errors import Interrupted, ManusfsError
from manusfs.records import Extracted, Fetched

__all__ = ["NO_EXTRACTOR", "Extractor", "Late", "text_of"]

NO_EXTRACTOR = "none"
"""Stands in the description where no extractor gave a text."""
_CUT_TEXT_BYTES = 1_000_000
"""Of a body that was cut on its way, so much becomes text."""


class Extractor(Protocol):
    """Makes text of bytes; a bad file gives what could be read, with the reason in its notes."""

    def extract(self, raw: bytes, *, media_type: str, charset: str, name: str, source_url: str) -> Extracted:
        """Return the text of `raw`; the claims of the sender are hints only."""
        ...


class Late:
    """An extractor that is made when the first text is wanted: what is known already needs none."""

    def __init__(self, make: Callable[[], Extractor]) -> None:
        self._make = make

    def extract(self, raw: bytes, *, media_type: str, charset: str, name: str, source_url: str) -> Extracted:
        """Return the text of `raw`."""
        made = self._make()
        return made.extract(raw, media_type=media_type, charset=charset, name=name, source_url=source_url)

    def close(self) -> None:
        """Let go of what is being extracted."""
        close = getattr(self._make(), "close", None)
        if close is not None:
            close()


def text_of(extractor: Extractor, fetched: Fetched) -> Extracted:
    """Return the text of what was fetched; where there is none, its notes say why."""
    url = fetched.http.final_url if fetched.http is not None else fetched.source.url
    raw = fetched.raw
    if not fetched.complete and len(raw) > _CUT_TEXT_BYTES:
        # A body without end would take five times its size in memory on its way through extraction and index.
        raw = raw[:_CUT_TEXT_BYTES]
    try:
        made = extractor.extract(
            raw, media_type=fetched.media_type, charset=fetched.charset, name=fetched.name, source_url=url
        )
    except Interrupted:  # no fault of the document: nothing of it is stored
        raise
    except ManusfsError as error:
        # Bytes that came are kept whatever becomes of their text.
        note = f"no text: {error}"
        return Extracted(fetched.media_type, "", complete=False, extractor=NO_EXTRACTOR, notes=(note,))
    if len(raw) < len(fetched.raw) and made.text:
        note = f"text of the first {len(raw)} bytes; the rest is in the raw bytes only"
        return replace(made, complete=False, notes=(*made.notes, note))
    return made
