"""How untrusted text is made safe to stand in the context or on a terminal, without moving a byte.

`body` keeps the number of UTF-8 bytes: an offset in what the model was shown is an offset in what is stored.
"""

from __future__ import annotations

import json
import re
import unicodedata

from manusfs.records.canonical import valid_text

__all__ = ["TAGS", "body", "field", "in_json", "terminal"]

TAGS = (
    "observation",
    "folded",
    "ledger",
    "read",
    "hits",
    "hit",
    "matches",
    "match",
    "listing",
    "turn",
    "todo",
    "changed",
    "fenced",
    "summary",
    "state_snapshot",
    "available_skills",
    "user_message",
    "instructions",
)
"""The tags that manusfs itself writes round or beside untrusted text."""

_OPENER = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(TAGS)})\b)", re.IGNORECASE)
_BAD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_JOINERS = "\u200c\u200d"
_STANDINS = {1: "?", 2: "·", 3: "\ufffd", 4: "··"}


def body(text: str) -> str:
    """Return untrusted text for a delimited place: our tag openers and invisible characters replaced, same byte length.

    Zero-width joiners between two letters or symbols stay: Persian, Hindi and emoji need them. A carriage return
    becomes a blank.
    """
    return _BAD.sub(_standin, _OPENER.sub("[", valid_text(text)))


def _standin(match: re.Match[str]) -> str:
    char = match[0]
    if char == "\r":
        return " "
    if char in _JOINERS and _between_letters(match.string, match.start()):
        return char
    if (
        "\ufe00" <= char <= "\ufe0f"
        and match.start() > 0
        and unicodedata.category(match.string[match.start() - 1]) == "So"
    ):
        return char
    return _STANDINS[len(char.encode("utf-8"))]


def _between_letters(text: str, at: int) -> bool:
    if not 0 < at < len(text) - 1:
        return False
    return all(unicodedata.category(text[i])[0] in "LMS" or text[i] == "\ufe0f" for i in (at - 1, at + 1))


def field(text: str, limit: int = 120) -> str:
    """Return untrusted text as one escaped line of at most `limit` characters, fit to stand between quotes."""
    text = valid_text(text)
    # What is printable and in no list of ours has nothing to be taken out: that is most titles and addresses.
    if not text.isprintable() or _BAD.search(text):
        kept = (c for c in text if c in "\t\n\r" or not _BAD.match(c))
        gone = ("Cc", "Cf", "Cn", "Zl", "Zp")
        text = "".join(c for c in kept if unicodedata.category(c) not in gone or c in "\t\n\r")
    line = " ".join(text.split())
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def terminal(text: str) -> str:
    """Return `text` without what could drive a terminal: controls (but newline and tab), bidi, invisible characters."""
    return _BAD.sub(_standin, valid_text(text))


def in_json(line: str) -> str:
    """Return JSON with what `terminal` replaces written as escapes: the same value, fit to be printed."""
    return _BAD.sub(lambda match: "\\u007f" if match[0] == "\x7f" else json.dumps(match[0])[1:-1], line)
