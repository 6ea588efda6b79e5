"""A stand-in for the model that writes summaries: it says nothing, at the length and in the form that was asked for."""

from __future__ import annotations

import re

from manusfs.compact.summary_forms import FORMS, SummaryForm
from manusfs.context import estimate
from manusfs.messages import Reply, Request, Usage

__all__ = ["SUMMARY_TOKENS", "written"]

SUMMARY_TOKENS = 1_500
"""Length of a summary: what the policies' own systems are reported to write."""
_REF = re.compile(r"^obs:[0-9a-f]+$", re.MULTILINE)
_FILLER = "as was said before and so on "


def written(request: Request) -> Reply:
    """Return the summary that `request` asks for, with every part and every ref, and no knowledge in it."""
    asked = str(request.messages[0]["content"][-1]["text"])
    form = next((form for form in FORMS.values() if _is_of(form, asked)), None)
    text = _FILLER * 20 if form is None else _record(form, _REF.findall(asked))
    tokens = sum(estimate(block["text"]) for message in request.messages for block in message["content"])
    tokens += sum(estimate(block["text"]) for block in request.system)
    usage = Usage(input_tokens=tokens, output_tokens=estimate(text))
    return Reply(({"type": "text", "text": text},), "end_turn", usage, request.model)


def _is_of(form: SummaryForm, asked: str) -> bool:
    needed = [heading for heading in form.headings if heading not in form.optional]
    return f"<{form.result}>" in asked and all(heading in asked for heading in needed)


def _record(form: SummaryForm, refs: list[str]) -> str:
    filler = _FILLER * max(1, (SUMMARY_TOKENS - 12 * len(refs)) // (len(form.headings) * estimate(_FILLER)))
    parts = [
        f"<{heading}>\n{filler}\n</{heading}>" if form.elements else f"{number}. {heading}\n{filler}"
        for number, heading in enumerate(form.headings, 1)
    ]
    named = "\n".join(refs)
    return (
        f"<{form.draft}>{_FILLER}</{form.draft}>\n<{form.result}>\n"
        + "\n".join([*parts, named])
        + f"\n</{form.result}>"
    )
