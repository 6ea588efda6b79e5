"""What a parent gets of a sub-agent: its answer with the refs that it cited, or an honest word that there is none."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from manusfs.agent.expects import found
from manusfs.agent.loop import Ended
from manusfs.agent.running import Running
from manusfs.context import Child
from manusfs.errors import BadRef, ToolError
from manusfs.memory import citations
from manusfs.records import Fetched, MsgRef, ObsRef, Source, parse_ref
from manusfs.tools import Delegation

__all__ = ["Handed", "failed", "result"]

_REF = re.compile(r"obs:[0-9a-f]{12,64}(?:/(?:full|raw))?(?:@\d+-\d+)?")
_PROMPT_CHARS = 200
_MOST_REFS = 200
_NAMED_REFS = 24


@dataclass(frozen=True, slots=True)
class Handed:
    """The answer of a sub-agent on its way to become an observation, and the refs that it cites."""

    fetched: Fetched
    cites: tuple[ObsRef, ...]


def result(inner: Running, child: Child, order: Delegation, ended: Ended) -> Handed:
    """Return the answer of the child `inner` as its parent gets it.

    Its quotes are checked against the stored bytes, and spans that point beside them are set right, as in a report.
    """
    answer, problems, quotes = ended.answer, tuple[str, ...](), ""
    if order.expects is not None:
        value = json.dumps(found(ended.answer), ensure_ascii=False, indent=1, sort_keys=True)
        answer = f"```json\n{value}\n```"
    else:
        answer, _ = citations.fix(answer, inner.workspace.resolver)
        checked = citations.check(answer, inner.workspace.resolver, read_refs=inner.standing.refs())
        problems = checked.problems
        quotes = f" ({checked.verified} of {checked.total} quotes stand word for word in their source)"
    cites = _cited(answer)
    lines = [f"# {child.title}", "", _account(inner, child), ""]
    if cites:
        more = f" … and {len(cites) - _NAMED_REFS} more" if len(cites) > _NAMED_REFS else ""
        lines.append(f"It cites {', '.join(map(str, cites[:_NAMED_REFS]))}{more}{quotes}.")
    lines += [f"* {problem}" for problem in problems]
    if inner.written:
        lines.append(f"It wrote {', '.join(sorted(inner.written))}.")
    text = "\n".join([*lines, "", "## Its answer", "", answer.strip(), ""])
    prompt = " ".join(order.prompt.split())
    told = {"child": child.session, "prompt": prompt[:_PROMPT_CHARS]}
    told |= {name: value for name, value in (("agent", child.agent), ("mode", child.mode)) if value}
    fetched = Fetched(
        Source.call("task", told),
        text.encode("utf-8", "replace"),
        "text/markdown",
        "utf-8",
        "result.md",
        limit=inner.settings.task_result_chars,
    )
    return Handed(fetched, cites)


def failed(inner: Running, child: Child, ended: Ended) -> ToolError:
    """Return what a parent is told of a child that ended without an answer: why, and where its words are."""
    words = MsgRef(child.session, 1, last_seq=inner.window.seq)
    why = ended.message or f"it stopped ({ended.stop})"
    return ToolError(
        f"the sub-agent {child.session} ended without an answer: {why}",
        hint=f'what it did is kept: read(ref="{words}"); give a smaller part, or do it yourself',
    )


def _account(inner: Running, child: Child) -> str:
    who = f"agent {child.agent}, " if child.agent else ""
    events = inner.transcript.events
    turns = sum(e.kind == "message" and e.data.get("role") == "assistant" and "copied" not in e.data for e in events)
    words = MsgRef(child.session, 1, last_seq=inner.window.seq)
    return (
        f"Sub-agent {child.session} ({who}{child.mode}), {turns} {'turn' if turns == 1 else 'turns'}. "
        f"All that it did: {words}"
    )


def _cited(answer: str) -> tuple[ObsRef, ...]:
    """Return the refs that stand in an answer, each once, in order."""
    refs: dict[ObsRef, None] = {}
    for text in _REF.findall(answer):
        try:
            ref = parse_ref(text)
        except BadRef:
            continue
        if isinstance(ref, ObsRef):
            refs[ref] = None
    return tuple(refs)[:_MOST_REFS]
