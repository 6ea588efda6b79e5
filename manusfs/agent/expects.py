"""The form that an answer must have: a JSON Schema from a model, held against a reply from a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from manusfs.errors import ToolError

__all__ = ["asked", "check_schema", "faults", "found"]

_MOST_CHARS = 20_000
_MOST_FAULTS = 8
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_LEFT_OUT = ("pattern", "patternProperties", "$ref", "$dynamicRef", "$id")
"""Words of a schema that are not taken: an expression may run for ever, references may lead out of this machine,
or multiply."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Return if answers can be held against `schema`.

    Raises:
        ToolError: it is no JSON Schema, too large, or has what is not taken here.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    hint = "give a plain JSON Schema, with definitions written in place: type, properties, required, items, enum"
    try:
        text = json.dumps(schema, allow_nan=False)
        if len(text) > _MOST_CHARS:
            raise ToolError(f"`expects` has more than {_MOST_CHARS} characters", hint=hint)
        for word in _LEFT_OUT:
            if word in set(_keywords(schema)):
                raise ToolError(f"`expects` has {word!r}, which is not taken", hint=hint)
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        raise ToolError(f"`expects` is no JSON Schema: {_line(error.message)}", hint=hint) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"`expects` is no JSON: {error}", hint=hint) from error


def asked(schema: Mapping[str, Any]) -> str:
    """Return the words by which a sub-agent is told what form its answer must have."""
    text = json.dumps(schema, ensure_ascii=False, sort_keys=True)
    return (
        "Your last reply must be one JSON value and nothing else: no words before or behind it. It is read by a "
        f"program and must fit this JSON Schema:\n{text}"
    )


def found(answer: str) -> Any:
    """Return the JSON value of `answer`: all of it, or the one fenced block in it.

    Raises:
        ValueError: there is none.
    """
    texts = [answer.strip(), *(match[1] for match in _FENCED.finditer(answer))]
    for text in texts:
        try:
            return json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            continue
    raise ValueError("it is no JSON")


def faults(answer: str, schema: Mapping[str, Any]) -> list[str]:
    """Return what keeps `answer` from fitting `schema`, one line each; none when it fits."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    try:
        value = found(answer)
    except ValueError as error:
        return [str(error)]
    validator = Draft202012Validator(dict(schema), registry=Registry())
    lines = []
    for fault in validator.iter_errors(value):
        where = "/".join(map(str, fault.absolute_path))
        lines.append(f"{'at ' + where + ': ' if where else ''}{_line(fault.message)}")
        if len(lines) == _MOST_FAULTS:
            break
    return lines


def _keywords(schema: object) -> Iterator[str]:
    """Yield the names that stand anywhere in `schema`; a property may be called like a keyword, and is not one."""
    if isinstance(schema, Mapping):
        for name, member in schema.items():
            yield str(name)
            if name in ("properties", "$defs", "definitions", "dependentSchemas") and isinstance(member, Mapping):
                for inner in member.values():
                    yield from _keywords(inner)
            elif name not in ("enum", "const", "default", "examples"):
                yield from _keywords(member)
    elif isinstance(schema, list | tuple):
        for member in schema:
            yield from _keywords(member)


def _line(text: str) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= 200 else f"{line[:199]}…"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
