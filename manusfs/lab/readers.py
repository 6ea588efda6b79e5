"""Recorded runs from files: tells which format a file has and gives its runs one by one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from manusfs.errors import UsageError
from manusfs.lab.readers_api import anthropic_run, arguments, openai_run, swe_agent_run
from manusfs.lab.recording import Call, Recording, Said, steps_of

__all__ = ["read_runs"]

_TRANSCRIPT = "transcript.jsonl"


def read_runs(path: Path) -> Iterator[Recording]:
    """Yield the runs of a file, plain or gzip: one run a line, or one JSON document.

    It may hold the corpus' normalised messages, one of our own transcripts (or the folder of its session), a list of
    Anthropic messages or a request of that API, OpenAI chat messages with tool calls, or a SWE-agent trajectory.

    Raises:
        UsageError: the file can't be read, or holds none of these.
    """
    if path.is_dir() and not (path / _TRANSCRIPT).is_file():
        raise UsageError(f"{path.name!r} is a folder without a session", hint="give sessions/<session>, or a file")
    if (path / _TRANSCRIPT).is_file():
        path = path / _TRANSCRIPT
    if path.name == _TRANSCRIPT:
        from manusfs.lab.readers_own import own_run

        yield own_run(path)
        return
    found = False
    for number, data in enumerate(_documents(path)):
        try:
            run = _run(data, path, number)
        except (AttributeError, TypeError, ValueError, KeyError) as error:
            # Foreign records: whatever is of another shape than its format says ends here.
            raise UsageError(
                f"{path.name!r} holds a run at place {number + 1} that is not in the shape of its format: {error}",
                hint="see docs/compaction.md for the five formats",
            ) from error
        if run.steps:
            found = True
            yield run
    if not found:
        raise UsageError(f"no recorded run in {path.name!r}", hint="one run a line; see docs/compaction.md")


def _documents(path: Path) -> Iterator[Any]:
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8", "replace")
    except (OSError, EOFError, gzip.BadGzipFile) as error:
        raise UsageError(f"can't read {path.name!r}: {error}", hint="give a file of recorded runs") from error
    try:
        yield json.loads(text)
        return
    except ValueError:
        pass
    except RecursionError as error:
        raise UsageError(f"{path.name!r} is nested too deeply", hint="one run a line") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{path.name!r}, line {number}, is no JSON: {error}", hint="one run a line") from error


def _run(data: Any, path: Path, number: int) -> Recording:
    if isinstance(data, list):
        data = {"messages": data}
    if not isinstance(data, Mapping):
        raise UsageError(f"{path.name!r} holds no run at place {number + 1}", hint="a run is an object with `messages`")
    name = path.name.split(".")[0]
    source, id = str(data.get("src") or name), str(data.get("id") or number)
    if "trajectory" in data:
        return swe_agent_run(data, source, id)
    messages = data.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        raise UsageError(f"{path.name!r} holds no run at place {number + 1}", hint="a run is an object with `messages`")
    if any("text" in message for message in messages):
        return _normalised(messages, source, id)
    if any("tool_calls" in message or message.get("role") in ("tool", "function") for message in messages):
        return openai_run(messages, source, id)
    return anthropic_run(data, messages, source, id)


def _normalised(messages: list[Mapping[str, Any]], source: str, id: str) -> Recording:
    system = ""
    said: list[Said] = []
    for message in messages:
        role, text = message.get("role"), str(message.get("text") or "")
        if role == "system" and not said and not system:
            system = text
        elif role in ("system", "user"):
            said.append(Said("user", text))
        elif role == "assistant":
            calls = tuple((str(call.get("id") or ""), _call(call)) for call in message.get("calls") or ())
            said.append(Said("assistant", text, calls=calls))
        elif role == "tool":
            tool, answers = str(message.get("tool") or ""), str(message.get("id") or "")
            said.append(Said("tool", text, tool=tool, id=answers, is_error=bool(message.get("is_error"))))
    return Recording(source, id, system, *steps_of(said))


def _call(call: Mapping[str, Any]) -> Call:
    return Call(str(call.get("name") or "tool"), arguments(call.get("args")))
