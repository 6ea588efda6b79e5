"""Where a quote stands in a text: byte for byte, or word for word with other white space, quotation marks or dashes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Match", "find"]

_QUOTES = "\"'`´“”„‟‘’‚‛«»‹›′″「」『』＂＇"
_DASHES = "-‐‑‒–—―−－"
_TOKENS = re.compile(rf"(\s+|[{_QUOTES}]|[{_DASHES}]+)")
# Scripts without blanks between words: where a line was broken in them, white space stands inside a word.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u3000-\u303f\uff00-\uffef"
_BETWEEN = re.compile(rf"(?<=[{_UNSPACED}])(?=[{_UNSPACED}])")
_BESIDE = (re.compile(rf"[{_UNSPACED}]\Z"), re.compile(rf"[{_UNSPACED}]"))


@dataclass(frozen=True, slots=True)
class Match:
    """Where a quote stands, in characters, and whether as it is written."""

    start: int
    end: int
    exact: bool


def find(quote: str, text: str, near: int = 0) -> Match | None:
    """Return where `quote` stands in `text`, None when nowhere; of several places the one nearest to `near`.

    As it is written comes first, wherever it stands; then with any white space, quotation mark or dash for another.
    """
    if not quote:
        return None
    at = _nearest(quote, text, near)
    if at >= 0:
        return Match(at, at + len(quote), True)
    best: Match | None = None
    for match in _pattern(quote).finditer(text):
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
