"""What has to be said of a PDF's pages, counted page by page and put into plain words."""

from __future__ import annotations

from typing import Literal

__all__ = ["Kind", "Tally"]

Kind = Literal[
    "broken",
    "rough",
    "deep",
    "nested",
    "perhaps",
    "images",
    "characters",
    "drawings",
    "nothing",
    "unsure",
    "sparse",
    "doubtful",
    "disordered",
    "outside",
]
_MOST = 8
_SOME: dict[Kind, str] = {
    "broken": "can't be read: {}",
    "rough": "{} crashed the first reader; the text is by a second one and may lack parts",
    "deep": "left out: what stands in forms nested more than 40 deep on {}",
    "nested": "part of {} can't be read: arrays or dictionaries are nested more than 500 deep there",
    "perhaps": "part of the text may be unread on {}: somewhere in the file arrays are nested more than 500 deep",
    "images": "no text layer on {}: images only (scanned?)",
    "characters": "no text layer on {}: its fonts don't tell which characters they draw",
    "drawings": "no text layer on {}: drawings only",
    "nothing": "no text on {}: blank",
    "unsure": "nothing was found on {}; whether something stands there could not be checked",
    "sparse": "little text on {}: most of it is an image (scanned?)",
    "doubtful": "unreliable text on {}: a font has no usable Unicode map, characters may be wrong",
    "disordered": "text may not be in reading order on {}: it stands as the file draws it",
    "outside": "left out: text outside the visible part of {}",
}
_ALL: dict[Kind, str] = {
    "images": "no text layer: the pages are images (scanned?)",
    "characters": "no text layer: the fonts don't tell which characters they draw",
    "drawings": "no text layer: the pages are drawings",
    "nothing": "no text: the pages are blank",
}


class Tally:
    """Pages by what has to be said of them; pages count from 1 and come in their order."""

    def __init__(self) -> None:
        self._spans: dict[Kind, list[list[int]]] = {}
        self._whole: list[list[int]] = []
        self._silent = True

    def page_read(self, page: int, kinds: set[Kind], *, silent: bool) -> None:
        """Say `kinds` of `page`; `silent` if it gave no text of any kind."""
        _extend(self._whole, page)
        self._silent = self._silent and silent
        for kind in kinds:
            _extend(self._spans.setdefault(kind, []), page)

    def also(self, page: int, kind: Kind) -> None:
        """Say `kind` of `page` too, which was read before; pages of a kind come in their order."""
        _extend(self._spans.setdefault(kind, []), page)

    def is_unread(self, page: int) -> bool:
        """Return True if `page` is told as one that can't be read, or that some of it can't."""
        spans = [span for kind in ("broken", "rough") for span in self._spans.get(kind, ())]
        return any(first <= page <= last for first, last in spans)

    @property
    def lacking(self) -> bool:
        """True if a page could not be read, or not for sure all of it."""
        return not self._spans.keys().isdisjoint(("broken", "rough", "deep", "nested", "perhaps", "unsure"))

    def notes(self) -> tuple[str, ...]:
        """Return one line for each kind. Blank pages are told only if nothing else is there to be read."""
        notes = []
        for kind, line in _SOME.items():
            spans = self._spans.get(kind)
            if spans and (kind != "nothing" or self._silent):
                notes.append(_ALL[kind] if spans == self._whole and kind in _ALL else line.format(_words(spans)))
        return tuple(notes)


def _extend(spans: list[list[int]], page: int) -> None:
    if spans and spans[-1][1] == page - 1:
        spans[-1][1] = page
    else:
        spans.append([page, page])


def _words(spans: list[list[int]]) -> str:
    """Return pages in words: "page 3", "pages 1-4, 9 and 12 more"."""
    pages, told = (sum(last - first + 1 for first, last in some) for some in (spans, spans[:_MOST]))
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans[:_MOST])
    return f"{'page' if pages == 1 else 'pages'} {shown}{f' and {pages - told} more' if pages > told else ''}"
