"""The steps in a window that folds soon: quotes go into notes, and the plan says what was looked for."""

from __future__ import annotations

from manusfs.models.offline import steps
from manusfs.models.offline.answer import note
from manusfs.models.offline.wording import fetched, found, looked
from manusfs.models.offline.work import Call, Step, Work

__all__ = ["NARROW", "keep", "recall"]


def keep(work: Work) -> Step | None:
    """Write down what was found for each question that was searched for since the last time."""
    seen, questions = work.seen, work.questions
    made = {query for query, within, _ in seen.searches() if not within}
    fresh = [question for question in questions if question.query in made and looked(question) not in seen.done]
    if not fresh:
        return None
    supports = [work.support(question) for question in fresh]
    ticked = seen.done | {found(s.question) for s in supports if s.level != "none"} | set(map(looked, fresh))
    brought = [fetched(seen, url) for url in work.given]
    items = brought + [found(question) for question in questions]
    items += [looked(question) for question in questions if looked(question) in ticked]
    plan = [f"[{'x' if item in ticked or item in brought else ' '}] {item}" for item in items]
    content = note(seen, supports)
    if any(looked(question) in seen.done for question in questions):
        content = content[content.index("\n## ") :]
    calls: list[Call] = [("write", {"path": work.path, "content": content, "append": True}), ("todo", {"items": plan})]
    return Step("Writing down what was found.", calls)


def recall(work: Work) -> Step | None:
    """Read all notes again before the answer: in a later epoch some of them are out of sight."""
    seen = work.seen
    newest = seen.calls[-1].arguments.get("ref") if seen.calls else None
    if not seen.later or newest == work.path or not any(found(q) in seen.done for q in work.questions):
        return None
    return Step("Reading my notes again.", [("read", {"ref": work.path})])


NARROW = (steps.plan, steps.fetch, steps.read, keep, steps.search, recall)
"""The steps in a small window, and in every epoch after the first."""
