"""How many tokens a text will cost, estimated offline by character classes."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

__all__ = ["estimate"]

# Fitted by non-negative least squares on the tokens of today's Claude models over prose, Chinese, code, HTML, JSON,
# CSV and hex. Against usage recorded by the API: -5 % in total. Characters/4 is 39 % too low.
_WORD = 1.7692
_LETTER_AFTER_4 = 0.0363
_LETTER_AFTER_9 = 1.2506
_INNER_CAPITAL = 0.806
_DIGIT = 0.518
_CJK = 1.2101
_OTHER = 0.52
_BLANKS = 1.5152
_PUNCTUATION = 0.6564

_SAMPLED_ABOVE = 32_768
"""Characters; a longer text is estimated from `_WINDOWS` evenly spread pieces of `_WINDOW` characters."""
_REMEMBERED_BELOW = 1_000
"""Characters; sections and schemas stand in epoch after epoch, and a resume goes through all of them."""
_WINDOWS = 16
_WINDOW = 1_024

_UPPER = bytes(range(65, 91))
_LOWER = bytes(range(97, 123))
_DIGITS = bytes(range(48, 58))
# What is neither counted nor part of a word: all that `str.isspace` calls white space, and bytes of other scripts.
_SILENT = bytes((*range(9, 14), *range(28, 33), *range(128, 256)))
_NOT_PUNCTUATION = _UPPER + _LOWER + _DIGITS + _SILENT
_CJK_RUNS = re.compile("[\u3040-\u9fff\uac00-\ud7af]+")


def _table(groups: dict[str, bytes], rest: str) -> bytes:
    table = bytearray(rest.encode() * 256)
    for sign, members in groups.items():
        for byte in members:
            table[byte] = ord(sign)
    return bytes(table)


_CASES = _table({"A": _UPPER, "a": _LOWER}, " ")
_LETTERS = _table({"a": _UPPER + _LOWER}, " ")
_SPACES = _table({"s": b" \t"}, "x")


def estimate(text: str) -> int:
    """Return the estimated tokens of `text` for today's models, uncalibrated; 0 only for an empty text.

    The same text always gives the same number. A text above 32,768 characters is sampled.
    """
    if not text:
        return 0
    if len(text) <= _REMEMBERED_BELOW:
        return _remembered(text)
    if len(text) <= _SAMPLED_ABOVE:
        return max(1, round(_weigh(text)))
    step = (len(text) - _WINDOW) / (_WINDOWS - 1)
    pieces = [text[(at := round(step * i)) : at + _WINDOW] for i in range(_WINDOWS)]
    return math.ceil(_weigh("\n".join(pieces)) * len(text) / (_WINDOWS * _WINDOW))


@lru_cache(maxsize=2_048)
def _remembered(text: str) -> int:
    return max(1, round(_weigh(text)))


def _gaps(data: bytes) -> int:
    if b"  " not in data and b"\t" not in data:
        return 0
    return (b"x" + data.translate(_SPACES)).count(b"xss")


def _weigh(text: str) -> float:
    data = text.encode("utf-8", "surrogatepass")
    lengths = Counter(map(len, data.translate(_LETTERS).split()))
    cases = b" " + data.translate(_CASES)
    other, cjk = 0, 0
    if not text.isascii():
        cjk = sum(map(len, _CJK_RUNS.findall(text)))
        other = len(text) - cjk - len(data.translate(None, bytes(range(128, 256))))
    return (
        _WORD * lengths.total()
        + _LETTER_AFTER_4 * sum((length - 4) * n for length, n in lengths.items() if length > 4)
        + _LETTER_AFTER_9 * sum((length - 9) * n for length, n in lengths.items() if length > 9)
        + _INNER_CAPITAL * (cases.count(b"A") - cases.count(b" A"))
        + _DIGIT * (len(data) - len(data.translate(None, _DIGITS)))
        + _BLANKS * _gaps(data)
        + _PUNCTUATION * len(data.translate(None, _NOT_PUNCTUATION))
        + _CJK * cjk
        + _OTHER * other
    )
