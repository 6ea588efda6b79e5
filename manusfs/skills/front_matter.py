"""YAML front matter of a Markdown file: read tolerantly, within limits, and never by anything that runs code."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

__all__ = ["MOST_CHARS", "FrontMatter", "split"]

MOST_CHARS = 65_536
"""Longer front matter is not parsed: it is meant to be a few lines."""
_MOST_DEPTH = 16
_MOST_NODES = 5_000
_FENCE = re.compile(r"(?:---|\.\.\.)[ \t]*\r?\n?")
_PLAIN_LINE = re.compile(r"([A-Za-z_][\w-]*):[ \t]+([^\s\"'\[\]{}|>&*!#%@`].*)")
_LINE = re.compile(r"([A-Za-z_][\w-]*):(|[ \t].*)")
_BLOCKS = ("|", ">", "|-", ">-", "|+", ">+")
_QUOTE = "values with a colon in them were taken as texts; quote them"
_LINES = "its lines were read one by one"
_BROKEN = (ValueError, OverflowError, RecursionError, TypeError, AttributeError)
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands above and below the second `---`. Values of `data` are what JSON can hold."""

    data: dict[str, Any] = field(default_factory=dict)
    body: str = ""
    problem: str = ""
    """Why `data` is empty, or how far it can be believed; empty when all is well."""


class _Bad(ValueError):
    """What is well-formed YAML, and not taken all the same."""


class _Loader(_Base):  # type: ignore[misc]
    """The safe loader, with dates left as the texts that they are."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}


def split(text: str) -> FrontMatter:
    """Return the front matter of `text` and its body; never raises.

    Missing or broken front matter gives no data, the whole text as body, and the reason in `problem`. Values with
    an unquoted colon, which people write often, are taken as the texts that they were meant to be, and told.
    """
    plain = text.removeprefix("\ufeff")
    head, body = _parts(plain)
    if head is None:
        return FrontMatter({}, plain, body)
    try:
        return FrontMatter(_table(head), body)
    except yaml.YAMLError as error:
        told = f"not valid YAML: {_reason(error)}"
    except _BROKEN as error:
        return FrontMatter({}, plain, str(error) or type(error).__name__)
    for reader, how in ((_with_quotes, _QUOTE), (_by_line, _LINES)):
        try:
            if data := reader(head):
                return FrontMatter(data, body, f"{told}; {how}")
        except (yaml.YAMLError, *_BROKEN):
            continue
    return FrontMatter({}, plain, told)


def _parts(text: str) -> tuple[str | None, str]:
    """Return front matter and body, or None and the reason why there is none."""
    first = text.find("\n") + 1
    if not first or not re.fullmatch(r"---[ \t]*\r?\n", text[:first]):
        return None, "no front matter: the first line is not `---`"
    at = first
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        if _FENCE.fullmatch(text, at, end):
            return text[first:at], text[end:]
        if end - first > MOST_CHARS:
            return None, f"front matter of more than {MOST_CHARS} characters"
        at = end
    return None, "front matter without a closing `---`"


def _table(head: str) -> dict[str, Any]:
    _check_shape(head)
    loader = _Loader(head)
    try:
        node = loader.get_node() if loader.check_node() else None
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise _Bad("the front matter is no table of names and values")
        _check_keys(node)
        return {str(key): _plain(value) for key, value in loader.construct_document(node).items()}
    finally:
        loader.dispose()


def _check_shape(head: str) -> None:
    """Look at the events before anything is built of them: aliases multiply, and depth is stack."""
    depth = 0
    for nodes, event in enumerate(yaml.parse(head, Loader=_Loader), 1):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _Bad("anchors and aliases are not taken")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MOST_DEPTH:
            raise _Bad(f"nested deeper than {_MOST_DEPTH}")
        if nodes > _MOST_NODES:
            raise _Bad(f"more than {_MOST_NODES} values")
        if isinstance(event, yaml.DocumentEndEvent):
            return


def _check_keys(node: yaml.Node) -> None:
    """Refuse a key that stands twice: readers differ in which of the two counts."""
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _Bad("a name in the front matter is no text")
            if key.value in seen:
                raise _Bad(f"the name {key.value[:60]!r} stands twice")
            seen.add(key.value)
            _check_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_keys(item)


def _plain(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > 64:
        return f"{value:#x}"  # python refuses to write thousands of digits in tens
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    return str(value)


def _with_quotes(head: str) -> dict[str, Any]:
    """Return the table with quotes round values that have an unquoted colon, as people mean them."""
    mended = "".join(_quoted(line) for line in head.splitlines(keepends=True))
    return _table(mended) if mended != head else {}


def _quoted(line: str) -> str:
    match = _PLAIN_LINE.fullmatch(line.rstrip())
    if match and ": " in f"{match[2]} ":
        return f"{match[1]}: {json.dumps(match[2])}\n"
    return line


def _by_line(head: str) -> dict[str, Any]:
    """Return what stands as `name: value` on lines of their own, as texts, as the simplest of other readers do."""
    found: dict[str, Any] = {}
    block: list[str] | None = None
    for line in [*head.splitlines(), "__end__:"]:
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            if block is not None:
                block.append(line.strip())
            continue
        if block is not None:
            found[next(reversed(found))] = "\n".join(block).strip()
            block = None
        name, value = match[1], match[2].strip()
        if name in found:
            raise _Bad(f"the name {name[:60]!r} stands twice")
        if value in _BLOCKS:
            block = []
        if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1:
            value = value[1:-1]
        found[name] = value
    found.pop("__end__", None)
    return found if found.get("name") or found.get("description") else {}


def _reason(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = " ".join(str(getattr(error, "problem", None) or error).split())[:120]
    # The first line is the fence.
    return f"line {mark.line + 2}: {problem}" if mark is not None else problem
