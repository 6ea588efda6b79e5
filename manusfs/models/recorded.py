"""A model that says again what a recorded session's model said, and notices when it is asked something else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from manusfs.errors import ModelError, NotFound
from manusfs.messages import Delta, Profile, Reply, Request, Usage
from manusfs.models.stream import tell
from manusfs.records import Event, canonical

__all__ = ["RecordedModel"]


class RecordedModel:
    """Replays replies in their order."""

    def __init__(self, replies: Sequence[Reply], *, profile: Profile | None = None, check: bool = True) -> None:
        """Take the replies. With `check`, a request must go on from the reply before it (see `reply`)."""
        self.profile = profile or Profile("recorded")
        self._replies = tuple(replies)
        self._check = check
        self._asked = 0

    @classmethod
    def from_events(
        cls, events: Iterable[Event], *, profile: Profile | None = None, check: bool = True
    ) -> RecordedModel:
        """Return a model that says what the assistant said in `events`, with the usage that was recorded."""
        return cls(_replies((event.kind, event.data) for event in events), profile=profile, check=check)

    @classmethod
    def from_file(cls, path: str | Path, *, profile: Profile | None = None, check: bool = True) -> RecordedModel:
        """Return a model that replays a file of JSON lines: a session's `transcript.jsonl`, or one reply a line.

        Raises:
            NotFound: the file can't be read, or holds no reply.
        """
        try:
            lines = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise NotFound(f"no recording in {str(path)!r}: {error}", hint="give a transcript.jsonl") from error
        replies = _replies(_as_event(line) for line in lines if isinstance(line, dict))
        if not replies:
            raise NotFound(f"no reply of a model in {str(path)!r}", hint="give a transcript.jsonl of a run")
        return cls(replies, profile=profile, check=check)

    @property
    def left(self) -> int:
        """How many replies have not been said yet."""
        return len(self._replies) - self._asked

    def reply(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Reply:
        """Return the next recorded reply.

        Raises:
            ModelError: the recording has ended; or, with `check`, the last assistant turn of `request` is not the
                reply before this one, or leaves a call of it without a result. A request without an assistant turn
                opens an epoch and is always taken.
        """
        if self.left <= 0:
            raise ModelError(f"the recording has ended after {self._asked} replies", kind="recording_ended")
        if self._check and self._asked:
            self._compare(request, self._replies[self._asked - 1])
        reply = self._replies[self._asked]
        self._asked += 1
        tell(reply, on_delta)
        return reply

    def _compare(self, request: Request, before: Reply) -> None:
        turns = [message for message in request.messages if message["role"] == "assistant"]
        if not turns:
            return
        if canonical(_plain(turns[-1]["content"])) != canonical(_plain(list(before.content))):
            raise _differs(f"its last assistant turn is not recorded reply {self._asked}")
        open_calls = {block["id"] for block in before.content if block["type"] == "tool_use"}
        answered = {block.get("tool_use_id") for block in request.messages[-1]["content"]}
        if open_calls - answered:
            raise _differs(f"calls of recorded reply {self._asked} have no result: {sorted(open_calls - answered)}")


def _differs(why: str) -> ModelError:
    return ModelError(
        f"the request is not the recorded one: {why}", hint="replay with check=False", kind="replay_mismatch"
    )


def _as_event(line: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    if "kind" not in line:
        return "message", {"role": "assistant", **line}
    data = line.get("data")
    return str(line["kind"]), data if isinstance(data, dict) else line


def _replies(events: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[Reply, ...]:
    found: list[Reply] = []
    for kind, data in events:
        if kind == "message" and data.get("role") == "assistant":
            found.append(_reply(data, data.get("usage") or {}))
        elif kind == "usage" and found and found[-1].usage == Usage():
            found[-1] = _reply(_said(found[-1]), data)
    return tuple(found)


def _reply(data: Mapping[str, Any], usage: Mapping[str, Any]) -> Reply:
    counted = {name: int(usage.get(name) or 0) for name in Usage.__dataclass_fields__}
    return Reply(
        tuple(data["content"]),
        data.get("stop_reason") or "end_turn",
        Usage(**counted),
        str(data.get("model") or ""),
        str(data.get("id") or ""),
        data.get("stop_details") or {},
    )


def _said(reply: Reply) -> dict[str, Any]:
    return {name: getattr(reply, name) for name in ("content", "stop_reason", "model", "id", "stop_details")}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if name != "cache_control"}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
