"""A model that says what it was told to say: for tests, examples and trials of one's own tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from manusfs.errors import ModelError
from manusfs.messages import Block, Delta, Profile, Reply, Request, Usage
from manusfs.models.stream import tell
from manusfs.records import canonical, sha256_hex
from manusfs.records import tokens as _tokens

__all__ = ["ScriptedModel", "Step", "call"]

Step = Reply | Sequence[Block] | str | Exception | Callable[[Request], "Reply | Sequence[Block] | str"]
"""One turn: a whole reply, its blocks, its text, an exception to raise, or a function of the request that gives one."""

_IMAGE_TOKENS = 1_600
_BLOCK_TOKENS = 4


def call(name: str, /, **arguments: Any) -> Block:
    """Return a `tool_use` block that calls tool `name`; the model gives it its id."""
    return {"type": "tool_use", "name": name, "input": arguments}


class ScriptedModel:
    """Answers each request with the next step, or every request with one function.

    ```python
    model = ScriptedModel([[call("web_fetch", url="https://example.org/")], "Done."])
    ```
    """

    def __init__(
        self,
        steps: Iterable[Step] | Callable[[Request], Reply | Sequence[Block] | str],
        *,
        profile: Profile | None = None,
    ) -> None:
        """Take the steps; an iterator is read one step at a time, so a script may be endless."""
        self.profile = profile or Profile("scripted")
        self.requests: list[Request] = []
        """Every request that was asked, in order."""
        self._steps: Iterator[Step] = iter(lambda: steps, None) if callable(steps) else iter(steps)

    def reply(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Reply:
        """Return the next step as a reply; ids and usage that it lacks are filled in, the same for the same request.

        Raises:
            ModelError: the script has ended. Whatever exception a step is, or its function raises.
        """
        self.requests.append(request)
        try:
            step = next(self._steps)
        except StopIteration:
            raise ModelError(
                f"the script has ended after {len(self.requests) - 1} replies", kind="script_ended"
            ) from None
        if isinstance(step, Exception):
            raise step
        said = step(request) if callable(step) else step
        reply = self._completed(request, said if isinstance(said, Reply) else _as_reply(said))
        tell(reply, on_delta)
        return reply

    def _completed(self, request: Request, reply: Reply) -> Reply:
        mark = sha256_hex(canonical([len(request.messages), request.messages[-1:]]).encode("utf-8"))[:16]
        content = tuple(
            {"type": "tool_use", "id": f"toolu_{mark}_{place}", **block} if block.get("type") == "tool_use" else block
            for place, block in enumerate(reply.content)
        )
        return replace(
            reply,
            content=content,
            id=reply.id or f"msg_{mark}",
            model=reply.model or self.profile.name,
            usage=reply.usage if reply.usage != Usage() else estimated_usage(request, content),
        )


def estimated_usage(request: Request, content: Sequence[Block]) -> Usage:
    """Return what a request and its answer may cost in tokens, by the offline estimate, nothing cached."""
    return Usage(_weight([request.system, request.tools, request.messages]), _weight(list(content)))


def _as_reply(said: Sequence[Block] | str) -> Reply:
    content = ({"type": "text", "text": said},) if isinstance(said, str) else tuple(said)
    calls = any(block.get("type") == "tool_use" for block in content)
    return Reply(content, "tool_use" if calls else "end_turn")


def _weight(value: Any) -> int:
    if isinstance(value, str):
        return _estimate(value)
    if isinstance(value, dict):
        if value.get("type") == "image":
            return _IMAGE_TOKENS
        return _BLOCK_TOKENS + sum(_weight(part) for name, part in value.items() if name != "cache_control")
    if isinstance(value, list | tuple):
        return sum(_weight(part) for part in value)
    return 1


@lru_cache(maxsize=8_192)
def _estimate(text: str) -> int:
    return _tokens.estimate(text)
