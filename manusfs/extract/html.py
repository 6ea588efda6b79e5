"""Web pages: a reading view by trafilatura, and beside it everything visible where that leaves much out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any

import trafilatura
from resiliparse.extract.html2text import extract_plain_text
from trafilatura.settings import Extractor as Options

from manusfs.extract.charset import decode
from manusfs.extract.coverage import lacks
from manusfs.extract.dom import walk
from manusfs.extract.job import Job, Page, plain_view
from manusfs.extract.links import with_all_links, with_lost_links
from manusfs.extract.marks import Marks
from manusfs.extract.parsed import Parsed, as_block, parse
from manusfs.extract.seen import Seen
from manusfs.extract.strip import strip_tags, without_tag_soup
from manusfs.extract.text import markdown_outline
from manusfs.extract.unescape import unescaped
from manusfs.extract.worker import TimeUp, time_limit
from manusfs.records import Extracted

__all__ = ["Html"]

_MOST_CHARS = 20_000_000
_READING_CHARS = 2_000_000
"""trafilatura needs 2 s for 2 MB, 10 s for 5 MB, 137 s for 22 MB."""
_DEEPEST = 200
"""Main-content heuristics hang on what is nested deeper."""
_SHORT = 200
_PROSE = 80
"""A line of so many characters is taken for prose."""
_PROSE_KEPT = 0.6
_RELIABLE = 3_000
"""A shorter reading view with less of the page's prose in it is made again, compared with other extractors."""


class Html:
    """Extractor of web pages."""

    media_types = ("text/html", "application/xhtml+xml")

    def extract(self, job: Job) -> Iterator[Page | Extracted]:
        """Yield everything visible first, so that it survives if the reading view takes too long; then both."""
        decoded = decode(job.raw, job.charset, markup=True)
        source, notes = without_tag_soup(decoded.text[:_MOST_CHARS])
        known = Extracted(job.media_type, "", charset=decoded.charset, notes=(*decoded.notes, *notes))
        if len(decoded.text) > _MOST_CHARS:
            notes = (*known.notes, f"only the first {_MOST_CHARS} characters of the page were read")
            known = replace(known, notes=notes, complete=False)
        try:
            with time_limit(max(0.1, job.seconds_left() * 0.5)):
                page, seen, known = _look(source, job, known)
        except TimeUp:
            yield _plain(source, job, known)
            return
        if not seen.text.strip():
            yield _almost_empty(source, known)
            return
        whole = replace(known, text=with_all_links(seen), extractor=_name("resiliparse"))
        whole = replace(whole, outline=markdown_outline(whole.text))
        yield replace(whole, notes=(*whole.notes, _ALL))
        yield _read(source, page, seen, job, known, whole)


_ALL = "the text is everything visible, menus too; no reading view could be made"
_ROUGH = "the reading view is a rough one"


def _look(source: str, job: Job, known: Extracted) -> tuple[Parsed, Seen, Extracted]:
    page = parse(source)
    seen = walk(page, job.source_url)
    if seen.hidden_chars > len(seen.text):
        # scripts would show it: pages that start invisible are common, and nothing else is there to read
        seen = walk(page, job.source_url, keep_hidden=True)
        known = replace(known, notes=(*known.notes, "most of the text is hidden until scripts run; it is included"))
        seen.hidden.clear()
    elif seen.hidden_chars:
        note = f"{seen.hidden_chars} characters of hidden text are left out; they are in the raw bytes"
        known = replace(known, notes=(*known.notes, note))
    return page, seen, replace(known, title=seen.title)


def _almost_empty(source: str, known: Extracted) -> Extracted:
    """Return what there is on a page without visible text: the title, or what browsers without scripts show."""
    text = strip_tags(re.sub(r"</?noscript\b", "<p", source, flags=re.IGNORECASE))
    note = "no visible text: the page may be built by scripts; the text is its title and what stands in noscript"
    if not text.strip():
        note = "no text: the page has no visible text at all"
    return replace(known, text=text + "\n" if text else "", extractor="strip/1", notes=(*known.notes, note))


def _read(source: str, page: Parsed, seen: Seen, job: Job, known: Extracted, whole: Extracted) -> Extracted:
    reading, trouble, name = _reading(source, page, seen, job)
    if not reading.strip():
        return replace(whole, notes=(*known.notes, f"{trouble}: {_ALL}" if trouble else _ALL))
    notes = (*known.notes, f"{trouble}: {_ROUGH}") if trouble else known.notes
    body = reading.strip("\n")
    text, unlisted = with_lost_links(body, seen)
    missing = lacks(body, seen, unlisted)
    full = None
    if missing:
        full = whole.text
        notes = (*notes, f"the reading view leaves out {', '.join(missing)}; the full view has everything visible")
    return replace(known, text=text, full=full, extractor=name, notes=notes, outline=markdown_outline(text))


def _reading(source: str, page: Parsed, seen: Seen, job: Job) -> tuple[str, str, str]:
    """Return the reading view, what went wrong if anything did, and what made it."""
    if page.root is None or seen.depth > _DEEPEST:
        return "", f"nested {seen.depth} levels deep", ""
    if page.chars > _READING_CHARS:
        reading, trouble = "", f"larger than {_READING_CHARS} characters"
    else:
        _prepare(page.root, seen)
        reading, trouble = _main_content(page.root, job, seen, Marks(source, seen))
    if len(reading) < _SHORT and len(seen.text) > 5 * _SHORT:
        rough = _rough(source, job, main_content=True)
        if len(rough) > 2 * len(reading):
            return rough, trouble, _name("resiliparse")
    return reading, trouble, _name("trafilatura")


def _prepare(root: Any, seen: Seen) -> None:
    """Make a page fit for trafilatura: hidden parts gone, links absolute, nothing that matters in what it drops."""
    for node in seen.hidden:
        node.drop_tree()
    for node, url in seen.anchors:
        if url:
            node.set("href", url)
        else:
            del node.attrib["href"]
    for node in seen.layout:
        as_block(node)
    # trafilatura drops figures whole, whatever stands in them
    for node in list(root.iter("figcaption")):
        as_block(node, "p")
    for node in list(root.iter("figure")):
        as_block(node)
    # and forms and asides
    for node, _ in (*seen.tables, *seen.code):
        for parent in list(node.iterancestors("form", "aside")):
            as_block(parent)


def _main_content(root: Any, job: Job, seen: Seen, marks: Marks) -> tuple[str, str]:
    """Return the reading view and what went wrong, if anything did."""
    try:
        with time_limit(max(0.1, job.seconds_left() * 0.7)):
            text = marks.replaced(_content(root, fast=True))
            if len(text) < _RELIABLE and _prose(text) < _PROSE_KEPT * _prose(seen.text):
                text = marks.replaced(_content(root, fast=False))
    except TimeUp:
        return "", "the reading view took too long to make"
    except Exception as error:  # noqa: BLE001 - whatever a heuristic trips over, the rest of the page is still there
        return "", f"the reading view could not be made: {type(error).__name__}"
    return text, ""


def _content(root: Any, *, fast: bool) -> str:
    # trafilatura works on a copy
    return unescaped(plain_view(trafilatura.extract(root, options=_options(fast)) or ""))


@cache
def _options(fast: bool) -> Options:
    return Options(output_format="markdown", links=True, tables=True, fast=fast)


def _prose(text: str) -> int:
    return sum(len(line) for line in text.split("\n") if len(line) >= _PROSE and line[0] not in "|-")


def _plain(source: str, job: Job, known: Extracted) -> Extracted:
    """Return the words of a page that is too large to be walked."""
    text = _rough(source, job, main_content=False) or strip_tags(source)
    note = "the page has too many elements: the text is everything visible, without tables and links"
    return replace(known, text=text + "\n", extractor=_name("resiliparse"), notes=(*known.notes, note))


def _rough(source: str, job: Job, *, main_content: bool) -> str:
    try:
        with time_limit(max(0.1, job.seconds_left() * 0.5)):
            text = extract_plain_text(source, preserve_formatting=True, main_content=main_content)
    except (TimeUp, Exception):  # noqa: BLE001 - as for the reading view
        return ""
    return plain_view(text).strip()


@cache
def _name(library: str) -> str:
    return f"{library}/{version(library)}"
