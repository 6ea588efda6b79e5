"""The offline model: a deterministic, extractive researcher that drives the same loop and tools as any model.

It holds no state: each reply follows from the request alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manusfs.messages import Block, Delta, Profile, Reply, Request, Usage
from manusfs.models.offline.answer import answer
from manusfs.models.offline.keeping import NARROW
from manusfs.models.offline.links import best_links
from manusfs.models.offline.questions import split_task
from manusfs.models.offline.seen import look
from manusfs.models.offline.steps import ROOMY
from manusfs.models.offline.work import Step, Work
from manusfs.records import canonical, sha256_hex
from manusfs.records.tokens import estimate

__all__ = ["OfflineModel"]

CALLS_A_TURN = 8
LINKS_NAMED = 3
LINKS_NAMED_FROM = 4.0
"""Two words of a question in a link's wording: less is not worth a reader's while."""


class OfflineModel:
    """Plan, fetch each source, search, read by offset, take notes, answer with cited quotes. No key, no network."""

    def __init__(self, max_pages: int = 0, window: int = 200_000) -> None:
        self.profile = Profile("offline", window=window, max_output=16_000, caches=False)
        self.max_pages = max_pages
        """Pages to follow from those that were given; 0 for none."""

    def reply(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Reply:
        """Return the next step of the research, or the answer when nothing more would help."""
        seen = look(request)
        work = Work(seen, split_task(seen.task), self.profile.window, self.max_pages)
        step = _next(work, {tool["name"] for tool in request.tools})
        if step is None:
            return _finish(request, work, on_delta)
        content: list[Block] = [{"type": "text", "text": step.text}]
        for name, arguments in step.calls:
            key = sha256_hex(canonical([len(request.messages), name, arguments]).encode("utf-8"))[:20]
            content.append({"type": "tool_use", "id": f"call_{key}", "name": name, "input": arguments})
        _tell(on_delta, step.text)
        return _reply(request, content, "tool_use")


def _next(work: Work, tools: set[str]) -> Step | None:
    """Return the first step that has calls which are offered."""
    for step in NARROW if work.seen.later or work.small else ROOMY:
        found = step(work)
        if found is not None and (allowed := [call for call in found.calls if call[0] in tools]):
            return Step(found.text, allowed[:CALLS_A_TURN])
    return None


def _finish(request: Request, work: Work, on_delta: Callable[[Delta], None] | None) -> Reply:
    supports = work.supports
    weak = [support.question for support in supports if support.level in ("none", "low")]
    text = answer(
        work.seen,
        supports,
        [] if work.max_pages or not weak else best_links(work.seen, weak, LINKS_NAMED, LINKS_NAMED_FROM),
    )
    _tell(on_delta, text)
    supported = any(support.level != "none" for support in supports)
    return _reply(request, [{"type": "text", "text": text}], "end_turn", {} if supported else {"type": "no_support"})


def _reply(request: Request, content: list[Block], stop: Any, details: dict[str, Any] | None = None) -> Reply:
    sent = sum(estimate(canonical(block)) for block in (*request.system, *request.tools, *request.messages))
    return Reply(tuple(content), stop, Usage(sent, estimate(canonical(content))), "offline", "", details or {})


def _tell(on_delta: Callable[[Delta], None] | None, text: str) -> None:
    if on_delta is not None:
        on_delta(Delta("text", text))
