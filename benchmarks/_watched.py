"""A model that follows a script and checks every request: append-only, well-formed, within the window."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from manusfs.messages import Block, Delta, Profile, Reply, Request, Usage, validate
from manusfs.models import call, estimated_usage

__all__ = ["Script", "Watched"]

_REF = re.compile(r"(?:obs:[0-9a-f]{12,}(?:/full|/raw)?(?:@\d+-\d+)?)|(?:msg:[\w-]+:\d+(?:\.\d+)?(?:-\d+)?)")
_STUB = re.compile(r'<observation ref=\\"(obs:[0-9a-f]+)')
DEARER = 1.15
"""How much more the model counts than the estimate that manusfs goes by: real models differ from it as well."""


@dataclass(frozen=True, slots=True)
class Script:
    """What the model does: so many fetches, so many a turn; now and then it reads, plans and takes a note."""

    url: Callable[[int], str]
    fetches: int
    a_turn: int

    def step(self, turn: int, request: Request) -> list[Block] | str:
        """Return the blocks of reply number `turn`, from 0; words when all is fetched."""
        first = turn * self.a_turn
        if first >= self.fetches:
            return "All pages are fetched."
        calls = [call("web_fetch", url=self.url(n)) for n in range(first, min(first + self.a_turn, self.fetches))]
        stubs = _STUB.findall(json.dumps(request.messages[-1:]))
        if turn % 5 == 4 and stubs:
            calls.append(call("read", ref=stubs[-1], offset=20_000))
        if turn % 20 == 19:
            calls.append(call("todo", items=[f"[x] pages up to {first}", "the rest"]))
        if turn % 25 == 24:
            calls.append(call("write", path=f"notes/findings/turn-{turn}.md", content=f"Up to {first}: nothing new.\n"))
        return [{"type": "text", "text": f"Turn {turn}: I fetch page {first} and on."}, *calls]


@dataclass
class Watched:
    """Answers by a script, and keeps what is wrong with the requests and how large they were."""

    script: Script
    profile: Profile
    turn: int = 0
    sizes: list[int] = field(default_factory=list)
    """Tokens of each request, as this model counts."""
    at: list[float] = field(default_factory=list)
    """When each request came."""
    epochs: int = 0
    problems: list[str] = field(default_factory=list)
    refs: set[str] = field(default_factory=set)
    checking_s: float = 0.0
    """Time that the checks took, which is not the agent's."""
    _before: list[bytes] = field(default_factory=list)

    def reply(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Reply:
        """Return the next step of the script."""
        began = time.perf_counter()
        self.at.append(began - self.checking_s)
        self._check(request)
        said = self.script.step(self.turn, request)
        self.turn += 1
        blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said
        content = tuple(
            {**block, "id": f"toolu_{self.turn:06}_{place}"} if block["type"] == "tool_use" else block
            for place, block in enumerate(blocks)
        )
        output = round(DEARER * estimated_usage(request, content).output_tokens)
        stop = "end_turn" if isinstance(said, str) else "tool_use"
        self.checking_s += time.perf_counter() - began
        return Reply(content, stop, Usage(self.sizes[-1], output), self.profile.name, f"msg_{self.turn}")  # type: ignore[arg-type]

    def _check(self, request: Request) -> None:
        validate(request)
        size = round(DEARER * estimated_usage(request, []).input_tokens)
        self.sizes.append(size)
        if size + request.max_tokens > self.profile.window:
            self._note(f"{size} tokens and {request.max_tokens} for the reply exceed {self.profile.window}")
        texts = [json.dumps(_unmarked(block), sort_keys=True) for block in _blocks(request)]
        now = [sha256(text.encode()).digest() for text in texts]
        if now[: len(self._before)] != self._before:
            if len(request.messages) > 1:
                self._note("what was sent before was changed within an epoch")
            self._before = []
        self.epochs += not self._before
        # The examples of system and tools are no refs.
        fixed = len(request.tools) + len(request.system)
        self.refs.update(ref for text in texts[max(fixed, len(self._before)) :] for ref in _REF.findall(text))
        self._before = now

    def _note(self, what: str) -> None:
        self.problems.append(f"request {len(self.sizes)}: {what}")


def _blocks(request: Request) -> list[Any]:
    said = [{"role": message["role"], **block} for message in request.messages for block in message["content"]]
    return [*request.tools, *request.system, *said]


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(member) for name, member in value.items() if name != "cache_control"}
    return [_unmarked(member) for member in value] if isinstance(value, list) else value
