"""Mends what PDF readers make of words, and judges whether a text can be what the page shows."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from manusfs.extract.job import plain_view, title_line

__all__ = ["is_garbage", "mend", "reads_well", "real_title", "strangeness"]

_GARBAGE = 0.25
"""Share of strange characters from which a text counts as garbage."""
_FEWEST = 8
"""Of fewer characters nothing is said."""
_SAMPLE = 4_000
"""So many characters of a page are judged."""

# bounded, and not begun inside a run: a page of a million letters or spaces must not cost their square
_BROKEN = re.compile("(\\w{1,40})[\x02\ufffe]\\s{0,3}(\\w{1,40})")
_LINE_ENDS = re.compile(r"(?<![ \t])[ \t]+\n")
_COMPOUND = frozenset(["self", "well", "cross", "high", "low", "long", "short", "half", "two", "three", "four", "five"])
"""What stands before a hyphen that is part of the word, more often than not."""
_WIDE = "\u2e80-\u303f\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
_WIDE_PAIR = re.compile(f"(?<=[{_WIDE}])[{_WIDE}]")
_WIDE_APART = re.compile(f"(?<=[{_WIDE}]) (?=[{_WIDE}])")
_GLYPH_NAMES = re.compile(r"(?:/[A-Za-z_]{0,4}[0-9A-Fa-f]{1,6}\s?){3,}")
_CONTROLS = frozenset(map(chr, [*range(9), *range(14, 32), *range(127, 160)])) - {"\x02"}
_SHIFTED = frozenset("HWDRLQVK")
"""The letters e t a o i n s h, 29 places back: how the commonest embedding of fonts reads without its map."""
_MIXES = frozenset([frozenset(["LATIN", "GREEK"]), frozenset(["LATIN", "CYRILLIC"])])
_WORD = re.compile(r"[^\W\d_]{3,}")

_NO_TITLE = re.compile(
    r"\W*(unspecified|untitled( document)?( ?-? ?\d+)?|untitled - notepad|no title|none|null|title|document ?\d*|"
    r"doc ?\d+|anonymous|slide ?\d+|page( ?\d+)?|powerpoint presentation|presentation|enscript output|print|"
    r"layout ?\d+|default|about:blank)?\W*",
    re.IGNORECASE,
)
_PROGRAM = re.compile(r"(?:microsoft |openoffice |libreoffice )?(?:word|excel|powerpoint|writer) - ", re.IGNORECASE)
_FILE = re.compile(
    r"(?:.*[\\/])?([^\\/]+?)\.(?:docx?|rtf|odt|pptx?|xlsx?|dvi|tex|qxp|qxd|indd|pmd|wpd|e?ps|ai|pdf)", re.IGNORECASE
)


def mend(text: str) -> str:
    """Return `text` as a view holds it, with words put together again that the reader or the layout took apart.

    pdfium tells a hyphen at the end of a line as U+0002 and joins the lines there. The hyphen goes, except where it is
    likely to belong to the word. Chinese and Japanese that is set with a space after each character loses these.
    """
    if "\x02" in text or "\ufffe" in text:
        known = text.casefold()
        text = _BROKEN.sub(lambda match: _join(match[1], match[2], known), text)
        text = text.replace("\x02", "-") if _CONTROLS.isdisjoint(text) else text
    text = _LINE_ENDS.sub("\n", plain_view(text)).rstrip()
    apart = len(_WIDE_APART.findall(text))
    if apart >= _FEWEST and apart > 2 * len(_WIDE_PAIR.findall(text)):
        text = _WIDE_APART.sub("", text)
    return text


def _join(left: str, right: str, known: str) -> str:
    hyphened = f"{left}-{right}"
    if not (left[-1].isalpha() and right[0].islower()) or hyphened.casefold() in known:
        return hyphened
    return hyphened if left.casefold() in _COMPOUND and len(right) > 3 else left + right


@lru_cache(8)
def strangeness(raw: str) -> float:
    """Return the share of characters that can't be meant: 0 for text, towards 1 for garbage.

    Controls, private and unassigned characters, words that mix scripts, names of glyphs, and Latin text whose letters
    are those of another alphabet order. `raw` is what the reader gave, before `mend` drops controls.
    """
    sample = raw[:_SAMPLE]
    signs = {sign: times for sign, times in Counter(sample).items() if not sign.isspace()}
    total = sum(signs.values())
    if not total:
        return 0.0
    # ends of lines are \r\n or \n: a \r by itself stands for a character
    bad = sum(times for sign, times in signs.items() if _is_strange(sign)) * 2
    bad += sample.count("\r") - sample.count("\r\n")
    bad += sum(len(match[0]) for match in _GLYPH_NAMES.finditer(sample))
    if any(sign > "\u017f" and sign.isalpha() for sign in signs):
        bad += sum(len(word[0]) for word in _WORD.finditer(sample) if _is_mixed(word[0]))
    return 1.0 if _is_shifted(signs) else min(bad / total, 1.0)


def is_garbage(raw: str) -> bool:
    """Return True if `raw` is no text that people could read, whatever the fonts say."""
    return strangeness(raw) > _GARBAGE and sum(map(len, raw[:_SAMPLE].split())) >= _FEWEST


def reads_well(raw: str) -> bool:
    """Return True if `raw` looks like words of a language in Latin letters, so that guessed characters are right."""
    sample = raw[:_SAMPLE]
    signs = sum(not sign.isspace() for sign in sample)
    words = _WORD.findall(sample)
    letters = sum(map(len, words))
    if letters < _FEWEST or letters < 0.6 * signs or strangeness(sample) > 0.02:
        return False
    good = sum(len(word) for word in words if _is_word(word))
    return good > 0.85 * letters


def _is_word(word: str) -> bool:
    plain = unicodedata.normalize("NFKD", word)
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    if not plain.isascii() or not (plain.islower() or plain.isupper() or plain[1:].islower()):
        return False
    vowels = sum(sign in "aeiouyAEIOUY" for sign in plain)
    return 0.15 * len(plain) <= vowels <= 0.75 * len(plain)


def _is_shifted(signs: Mapping[str, int]) -> bool:
    letters = {sign: times for sign, times in signs.items() if sign.isascii() and sign.isalpha()}
    total = sum(letters.values())
    if total < 5 * _FEWEST or sum(times for sign, times in letters.items() if sign.islower()) > 0.1 * total:
        return False
    return sum(times for sign, times in letters.items() if sign in _SHIFTED) > 0.45 * total


@lru_cache(4_096)
def _is_strange(sign: str) -> bool:
    return sign == "\ufffd" or sign in _CONTROLS or unicodedata.category(sign) in ("Co", "Cn", "Cs")


def _is_mixed(word: str) -> bool:
    scripts = frozenset(_script(sign) for sign in word) - {""}
    return len(scripts) > 1 and scripts not in _MIXES and not ({"CJK", "HANGUL"} & scripts and len(scripts) < 3)


@lru_cache(4_096)
def _script(sign: str) -> str:
    """Return the script of a letter by its name, "" for what goes with all."""
    name = unicodedata.name(sign, "")
    first = name.partition(" ")[0]
    if first in ("HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "HALFWIDTH", "FULLWIDTH", "KANGXI", "BOPOMOFO"):
        return "CJK"
    if first in (
        "MODIFIER",
        "SUPERSCRIPT",
        "SUBSCRIPT",
        "MATHEMATICAL",
        "SCRIPT",
        "FEMININE",
        "MASCULINE",
        "MICRO",
        "",
    ):
        return ""
    return "LATIN" if sign < "\u0180" else f"RARE {first}" if "\u0180" <= sign < "\u02b0" else first


def real_title(text: str) -> str:
    """Return the title that a document gives itself, "" for what its program put there in place of one."""
    title = title_line(text).strip("\ufeff\ufffd ")
    title = _PROGRAM.sub("", title, count=1) if _PROGRAM.match(title) else title
    if match := _FILE.fullmatch(title):
        title = match[1]
    return "" if len(title) < 2 or _NO_TITLE.fullmatch(title) else title
