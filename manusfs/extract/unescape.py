"""Words as they stand on the page: the backslashes that a Markdown writer puts before them are taken back."""

from __future__ import annotations

import re

__all__ = ["unescaped"]

# code spans come as they are; a fence or heading at the start of a line must stay escaped, or the outline would see it
_PATTERN = re.compile(
    r"^[ ]{0,3}(?:\\+[`~]|\\\#)"
    r"|(?<![\\`])(?P<code>`+)(?!`)[^\n]{1,2000}?(?<!`)(?P=code)(?!`)"
    r"|(?P<run>\\+)(?P<special>[*_~\[\]<`])"
    r"|^(?P<start>[ ]{0,3}(?:\d{1,9})?)\\(?P<block>[-+>.)])(?=[ \t]|$)",
    re.MULTILINE,
)


def unescaped(text: str) -> str:
    """Return trafilatura's Markdown with `my\\_name` as `my_name`: people search for it, and quotes must match."""
    if "\\" not in text:
        return text
    # no rule looks beyond a line, and few lines have a backslash
    return "\n".join(_PATTERN.sub(_plain, line) if "\\" in line else line for line in text.split("\n"))


def _plain(match: re.Match[str]) -> str:
    if match["special"]:
        return "\\" * ((len(match["run"]) - 1) // 2) + match["special"]
    if match["block"]:
        return match["start"] + match["block"]
    return match[0]
