"""Blocks of Markdown written one after the other: paragraphs, headings, lists, tables, code, quotes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from manusfs.extract.notebook import fenced

__all__ = ["Buffer", "Table"]

_CELL_CHARS = 500
"""A table with a longer cell is taken for layout: its cells are written as paragraphs."""
_MOST_SPAN = 100
_MOST_HANGING = 2_000
_MOST_FILLED = 50_000
"""A table of cells that span a hundred others would take more memory than the page."""


class Buffer:
    """Markdown under construction: words with blanks collapsed, and the line breaks that blocks want between them."""

    __slots__ = ("_gap", "_parts", "blocks", "marker", "space")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._gap = 0
        self.space = False
        """Whether a blank stands before the next words."""
        self.marker = ""
        """A list bullet that waits for its first word."""
        self.blocks = 0
        """Lists, headings, code and tables inside: what does not fit into a table's cell."""

    def words(self, text: str) -> None:
        """Add running text."""
        words = text.split()
        if not words:
            self.space = self.space or bool(text)
            return
        if self._gap or self.marker:
            self._start()
        elif (self.space or text[0].isspace()) and self._parts:
            self._parts.append(" ")
        self._parts.append(" ".join(words))
        self.space = text[-1].isspace()

    def gap(self, lines: int) -> None:
        """Ask for at least `lines` line ends before what comes next."""
        if lines > self._gap:
            self._gap = lines
        self.space = False

    def block(self, text: str) -> None:
        """Add `text` as it is, as a block of its own."""
        self.gap(2)
        self._start()
        self._parts.append(text)
        self.gap(2)

    def _start(self) -> None:
        if self._parts and self._gap:
            self._parts.append("\n" * min(self._gap, 2))
        if self.marker:
            self._parts.append(self.marker)
            self.marker = ""
        self._gap = 0

    def text(self) -> str:
        """Return what was written."""
        return "".join(self._parts).strip("\n")


@dataclass(slots=True)
class Table:
    """A table under construction: rows of cell texts, each under its own column whatever cells span."""

    rows: list[list[str]] = field(default_factory=list)
    caption: str = ""
    layout: bool = False
    """True if cells hold what a Markdown table can't: blocks, other tables, long text."""
    link_chars: int = 0
    elements: list[Any] = field(default_factory=list)
    """Elements of groups, rows and cells."""
    _hanging: dict[int, int] = field(default_factory=dict)
    """Columns into which a cell from above reaches down, each with the last row that it reaches."""
    _filled: int = 0

    def row(self) -> None:
        """Begin a row."""
        self.rows.append([])
        self._fill()

    def add(self, cell: Buffer, columns: int = 1, rows: int = 1) -> None:
        """Add a cell that spans `columns` and `rows` to the row that was begun last."""
        text = cell.text()
        if not self.rows:
            self.row()
        row = self.rows[-1]
        if rows > 1 and len(self._hanging) < _MOST_HANGING:
            last = len(self.rows) - 2 + min(rows, _MOST_SPAN)
            self._hanging.update((len(row) + right, last) for right in range(max(1, min(columns, _MOST_SPAN))))
        row.append(text)
        for _ in range(min(columns, _MOST_SPAN) - 1):
            self._empty_cell()
        self._fill()
        self.layout = self.layout or bool(cell.blocks) or len(text) > _CELL_CHARS

    def _fill(self) -> None:
        """Step over the columns that cells from above take."""
        row, number = self.rows[-1], len(self.rows) - 1
        while self._hanging.get(len(row), -1) >= number and self._empty_cell():
            pass

    def _empty_cell(self) -> bool:
        self._filled += 1
        if self._filled > _MOST_FILLED:
            return False
        self.rows[-1].append("")
        return True

    @property
    def is_data(self) -> bool:
        """True for a table of facts: two columns or more, cells that are plain text."""
        return not self.layout and max((len(row) for row in self.rows), default=0) > 1

    @property
    def is_menu(self) -> bool:
        """True if the cells are mostly links."""
        return 2 * self.link_chars > sum(len(cell) for row in self.rows for cell in row)

    def markdown(self) -> str:
        """Return the table as Markdown; one that serves layout as paragraphs, short cells of a row in one line."""
        rows = [row for row in self.rows if any(row)]
        if not self.is_data:
            return "\n\n".join(filter(None, (self.caption, *map(_paragraphs, rows))))
        width = max((len(row) for row in rows), default=0)
        lines = [self.caption, ""] if self.caption else []
        for number, row in enumerate(rows):
            cells = [" ".join(cell.split()).replace("|", "\\|") for cell in row]
            lines.append("| " + " | ".join(cells) + " |")
            if number == 0:
                lines.append("|" + "---|" * width)
        return "\n".join(lines)


def _paragraphs(row: list[str]) -> str:
    cells = [cell for cell in row if cell]
    short = all(len(cell) <= 120 and "\n" not in cell for cell in cells)
    return (" " if short else "\n\n").join(cells)


def code_block(code: str, language: str = "") -> str:
    """Return `code` fenced, without the blank lines round it."""
    return fenced(code.strip("\n").rstrip(), language)
