"""Where a quote stands in a text: byte for byte, or word for word in another dress.

Another dress is other white space, quotation marks and dashes; then also the marks of links, emphasis, table cells and
notes, a word that a line's end broke, wide letters and ligatures; last, words left out where the quote has an ellipsis.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Match", "find", "pieces_of"]

_QUOTES = "\"'`´“”„‟‘’‚‛«»‹›′″「」『』＂＇"
_DASHES = "-‐‑‒–—―−－"
_TOKENS = re.compile(rf"(\s+|[{_QUOTES}]|[{_DASHES}]+)")
# Scripts without blanks between words: where a line was broken in them, white space stands inside a word.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u3000-\u303f\uff00-\uffef"
_BETWEEN = re.compile(rf"(?<=[{_UNSPACED}])(?=[{_UNSPACED}])")
_BESIDE = (re.compile(rf"[{_UNSPACED}]\Z"), re.compile(rf"[{_UNSPACED}]"))
_MARKUP = (
    r"(?:[*_~`|]|!?\[(?=[^\]\n]*\]\()|\]\((?:[^()\s]|\([^()\s]*\))*(?:[ ]\"[^\"\n]*\")?\)|\[\^?\d{1,3}\]"
    r"|</?(?:sup|sub|b|i|em|strong)>)"
)
"""What Markdown writes round words, and the numbers of notes: none of it is a word."""
_MARKS = re.compile(rf"(?<=[^\W_])_(?=[^\W_])|({_MARKUP})")
_BROKEN = r"(?:[-\u2010][ \t]*\n\s*)?"
_LIGATURES = {"ffi": "\ufb03", "ffl": "\ufb04", "ff": "\ufb00", "fi": "\ufb01", "fl": "\ufb02"}
_UNIT = re.compile("ffi|ffl|ff|fi|fl|.", re.DOTALL)
_ELLIPSIS = re.compile(r"\s*(?:[\[(]\s*(?:\u2026+|\.{3,})\s*[\])]|\u2026+|\.{3,})\s*")
_MOST_LOOSE = 2_000
"""Characters of a quote whose letters are compared one by one: the pattern for 20,000 of them took 3 s a text."""
_LEAST_PIECE, _MOST_PIECES, _MOST_LEFT_OUT = 6, 4, 400
"""Letters that a piece beside an ellipsis has, how many there may be, and characters that may be left out at each."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where a quote stands, in characters, and whether as it is written."""

    start: int
    end: int
    exact: bool
    shortened: bool = False
    """True if the quote leaves words out, and says so by an ellipsis."""


def find(quote: str, text: str, near: int = 0) -> Match | None:
    """Return where `quote` stands in `text`, None when nowhere; of several places the one nearest to `near`.

    As it is written comes first, wherever it stands; then with any white space, quotation mark or dash for another;
    then, up to 2,000 characters, without markup, with broken words joined; then the pieces beside an ellipsis, in their
    order and near together.
    """
    if not quote:
        return None
    at = _nearest(quote, text, near)
    if at >= 0:
        return Match(at, at + len(quote), True)
    if match := _matching(_pattern(quote), text, near):
        return match
    if (loose := _loose(quote)) and (match := _matching(re.compile(loose), text, near)):
        return match
    if (pieces := _pieces(quote)) and (match := _matching(pieces, text, near)):
        return Match(match.start, match.end, False, shortened=True)
    return None


def pieces_of(quote: str) -> list[str]:
    """Return what stands before, between and behind the ellipses of `quote`."""
    return [piece for piece in _ELLIPSIS.split(quote) if piece.strip()]


def _matching(pattern: re.Pattern[str], text: str, near: int) -> Match | None:
    best: Match | None = None
    for match in pattern.finditer(text):
        if best is None or abs(match.start() - near) < abs(best.start - near):
            best = Match(match.start(), match.end(), False)
        if match.start() > near:
            break
    return best


def _nearest(quote: str, text: str, near: int) -> int:
    before, after = text.rfind(quote, 0, near + len(quote)), text.find(quote, near)
    if before < 0 or after < 0:
        return max(before, after)
    return before if near - before <= after - near else after


@lru_cache(maxsize=64)
def _pattern(quote: str) -> re.Pattern[str]:
    """Return a pattern for `quote`. It can't run away: no two of its repeats can match the same character."""
    parts: list[str] = []
    tokens = [token for token in _TOKENS.split(quote) if token]
    for at, token in enumerate(tokens):
        if token.isspace():
            around = (at > 0 and _BESIDE[0].search(tokens[at - 1])) and (
                at + 1 < len(tokens) and _BESIDE[1].match(tokens[at + 1])
            )
            parts.append(r"\s*" if around else r"\s+")
        elif token in _QUOTES:
            parts.append(f"[{_QUOTES}]")
        elif token[0] in _DASHES:
            parts.append(f"[{_DASHES}]+")
        else:
            parts.append(r"\s*".join(map(re.escape, _BETWEEN.split(token))))
    return re.compile("".join(parts))


@lru_cache(maxsize=64)
def _loose(quote: str) -> str:
    """Return the expression for `quote` without regard to markup, broken words and wide letters; "" without words."""
    if len(quote) > _MOST_LOOSE:
        return ""
    for letters, one in _LIGATURES.items():
        quote = quote.replace(one, letters)
    # An underscore inside a word is a letter of it.
    quote = _MARKS.sub(lambda match: "" if match[1] else match[0], quote).strip()
    if not any(char.isalnum() for char in quote):
        return ""
    parts: list[str] = []
    before = ""
    for token in filter(None, _TOKENS.split(quote)):
        if token.isspace():
            parts.append(rf"(?:\s|{_MARKUP})+" if parts else "")
        elif token in _QUOTES:
            parts.append(f"{_MARKUP}*[{_QUOTES}]{_MARKUP}*" if parts else f"[{_QUOTES}]{_MARKUP}*")
        elif token[0] in _DASHES:
            parts.append(rf"{_MARKUP}*[{_DASHES}]+(?:[ \t]*\n\s*)?{_MARKUP}*" if parts else f"[{_DASHES}]+")
        else:
            for unit in _UNIT.findall(token):
                parts.append(_joint(before, unit[0]) if parts else "")
                parts.append(_letters(unit))
                before = unit[-1]
            continue
        before = ""
    return "".join(parts)


def _joint(before: str, after: str) -> str:
    """Return what may stand between two characters of one word of a quote."""
    if not before:
        return ""
    if _BESIDE[0].match(before) and _BESIDE[1].match(after):
        return rf"(?:\s|{_MARKUP})*"
    if before.isalpha() and after.isalpha():
        return _BROKEN
    return "" if before.isalnum() and after.isalnum() else f"{_MARKUP}*"


def _letters(unit: str) -> str:
    if len(unit) > 1:
        return f"(?:{_BROKEN.join(unit)}|{_LIGATURES[unit]})"
    plain = chr(ord(unit) - 0xFEE0) if "\uff01" <= unit <= "\uff5e" else unit
    wide = chr(ord(plain) + 0xFEE0) if "!" <= plain <= "~" else plain
    return re.escape(plain) if wide == plain else f"(?:{re.escape(plain)}|{wide})"


@lru_cache(maxsize=64)
def _pieces(quote: str) -> re.Pattern[str] | None:
    """Return the pattern for what stands beside the ellipses of `quote`; None when it has none, or too little."""
    pieces = pieces_of(quote)
    if not pieces or len(pieces) > _MOST_PIECES or not _ELLIPSIS.search(quote):
        return None
    loose = [_loose(piece) for piece in pieces]
    if not all(loose) or any(sum(char.isalnum() for char in piece) < _LEAST_PIECE for piece in pieces):
        return None
    return re.compile(rf"(?s:.{{0,{_MOST_LEFT_OUT}}}?)".join(loose))
