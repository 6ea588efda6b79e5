"""The offline model: a deterministic, extractive researcher that drives the same loop and tools as any model.

It holds no state: each reply follows from the request alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from manusfs.messages import Block, Delta, Profile, Reply, Request, Usage
from manusfs.models.offline.answer import WHAT_IT_IS, answer, note
from manusfs.models.offline.evidence import Evidence, Support
from manusfs.models.offline.links import best_links
from manusfs.models.offline.questions import Question, split_task
from manusfs.models.offline.seen import EVERYTHING, Hit, Seen, look
from manusfs.models.offline.words import content_words
from manusfs.records import canonical, sha256_hex
from manusfs.records.tokens import estimate

__all__ = ["OfflineModel"]

CALLS_A_TURN = 8
READ_BYTES = 1_600
READ_BEFORE = 400
SEARCH_HITS = 6
HITS_A_QUESTION = 4
SMALL_WINDOW = 24_000
"""Tokens: below it one question is worked on at a time, and its quotes are written down before the next."""
_URL = re.compile(r"https?://[^\s<>\"'）」』，。]+[^\s<>\"'.,;:!?)\]}）」』，。]")


@dataclass(frozen=True, slots=True)
class _Step:
    """What to say, and what to call."""

    text: str
    calls: Sequence[tuple[str, dict[str, Any]]]


class OfflineModel:
    """Plan, fetch each source, search, read by offset, take notes, answer with cited quotes. No key, no network."""

    def __init__(self, max_pages: int = 0, window: int = 200_000) -> None:
        self.profile = Profile("offline", window=window, max_output=16_000, caches=False)
        self.max_pages = max_pages
        """Pages to follow from those that were given; 0 for none."""

    def reply(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Reply:
        """Return the next step of the research, or the answer when nothing more would help."""
        seen = look(request)
        tools = {tool["name"] for tool in request.tools}
        step = self._next(seen, tools)
        if step is None:
            return self._finish(request, seen, on_delta)
        content: list[Block] = [{"type": "text", "text": step.text}]
        for name, arguments in step.calls:
            key = sha256_hex(canonical([len(request.messages), name, arguments]).encode("utf-8"))[:20]
            content.append({"type": "tool_use", "id": f"call_{key}", "name": name, "input": arguments})
        _tell(on_delta, step.text)
        return self._reply(request, content, "tool_use")

    def _next(self, seen: Seen, tools: set[str]) -> _Step | None:
        questions = split_task(seen.task)
        steps = [
            self._plan,
            self._fetch,
            self._search,
            self._read,
            self._deepen,
            self._inside,
            self._browse,
            self._note,
        ]
        if seen.later or self._small:
            # What is in sight now is folded soon: quotes go into notes, and the plan says what was looked for.
            steps = [self._plan, self._fetch, self._read, self._keep, self._search, self._recall]
        for step in steps:
            found = step(seen, questions)
            if found is not None and found.calls:
                allowed = [call for call in found.calls if call[0] in tools]
                if allowed:
                    return _Step(found.text, allowed[:CALLS_A_TURN])
        return None

    def _plan(self, seen: Seen, questions: Sequence[Question]) -> _Step | None:
        if any(seen.made("todo")) or seen.later:
            return None
        urls = _given(seen)
        items = [f"[ ] fetch {url}" for url in urls] + [f"[ ] find out: {question.text}" for question in questions]
        listed = "\n".join(f"{n}. {question.text}" for n, question in enumerate(questions, 1))
        text = f"{WHAT_IT_IS}\n\nI split the task into:\n{listed}"
        calls: list[tuple[str, dict[str, Any]]] = [("todo", {"items": items})]
        return _Step(text, calls + [_fetch(url, questions) for url in urls if url not in seen.fetched])

    def _fetch(self, seen: Seen, questions: Sequence[Question]) -> _Step | None:
        left = [
            url for url in _given(seen) if url not in seen.fetched and not {f"fetch {url}", _failed(url)} & seen.done
        ]
        return _Step(f"Fetching {len(left)} more sources.", [_fetch(url, questions) for url in left]) if left else None

    def _search(self, seen: Seen, questions: Sequence[Question]) -> _Step | None:
        made = {query for query, within, _ in seen.searches() if not within}
        left = [q for q in questions if q.query not in made and _looked(q) not in seen.done]
        left, limit = (left[:1], SEARCH_HITS // 2) if self._small else (left, SEARCH_HITS)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("search", {"query": question.query, "within": EVERYTHING, "limit": limit}) for question in left
        ]
        return _Step("Searching what was stored.", calls)

    def _read(self, seen: Seen, questions: Sequence[Question]) -> _Step | None:
        wanted: list[Hit] = []
        for question in questions:
            for query, _, hits in seen.searches():
                if query == question.query or query.startswith(f"{question.query} "):
                    wanted.extend(hits[: HITS_A_QUESTION // 2 if self._small else HITS_A_QUESTION])
        calls = []
        for ref, start, end in _windows([hit for hit in wanted if not seen.covered(hit)]):
            calls.append(("read", {"ref": ref, "offset": start, "limit": end - start}))
        done = {canonical(call.arguments) for call in seen.made("read")}
        return _Step("Reading around the best hits.", [call for call in calls if canonical(call[1]) not in done])

    def _deepen(self, seen: Seen, questions: Sequence[Question]) -> _Step | None:
        evidence = Evidence(seen)
        calls = []
        for support in _supports(evidence, questions):
            if support.level in ("none", "low") and not _wider(seen, support.question):
                extra = evidence.feedback(support.question)
                if extra:
                    query = _join(support.question.query, extra)
                    calls.append(("search", {"query": query, "within": EVERYTHING, "limit": SEARCH_HITS}))
        return _Step("Too little support for some questions: searching with words from the sources themselves.", calls)

    def _inside(self, seen: Seen, questions: Sequence[Question]) -> _Step | None:
        asked = {(query, within) for query, within, _ in seen.searches()}
        calls: list[tuple[str, dict[str, Any]]] = []
        for ref in seen.brought_later():
            for support in _supports(Evidence(seen), questions):
                query = support.question.query
                if support.level != "high" and (query, ref) not in asked:
                    calls.append(("search", {"query": query, "within": ref, "limit": SEARCH_HITS}))
        return _Step("Searching the pages that were followed.", calls)

    def _browse(self, seen: Seen, questions: Sequence[Question]) -> _Step | None:
        given = _given(seen)
        followed = [url for url in seen.fetched if url not in given]
        left = self.max_pages - len(followed)
        weak = [
            support.question
            for support in _supports(Evidence(seen), questions)
            if support.level in ("none", "low", "medium")
        ]
        if left <= 0 or not weak:
            return None
        looked = {str(call.arguments.get("within", "")) for call in seen.made("grep")}
        pages = [f"{s.ref}{'/full' if 'full' in s.views else ''}" for s in seen.sources.values() if s.kind == "web"]
        fresh = [ref for ref in pages if ref not in looked]
        if fresh:
            return _Step("Looking for links.", [("grep", {"pattern": "](http", "within": ref}) for ref in fresh])
        urls = best_links(seen, weak, min(left, 4))
        if not urls:
            return None
        calls: list[tuple[str, dict[str, Any]]] = [_fetch(url, weak) for url in urls]
        return _Step(f"Following {len(urls)} links that may hold what is missing.", calls)

    def _note(self, seen: Seen, questions: Sequence[Question]) -> _Step | None:
        if any(seen.made("write")):
            return None
        supports = _supports(Evidence(seen), questions)
        done = [f"[x] {_fetched(seen, url)}" for url in _given(seen)]
        found = [f"[{'x' if s.level != 'none' else ' '}] {_found(s.question)}" for s in supports]
        return _Step(
            "Writing down what was found.",
            [("write", {"path": _path(seen), "content": note(seen, supports)}), ("todo", {"items": done + found})],
        )

    def _keep(self, seen: Seen, questions: Sequence[Question]) -> _Step | None:
        """Write down what was found for each question that was searched for since the last time."""
        made = {query for query, within, _ in seen.searches() if not within}
        fresh = [question for question in questions if question.query in made and _looked(question) not in seen.done]
        if not fresh:
            return None
        supports = _supports(Evidence(seen), fresh)
        ticked = seen.done | {_found(s.question) for s in supports if s.level != "none"} | set(map(_looked, fresh))
        fetched = [_fetched(seen, url) for url in _given(seen)]
        steps = fetched + [_found(question) for question in questions]
        steps += [_looked(question) for question in questions if _looked(question) in ticked]
        items = [f"[{'x' if step in ticked or step in fetched else ' '}] {step}" for step in steps]
        content = note(seen, supports)
        if any(_looked(question) in seen.done for question in questions):
            content = content[content.index("\n## ") :]
        text = {"path": _path(seen), "content": content, "append": True}
        return _Step("Writing down what was found.", [("write", text), ("todo", {"items": items})])

    def _recall(self, seen: Seen, questions: Sequence[Question]) -> _Step | None:
        """Read all notes again before the answer: in a later epoch some of them are out of sight."""
        path = _path(seen)
        newest = seen.calls[-1].arguments.get("ref") if seen.calls else None
        if not seen.later or newest == path or not any(_found(q) in seen.done for q in questions):
            return None
        return _Step("Reading my notes again.", [("read", {"ref": path})])

    @property
    def _small(self) -> bool:
        return self.profile.window < SMALL_WINDOW

    def _finish(self, request: Request, seen: Seen, on_delta: Callable[[Delta], None] | None) -> Reply:
        supports = _supports(Evidence(seen), split_task(seen.task))
        weak = [support.question for support in supports if support.level in ("none", "low")]
        text = answer(seen, supports, [] if self.max_pages or not weak else best_links(seen, weak, 3))
        _tell(on_delta, text)
        supported = any(support.level != "none" for support in supports)
        return self._reply(
            request, [{"type": "text", "text": text}], "end_turn", {} if supported else {"type": "no_support"}
        )

    def _reply(self, request: Request, content: list[Block], stop: Any, details: dict[str, Any] | None = None) -> Reply:
        sent = sum(estimate(canonical(block)) for block in (*request.system, *request.tools, *request.messages))
        usage = Usage(sent, estimate(canonical(content)))
        return Reply(tuple(content), stop, usage, "offline", "", details or {})


def _tell(on_delta: Callable[[Delta], None] | None, text: str) -> None:
    if on_delta is not None:
        on_delta(Delta("text", text))


def _given(seen: Seen) -> list[str]:
    return list(dict.fromkeys([*seen.named, *_URL.findall(seen.task)]))


def _failed(url: str) -> str:
    return f"tried to fetch {url}: it failed"


def _fetched(seen: Seen, url: str) -> str:
    return _failed(url) if url in seen.failed or _failed(url) in seen.done else f"fetch {url}"


def _looked(question: Question) -> str:
    return f"looked for: {' '.join(question.text.split())}"


def _found(question: Question) -> str:
    return f"find out: {' '.join(question.text.split())}"


def _path(seen: Seen) -> str:
    words = "-".join(word for word in content_words(seen.task) if word.isascii() and word.isalnum())[:40].strip("-")
    return f"notes/findings/{words or 'findings'}-{sha256_hex(seen.task.encode('utf-8'))[:6]}.md"


def _fetch(url: str, questions: Sequence[Question]) -> tuple[str, dict[str, Any]]:
    return "web_fetch", {"url": url, "find": " ".join(question.query for question in questions)[:400]}


def _supports(evidence: Evidence, questions: Sequence[Question]) -> list[Support]:
    return [evidence.support(question) for question in questions]


def _join(query: str, extra: Sequence[str]) -> str:
    return f"{query} {' '.join(extra)}"


def _wider(seen: Seen, question: Question) -> list[str]:
    """Return the wider queries that were already made for `question`."""
    return [query for query, _, _ in seen.searches() if query.startswith(f"{question.query} ")]


def _windows(hits: Sequence[Hit]) -> list[tuple[str, int, int]]:
    """Return what to read: a window round each hit, near ones joined, in order of the best hit in them."""
    windows: list[tuple[str, int, int]] = []
    for hit in hits:
        start, end = max(0, hit.start - READ_BEFORE), max(hit.end + READ_BEFORE, hit.start - READ_BEFORE + READ_BYTES)
        for i, (ref, low, high) in enumerate(windows):
            if ref == hit.ref and start <= high and low <= end and max(high, end) - min(low, start) <= 3 * READ_BYTES:
                windows[i] = (ref, min(low, start), max(high, end))
                break
        else:
            windows.append((hit.ref, start, end))
    return windows
