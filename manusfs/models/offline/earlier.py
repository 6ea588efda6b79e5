"""What an epoch's opening carries over of earlier turns: calls and their results, notes with quotes, steps done."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["carried_calls", "noted_quotes", "steps_done"]

_TURN = re.compile(r'<turn ref="msg:[^"\n]*?:(\d+)[^"\n]*">\n(.*?)\n</turn>', re.DOTALL)
_SAID = re.compile(r'<user_message ref="msg:[^"\n]*?:(\d+)')
_HEAD = re.compile(r"^(call|result|error) (\d+):(?: ([\w-]+) (.*))?$", re.MULTILINE)
_NOTED = re.compile(r'^- "(.+)" \((obs:[0-9a-f]+(?:/full)?)@(\d+)-(\d+)\)$', re.MULTILINE)
_TODO = re.compile(r"<todo>\n(.*?)\n</todo>", re.DOTALL)
_STEP = re.compile(r"^[-*] \[[xX]\] (.+)$", re.MULTILINE)


def carried_calls(opening: str) -> Iterator[tuple[str, dict[str, Any], str, bool]]:
    """Yield name, arguments, result and failure of each call since the newest user message that `opening` carries.

    Arguments that were cut are empty.
    """
    said = max((int(seq) for seq in _SAID.findall(opening)), default=0)
    for first, body in _TURN.findall(opening):
        if int(first) > said:
            yield from _calls(body)


def noted_quotes(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield view, first byte and words of each quote in a note of ours; those that were altered are left out."""
    for words, ref, start, end in _NOTED.findall(text):
        if len(words.encode("utf-8")) == int(end) - int(start):
            yield ref, int(start), words


def steps_done(text: str) -> Iterator[str]:
    """Yield the wording of each step that a to-do in `text` has ticked."""
    for plan in _TODO.findall(text):
        yield from (html.unescape(step.strip()) for step in _STEP.findall(plan))


def _calls(body: str) -> Iterator[tuple[str, dict[str, Any], str, bool]]:
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    results: dict[str, tuple[str, bool]] = {}
    heads = list(_HEAD.finditer(body))
    ends = [*(head.start() for head in heads[1:]), len(body)]
    for head, end in zip(heads, ends, strict=False):
        kind, number, name, arguments = head.groups()
        if kind == "call" and name:
            calls.setdefault(number, (name, _object(arguments)))
        elif kind != "call" and not name:
            text = body[head.end() : end].strip("\n")
            results.setdefault(number, (text, kind == "error"))
    for number, (name, given) in calls.items():
        result, failed = results.get(number, ("", False))
        yield name, given, result, failed


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
