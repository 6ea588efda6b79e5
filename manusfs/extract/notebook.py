"""Notebooks as their cells in order: prose as it is, code fenced, outputs that are text, images told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from manusfs.extract.charset import decode
from manusfs.extract.job import Job, Page, plain_view, title_line
from manusfs.extract.text import Text, markdown_outline
from manusfs.records import Extracted

__all__ = ["Notebook", "fenced"]

_OUTPUT_CHARS = 20_000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Notebook:
    """Extractor of Jupyter notebooks, format 3 and 4."""

    media_types = ("application/x-ipynb+json",)

    def extract(self, job: Job) -> Iterator[Page | Extracted]:
        """Yield the cells as Markdown; what is no notebook after all stays JSON."""
        try:
            book = json.loads(decode(job.raw).text)
        except (ValueError, RecursionError):
            book = None
        cells = _cells(book)
        if cells is None:
            yield from Text().extract(Job(job.raw, "application/json", job.charset, job.name))
            return
        language = _language(book)
        left_out: list[str] = []
        blocks = [block for cell in cells for block in _cell(cell, language, left_out)]
        text = plain_view("\n\n".join(blocks))
        text = text + "\n" if text else ""
        outline = markdown_outline(text)
        notes = [f"notebook of {len(cells)} cells"]
        if left_out:
            notes.append(f"outputs that are no text are left out: {', '.join(sorted(set(left_out)))}")
        yield Extracted(
            job.media_type,
            text,
            charset="utf-8",
            title=title_line(outline[0].title) if outline else "",
            extractor="notebook/1",
            notes=tuple(notes),
            outline=outline,
        )


def fenced(code: str, language: str = "") -> str:
    """Return `code` as a fenced Markdown block, the fence longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def _cells(book: Any) -> list[Any] | None:
    if not isinstance(book, dict):
        return None
    if isinstance(book.get("cells"), list):
        return list(book["cells"])
    sheets = book.get("worksheets")
    if not isinstance(sheets, list):
        return None
    return [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells") or ()]


def _language(book: dict[str, Any]) -> str:
    metadata = book.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) and re.fullmatch(r"[\w+#-]{1,20}", name) else "python"


def _joined(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _cell(cell: Any, language: str, left_out: list[str]) -> Iterator[str]:
    if not isinstance(cell, dict):
        return
    source = _joined(cell.get("source", cell.get("input"))).strip("\n")
    kind = cell.get("cell_type")
    if kind == "code":
        if source.strip():
            yield fenced(source, language)
        for output in cell.get("outputs") or ():
            text = _output(output, left_out)
            if text.strip():
                yield "Output:\n\n" + fenced(text.strip("\n"))
    elif kind == "heading":
        yield "#" * int(cell.get("level", 1)) + " " + source
    elif source.strip():
        yield source if kind == "markdown" else fenced(source)


def _output(output: Any, left_out: list[str]) -> str:
    if not isinstance(output, dict):
        return ""
    if output.get("output_type") in ("error", "pyerr"):
        trace = output.get("traceback")
        lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
        return _cut(_ANSI.sub("", "\n".join(lines) or f"{output.get('ename')}: {output.get('evalue')}"))
    data = output.get("data")
    bundle = data if isinstance(data, dict) else output
    left_out.extend(str(name)[:60] for name in bundle if str(name).startswith(("image/", "application/")))
    left_out.extend(f"image/{name}" for name in ("png", "jpeg", "svg") if name in bundle)
    for name in ("text/markdown", "text/plain", "text"):
        text = _joined(bundle.get(name))
        if text:
            return _cut(_ANSI.sub("", text))
    return ""


def _cut(text: str) -> str:
    if len(text) <= _OUTPUT_CHARS:
        return text
    return f"{text[:_OUTPUT_CHARS]}\n… {len(text) - _OUTPUT_CHARS} more characters of this output are in the raw file"
