"""Grep: where a literal text or a pattern stands, in everything stored, under a time limit."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from manusfs.errors import ManusfsError, UsageError
from manusfs.memory.reading import decoded
from manusfs.memory.search.texts import Body
from manusfs.records import Span, counted

__all__ = ["REGEX_SECONDS", "Match", "Matches", "grep"]

REGEX_SECONDS = 1.5
"""Most time of one pattern over all texts: some patterns never end, and whoever asked should know within 2 seconds."""

_LITERAL_SECONDS = 20.0
_PATTERN_CHARS = 1_000
_MOST_REPEATS = 20_000
_REGEX_TOKENS = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\s*(?P<least>\d+)\s*(?:,\s*\d*\s*)?\}|"
    r"(?P<call>\(\?(?:R|[+-]?\d+|&\w*|P>\w*)\))|(?P<near>\{[\s\d<=+,]*[eids][\s\d<=+,eids]*(?::[^{}]*)?\})|.",
    re.DOTALL,
)
"""An escape, a set, a counted repeat, a call of a group, an approximate match, or one character of an expression."""
_PIECE = 1 << 20
_REGEX_PIECE = 1 << 17
"""An expression is tried on less at once: its engine keeps each repeat of each group, 160 bytes a character."""
_LINE_CHARS = 300
_AROUND = 120

Finder = Callable[[str, float], Iterator[tuple[int, int]]]
"""`(text, until)` -> where the pattern stands; raises TimeoutError when it is `until`."""


@dataclass(frozen=True, slots=True)
class Match:
    """One place where the pattern stands; `text` is its line, cut to 300 characters round the match."""

    ref: str
    path: str
    line: int
    text: str
    kind: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the match as `grep --json` prints it."""
        return {"ref": self.ref, "path": self.path, "line": self.line, "text": self.text, "kind": self.kind}


class Matches(list[Match]):
    """The matches in the order of the texts; `note` says what was left out and why."""

    def __init__(self, matches: Sequence[Match] = (), note: str = "", stopped: bool = False) -> None:
        super().__init__(matches)
        self.note = note
        self.stopped = stopped
        """True when the time was over or there were too many matches."""


def grep(
    sources: Iterator[tuple[str, str, Body]],
    pattern: str,
    *,
    regex: bool = False,
    ignore_case: bool = False,
    limit: int = 100,
) -> Matches:
    """Return where `pattern` stands in `sources` (owner, view, body), at most `limit` matches.

    A literal may span lines; a regular expression (of the `regex` package) is tried on pieces of 128 KiB that end with
    a line.

    Raises:
        UsageError: the pattern is empty, longer than 1,000 characters, or no regular expression.
    """
    finder, piece = _finder(pattern, regex, ignore_case), _REGEX_PIECE if regex else _PIECE
    seconds = REGEX_SECONDS if regex else _LITERAL_SECONDS
    until = time.monotonic() + seconds
    found = Matches()
    unreadable = 0
    for owner, view, body in sources:
        try:
            for match in _in_body(owner, view, body, finder, until, len(pattern), piece):
                if len(found) >= limit:
                    more = counted(limit, "match", "matches")
                    return _stopped(found, f"More than {more}: the rest is not shown. Narrow it with `within`.")
                found.append(match)
        except TimeoutError:
            return _stopped(
                found, f"Stopped after {seconds:g} s: the pattern takes too long. Try a simpler or literal one."
            )
        except ManusfsError:
            unreadable += 1
    if unreadable:
        found.note = f"{counted(unreadable, 'text')} unreadable or damaged: run `manusfs verify`."
    return found


def _stopped(found: Matches, note: str) -> Matches:
    found.note, found.stopped = note, True
    return found


def _finder(pattern: str, regex: bool, ignore_case: bool) -> Finder:
    if not pattern:
        raise UsageError("the pattern is empty", hint="give a text to look for")
    if len(pattern) > _PATTERN_CHARS:
        raise UsageError(f"the pattern has {len(pattern)} characters, at most {_PATTERN_CHARS} are allowed")
    if regex:
        return _regex_finder(pattern, ignore_case)
    compiled = re.compile(re.escape(pattern), re.IGNORECASE if ignore_case else 0)

    def literal(text: str, until: float) -> Iterator[tuple[int, int]]:
        if time.monotonic() > until:
            raise TimeoutError
        for match in compiled.finditer(text):
            yield match.span()

    return literal


def _regex_finder(pattern: str, ignore_case: bool) -> Finder:
    import regex

    for token in _REGEX_TOKENS.finditer(pattern):
        if token["call"] or token["near"]:
            # Measured: `(?R)` takes half a gigabyte within the time limit, `(?b)(?:1{e<=5})+` as much, past it.
            raise UsageError(
                f"{token[0]!r} is not tried: groups that call themselves and approximate matches take all memory",
                hint="write the repeats out; a { that is meant as it stands is \\{",
            )
    if (times := _unrolled(pattern)) > _MOST_REPEATS:
        raise UsageError(
            f"the pattern asks for {times} repeats of what it repeats; at most {_MOST_REPEATS} are tried",
            hint="use + or * where the number does not matter",
        )
    try:
        compiled = regex.compile(pattern, regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0))
    except (regex.error, OverflowError, RecursionError, MemoryError, ValueError, KeyError, IndexError) as error:
        raise UsageError(
            f"not a regular expression: {pattern[:200]!r}: {error}",
            hint="leave `regex` out to look for the text as it is",
        ) from error

    def matches(text: str, until: float) -> Iterator[tuple[int, int]]:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        try:
            for match in compiled.finditer(text, timeout=left):
                if match.end() > match.start():
                    yield match.span()
        except (MemoryError, RecursionError) as error:
            raise TimeoutError from error

    return matches


def _unrolled(pattern: str) -> int:
    """Return how many parts `pattern` has once each {n,…} is written out, about: the engine does just that, in memory.

    Measured: `a{1000000000}` takes all the memory that there is and more, some 260 bytes a part.
    """
    groups, last = [0], 0
    for token in _REGEX_TOKENS.finditer(pattern):
        text = token[0]
        if token["least"]:
            groups[-1] += last * (max(1, int(token["least"])) - 1)
            last *= max(1, int(token["least"]))
        elif text == "(":
            groups.append(0)
        elif text == ")" and len(groups) > 1:
            last = max(1, groups.pop())
            groups[-1] += last
        else:
            last = 1
            groups[-1] += 1
    return sum(groups)


def _in_body(
    owner: str, view: str, body: Body, finder: Finder, until: float, overlap: int, piece: int
) -> Iterator[Match]:
    """Yield the matches in one text; a line with several is one match for each."""
    last = -1
    for start, data in _pieces(body, 4 * overlap, piece):
        text = data.decode("utf-8", "surrogateescape")
        at, offset, lines, counted = 0, start, -1, 0
        for low, high in finder(text, until):
            offset += len(text[at:low].encode("utf-8", "surrogateescape"))
            at = low
            if offset < last:
                # Found in the piece before already: the two overlap.
                continue
            last = offset + len(text[low:high].encode("utf-8", "surrogateescape"))
            if lines < 0:
                lines = body.line_of(start)
            if not body.line:
                lines += text.count("\n", counted, low)
                counted = low
            yield Match(_ref(owner, view, Span(offset, last)), body.path, lines, _line(text, low, high), body.kind)


def _pieces(body: Body, overlap: int, most: int) -> Iterator[tuple[int, bytes]]:
    """Yield pieces that end with a line; where no line ends they overlap, so that no match is cut."""
    at = 0
    while at < body.size:
        data = body.read(Span(at, min(body.size, at + most)))
        if at + len(data) >= body.size:
            yield at, data
            return
        cut = data.rfind(b"\n") + 1 or _whole(data, len(data))
        yield at, data[:cut]
        at += cut if data[cut - 1 : cut] == b"\n" else max(1, _whole(data, max(1, cut - overlap)))


def _whole(data: bytes, at: int) -> int:
    """Return `at`, or where the code point begins that it would cut."""
    start = at
    while 0 < at < len(data) and start - at < 4 and data[at] & 0xC0 == 0x80:
        at -= 1
    if at == len(data):
        # Is the last code point whole? Its first byte says how long it is.
        for back in range(1, min(4, at) + 1):
            lead = data[at - back]
            if lead & 0xC0 != 0x80:
                return at - back if lead >= 0xC0 and back < (2 + (lead >= 0xE0) + (lead >= 0xF0)) else at
    return at if start - at < 4 else start


def _line(text: str, low: int, high: int) -> str:
    start = max(text.rfind("\n", 0, low) + 1, low - _AROUND)
    end = text.find("\n", high)
    end = len(text) if end < 0 else end
    piece = text[start : min(end, start + _LINE_CHARS)]
    return decoded(piece.encode("utf-8", "surrogateescape")).rstrip("\r\n")


def _ref(owner: str, view: str, span: Span) -> str:
    if ":" not in owner[:4]:
        return owner
    return f"{owner}{'' if view == 'text' else f'/{view}'}@{span}"
