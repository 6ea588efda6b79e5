"""What the tests of sub-agents share: one model for a parent and its children, routed by what each was asked."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from manusfs.messages import Profile, Reply, Request
from manusfs.models import ScriptedModel
from manusfs.models.scripted import estimated_usage

FORKED = "You are now a fork of the session above"


def task_of(request: Request) -> str:
    """Return what the session of `request` was asked: a fork's word, else the newest of the opening's messages."""
    texts = [block["text"] for message in request.messages for block in message["content"] if block["type"] == "text"]
    if any(FORKED in text for text in texts):
        at = max(i for i, text in enumerate(texts) if FORKED in text)
        return _plain(texts[at + 1])
    return _plain(next(text for text in texts if text.startswith("<user_message")))


def turns_of(request: Request) -> int:
    """Return how many replies the session of `request` has, those before a fork left out."""
    count = 0
    for message in request.messages:
        if message["role"] == "assistant":
            count += 1
        elif any(FORKED in block.get("text", "") for block in message["content"]):
            count = 0
    return count


def _plain(text: str) -> str:
    return text.partition("\n")[2].removesuffix("\n</user_message>")


Step = Callable[[Request], Any]


class Cast(ScriptedModel):
    """Answers each session by the first route whose words its task holds: a list of steps, or a function."""

    def __init__(self, routes: dict[str, Any], *, profile: Profile | None = None) -> None:
        super().__init__([], profile=profile)
        self.routes = routes
        self.asked: dict[str, list[Request]] = defaultdict(list)
        self._guard = threading.Lock()

    def reply(self, request: Request, on_delta: Any = None) -> Reply:
        """Return the next step of the session that asks."""
        task = task_of(request)
        name = next(words for words in self.routes if words in task)
        with self._guard:
            self.requests.append(request)
            self.asked[name].append(request)
        steps = self.routes[name]
        step = steps if callable(steps) else steps[min(turns_of(request), len(steps) - 1)]
        if isinstance(step, BaseException):
            raise step
        said = step(request) if callable(step) else step
        if isinstance(said, BaseException):
            raise said
        one = ScriptedModel([said], profile=self.profile)
        reply = one.reply(request, on_delta)
        assert reply.usage == estimated_usage(request, reply.content) or isinstance(said, Reply)
        return reply
