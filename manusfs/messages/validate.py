"""The last gate before a send: refuses, with place and remedy, what the Messages API would answer with a 400.

Written from the API's documented rules. One walk over the blocks and one encoding of the whole request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from manusfs.errors import InvalidRequest
from manusfs.messages import blocks
from manusfs.messages.shapes import REQUEST, check_members, check_tool
from manusfs.messages.types import Message, Request

__all__ = ["MAX_REQUEST_BYTES", "validate"]

MAX_REQUEST_BYTES = 32 * 1024 * 1024
"""The API's limit on the body of one request."""

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_GONE_OPTIONS = ("temperature", "top_p", "top_k")
_OURS = ("model", "max_tokens", "system", "tools", "messages")
_MARKS = 4
_MOST_OUTPUT = 128_000
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_THINKING = ("adaptive", "enabled", "disabled", "between_tools")
_ALWAYS_THINKS = re.compile(r"claude-(?:opus-5-5|(?:fable|mythos)-5-[12])\b")
_NO_BUDGET = re.compile(r"claude-(?:(?:opus|sonnet|haiku)-5-5|(?:fable|mythos)-5-[12])\b")


def validate(request: Request, *, paused: bool = False) -> None:
    """Return if the API would accept `request`; `paused` when its last message is a turn that the API paused.

    Raises:
        InvalidRequest: it would not; the message begins with the path of what is wrong, the hint says what to do.
    """
    marks = blocks.Marks(_MARKS)
    _check_members(request)
    _check_thinking(request)
    _check_tools(request, marks)
    _check_system(request, marks)
    _check_messages(request, marks, paused=paused)
    marks.count(request.options, "request")
    _check_size(request)


def _check_members(request: Request) -> None:
    if not request.model:
        _refuse("model", "no model is named", "set `model`")
    if not isinstance(request.max_tokens, int) or request.max_tokens <= 0:
        _refuse("max_tokens", f"{request.max_tokens!r} is not a whole number above 0", "set `max_tokens`")
    for name in _GONE_OPTIONS:
        if name in request.options:
            _refuse(name, "the API no longer takes it", "leave it out")
    for name in _OURS:
        if name in request.options:
            _refuse(f"options.{name}", "it would hide a member of the request", "set the member itself")
    for name in request.options:
        if name not in REQUEST:
            _refuse(str(name), "a request has no such member", "leave it out")
    if request.model.startswith("claude-") and request.max_tokens > _MOST_OUTPUT:
        _refuse("max_tokens", f"{request.max_tokens} is more than {_MOST_OUTPUT}", "lower it")
    config = request.options.get("output_config", {})
    if not isinstance(config, Mapping) or config.get("effort", "high") not in _EFFORTS:
        _refuse("output_config", f"no such effort in {config!r}", f"use one of {', '.join(_EFFORTS)}")


def _check_thinking(request: Request) -> None:
    thinking = request.options.get("thinking", {"type": "disabled"} if "thinking" in request.options else None)
    kind = thinking.get("type") if isinstance(thinking, Mapping) else None
    if thinking is not None:
        if not isinstance(thinking, Mapping) or kind not in _THINKING:
            _refuse("thinking", f"{thinking!r} is no way to think", f"use one of {', '.join(_THINKING)}")
        if thinking.get("display", "omitted") not in ("omitted", "summarized"):
            _refuse("thinking.display", f"{thinking['display']!r} is not known", "use omitted or summarized")
    if isinstance(thinking, Mapping) and kind == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or not 1024 <= budget < request.max_tokens:
            _refuse("thinking.budget_tokens", f"{budget!r} is not from 1,024 to below max_tokens", "raise max_tokens")
        if _NO_BUDGET.match(request.model):
            _refuse("thinking.type", f"enabled is not taken by {request.model}", "use adaptive")
    always = _ALWAYS_THINKS.match(request.model) is not None
    if kind == "disabled" and always:
        _refuse("thinking.type", f"disabled is not taken by {request.model}", "leave thinking out, or use adaptive")
    choice = request.options.get("tool_choice")
    if choice is None:
        return
    if not isinstance(choice, Mapping) or choice.get("type") not in ("auto", "any", "tool", "none"):
        _refuse("tool_choice", f"{choice!r} is no choice", "use auto, any, tool or none")
    if choice["type"] in ("any", "tool") and (always or kind not in (None, "disabled")):
        _refuse("tool_choice", "a forced call and thinking exclude each other", "use auto, or leave thinking out")
    if choice["type"] == "tool" and choice.get("name") not in [tool.get("name") for tool in request.tools]:
        _refuse("tool_choice.name", f"no tool is called {choice.get('name')!r}", "name one of `tools`")


def _check_system(request: Request, marks: blocks.Marks) -> None:
    for i, block in enumerate(request.system):
        path = f"system[{i}]"
        if block.get("type") != "text":
            _refuse(path, f"type {block.get('type')!r} is not allowed in system", "use text blocks")
        blocks.check_text(block, path)
        check_members(block, "text", path)
        marks.count(block, path)


def _check_tools(request: Request, marks: blocks.Marks) -> None:
    names: set[str] = set()
    for i, tool in enumerate(request.tools):
        path = f"tools[{i}]"
        name = tool.get("name")
        if not isinstance(name, str) or not _TOOL_NAME.match(name):
            _refuse(f"{path}.name", f"{name!r} is no tool name", "use 1 to 128 letters, digits, _ and -")
        if name in names:
            _refuse(f"{path}.name", f"{name!r} is there twice", "tool names must differ")
        names.add(name)
        check_tool(tool, path)
        marks.count(tool, path)


def _check_messages(request: Request, marks: blocks.Marks, *, paused: bool) -> None:
    messages = request.messages
    if not messages:
        _refuse("messages", "there are none", "begin with a user message")
    ids: set[str] = set()
    open_calls: dict[str, str] = {}
    role = "assistant"
    for i, message in enumerate(messages):
        path = f"messages[{i}]"
        role = _check_role(message, role, path)
        content = message.get("content")
        if not isinstance(content, list | tuple) or not content:
            _refuse(f"{path}.content", "it is no list of at least one block", "leave the message out, or say something")
        if role == "user":
            blocks.check_user(content, open_calls, path, marks)
            open_calls = {}
        else:
            open_calls = blocks.check_assistant(content, ids, path, marks, last=i == len(messages) - 1)
    if open_calls:
        missing = ", ".join(repr(call) for call in open_calls)
        _refuse(f"messages[{len(messages) - 1}]", f"calls without results: {missing}", "answer every call first")
    if ids and not request.tools:
        _refuse("tools", "there are calls but no tools", "define the tools that were called")
    if role == "assistant":
        _check_last_assistant(messages[-1]["content"], f"messages[{len(messages) - 1}]", paused=paused)


def _check_role(message: Message, before: str, path: str) -> str:
    if not {"role", "content"}.issuperset(message):
        _refuse(path, "a message has `role` and `content` only", "leave the rest out")
    role = message.get("role")
    if role not in ("user", "assistant"):
        _refuse(f"{path}.role", f"{role!r} is neither user nor assistant", "put instructions into `system`")
    if role == before:
        what = "the first message is not the user's" if path == "messages[0]" else f"two {role} messages in a row"
        _refuse(f"{path}.role", what, "begin with the user, and join neighbours of one role")
    return str(role)


def _check_last_assistant(content: Sequence[Mapping[str, Any]], path: str, *, paused: bool) -> None:
    """Refuse the beginning of an answer at the end of a request; a paused turn goes back as it came."""
    if paused or content[-1].get("type") == "server_tool_use":
        return
    _refuse(path, "the request ends with the assistant's own words", "end with a user message")


def _check_size(request: Request) -> None:
    body = request.to_json()
    try:
        # Exactly what goes over the wire: the same call finds lone surrogates, odd values and the size.
        size = len(json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8"))
    except UnicodeEncodeError:
        _refuse(_surrogate(body, ""), "it holds a lone surrogate, which is no UTF-8", "replace it by U+FFFD")
    except (TypeError, ValueError) as error:
        _refuse("request", f"it is no JSON: {error}", "use plain JSON values")
    if size > MAX_REQUEST_BYTES:
        _refuse("request", f"{size} bytes are more than {MAX_REQUEST_BYTES}", "show less, or compact the context")


def _surrogate(value: Any, path: str) -> str:
    """Return the path of the first text in `value` that does not encode, "" when there is none."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return path or "request"
        return ""
    found = ""
    if isinstance(value, Mapping):
        for name, member in value.items():
            found = found or _surrogate(name, path) or _surrogate(member, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for i, member in enumerate(value):
            found = found or _surrogate(member, f"{path}[{i}]")
    return found


def _refuse(path: str, what: str, hint: str) -> NoReturn:
    raise InvalidRequest(f"{path}: {what}", hint=hint)
