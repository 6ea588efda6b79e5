"""Puts together what an extractor yields, so that a kill at any moment leaves what was done, with a true note."""

from __future__ import annotations

from dataclasses import replace

from manusfs.extract.job import Page
from manusfs.records import Extracted

__all__ = ["PAGE_BREAK", "Collector"]

PAGE_BREAK = "\n\n"
"""Stands after each page but the last; belongs to the page before it."""


class Collector:
    """Gathers pages and the latest Extracted of one document, up to `limit` bytes of text."""

    def __init__(self, media_type: str, limit: int) -> None:
        self._media_type = media_type
        self._limit = limit
        self._size = 0
        self._pages: list[str] = []
        self._offsets: list[int] = []
        self._labels: list[str] = []
        self._latest: Extracted | None = None
        self._notes: tuple[str, ...] = ()
        self.full = False
        """True once the limit on bytes was reached: what follows is not taken."""

    def add(self, item: Page | Extracted) -> None:
        """Take the next thing that an extractor yielded."""
        if isinstance(item, Extracted):
            self._latest = item
        elif not self.full:
            self._add_page(item)

    def add_full_view(self, text: str) -> None:
        """Give the latest Extracted its full view."""
        if self._latest is not None:
            self._latest = replace(self._latest, full=text)

    def go_on(self) -> tuple[int, ...]:
        """Keep what a child gave before it died for the next one to go on from.

        Return where the pages begin and where the next one will; nothing if there are none.
        """
        self._notes += self._latest.notes if self._latest is not None else ()
        return (*self._offsets, self._size) if self._offsets else ()

    def _add_page(self, page: Page) -> None:
        text = page.text + PAGE_BREAK
        size = len(text.encode("utf-8", "replace"))
        if self._size + size > self._limit and self._pages:
            self.full = True
            return
        self._offsets.append(self._size)
        self._pages.append(text)
        self._labels.append(page.label)
        self._size += size

    @property
    def empty(self) -> bool:
        """True if nothing with text has come."""
        return not any(page.strip() for page in self._pages) and not (self._latest and self._latest.text.strip())

    def result(self, trouble: str = "") -> Extracted:
        """Return what came, cut to the limit; `trouble` says why there is no more."""
        latest = self._latest or Extracted(self._media_type, "", complete=False)
        notes = list(dict.fromkeys((*self._notes, *latest.notes)))
        if trouble:
            notes.append(trouble)
        if self._pages:
            latest = self._joined(latest)
            if trouble:
                notes.append(f"pages 1-{len(self._pages)} were read before that")
        complete = latest.complete and not trouble
        text, full = _cut(latest.text, self._limit), latest.full
        if text != latest.text or self.full:
            notes.append(f"the text was cut at {self._limit} bytes; the rest is in the raw bytes only")
            complete = False
        if full is not None and (cut := _cut(full, self._limit)) != full:
            full = cut
            notes.append(f"the full view was cut at {self._limit} bytes")
        return replace(latest, text=text, full=full, notes=tuple(notes), complete=complete)

    def _joined(self, latest: Extracted) -> Extracted:
        text = "".join(self._pages)
        text = text[: -len(PAGE_BREAK)] if text.endswith(PAGE_BREAK) else text
        size = len(text.encode("utf-8", "replace"))
        labels = tuple(self._labels)
        plain = all(label in ("", str(number)) for number, label in enumerate(labels, 1))
        return replace(
            latest,
            text=text,
            pages=tuple(min(offset, size) for offset in self._offsets),
            page_labels=() if plain else labels,
            outline=tuple(heading for heading in latest.outline if heading.offset <= size),
        )


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit // 4:
        return text
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= limit else raw[:limit].decode("utf-8", "ignore")
