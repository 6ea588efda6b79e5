"""Runs as the APIs and other agents write them: Anthropic messages, OpenAI chat messages, SWE-agent trajectories."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from manusfs.lab.recording import Call, Recording, Said, steps_of

__all__ = ["anthropic_run", "arguments", "openai_run", "swe_agent_run"]

_THINKING = ("thinking", "redacted_thinking")


def anthropic_run(data: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], source: str, id: str) -> Recording:
    """Return the run in a request of the Messages API, or in its `messages` alone."""
    said = [one for message in messages for one in _anthropic(message)]
    return Recording(source, id, _text(data.get("system")), *steps_of(said))


def openai_run(messages: Sequence[Mapping[str, Any]], source: str, id: str) -> Recording:
    """Return the run in chat messages with `tool_calls` and results of role `tool`."""
    system = ""
    said: list[Said] = []
    for message in messages:
        role, text = message.get("role"), _text(message.get("content"))
        if role in ("system", "developer") and not said and not system:
            system = text
        elif role == "assistant":
            said.append(Said("assistant", text, calls=tuple(_openai_calls(message))))
        elif role in ("tool", "function"):
            answers = str(message.get("tool_call_id") or "")
            said.append(Said("tool", text, tool=str(message.get("name") or ""), id=answers))
        else:
            said.append(Said("user", text))
    return Recording(source, id, system, *steps_of(said))


def swe_agent_run(data: Mapping[str, Any], source: str, id: str) -> Recording:
    """Return the run in a SWE-agent trajectory: system and user text of its history, then thought, action, result."""
    history = [message for message in data.get("history") or () if isinstance(message, Mapping)]
    system = "\n\n".join(_text(message.get("content")) for message in history if message.get("role") == "system")
    said: list[Said] = []
    for message in history:
        if message.get("role") == "user" and not said:
            said.append(Said("user", _text(message.get("content"))))
    for number, step in enumerate(data.get("trajectory") or ()):
        action = str(step.get("action") or "")
        thought = str(step.get("thought") or step.get("response") or "")
        calls = ((str(number), Call("shell", {"command": action})),) if action.strip() else ()
        said.append(Said("assistant", thought, calls=calls))
        if calls:
            said.append(Said("tool", str(step.get("observation") or ""), tool="shell", id=str(number)))
    name = str((data.get("info") or {}).get("instance_id") or data.get("environment") or id)
    return Recording(source, name, system, *steps_of(said))


def arguments(given: Any) -> dict[str, Any]:
    """Return a call's arguments as an object; a text that is no JSON object stands under `arguments`."""
    if isinstance(given, str):
        try:
            parsed = json.loads(given)
        except ValueError:
            parsed = None
        return parsed if isinstance(parsed, dict) else ({"arguments": given} if given else {})
    return dict(given) if isinstance(given, Mapping) else ({} if given is None else {"arguments": given})


def _anthropic(message: Mapping[str, Any]) -> Iterator[Said]:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    if message.get("role") == "assistant":
        calls = tuple(
            (str(block.get("id") or ""), Call(str(block.get("name") or "tool"), arguments(block.get("input"))))
            for block in blocks
            if block.get("type") == "tool_use"
        )
        thinking = tuple(dict(block) for block in blocks if block.get("type") in _THINKING)
        yield Said("assistant", _text(blocks), thinking, calls)
        return
    for block in blocks:
        if block.get("type") == "tool_result":
            answers, failed = str(block.get("tool_use_id") or ""), bool(block.get("is_error"))
            yield Said("tool", _text(block.get("content")), id=answers, is_error=failed)
    if words := _text(blocks):
        yield Said("user", words)


def _openai_calls(message: Mapping[str, Any]) -> Iterator[tuple[str, Call]]:
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        yield str(call.get("id") or ""), Call(str(function.get("name") or "tool"), arguments(function.get("arguments")))
    if isinstance(function := message.get("function_call"), Mapping):
        yield "", Call(str(function.get("name") or "tool"), arguments(function.get("arguments")))


def _text(content: Any) -> str:
    """Return the words of a content: a text, or a list of blocks; a picture is told in brackets."""
    if isinstance(content, str):
        return content
    return "\n\n".join(_words(content)) if isinstance(content, Iterable) else ""


def _words(blocks: Iterable[Any]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, str):
            yield block
        elif isinstance(block, Mapping):
            kind = block.get("type")
            if isinstance(block.get("text"), str):
                yield block["text"]
            elif kind in ("image", "image_url", "document"):
                yield f"[{kind}]"
