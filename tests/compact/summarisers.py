"""Models that write summaries, good and bad, and what asks them as the agent does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from compact.runs import Run

from manusfs.compact import Summariser, compact
from manusfs.compact.summary_forms import FORMS
from manusfs.errors import ModelError
from manusfs.messages import Reply, Request, validate
from manusfs.records import Event

Answer = Reply | str | ModelError
Brain = Callable[[Request], Answer]
BY = Summariser("cheap", window=60_000, max_output=8_000, tokens=1_500)


def said(request: Request) -> str:
    """Return all texts of a request, the system prompt left out."""
    return "\n".join(block["text"] for message in request.messages for block in message["content"])


def asked(request: Request) -> str:
    """Return what stands at the end of the first message: what to write."""
    return str(request.messages[0]["content"][-1]["text"])


def good(request: Request, more: str = "") -> str:
    """Return a record as it is asked for: draft, every part, every ref that must be named."""
    words = asked(request)
    if "This is piece" in words:
        refs = re.findall("obs:[0-9a-f]{12}", said(request))
        return f"<draft>pondering</draft>Tides follow the moon. {' '.join(refs[:3])}"
    form = next(
        form for form in FORMS.values() if f"<{form.result}></{form.result}>" in words and _names(words, form.headings)
    )
    refs = re.findall(r"^obs:[0-9a-f]+$", words, re.MULTILINE)
    parts = []
    for number, heading in enumerate(form.headings, 1):
        body = f"tides follow the moon {more}" + (" as shown by " + ", ".join(refs) if number == 2 and refs else "")
        parts.append(f"<{heading}>\n{body}\n</{heading}>" if form.elements else f"{number}. {heading}:\n{body}")
    return f"<{form.draft}>SECRET DRAFT</{form.draft}>\n<{form.result}>\n" + "\n".join(parts) + f"\n</{form.result}>"


def _names(words: str, headings: Sequence[str]) -> bool:
    return all(heading in words for heading in headings if heading != "Next Step")


def perform(run: Run, brain: Brain, by: Summariser | None = BY) -> tuple[tuple[Event, ...], list[Request]]:
    """Compact `run` with a model that answers as `brain` does; return the recorded events and what was asked."""
    requests: list[Request] = []
    steps = compact(run.window, run.policy, run.budget, run.reader, None, by)
    try:
        request = next(steps)
        while True:
            validate(request)
            requests.append(request)
            answer = brain(request)
            if isinstance(answer, ModelError):
                request = steps.throw(answer)
                continue
            reply = answer if isinstance(answer, Reply) else Reply(({"type": "text", "text": answer},), "end_turn")
            request = steps.send(reply)
    except StopIteration as end:
        events: tuple[Event, ...] = end.value
    before = run.window.tokens
    run.record(events)
    if any(event.kind == "epoch" for event in events):
        run.compactions.append((before, run.window.tokens))
    return events, requests
