"""What a model wrote, parted from its draft and checked before it may stand for anything."""

from __future__ import annotations

import html
import re
from collections.abc import Collection
from dataclasses import dataclass

from manusfs.compact.summary_forms import SummaryForm
from manusfs.context import estimate

__all__ = ["Demands", "problems", "record_of"]

_OBS = re.compile(r"obs:([0-9a-f]+)")
_MSG = re.compile(r"msg:([A-Za-z0-9.-]+?):(\d+)")
_IDENTIFIERS = (
    re.compile(r"https?://[^\s<>\"')\]}|`]+"),
    re.compile(r"(?<![\w/.:-])(?:[\w.-]+/)+[\w.-]*\w"),
    re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}\b"),
    re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w"),
)
_PATH = re.compile(r"(?:notes|reports|observations|skills|sessions)/|.*\.[A-Za-z]\w{0,5}\Z")
_MARKS = r"[ \t]*(?:#+[ \t]*)?(?:\*\*)?(?:\d+[.)][ \t]*)?(?:\*\*)?"
_TRAILING = ".,;:!?…"
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Demands:
    """What a record must hold to."""

    form: SummaryForm
    material: str
    """All that the model was shown: every identifier in the record must stand in it."""
    known: Collection[str]
    """Ids of the observations that there are."""
    session: str
    last: int
    """The last transcript line that there is."""
    must: Collection[str] = ()
    """Ids of observations that the record must name."""
    tokens: int = 0
    """The most that it may take."""


def record_of(text: str, form: SummaryForm) -> str:
    """Return the record in a reply, without the draft (CC-23, GC-8); "" when there is none.

    A draft that is never closed ends where the record begins. A reply without the tags counts as the record.
    """
    opening, closing = f"<{form.result}>", f"</{form.result}>"
    start = text.rfind(opening)
    if start >= 0:
        text = text[start + len(opening) :]
        return text.split(closing, 1)[0].strip()
    text = re.sub(rf"<{form.draft}>.*?</{form.draft}>", "", text, flags=re.DOTALL)
    return "" if f"<{form.draft}>" in text else text.strip()


def problems(record: str, demands: Demands) -> list[str]:
    """Return what is wrong with `record`, in words for the model that wrote it; nothing when it may be used."""
    if not record:
        return [f"there is no text inside <{demands.form.result}>"]
    found = [f"the part {heading!r} is missing or empty" for heading in _missing(record, demands.form)]
    found += _refs(record, demands)
    invented = [name for name in _identifiers(record) if not _stands(name, demands.material)]
    if invented:
        found.append(f"these do not stand in the material as you write them: {', '.join(invented[:_MOST_NAMED])}")
    size = estimate(record)
    if demands.tokens and size > demands.tokens:
        found.append(f"it has about {size} tokens and may have {demands.tokens}")
    return found


def _missing(record: str, form: SummaryForm) -> list[str]:
    return [
        heading
        for heading in form.headings
        if heading not in form.optional
        and not (_element(record, heading) if form.elements else _headed(record, form, heading))
    ]


def _element(record: str, heading: str) -> bool:
    match = re.search(rf"<{heading}>(.*?)</{heading}>", record, re.DOTALL)
    return match is not None and bool(match[1].strip())


def _headed(record: str, form: SummaryForm, heading: str) -> bool:
    """Return True if a line begins with the heading and something other than the next heading follows."""
    match = re.search(rf"^{_MARKS}{re.escape(heading)}(?!\w)", record, re.MULTILINE | re.IGNORECASE)
    if match is None:
        return False
    rest = record[match.end() :].lstrip(" \t:*\n")
    others = "|".join(re.escape(other) for other in form.headings if other != heading)
    return bool(rest) and re.match(rf"{_MARKS}(?:{others})(?!\w)", rest, re.IGNORECASE) is None


def _refs(record: str, demands: Demands) -> list[str]:
    cited = _OBS.findall(record)
    found = []
    unknown = sorted({id for id in cited if id not in demands.known})
    if unknown:
        found.append(f"there are no such refs: {', '.join(f'obs:{id}' for id in unknown[:_MOST_NAMED])}")
    away = sorted(
        {
            f"msg:{session}:{seq}"
            for session, seq in _MSG.findall(record)
            if (session == demands.session and not 1 <= int(seq) <= demands.last)
            or (session != demands.session and f"msg:{session}:{seq}" not in demands.material)
        }
    )
    if away:
        found.append(f"there are no such refs: {', '.join(away[:_MOST_NAMED])}")
    missing = [id for id in demands.must if id not in record]
    if missing:
        found.append(f"it does not name {', '.join(f'obs:{id}' for id in missing[:_MOST_NAMED])}")
    return found


def _identifiers(record: str) -> list[str]:
    names: dict[str, None] = {}
    plain = _MSG.sub(" ", _OBS.sub(" ", record))
    for pattern in _IDENTIFIERS:
        for name in pattern.findall(plain):
            name = name.rstrip(_TRAILING)
            # "and/or", "30/11/2026": words and numbers with a stroke between them are no paths.
            if "://" in name or "/" not in name or _PATH.match(name):
                names[name] = None
    return list(names)


def _stands(name: str, material: str) -> bool:
    return name in material or html.escape(name) in material or html.unescape(name) in material
