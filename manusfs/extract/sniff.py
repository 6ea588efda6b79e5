"""The media type of bytes: the content decides, the header and the name only break ties."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from manusfs.extract.signatures import SOURCE_TYPES, binary_type, suffix_type

__all__ = ["Sniffed", "sniff"]


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What bytes are: their media type and the name of the extractor that reads it ("" when none does)."""

    media_type: str
    extractor: str


_EXTRACTORS = {
    "application/pdf": "pdf",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/x-ipynb+json": "notebook",
    "application/gzip": "gzip",
    "image/svg+xml": "image",
    "application/json": "text",
    "application/x-ndjson": "text",
    "application/xml": "text",
}

_PDF = re.compile(rb"%PDF-\d\.\d")
_HTML_SURE = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_HTML_LIKELY = re.compile(
    rb"<(?:title|meta|link|script|style|base|p|div|span|h[1-6]|table|ul|ol|dl|a|b|br|font|iframe|img|article|section|"
    rb"main|header|nav|center|form|pre|blockquote|frameset|noscript)[\s>/]|<!--",
    re.IGNORECASE,
)
_HTML_SOMEWHERE = re.compile(
    rb"</?(?:p|div|span|h[1-6]|table|tr|td|th|ul|ol|li|dl|dt|dd|a|br|hr|body|html|b|i|u|em|strong|small|big|tt|code|kbd|"
    rb"sub|sup|img|font|center|pre|blockquote|cite|form|section|article|main|nav|noframes|noscript|title)[\s>/]",
    re.IGNORECASE,
)
_XML_PROLOG = re.compile(rb"(?:<\?.*?\?>|<!--.*?-->|<!doctype[^>\[]*(?:\[.*?\]\s*)?>|\s+)", re.IGNORECASE | re.DOTALL)
_ROOT = re.compile(rb"<(?:[\w.-]+:)?([\w.-]+)")
_HINTS_HTML = ("text/html", "application/xhtml+xml")


def sniff(raw: bytes, media_type: str = "", name: str = "") -> Sniffed:
    """Return what `raw` is; `media_type` (a header's claim) and `name` (of a file or URL) are hints."""
    found = _decide(raw, media_type.split(";", 1)[0].strip().lower(), suffix_type(name))
    if found in _EXTRACTORS:
        return Sniffed(found, _EXTRACTORS[found])
    kind = found.split("/", 1)[0]
    return Sniffed(found, kind if kind in ("text", "image") else "")


def _decide(raw: bytes, claimed: str, named: str) -> str:
    if _is_pdf(raw):
        return "application/pdf"
    found = binary_type(raw)
    if found:
        return found
    head = _text_head(raw)
    found = _markup(head, claimed, named)
    if found:
        return found
    if _is_binary(raw):
        return "application/octet-stream"
    return _structured(raw, head, claimed, named) or _prose(head, claimed, named)


def _is_pdf(raw: bytes) -> bool:
    head = raw[:1024]
    match = _PDF.search(head)
    if match is None:
        return False
    before = head[: match.start()].strip(b"\xef\xbb\xbf \t\r\n\x00")
    if not before:
        return True
    # junk before the marker is common; a page or a text that only mentions it has no objects
    return not before.lstrip().startswith(b"<") and (b"endobj" in raw or b"startxref" in raw[-2048:])


def _text_head(raw: bytes) -> bytes:
    """Return the beginning as ASCII-compatible bytes, also of UTF-16, without byte order mark and leading blanks."""
    head = raw[:8192]
    for bom, codec in ((b"\xef\xbb\xbf", ""), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if head.startswith(bom):
            head = head[len(bom) :]
            if codec:
                head = head.decode(codec, "replace").encode("utf-8", "replace")
            break
    else:
        if b"\x00" in head and _utf16_without_mark(head):
            codec = "utf-16-le" if head[1::2].count(0) > head[0::2].count(0) else "utf-16-be"
            head = head.decode(codec, "replace").encode("utf-8", "replace")
    return head.lstrip(b" \t\r\n\x0c\x00")


def _markup(head: bytes, claimed: str, named: str) -> str:
    is_source = named in SOURCE_TYPES.values()
    if head[:5].lower() == b"<?xml" or (head[:9].lower() == b"<!doctype" and not _HTML_SURE.match(head)):
        return _xml(head)
    start = _after_comments(head)
    if _HTML_SURE.match(start) and not is_source:
        return "text/html"
    if re.match(rb"<svg[\s>]", start, re.IGNORECASE) and not is_source and claimed not in _HINTS_HTML:
        return "image/svg+xml"
    if claimed in ("text/markdown", "text/plain") or is_source or named in ("text/markdown", "text/plain"):
        return ""
    if _HTML_LIKELY.match(start):
        return "text/html"
    if (claimed in _HINTS_HTML or named in _HINTS_HTML) and _HTML_SOMEWHERE.search(head):
        return "text/html"
    xml_hint = claimed.endswith(("/xml", "+xml")) or named == "application/xml"
    return _xml(head) if xml_hint and start.startswith(b"<") else ""


def _xml(head: bytes) -> str:
    at = 0
    while match := _XML_PROLOG.match(head, at):
        at = match.end()
    root = _ROOT.match(head, at)
    name = root[1].lower() if root else b""
    if name == b"html" or re.search(rb"<!doctype\s+html\b", head[:at], re.IGNORECASE):
        return "application/xhtml+xml"
    return "image/svg+xml" if name == b"svg" else "application/xml"


def _after_comments(head: bytes) -> bytes:
    while head.startswith(b"<!--") and (end := head.find(b"-->")) > 0:
        head = head[end + 3 :].lstrip()
    return head


def _is_binary(raw: bytes) -> bool:
    """Return True if `raw` reads as text in no charset that we know."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    sample = raw[:65536]
    if b"\x00" in sample:
        return not _utf16_without_mark(sample)
    controls = len(sample) - len(sample.translate(None, _CONTROL_BYTES))
    return controls > max(8, len(sample) // 50)


# ESC and SO/SI stand in ISO 2022 texts, form feeds in old listings
_CONTROL_BYTES = bytes(code for code in range(1, 32) if code not in (9, 10, 12, 13, 14, 15, 27))


def _utf16_without_mark(sample: bytes) -> bool:
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = max(1, len(sample) // 2)
    return (odd > 0.4 * half and even < 0.05 * half) or (even > 0.4 * half and odd < 0.05 * half)


def _structured(raw: bytes, head: bytes, claimed: str, named: str) -> str:
    if head[:1] in (b"{", b"["):
        found = _json(raw, head, claimed, named)
        if found:
            return found
    for hint in (named, claimed):
        if hint in ("text/csv", "text/tab-separated-values"):
            return hint
    if named or claimed == "text/markdown":
        return ""
    lines = head[:4096].splitlines()[:-1][:20]
    for delimiter, media_type in ((b"\t", "text/tab-separated-values"), (b",", "text/csv")):
        counts = {line.count(delimiter) for line in lines}
        if len(lines) >= 3 and len(counts) == 1 and min(counts) >= 2:
            return media_type
    return ""


def _json(raw: bytes, head: bytes, claimed: str, named: str) -> str:
    tail = raw[-4096:].rstrip(b" \t\r\n\x00")
    hinted = "json" in claimed or "json" in named
    closed = tail.endswith(b"}" if head[:1] == b"{" else b"]")
    if closed and head[:1] == b"{" and b'"nbformat"' in raw and b'"cells"' in raw:
        return "application/x-ipynb+json"
    if "ndjson" in claimed + named or "jsonl" in claimed:
        return "application/x-ndjson"
    if hinted and closed:
        return "application/json"
    if named and not hinted:
        return ""
    if len(raw) <= 1 << 20:
        return _json_proved(raw)
    return "application/json" if closed and re.match(rb'[\[{]\s*["\[{\]}\d]', head) else ""


def _json_proved(raw: bytes) -> str:
    try:
        json.loads(raw)
        return "application/json"
    except (ValueError, RecursionError):
        pass
    lines = [line for line in raw[:8192].splitlines() if line.strip()][:3]
    try:
        if len(lines) >= 2 and all(isinstance(json.loads(line), dict | list) for line in lines[:2]):
            return "application/x-ndjson"
    except (ValueError, RecursionError):
        pass
    return ""


_HEADING = re.compile(rb"^#{1,6} \S", re.MULTILINE)
_SUBHEADING = re.compile(rb"^#{2,6} \S", re.MULTILINE)
_MARKDOWN_ELSE = re.compile(rb"^```|\]\(https?://|^(?:[-*+]|\d+\.) \S", re.MULTILINE)


def _prose(head: bytes, claimed: str, named: str) -> str:
    if named in SOURCE_TYPES.values() or named in ("text/markdown", "text/x-rst"):
        return named
    if head.startswith(b"#!"):
        first = head.split(b"\n", 1)[0]
        return "text/x-python" if b"python" in first else "text/x-shellscript"
    if claimed == "text/markdown":
        return claimed
    if not named and _HEADING.search(head) and _SUBHEADING.search(head) and _MARKDOWN_ELSE.search(head):
        return "text/markdown"
    return "text/plain"
