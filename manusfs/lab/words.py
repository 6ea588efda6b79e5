"""What of a text can be recognised elsewhere: runs of six words, identifiers, numbers, URLs, and the refs in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["RUN", "Sight", "Token", "atoms", "runs", "strings", "words"]

RUN = 6
"""Words that must follow each other in both texts to count as quoted."""

_CJK = "\u3040-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")
_ATOM = re.compile(r"https?://[^\s\"'<>()\[\]{}\\|`]+|\w[\w./-]*\w")
_NAME = re.compile(r"\w_\w|[a-z][A-Z]")
_PIECE = re.compile(r"[\w-]+")
_LETTER, _DIGIT = re.compile(r"[A-Za-z]"), re.compile(r"\d")
_REF = re.compile(r"obs:([0-9a-f]{12,64})|^([0-9a-f]{12,64}) ", re.MULTILINE)
_RANGE = re.compile(r' from="msg:[^":]+:(\d+)-(\d+)"')
_LEAST_DIGITS = 3
_LEAST_NAME = 5


@dataclass(frozen=True, slots=True)
class Token:
    """A word or an atom: what it is compared by, and where it stands in the text, in characters."""

    key: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sight:
    """What can be recognised in one text."""

    keys: frozenset[int]
    """Of runs of six words and of atoms."""
    refs: frozenset[str]
    """Ids of the observations that it names."""
    ranges: frozenset[tuple[int, int]] = frozenset()
    """First and last transcript lines of the stretches that ledgers and summaries in it stand for."""

    @classmethod
    def of(cls, text: str) -> Sight:
        """Return what stands in `text`. Line ends and quotes that JSON escaped count as what they are."""
        keys = {key for key, _, _ in runs(text)}
        keys.update(hash(atom.key) for atom in atoms(text))
        refs = frozenset(one or other for one, other in _REF.findall(text))
        return cls(frozenset(keys), refs, frozenset((int(one), int(two)) for one, two in _RANGE.findall(text)))


def plain(text: str) -> str:
    """Return `text` with JSON's escapes blanked out, each by as many characters."""
    return text.replace("\\n", "  ").replace('\\"', ' "').replace("\\t", "  ") if "\\" in text else text


def words(text: str) -> list[Token]:
    """Return the words of `text` without regard to case; each Chinese or Japanese character is one."""
    return [Token(match[0].casefold(), match.start(), match.end()) for match in _WORD.finditer(plain(text))]


def runs(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the key of every six words that follow each other, and their start and end in `text`."""
    found = words(text)
    keys = [token.key for token in found]
    for at in range(len(found) - RUN + 1):
        yield hash(tuple(keys[at : at + RUN])), found[at].start, found[at + RUN - 1].end


def atoms(text: str) -> Iterator[Token]:
    """Yield the URLs, identifiers, and numbers of three digits or more in `text`."""
    for match in _ATOM.finditer(plain(text)):
        key = match[0].rstrip(".,/-;:!?")
        if _is_atom(key):
            yield Token(key, match.start(), match.start() + len(key))


def _is_atom(text: str) -> bool:
    if text.startswith(("http://", "https://")):
        return True
    digits = sum(map(str.isdecimal, text))
    if digits == len(text) - text.count(".") - text.count("-") - text.count("/"):
        return digits >= _LEAST_DIGITS
    return len(text) >= _LEAST_NAME and (_NAME.search(text) is not None or any(map(_is_mixed, _PIECE.findall(text))))


def _is_mixed(piece: str) -> bool:
    """Return True if `piece` has letters and digits, in one step a character: it may be of a megabyte."""
    return _LETTER.search(piece) is not None and _DIGIT.search(piece) is not None


def strings(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from strings(member)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
