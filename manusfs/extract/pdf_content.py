"""What the commands of a PDF page ask for: the check on a reader that leaves out what it can't follow."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

__all__ = ["asks_for_words", "drawn", "is_deep", "nests_deep"]

_DEEPEST = 500
"""Readers leave out what is nested deeper: pdfium at 512 levels."""
_SHOWS = re.compile(rb"(?:Tj|TJ|['\"])(?=[\s/(<\[%]|$)")
_WORDS = re.compile(rb"\(\s*[^\s()]|<\s*[0-9A-Fa-f]")
_DRAWS = re.compile(rb"/([^\s()<>\[\]{}/%]{1,127})\s{1,9}Do(?=\s|$)")
# a string may hold brackets; possessive, so that one that never ends costs no square
_BRACKETS = re.compile(rb"\((?:[^()\\]|\\.)*+\)|<<|>>|\[|\]", re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]<>"))
_NESTED = (b"[[", b"<<<<", b"[<<", b"<<[")
_NO_COMMANDS = re.compile(
    rb"/Image\b|/Length1\b|/ObjStm\b|/XRef\b|/Metadata\b|/Alternate\b|/FunctionType\b|/CIDFont|/Type1C\b|/OpenType\b"
)
_HEAD = 600
"""The dictionary of a stream of commands is shorter than this."""
_MOST_STREAM = 16 << 20
_MOST_INFLATED = 128 << 20


def asks_for_words(content: bytes) -> bool:
    """Return True if `content` shows a string that is not blank, or is nested too deep to be read."""
    return bool(_SHOWS.search(content) and _WORDS.search(content)) or is_deep(content)


def drawn(content: bytes) -> list[str]:
    """Return the names of forms and images that `content` draws, each once."""
    return list(dict.fromkeys("/" + match[1].decode("latin-1") for match in _DRAWS.finditer(content)))


def is_deep(content: bytes) -> bool:
    """Return True if arrays or dictionaries in `content` are nested deeper than readers follow."""
    # text is written as thousands of flat arrays, and marked by as many flat dictionaries
    brackets = content.translate(None, _NO_BRACKETS)
    if len(brackets) <= _DEEPEST or not any(pair in brackets for pair in _NESTED):
        return False
    depth = 0
    for match in _BRACKETS.finditer(content):
        if match[0] in (b"[", b"<<"):
            depth += 1
            if depth > _DEEPEST:
                return True
        elif match[0] in (b"]", b">>"):
            depth = max(0, depth - 1)
    return False


def nests_deep(raw: bytes) -> bool:
    """Return True if any commands in a file are nested too deep: a quick look, after which each page is asked."""
    return any(map(is_deep, _commands(raw)))


def _commands(raw: bytes) -> Iterator[bytes]:
    """Yield the streams that may be commands, plain or deflated, up to 128 MB."""
    room = _MOST_INFLATED
    at = raw.find(b"stream")
    while at >= 0 and room > 0:
        head = raw[max(0, at - _HEAD) : at]
        head = head[head.rfind(b"obj") + 3 :]
        end = raw.find(b"endstream", at)
        end = end if end >= 0 else len(raw)
        if not _NO_COMMANDS.search(head):
            data = raw[at + 6 : end].lstrip(b"\r\n")
            if b"/FlateDecode" in head:
                data = _inflated(data, min(room, _MOST_STREAM))
            room -= len(data)
            yield data
        at = raw.find(b"stream", end + 9)


def _inflated(data: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, most)
    except zlib.error:
        return b""
