"""What the commands of a PDF page ask for: the check on a reader that found nothing on the page."""

from __future__ import annotations

import re

__all__ = ["asks_for_words", "drawn"]

_DEEPEST = 500
"""Readers give up on what is nested deeper: pdfium at 512 levels."""
_SHOWS = re.compile(rb"(?:Tj|TJ|['\"])(?=[\s/(<\[%]|$)")
_WORDS = re.compile(rb"\(\s*[^\s()]|<\s*[0-9A-Fa-f]")
_DRAWS = re.compile(rb"/([^\s()<>\[\]{}/%]{1,127})\s{1,9}Do(?=\s|$)")
# a string may hold brackets; possessive, so that one that never ends costs no square
_BRACKETS = re.compile(rb"\((?:[^()\\]|\\.)*+\)|<<|>>|\[|\]", re.DOTALL)


def asks_for_words(content: bytes) -> bool:
    """Return True if `content` shows a string that is not blank, or is nested too deep to be read."""
    return bool(_SHOWS.search(content) and _WORDS.search(content)) or _is_deep(content)


def drawn(content: bytes) -> list[str]:
    """Return the names of forms and images that `content` draws, each once."""
    return list(dict.fromkeys("/" + match[1].decode("latin-1") for match in _DRAWS.finditer(content)))


def _is_deep(content: bytes) -> bool:
    if content.count(b"[") + content.count(b"<<") <= _DEEPEST:
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
