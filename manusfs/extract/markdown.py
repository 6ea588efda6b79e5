"""Blocks of Markdown written one after the other: paragraphs, headings, lists, tables, code, quotes."""

from __future__ import annotations

from dataclasses import dataclass, field

from manusfs.extract.notebook import fenced

__all__ = ["Buffer", "Table"]

_CELL_CHARS = 500
"""A table with a longer cell is taken for layout: its cells are written as paragraphs."""


class Buffer:
    """Markdown under construction: words with blanks collapsed, and the line breaks that blocks want between them."""

    __slots__ = ("_gap", "_parts", "_space", "blocks", "marker")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._gap = 0
        self._space = False
        self.marker = ""
        """A list bullet that waits for its first word."""
        self.blocks = 0
        """Lists, headings, code and tables inside: what does not fit into a table's cell."""

    def words(self, text: str) -> None:
        """Add running text."""
        collapsed = " ".join(text.split())
        if not collapsed:
            self._space = self._space or bool(text)
            return
        self._start(self._space or text[0].isspace())
        self._parts.append(collapsed)
        self._space = text[-1].isspace()

    def gap(self, lines: int) -> None:
        """Ask for at least `lines` line ends before what comes next."""
        self._gap = max(self._gap, lines)
        self._space = False

    def block(self, text: str) -> None:
        """Add `text` as it is, as a block of its own."""
        self.gap(2)
        self._start(False)
        self._parts.append(text)
        self.gap(2)

    def _start(self, space: bool) -> None:
        if self._parts and self._gap:
            self._parts.append("\n" * min(self._gap, 2))
        elif self._parts and space and not self.marker:
            self._parts.append(" ")
        if self.marker:
            self._parts.append(self.marker)
            self.marker = ""
        self._gap = 0

    def text(self) -> str:
        """Return what was written."""
        return "".join(self._parts).strip("\n")


@dataclass(slots=True)
class Table:
    """A table under construction: rows of cell texts."""

    rows: list[list[str]] = field(default_factory=list)
    layout: bool = False
    """True if cells hold what a Markdown table can't: blocks, other tables, long text."""

    def add(self, cell: Buffer) -> None:
        """Add a cell to the row that was begun last."""
        text = cell.text()
        if not self.rows:
            self.rows.append([])
        self.rows[-1].append(text)
        self.layout = self.layout or bool(cell.blocks) or len(text) > _CELL_CHARS

    @property
    def is_data(self) -> bool:
        """True for a table of facts: two columns or more, cells that are plain text."""
        return not self.layout and max((len(row) for row in self.rows), default=0) > 1

    def markdown(self) -> str:
        """Return the table as Markdown; one that serves layout as paragraphs, short cells of a row in one line."""
        rows = [row for row in self.rows if any(row)]
        if not self.is_data:
            return "\n\n".join(_paragraphs(row) for row in rows)
        width = max((len(row) for row in rows), default=0)
        lines = []
        for number, row in enumerate(rows):
            cells = [" ".join(cell.split()).replace("|", "\\|") for cell in row] + [""] * (width - len(row))
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
