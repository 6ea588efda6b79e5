"""The tool that brings stored text back: by offset, lines or page, in pieces that join to the whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from manusfs.errors import NotFound, ToolError
from manusfs.records import Fetched, ImagePart, ObsRef, Part, Ref, Shown, TextPart, escape
from manusfs.records.tokens import estimate
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import tool
from manusfs.tools.skill import ADDRESS, beside

if TYPE_CHECKING:
    from manusfs.memory import Reading

__all__ = ["read"]

_LEDGER_LINE = re.compile(r":\d+(?:[.@-]|\Z)")
"""As a ledger names lines of its own session."""
_LINES = re.compile(r"(\d{1,9})(?:\s*[-:,–]\s*(\d{1,9}))?\Z")
_CHARS_PER_TOKEN = 2.5
_LEAST_CHARS = 500
_FRAME_TOKENS = 100
"""What stands round the text that is read."""


@tool
def read(
    env: ToolEnv,
    ref: str,
    offset: int | None = None,
    limit: int | None = None,
    lines: str | None = None,
    page: int | None = None,
    raw: bool = False,
) -> Fetched | Shown:
    """Read stored text: an observation, a part of one, a note, a report, or an earlier block of a session.

    One call shows at most about 16,000 characters or 2,000 lines (less in a small context); a stub says beforehand how
    large the whole is. The answer says which bytes it shows
    (start, end, total) and, in `next`, the offset where to go on; next="" means that nothing is left. Do not read on by
    habit: use `search` with `within`, the outline's offsets or a page number to get to what matters. When the end of a
    long text looks important (an error, a total), it is shown too, and what lies between is named as OMITTED. Text that
    you read before and that still stands above is not shown again; you are told where it stands. Several reads may be
    made in one turn. Give only one of `offset`, `lines` and `page`.

    Args:
        ref: obs:ID, obs:ID@start-end, obs:ID/full (everything visible, where the reading view leaves things out),
            msg:…, a workspace path such as notes/findings/x.md, or the URL of something that was fetched.
        offset: Byte at which to begin, from 0.
        limit: Bytes to show at most.
        lines: Lines to show, from 1, for example "120-180"; "120" goes on to the end.
        page: Page of a PDF, from 1.
        raw: The original bytes in place of the text. Pictures are shown; other binary files are only described.
    """
    if sum(value is not None for value in (offset, lines, page)) > 1:
        raise ToolError("`offset`, `lines` and `page` exclude each other", hint="give only one of them")
    if (offset is not None and offset < 0) or (limit is not None and limit < 1):
        raise ToolError("`offset` counts from 0 and `limit` from 1", hint='begin with read(ref="…")')
    if ADDRESS.match(ref.strip()):
        return beside(env, ref.strip())
    chars, found = _most(env), _found(env, ref)
    while True:
        made = env.workspace.resolver.read(
            found, offset or 0, limit, chars=chars, lines=_line_pair(lines), page=page, raw=raw, tail=True
        )
        if raw and _is_binary(made):
            return _described(made)
        if (where := _standing(env, made)) is not None:
            return Shown((TextPart(_pointer(made, where)),), details={"standing": where})
        if (fewer := _fewer(made.data, env.settings.read_bytes, env.settings.read_lines)) is not None:
            limit = fewer
            continue
        part, text = env.workspace.resolver.show(made, cite=env.settings.search_results)
        tokens, left = estimate(text), max(0, env.window_left() - _FRAME_TOKENS)
        if env.settings.read_tokens:
            left = min(left, env.settings.read_tokens)
        if tokens <= left or chars <= _LEAST_CHARS:
            break
        # Scripts differ in characters a token: less is read, and what follows is named.
        chars = max(_LEAST_CHARS, min(chars * 3 // 4, chars * left // tokens))
    parts: list[Part] = [TextPart(f"Note: {escape.body(made.message)}")] if made.message else []
    return Shown((*parts, part), details={"reads": _spans(made)})


def _found(env: ToolEnv, ref: str) -> Ref:
    if _LEDGER_LINE.match(ref.strip()):
        ref = f"msg:{env.session}{ref.strip()}"
    try:
        return env.workspace.resolver.parse(ref)
    except NotFound as error:
        hint = "fetch it first: web_fetch(url)" if "://" in ref else error.hint
        raise ToolError(str(error), hint=hint) from error


def _most(env: ToolEnv) -> int:
    share = int(env.settings.read_share * env.window * _CHARS_PER_TOKEN)
    left = int((env.window_left() - _FRAME_TOKENS) * _CHARS_PER_TOKEN)
    return max(_LEAST_CHARS, min(env.settings.read_chars, share, left))


def _fewer(data: bytes, most_bytes: int, most_lines: int) -> int | None:
    """Return how many bytes to read instead, None when `data` keeps within the caps (OC-1); 0 is no cap."""
    if most_bytes and len(data) > most_bytes:
        return most_bytes
    if not most_lines or data.count(b"\n", 0, max(0, len(data) - 1)) < most_lines:
        return None
    at = -1
    for _ in range(most_lines):
        at = data.index(b"\n", at + 1)
    return at + 1


def _line_pair(lines: str | None) -> Sequence[int] | None:
    if lines is None:
        return None
    match = _LINES.match(lines.strip())
    if match is None:
        raise ToolError(f"`lines` is {lines!r}", hint='write the first and the last line, for example "120-180"')
    return [int(number) for number in match.groups() if number]


def _spans(made: Reading) -> list[str]:
    if made.meta is None or made.state == "gone":
        return []
    return [f"{made.ref}@{span}" for span in (made.span, made.tail) if span]


def _standing(env: ToolEnv, made: Reading) -> str | None:
    """Return where this text stands already, None when it has to be shown (CC-15)."""
    if made.meta is None or made.state not in ("stored", "unchanged") or not made.span:
        return None
    where = env.standing(made.ref, made.span)
    if not where or (made.tail is not None and not env.standing(made.ref, made.tail)):
        return None
    return where


def _pointer(made: Reading, where: str) -> str:
    on = f' What follows it: read(ref="{made.ref}", offset={made.end}).' if made.next_offset is not None else ""
    return f"Unchanged: {made.ref}@{made.span} stands above as you were shown it ({where}); look there.{on}"


def _is_binary(made: Reading) -> bool:
    if made.view != "raw":
        return False
    try:
        made.data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return b"\0" in made.data


def _described(made: Reading) -> Shown:
    from manusfs.memory.images import image_type

    meta = made.meta
    if meta is None:
        raise ToolError(f"{made.ref} is no text", hint="only text can be read")
    file = meta.files["raw"]
    text = (
        f"{made.ref}: {escape.field(meta.media_type or 'unknown type')}, {file.size} bytes, "
        f"sha256 {file.sha256}, kept as {escape.field(meta.folder + '/' + file.name, 300)}. "
    )
    if image_type(made.data):
        picture = ImagePart(ObsRef(meta.id, "raw"), meta.media_type, size=file.size)
        return Shown((TextPart(f"{text}The picture follows."), picture))
    views = ", ".join(f"obs:{meta.id}{'' if view == 'text' else f'/{view}'}" for view in meta.views)
    return Shown((TextPart(f"{text}It is no text; {f'its text is {views}.' if views else 'it has no text.'}"),))
