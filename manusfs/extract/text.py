"""Text that is its own view: plain text, Markdown, CSV, JSON, XML, source code, kept byte for byte when valid UTF-8."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator

from manusfs.extract.charset import Decoded, decode, decode_utf8
from manusfs.extract.job import Job, Page, title_line
from manusfs.records import Extracted, Heading

__all__ = ["Text", "markdown_outline"]

_LOOK_BYTES = 2 << 20
"""Notes on structure look at this much; larger files are not parsed for a note."""
_OUTLINE_ENTRIES = 2_000


class Text:
    """Extractor of everything that already is text."""

    media_types = (
        "text/plain",
        "text/markdown",
        "text/csv",
        "text/tab-separated-values",
        "application/json",
        "application/x-ndjson",
        "application/xml",
    )

    def extract(self, job: Job) -> Iterator[Page | Extracted]:
        """Yield the one Extracted there is."""
        kept = decode_utf8(job.raw)
        is_xml = job.media_type in ("application/xml", "image/svg+xml")
        decoded = Decoded(kept, "utf-8") if kept is not None else decode(job.raw, job.charset, markup=is_xml)
        text = decoded.text
        notes = [*decoded.notes, *_notes(job.media_type, text)]
        outline = markdown_outline(text) if job.media_type == "text/markdown" else ()
        yield Extracted(
            media_type=job.media_type,
            text=text,
            charset=decoded.charset,
            title=_title(job.media_type, outline),
            extractor="text/1",
            notes=tuple(notes),
            outline=outline,
        )


def _title(media_type: str, outline: tuple[Heading, ...]) -> str:
    if media_type == "text/markdown" and outline and outline[0].level == 1:
        return title_line(outline[0].title)
    return ""


def _notes(media_type: str, text: str) -> list[str]:
    if not text.strip():
        return ["empty: no text"]
    if len(text) > _LOOK_BYTES:
        return []
    if media_type in ("text/csv", "text/tab-separated-values"):
        return _table_note(text, "\t" if media_type.startswith("text/tab") else _delimiter(text))
    if media_type == "application/json":
        return _json_note(text)
    return []


def _delimiter(text: str) -> str:
    first = text.split("\n", 1)[0]
    return max(",;\t|", key=first.count)


def _table_note(text: str, delimiter: str) -> list[str]:
    try:
        rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
        header = next(rows, [])
        count = sum(1 for row in rows if row)
    except csv.Error as error:
        return [f"not well-formed as a table: {error}"]
    names = ", ".join(title_line(name, 40) for name in header[:20])
    more = f" and {len(header) - 20} more" if len(header) > 20 else ""
    return [f"{count} rows under {len(header)} columns: {names}{more}"]


def _json_note(text: str) -> list[str]:
    try:
        value = json.loads(text)
    except RecursionError:
        return ["nested too deeply to list its keys"]
    except ValueError as error:
        return [f"not valid JSON: {error}"]
    if isinstance(value, dict):
        names = ", ".join(title_line(str(name), 40) for name in list(value)[:20])
        more = f" and {len(value) - 20} more" if len(value) > 20 else ""
        return [f"object with keys: {names}{more}"] if value else ["empty object"]
    return [f"array of {len(value)}"] if isinstance(value, list) else []


_STARTS = " `~#"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)$")
_CLOSING = re.compile(r"(?:^|[ \t])#+$")


def markdown_outline(text: str) -> tuple[Heading, ...]:
    """Return the # headings of Markdown outside fenced code, with byte offsets; at most 2,000."""
    headings: list[Heading] = []
    fence = ""
    following = offset = counted = 0
    for line in text.split("\n"):
        at, following = following, following + len(line) + 1
        if line[:1] not in _STARTS or not line:
            continue
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
        elif not fence and (match := _ATX.match(line)) and (title := _heading(match[2])):
            offset += len(text[counted:at].encode("utf-8", "surrogatepass"))
            counted = at
            headings.append(Heading(offset, len(match[1]), title))
            if len(headings) == _OUTLINE_ENTRIES:
                break
    return tuple(headings)


def _heading(wording: str) -> str:
    # not one pattern: a line of blanks would cost it cubic time
    return title_line(_CLOSING.sub("", wording[:2_000].strip()), 200)
