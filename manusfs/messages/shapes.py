"""Which members requests, blocks and tools may have: the shapes of the Messages API, closed where it is closed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from manusfs.errors import InvalidRequest

__all__ = ["REQUEST", "check_members", "check_schema", "check_tool"]

# From the types of the anthropic SDK 2.14.
REQUEST = frozenset(
    "cache_control compaction container context_management diagnostics inference_geo mcp_servers metadata "
    "output_config service_tier speed stop_sequences stream thinking tool_choice user_profile_id workspace_id".split()
)
_RESULT = frozenset("type cache_control caller content tool_use_id".split())
_BLOCKS: dict[str, frozenset[str]] = {
    "text": frozenset("type cache_control citations text".split()),
    "image": frozenset("type cache_control source transformations".split()),
    "document": frozenset("type cache_control citations context source title".split()),
    "search_result": frozenset("type cache_control citations content source title".split()),
    "thinking": frozenset("type signature thinking".split()),
    "redacted_thinking": frozenset("type data".split()),
    "tool_use": frozenset("type cache_control caller id input name toolset_name".split()),
    "tool_result": frozenset("type cache_control content is_error tool_use_id toolset_name".split()),
    "server_tool_use": frozenset("type cache_control caller id input name".split()),
    "mcp_tool_use": frozenset("type cache_control id input name server_name".split()),
    "mcp_tool_result": _RESULT | {"is_error"},
    "web_search_tool_result": _RESULT,
    "web_fetch_tool_result": _RESULT,
    "code_execution_tool_result": _RESULT,
    "bash_code_execution_tool_result": _RESULT,
    "text_editor_code_execution_tool_result": _RESULT,
    "tool_search_tool_result": _RESULT,
    "container_upload": frozenset("type cache_control file_id".split()),
    "compaction": frozenset("type cache_control content encrypted_content".split()),
    "tool_reference": frozenset("type cache_control tool_name".split()),
    "browser_state": frozenset("type cache_control changes tabs".split()),
}
_TOOL = frozenset(
    "allowed_callers cache_control defer_loading description eager_input_streaming input_examples input_schema name "
    "strict type".split()
)
_TYPES = frozenset("string number integer boolean object array null".split())
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z")
_TOP = ("anyOf", "oneOf", "allOf")
_DEEPEST = 40


def check_members(block: Mapping[str, Any], kind: str, path: str) -> None:
    """Refuse a block of an unknown type, or with a member that its type does not have."""
    known = _BLOCKS.get(kind)
    if known is None:
        _refuse(path, f"the type {kind!r} is not known", f"use one of {', '.join(list(_BLOCKS)[:8])}, …")
    if not known.issuperset(block):
        extra = sorted(map(str, set(block) - known))
        _refuse(f"{path}.{extra[0]}", f"a {kind} block has no such member", "leave it out")


def check_tool(tool: Mapping[str, Any], path: str) -> None:
    """Refuse a custom tool with members or a schema that the API does not take; the API's own tools are its matter."""
    if tool.get("type", "custom") not in ("custom", None):
        return
    if not _TOOL.issuperset(tool):
        _refuse(f"{path}.{sorted(map(str, set(tool) - _TOOL))[0]}", "a tool has no such member", "leave it out")
    schema = tool.get("input_schema")
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        _refuse(f"{path}.input_schema", "no JSON schema of type object", "give the tool's parameters")
    for name in _TOP:
        if name in schema:
            _refuse(f"{path}.input_schema.{name}", "not taken at the top level", "put the choice into a property")
    check_schema(schema, f"{path}.input_schema")


def check_schema(schema: object, path: str, depth: int = 0) -> None:
    """Refuse what is no JSON schema, as far as the keywords that tools use go."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        _refuse(path, "it is no JSON schema", "give an object of draft 2020-12")
    kinds = schema.get("type", ())
    for kind in (kinds,) if isinstance(kinds, str) else kinds if isinstance(kinds, list | tuple) else (kinds,):
        if not isinstance(kind, str) or kind not in _TYPES:
            _refuse(f"{path}.type", f"{kind!r} is no type of draft 2020-12", f"use one of {', '.join(sorted(_TYPES))}")
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        _refuse(f"{path}.properties", "it is no object", "map names to schemas")
    for name, inner in properties.items():
        if not isinstance(name, str) or not _KEY.match(name):
            _refuse(f"{path}.properties", f"{name!r} is no key", "use 1 to 64 letters, digits, _, . and -")
        check_schema(inner, f"{path}.properties.{name}", depth + 1)
    if "items" in schema:
        check_schema(schema["items"], f"{path}.items", depth + 1)
    for name in _TOP:
        if name in schema:
            choices = schema[name]
            if not isinstance(choices, list | tuple) or not choices:
                _refuse(f"{path}.{name}", "it is no list of schemas", "give at least one")
            for i, inner in enumerate(choices):
                check_schema(inner, f"{path}.{name}[{i}]", depth + 1)
    required = schema.get("required", [])
    if not isinstance(required, list | tuple) or not all(isinstance(name, str) for name in required):
        _refuse(f"{path}.required", "it is no list of names", "name the properties that must be there")


def _refuse(path: str, what: str, hint: str) -> NoReturn:
    raise InvalidRequest(f"{path}: {what}", hint=hint)
