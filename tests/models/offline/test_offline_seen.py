"""What the offline model takes from a request after a session was cut off and went on."""

from __future__ import annotations

from typing import Any

from manusfs.agent.resume import INTERRUPTED
from manusfs.messages import Request
from manusfs.models.offline.seen import look

URL = "https://example.org/page"


def _request(*messages: tuple[str, list[dict[str, Any]]]) -> Request:
    return Request("offline", 1_000, (), (), tuple({"role": role, "content": list(parts)} for role, parts in messages))


def _said(words: str) -> dict[str, Any]:
    return {"type": "text", "text": f"<user_message>\n{words}\n</user_message>"}


def _fetch(number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"c{number}", "name": "web_fetch", "input": {"url": URL}}


def _result(number: int, text: str, is_error: bool = False) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "tool_result", "tool_use_id": f"c{number}", "content": content, "is_error": is_error}


def test_a_fetch_that_a_crash_broke_off_is_made_again() -> None:
    turns = [("user", [_said("When?")]), ("assistant", [_fetch(1)]), ("user", [_result(1, INTERRUPTED, True)])]
    assert URL not in look(_request(*turns)).fetched
    later = [*turns, ("assistant", [_fetch(2)]), ("user", [_result(2, "a page")])]
    assert URL in look(_request(*later)).fetched


def test_a_fetch_that_failed_is_tried_once_and_again_when_the_user_speaks() -> None:
    turns = [("user", [_said("When?")]), ("assistant", [_fetch(1)]), ("user", [_result(1, "Error: no network", True)])]
    assert URL in look(_request(*turns)).fetched
    answer = ("assistant", [{"type": "text", "text": "No support found."}])
    assert URL not in look(_request(*turns, answer, ("user", [_said("Try again")]))).fetched


def test_what_the_user_adds_before_there_is_an_answer_adds_to_the_task() -> None:
    turns = [
        ("user", [_said("When?")]),
        ("assistant", [_fetch(1)]),
        ("user", [_result(1, "a page"), _said("And who?")]),
    ]
    seen = look(_request(*turns))
    assert seen.task == "When?\n\nAnd who?" and list(seen.made("web_fetch"))
    answer = ("assistant", [{"type": "text", "text": "In 1920."}])
    assert look(_request(*turns, answer, ("user", [_said("And why?")]))).task == "And why?"
