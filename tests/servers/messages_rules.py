"""The rules by which the Messages API refuses a request, from its documentation and from reported refusals.

Written apart from the package's own validator on purpose: what one of them overlooks the other may see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from servers.messages_blocks import TOOL_NAME, ApiError, Json, bad, check_block, content_of, members, text_of
from servers.messages_evidence import check_evidence

VERSIONS = ("2026-10-21", "2023-06-01")
MAX_BODY = 32 * 1024 * 1024
MAX_MESSAGES = 100_000
MAX_MARKS = 4
MAX_IMAGES = 100
TOP = {
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "stream",
    "stop_sequences", "metadata", "service_tier", "cache_control", "container", "diagnostics", "inference_geo", "speed",
}  # fmt: skip
SERVER_TOOLS = re.compile(
    r"(web_search|web_fetch|code_execution|bash|text_editor|memory|tool_search_tool\w*)_20\d{6}\Z"
)
JSON_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}
PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z")


@dataclass(frozen=True)
class Card:
    """What the server knows of a model."""

    window: int = 1_000_000
    max_output: int = 128_000
    thinks: str = "adaptive"
    """"always": can't be switched off; "adaptive": can; "manual": only with a budget."""
    bound_to_account: bool = False


def parse(raw: bytes) -> Json:
    """Return the request that `raw` writes: JSON in UTF-8, an object, without lone surrogates, NaN or infinity."""
    if len(raw) > MAX_BODY:
        raise ApiError(413, "request_too_large", "Request exceeds the maximum size")
    try:
        text = raw.decode("utf-8")
        body = json.loads(text, parse_constant=_no_constant)
        text.encode("utf-8")
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise bad("", f"The request body is not valid JSON: invalid UTF-8 at byte {error.start}") from error
    except UnicodeEncodeError as error:
        raise bad("", f"The request body is not valid JSON: no low surrogate in string: char {error.start}") from error
    except ValueError as error:
        raise bad("", f"The request body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise bad("", "Input should be an object")
    return body


def _no_constant(word: str) -> None:
    raise ValueError(f"unexpected {word}")


def check(body: Json, card: Card, version: str, *, counting: bool = False) -> None:
    """Refuse `body` if the API would, but for what only the server's own memory can tell."""
    must = {"model", "messages"} if counting else {"model", "messages", "max_tokens"}
    older = {"temperature", "top_p", "top_k"} if version != VERSIONS[0] else set()
    members(body, "body", must, TOP | older)
    if not counting:
        _check_max_tokens(body, card)
    _check_options(body, card)
    _check_system(body.get("system"))
    _check_tools(body.get("tools"))
    _check_messages(body["messages"])
    _check_tool_choice(body, card)
    check_pairs(body["messages"], tools=bool(body.get("tools")))
    check_evidence(body["messages"])
    check_marks(body)
    if sum(block["type"] == "image" for _, block in _all_blocks(body)) > MAX_IMAGES:
        raise bad("messages", f"too many images: at most {MAX_IMAGES} may be given")


def _check_max_tokens(body: Json, card: Card) -> None:
    value = body["max_tokens"]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise bad("max_tokens", "Input should be greater than or equal to 0")
    if value > card.max_output:
        raise bad(
            "max_tokens",
            f"{value} > {card.max_output}, which is the maximum allowed number of output tokens for {body['model']}",
        )


def _check_options(body: Json, card: Card) -> None:
    if not isinstance(body.get("stream", False), bool):
        raise bad("stream", "Input should be a valid boolean")
    _check_thinking(body.get("thinking"), card, body.get("max_tokens", 0))
    config = members(body.get("output_config") or {}, "output_config", set(), {"effort", "format"})
    if config.get("effort") not in (None, "low", "medium", "high", "xhigh", "max"):
        raise bad("output_config.effort", "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
    members(body.get("metadata") or {}, "metadata", set(), {"user_id"})
    for index, word in enumerate(body.get("stop_sequences") or ()):
        if not text_of(word, f"stop_sequences.{index}").strip():
            raise bad(f"stop_sequences.{index}", "each stop sequence must contain non-whitespace")


def _check_thinking(thinking: Any, card: Card, max_tokens: int) -> None:
    if thinking is None:
        return
    members(thinking, "thinking", {"type"}, {"display", "budget_tokens"})
    kind = thinking["type"]
    if kind not in ("adaptive", "enabled", "disabled", "between_tools"):
        raise bad("thinking", f"Input tag '{kind}' does not match any of the expected tags")
    if thinking.get("display") not in (None, "summarized", "omitted"):
        raise bad("thinking.display", "Input should be 'summarized' or 'omitted'")
    refused = {"always": ("disabled", "enabled", "between_tools"), "adaptive": ("enabled", "disabled")}
    if kind in refused.get(card.thinks, ("adaptive", "between_tools")):
        raise bad("", f'"thinking.type.{kind}" is not supported for this model.')
    if kind == "enabled" and not 1024 <= int(thinking.get("budget_tokens") or 0) < max(max_tokens, 1025):
        raise bad("thinking.enabled.budget_tokens", "Input should be at least 1024 and less than max_tokens")


def _check_system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        raise bad("system", "Input should be a valid string or list")
    for index, block in enumerate(system):
        check_block(block, f"system.{index}", "system")


def _check_tools(tools: Any) -> None:
    if tools is None:
        return
    if not isinstance(tools, list):
        raise bad("tools", "Input should be a valid list")
    names: set[str] = set()
    for index, tool in enumerate(tools):
        where = f"tools.{index}"
        if isinstance(tool, dict) and SERVER_TOOLS.match(str(tool.get("type"))):
            continue
        may = {"type", "description", "cache_control", "strict", "input_examples", "eager_input_streaming"}
        members(tool, f"{where}.custom", {"name", "input_schema"}, may | {"defer_loading", "allowed_callers"})
        if tool.get("type", "custom") != "custom":
            raise bad(where, f"Input tag '{tool['type']}' does not match any of the expected tags")
        if not TOOL_NAME.match(text_of(tool["name"], f"{where}.custom.name")):
            raise bad(f"{where}.custom.name", "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
        if tool["name"] in names:
            raise bad("tools", "Tool names must be unique.")
        names.add(tool["name"])
        text_of(tool.get("description", ""), f"{where}.custom.description")
        _check_input_schema(tool["input_schema"], f"{where}.custom.input_schema")


def _check_input_schema(schema: Any, where: str) -> None:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise bad(f"{where}.type", "Input should be 'object'")
    if {"oneOf", "allOf", "anyOf"} & schema.keys():
        raise bad(where, "input_schema does not support oneOf, allOf, or anyOf at the top level")
    for name in schema.get("properties") or {}:
        if not PROPERTY.match(name):
            raise bad(f"{where}.properties", "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'")
    _check_schema(schema, where)


def _check_schema(schema: Any, where: str) -> None:
    wrong = bad(where, "JSON schema is invalid. It must match JSON Schema draft 2020-12")
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise wrong
    kinds = schema.get("type", [])
    if not {kinds} <= JSON_TYPES if isinstance(kinds, str) else not set(kinds) <= JSON_TYPES:
        raise wrong
    required = schema.get("required", [])
    if not isinstance(required, list) or len(set(map(str, required))) != len(required):
        raise wrong
    properties, choices = schema.get("properties", {}), schema.get("enum", [None])
    if not isinstance(properties, dict) or not isinstance(choices, list) or not choices:
        raise wrong
    inner = [schema[name] for name in ("items", "additionalProperties", "not") if name in schema]
    for part in (*properties.values(), *inner, *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        _check_schema(part, where)


def _check_tool_choice(body: Json, card: Card) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    members(choice, "tool_choice", {"type"}, {"name", "disable_parallel_tool_use"})
    if not body.get("tools"):
        raise bad("tool_choice", "tool_choice may only be specified while providing tools")
    if choice["type"] not in ("auto", "any", "tool", "none"):
        raise bad("tool_choice", f"Input tag '{choice['type']}' does not match any of the expected tags")
    if choice["type"] in ("any", "tool"):
        thinking = (body.get("thinking") or {}).get("type", "disabled")
        if card.thinks == "always" or thinking != "disabled":
            raise bad("", "Thinking may not be enabled when tool_choice forces tool use.")
        names = [tool.get("name") for tool in body["tools"]]
        if choice["type"] == "tool" and choice.get("name") not in names:
            raise bad("tool_choice", f"Tool '{choice.get('name')}' not found in provided tools")


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, list) or not messages:
        raise bad("messages", "at least one message is required")
    if len(messages) > MAX_MESSAGES:
        raise bad("messages", f"at most {MAX_MESSAGES} messages are allowed")
    for index, message in enumerate(messages):
        members(message, f"messages.{index}", {"role", "content"}, set())
        role, content = message["role"], message["content"]
        if role not in ("user", "assistant", "system"):
            raise bad(f"messages.{index}.role", "Input should be 'user', 'assistant' or 'system'")
        if not isinstance(content, str | list):
            raise bad(f"messages.{index}.content", "Input should be a valid string or list")
        if not content:
            raise bad(
                f"messages.{index}",
                "all messages must have non-empty content except for the optional final assistant message",
            )
        for place, block in enumerate(content_of(message)):
            check_block(block, f"messages.{index}.content.{place}", role)
    if messages[0]["role"] != "user":
        raise bad("messages", 'first message must use the "user" role')


def turns(messages: Sequence[Json]) -> Iterator[tuple[int, str, list[Json]]]:
    """Yield the turns: neighbours of one role are one turn; each with the number of its first message."""
    at, role, blocks = 0, "", list[Json]()
    for index, message in enumerate(messages):
        if message["role"] != role and blocks:
            yield at, role, blocks
            blocks = []
        if not blocks:
            at, role = index, message["role"]
        blocks = [*blocks, *content_of(message)]
    yield at, role, blocks


def check_pairs(messages: Sequence[Json], *, tools: bool) -> None:
    """Refuse calls without results, results without calls, results not first, ids used twice."""
    seen: set[str] = set()
    open_ids: list[str] = []
    index = 0
    for index, role, blocks in turns(messages):
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        _check_results(index, open_ids, results, [block["type"] == "tool_result" for block in blocks])
        open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"] if role == "assistant" else []
        if seen & set(open_ids) or len(set(open_ids)) != len(open_ids):
            raise bad(f"messages.{index}", "`tool_use` ids must be unique")
        seen |= set(open_ids)
        if (open_ids or results) and not tools:
            raise bad("", "Requests which include `tool_use` or `tool_result` blocks must define tools")
    if open_ids:
        raise bad(f"messages.{index}", _unanswered(open_ids))


def _check_results(index: int, open_ids: list[str], results: list[str], kinds: list[bool]) -> None:
    missing = [name for name in open_ids if name not in results]
    if missing:
        raise bad(f"messages.{index}", _unanswered(missing))
    for name in results:
        if name not in open_ids:
            raise bad(
                f"messages.{index}.content.0",
                f"unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each `tool_result` block must have "
                "a corresponding `tool_use` block in the previous message.",
            )
        if results.count(name) > 1:
            raise bad(
                f"messages.{index}",
                f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {name}",
            )
    if kinds != sorted(kinds, reverse=True):
        raise bad(f"messages.{index}", "`tool_result` blocks must come first in the content of a message")


def _unanswered(names: list[str]) -> str:
    return (
        f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(names)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _all_blocks(body: Json) -> Iterator[tuple[str, Json]]:
    """Yield every tool and block of the request, inner ones too, in the order in which a cache sees them."""
    for index, tool in enumerate(body.get("tools") or ()):
        yield f"tools.{index}", {"type": "tool", **tool}
    if isinstance(body.get("system"), list):
        yield from _with_inner(body["system"], "system")
    for index, message in enumerate(body["messages"]):
        yield from _with_inner(content_of(message), f"messages.{index}.content")


def _with_inner(blocks: list[Json], where: str) -> Iterator[tuple[str, Json]]:
    for index, block in enumerate(blocks):
        inner = block.get("content")
        if isinstance(inner, list):
            yield from _with_inner(inner, f"{where}.{index}.content")
        yield f"{where}.{index}", block


def check_marks(body: Json) -> None:
    """Refuse cache marks that are malformed, too many, in a wrong place, or with a long one after a short one."""
    marks = [(where, block["cache_control"]) for where, block in _all_blocks(body) if block.get("cache_control")]
    if body.get("cache_control"):
        marks.append(("body", body["cache_control"]))
    short = False
    for where, mark in marks:
        members(mark, f"{where}.cache_control", {"type"}, {"ttl"})
        if mark["type"] != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
            raise bad(f"{where}.cache_control", "Input should be 'ephemeral', with ttl '5m' or '1h'")
        if mark.get("ttl") == "1h" and short:
            raise bad(f"{where}.cache_control.ttl", "a ttl='1h' block must not come after a ttl='5m' block")
        short = short or mark.get("ttl", "5m") == "5m"
    if len(marks) > MAX_MARKS:
        raise bad("", f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {len(marks)}.")
