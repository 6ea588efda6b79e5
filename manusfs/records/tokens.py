"""How many tokens a text will cost, estimated offline: by its words, numbers, signs and scripts."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

from manusfs.records.common_words import COMMON_WORDS

__all__ = ["estimate"]

# Fitted by non-negative least squares on relative errors against ctok 4.8, over prose, chats, code, HTML, JSON, CSV,
# logs, Chinese and the messages of programs in 52 languages. On texts that were left out: 0 % in total, nine of ten
# within 8 %; characters/4 is 39 % too low. A benchmark, `benchmarks/tokens.py`, tells it for any files.
_COMMON = 0.817
"""A word of one token; single letters are."""
_COMMON_CAPITAL = 0.757
_WORD = (0.0, 0.817, 3.126, 1.809, 2.353, 2.619, 2.661, 2.503, 2.865, 3.387, 3.347, 4.253, 4.028)
"""Any other word, by its length."""
_LONG_WORD, _LETTER_OF_IT = 3.681, 1.011
_CAPITAL = 1.217
"""More for such a word that begins with a capital."""
_LETTER_IN_CAPITALS = 0.818
_CAMEL, _LETTER_OF_CAMEL = 1.797, 0.157
"""A piece of a word of mixed case: getUserName has three."""
_DIGITS = 1.006
"""Up to three digits."""
_BLANK_DIGIT = 1.147
"""A blank before a digit: unlike that before a word it is a token of its own."""
_SIGNS = (0.0, 1.08, 1.106, 2.512)
"""Signs without a blank between them, by their number."""
_MANY_SIGNS, _SIGN_OF_THEM = 3.657, 0.256
_SAME_SIGNS = 1.38
"""As in a line of dashes."""
_NEW_LINES, _BLANKS = 0.858, 1.202
"""Any number of line ends, two blanks or more."""

_SCRIPTS = (
    (0x250, 0.461),  # Latin letters with marks; what is left of their words counts as words
    (0x370, 1.5),
    (0x400, 0.764),  # Greek
    (0x530, 0.476),  # Cyrillic
    (0x590, 0.756),  # Armenian
    (0x600, 0.833),  # Hebrew
    (0x900, 0.808),  # Arabic
    (0x980, 0.895),  # Devanagari
    (0xA00, 1.092),  # Bengali
    (0xA80, 2.54),  # Gurmukhi
    (0xB00, 1.119),  # Gujarati
    (0xC00, 0.928),  # Tamil
    (0xC80, 0.919),  # Telugu
    (0xD00, 1.986),  # Kannada
    (0xE00, 1.232),  # Malayalam and Sinhala
    (0x1000, 0.981),  # Thai, Lao, Tibetan
    (0x10A0, 1.243),  # Myanmar
    (0x1100, 0.737),  # Georgian
    (0x1780, 1.5),
    (0x1800, 1.223),  # Khmer
    (0x2000, 0.5),
    (0x2070, 1.395),  # dashes and quotes
    (0x2E80, 1.9),  # other signs
    (0x3040, 1.593),  # signs of Chinese and Japanese
    (0x3100, 0.731),  # kana
    (0x4E00, 2.0),
    (0xA000, 1.094),  # Chinese characters
    (0xAC00, 2.5),
    (0xD7B0, 1.32),  # Hangul
    (0xFF00, 2.0),
    (0x10000, 1.568),  # full-width forms
    (0x110000, 2.0),  # pictures, and characters that few texts have
)
"""Up to which code point, and tokens of one character."""

_SAMPLED_ABOVE = 65_536
"""Characters; a longer text is estimated from `_WINDOWS` evenly spread pieces of `_WINDOW` characters."""
_REMEMBERED_BELOW = 1_000
"""Characters; sections and schemas stand in epoch after epoch, and a resume goes through all of them."""
_WINDOWS = 32
_WINDOW = 1_024

_KNOWN = 65_536
"""Words that are remembered with their tokens: at most some 6 MB. To call a cache for each took half of the time."""
_known: dict[bytes, float] = {}

_LETTERS = bytes((*range(65, 91), *range(97, 123)))
_NUMBERS = bytes(range(48, 58))
_SIGN_BYTES = bytes(byte for byte in range(33, 127) if byte not in _LETTERS + _NUMBERS)
_PIECES = re.compile(rb"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+")
_BLANK_RUNS = re.compile(rb"ss+")


def _only(kept: bytes) -> bytes:
    return bytes(byte if byte in kept else 32 for byte in range(256))


def _kinds() -> bytes:
    kinds = bytearray(b"o" * 256)
    for sign, members in ((b"a", _LETTERS), (b"d", _NUMBERS), (b"p", _SIGN_BYTES), (b"n", b"\n\r"), (b"s", b" \t")):
        for byte in members:
            kinds[byte] = sign[0]
    return bytes(kinds)


_ONLY_LETTERS, _ONLY_NUMBERS, _ONLY_SIGNS, _KINDS = _only(_LETTERS), _only(_NUMBERS), _only(_SIGN_BYTES), _kinds()
_ONLY_ENDS = _only(b"n")
"""Of kinds."""


def estimate(text: str) -> int:
    """Return the estimated tokens of `text` for today's models, uncalibrated; 0 only for an empty text.

    The same text always gives the same number. A text above 65,536 characters is sampled.
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


def _weigh(text: str) -> float:
    data = text.encode("utf-8", "surrogatepass")
    words = Counter(data.translate(_ONLY_LETTERS).split())
    numbers = Counter(map(len, data.translate(_ONLY_NUMBERS).split()))
    signs = Counter(data.translate(_ONLY_SIGNS).split())
    kinds = data.translate(_KINDS)
    total = _all_words(words)
    total += _DIGITS * sum(n * ((length + 2) // 3) for length, n in numbers.items())
    total += sum(n * _sign(run) for run, n in signs.items())
    total += (
        _BLANK_DIGIT * kinds.count(b"sd")
        + _NEW_LINES * len(kinds.translate(_ONLY_ENDS).split())
        + _BLANKS * _gaps(kinds)
    )
    return total if text.isascii() else total + _others(text)


def _all_words(words: Counter[bytes]) -> float:
    total = 0.0
    for word, n in words.items():
        tokens = _known.get(word)
        if tokens is None:
            if len(_known) >= _KNOWN:
                _known.clear()
            tokens = _known[word] = _word(word)
        total += n * tokens
    return total


def _word(word: bytes) -> float:
    length = len(word)
    if length == 1:
        return _COMMON
    if word.islower():
        return _COMMON if word in COMMON_WORDS else _by_length(length)
    if word[1:].islower():
        return _COMMON_CAPITAL if word.lower() in COMMON_WORDS else _by_length(length) + _CAPITAL
    if word.isupper():
        return _LETTER_IN_CAPITALS * length
    return _CAMEL * len(_PIECES.findall(word)) + _LETTER_OF_CAMEL * length


def _by_length(length: int) -> float:
    return _WORD[length] if length < len(_WORD) else _LONG_WORD + _LETTER_OF_IT * (length - len(_WORD) + 1)


def _sign(run: bytes) -> float:
    length = len(run)
    if length > 1 and run.count(run[:1]) == length:
        return _SAME_SIGNS
    return _SIGNS[length] if length < len(_SIGNS) else _MANY_SIGNS + _SIGN_OF_THEM * (length - len(_SIGNS) + 1)


def _gaps(kinds: bytes) -> int:
    return len(_BLANK_RUNS.findall(kinds)) if b"ss" in kinds else 0


def _others(text: str) -> float:
    """Return the tokens of what is not ASCII."""
    return sum(n * _character(character) for character, n in Counter(text).items() if character > "\x7f")


@lru_cache(maxsize=8_192)
def _character(character: str) -> float:
    code = ord(character)
    return next(tokens for below, tokens in _SCRIPTS if code < below)
