"""Code and tables of a page, kept as they are through an extractor that would take them apart."""

from __future__ import annotations

import re

from manusfs.extract.seen import Seen

__all__ = ["Marks"]

_WORDS = 400


class Marks:
    """Marks in a page for its code blocks and data tables, and what each stands for.

    trafilatura turns code blocks into inline code and loses their indentation, loses rows of tables and takes a
    caption for a row. A mark holds the words of its block, since main-content heuristics weigh paragraphs by length
    and wording.
    """

    def __init__(self, source: str, seen: Seen) -> None:
        """Put marks into the elements of `seen`, which a walk found in the page that `source` holds."""
        self._name = next(name for number in range(1_000_000) if (name := f"QBLOCK{number}Z") not in source)
        self._blocks: list[str] = []
        for node, block in seen.code:
            node[:] = []
            node.text = self._mark(block)
        for node, block in seen.tables:
            if node.getparent() is not None:
                node[:] = []
                node.attrib.clear()
                node.tag, node.text = "p", self._mark(block)

    def _mark(self, block: str) -> str:
        words = re.findall(r"\w+", block)[:_WORDS]
        number = len(self._blocks)
        self._blocks.append(block)
        return f"{self._name}{number}N {' '.join(words)} {self._name}{number}E"

    def replaced(self, text: str) -> str:
        """Return `text` with every mark replaced by its block."""
        if self._name not in text:
            return text
        name = re.escape(self._name)
        pattern = rf"[ \t]*`{{0,3}}\s*{name}(\d+)N\s[^`]*?{name}\1E\s*?`{{0,3}}"
        text = re.sub(pattern, lambda match: f"\n\n{self._blocks[int(match[1])]}\n\n", text)
        text = re.sub(rf"{name}\d+[NE]", "", text)
        return re.sub(r"\n{3,}(?=```|\|)|(?<=```)\n{3,}|(?<=\|)\n{3,}", "\n\n", text).strip("\n")
