"""What a tool is: a typed function whose hints make the schema and whose docstring is what the model reads."""

from __future__ import annotations

import difflib
import inspect
import json
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, overload

from manusfs.errors import ToolError
from manusfs.messages import Block
from manusfs.records import Fetched, Shown

__all__ = ["Tool", "tool"]

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_WORDS = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


@dataclass(frozen=True, slots=True)
class Tool:
    """A callable of the model: its function, and all that the API is told about it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[..., Fetched | Shown]
    hints: Mapping[str, Any]
    writes: bool = False
    """True if it changes files: calls of such tools in one turn run one after another, in call order."""
    again: bool = False
    """True if a call that a crash left open is made once more: it goes on with what it began."""

    @property
    def block(self) -> Block:
        """The tool as it stands in a request."""
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return `given` checked and converted to what the function takes.

        Raises:
            ToolError: an argument is missing, unknown or of the wrong type; the message says which and what to give.
        """
        for name in given:
            if name not in self.hints:
                raise ToolError(f"{self.name} has no argument {name!r}{self._nearest(name)}")
        required = self.input_schema["required"]
        for name in required:
            if given.get(name) is None:
                raise ToolError(f"{self.name} needs the argument {name!r}. It takes: {self._signature()}")
        return {
            name: self._converted(name, value) for name, value in given.items() if value is not None or name in required
        }

    def _nearest(self, name: str) -> str:
        near = difflib.get_close_matches(name, self.hints, n=1, cutoff=0.4)
        return f". Did you mean {near[0]!r}?" if near else f". It takes: {self._signature()}"

    def _signature(self) -> str:
        required = self.input_schema["required"]
        return ", ".join(name if name in required else f"{name} (optional)" for name in self.hints)

    def _converted(self, name: str, value: Any) -> Any:
        try:
            return _convert(value, self.hints[name])
        except (TypeError, ValueError, OverflowError, RecursionError):
            wanted = _wording(self.hints[name])
            raise ToolError(f"{self.name}: the argument {name!r} must be {wanted}, not {_short(value)}") from None


Function = Callable[..., Fetched | Shown]


@overload
def tool(function: Function) -> Tool: ...
@overload
def tool(*, writes: bool = ..., again: bool = ...) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None, *, writes: bool = False, again: bool = False
) -> Tool | Callable[[Function], Tool]:
    """Return the Tool that `function` defines: `(env: ToolEnv, …) -> Fetched | Shown`.

    The name is the function's without a closing underscore. The docstring's text up to `Args:` is the description,
    the entries under `Args:` describe the arguments. An argument with a default is optional.
    """
    return (lambda inner: _made(inner, writes, again)) if function is None else _made(function, writes, again)


def _made(function: Function, writes: bool, again: bool) -> Tool:
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    description, texts = _docstring(inspect.getdoc(function) or "")
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            p.name: {**_schema(hints[p.name]), **({"description": texts[p.name]} if p.name in texts else {})}
            for p in parameters
        },
        "required": [p.name for p in parameters if p.default is p.empty],
        "additionalProperties": False,
    }
    name = function.__name__.rstrip("_")
    return Tool(name, description, schema, function, {p.name: hints[p.name] for p in parameters}, writes, again)


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    description, _, section = text.partition("\nArgs:\n")
    texts: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if match := re.match(r" {4}(\w+): (.*)", line):
            name = match[1]
            texts[name] = match[2].strip()
        elif name and line.strip():
            texts[name] += f" {line.strip()}"
    return description.strip(), texts


def _schema(hint: Any) -> dict[str, Any]:
    origin = get_origin(hint)
    if origin is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if origin in (Union, types.UnionType):
        return _schema(_without_none(hint))
    if origin is list:
        return {"type": "array", "items": _schema(get_args(hint)[0])}
    if origin is dict:
        return {"type": "object"}
    return {"type": _NAMES[hint]}


def _without_none(hint: Any) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    if len(kinds) != 1:
        raise TypeError(f"a tool's argument takes one type, or that and None, not {hint}")
    return kinds[0]


def _convert(value: Any, hint: Any) -> Any:
    """Return `value` as `hint` wants it; models write "5" for 5, 5.0 for 5 and "a" for ["a"], and mean it."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _convert(value, _without_none(hint))
    if origin is Literal:
        word = value.strip().lower() if isinstance(value, str) else value
        if word not in get_args(hint):
            raise ValueError(value)
        return word
    if origin is list:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list):
            raise TypeError(value)
        return [_convert(item, get_args(hint)[0]) for item in items]
    if origin is dict:
        return _table(value)
    if hint is bool:
        return _truth(value)
    if hint is int:
        return _whole(value)
    if hint is float:
        return _no(value) if isinstance(value, bool) else float(value)
    return value if isinstance(value, str) else _no(value)


def _table(value: Any) -> dict[str, Any]:
    """Return a JSON object, also one that was written as text."""
    made = json.loads(value) if isinstance(value, str) else value
    if not isinstance(made, dict):
        raise TypeError(value)
    return {str(name): member for name, member in made.items()}


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(value)
    number = int(value.strip().replace(",", "").replace("_", "")) if isinstance(value, str) else int(value)
    if not isinstance(value, str) and number != value:
        raise ValueError(value)
    return number


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    return _WORDS[word] if word in _WORDS else bool(_no(value))


def _no(value: Any) -> Any:
    raise TypeError(value)


def _wording(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return _wording(_without_none(hint))
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(repr, get_args(hint)))}"
    if get_origin(hint) is list:
        return "a list of texts"
    if get_origin(hint) is dict:
        return "a JSON object"
    return {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}[hint]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
