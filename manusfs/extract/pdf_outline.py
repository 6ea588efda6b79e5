"""Where the headings of the outline stand in the text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from manusfs.extract.job import title_line
from manusfs.extract.pdf_document import Entry
from manusfs.records import Heading

__all__ = ["Places"]

_WORDS = 8
_REACH = 20_000
"""So far behind the heading before it a heading is looked for."""
_MOST = 200
"""So many headings of one page are looked for; the others point at the last that was found."""
_NUMBER = re.compile(r"(?:[\dIVXLC]+(?:\.\d+)*\.?|[A-Z]\.|§)\s+(?=\S)")


class Places:
    """The entries of an outline, each found on its page once that is read."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = [entry for entry in entries if entry.title.strip()]
        self._on: dict[int, list[int]] = defaultdict(list)
        for number, entry in enumerate(self._entries):
            self._on[entry.page].append(number)
        self._offsets: dict[int, int] = {}

    def page_read(self, page: int, text: str, offset: int) -> None:
        """Find the headings of `page`, whose `text` begins at byte `offset` of the whole."""
        found = 0
        for at, number in enumerate(self._on.get(page, ())):
            found = _find(self._entries[number].title, text, found) if at < _MOST else found
            self._offsets[number] = offset + len(text[:found].encode("utf-8"))

    def headings(self) -> Iterator[Heading]:
        """Yield the entries whose pages were read, in their own order."""
        for number, entry in enumerate(self._entries):
            if number in self._offsets:
                yield Heading(self._offsets[number], entry.level, title_line(entry.title, 120))


def _find(title: str, text: str, start: int) -> int:
    """Return where `title` stands in `text`: at the start of a line, else anywhere; `start` if nowhere after it."""
    words = _NUMBER.sub("", title_line(title), count=1).split()[:_WORDS]
    pattern = r"\s+".join(map(re.escape, words))
    number = rf"(?:{_NUMBER.pattern})?"
    for place in (rf"^[ \t]*({number}{pattern})", rf"({pattern})"):
        match = re.compile(place, re.IGNORECASE | re.MULTILINE).search(text, start, start + _REACH)
        if match:
            return match.start(1)
    return start
