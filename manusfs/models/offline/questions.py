"""From a task to its sub-questions: what each asks for, and the words to search with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from manusfs.models.offline.words import content_terms, content_words, terms

__all__ = ["Question", "Wants", "split_task"]

Wants = Literal["who", "when", "where", "number", "why", "how", "definition", "yes-no", "any"]

MOST_QUESTIONS = 8
_URL = re.compile(r"https?://[^\s<>\"')\]]+")
_NAME = re.compile(r"(?<=[^.!?:\s] )[A-Z][\w'’-]+")
_YEAR = re.compile(r"(?<![\d.,])\d{4}(?![\d.,]\d|\d)")
_MARKER = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)]|[a-z][.)])\s+")
_ASKING = (
    r"(?:(?:by|to|for|with|from|in|at|of|on) )?(?:who|whom|whose|when|where|why|how|what|which|wer|wann|wo|warum|wie|"
    r"was|qui|quand|où|pourquoi|comment|quién|cuándo|dónde|cómo)\b"
)
_JOIN = re.compile(
    rf"(?:,\s*(?:(?:and|und|et|y|e)\s+)?|\s+(?:and|und|et|y|e)\s+)(?={_ASKING})|"
    r"(?<=[，,；;])(?=[^，,]{0,12}(?:什么|谁|何时|哪|多少|为何|如何|怎))",
    re.IGNORECASE,
)
# The first that matches decides. Several languages: the words that begin a question are few.
_PATTERNS: dict[Wants, tuple[str, ...]] = {
    "number": (
        r"\bhow (?:many|much|long|far|large|big|high|tall|deep|old|often|fast|heavy)\b",
        r"\bwhat (?:number|percentage|share|amount|price|size|length|height|population|rate|temperature|speed)\b",
        r"\bwhat (?:distance|weight|age|pressure|voltage|frequency|depth|width|area|capacity|score)\b",
        r"\bwie (?:hoch|lang|weit|groß|gross|oft|alt|schwer|teuer|tief|breit)\b",
        r"\bwhat (?:did|does|do|will|would|was|is)\b.*\b(?:costs?|price|worth)\b",
        r"\bwie ?viele?\b|\bcombien\b|\bcuánt[oa]s?\b|多少|几个|多大|多高|多长|いくつ|いくら|何人",
    ),
    "when": (
        r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|time|century)\b",
        r"\bwann\b|\bquand\b|\bcuándo\b|何时|什么时候|哪年|哪一年|几月|いつ|何年",
    ),
    "who": (
        r"\bwho(?:m|se)?\b|\bwhich (?:person|people|author|company|organi[sz]ation)\b",
        r"\bwer\b|\bwem\b|\bqui\b|\bquién\b|谁|誰|哪位|だれ",
    ),
    "where": (
        r"\bwhere\b|\b(?:what|which) (?:city|country|place|town|state|region|location)\b",
        r"\bwo(?:hin|her)?\b|\boù\b|\bdónde\b|哪里|哪裡|哪儿|何处|什么地方|どこ",
    ),
    "why": (
        r"\bwhy\b|\bwhat (?:caused|causes|led|reason)\b",
        r"\bwarum\b|\bpourquoi\b|\bpor qué\b|为什么|为何|為什麼|原因|なぜ",
    ),
    "how": (r"\bhow\b|\bwie\b|\bcomment\b|\bcómo\b|如何|怎么|怎样|どう",),
    "definition": (
        r"^\s*what (?:is|are|was|were) (?:(?:a|an|the) )?(?:[\w-]+ ){0,2}[\w-]+\s*\??$|\bwhat (?:do|does) .+ mean\b",
        r"^\s*was (?:ist|sind)\b|^\s*qu'est-ce qu|\bdefin\w+|什么是|是什么|とは",
    ),
    "yes-no": (r"^\s*(?:is|are|was|were|do|does|did|can|could|has|have|had|will|should)\b|是否|吗",),
}
_KIND = re.compile(
    r"\b(?:what|which) (year|date|day|month|time|century|person|people|company|city|country|place|town|region|location|"
    r"number|amount)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"\bhow many ([^\W\d_]+)", re.IGNORECASE)
# "How does she feel about it?" asks for no way of doing anything.
_NO_WAY = re.compile(
    r"\bhow (?:do|does|did|would|is|are|was)\b.*\b(?:feel|felt|describe|like|react|think|doing)\b", re.IGNORECASE
)
_WANTS = {kind: re.compile("|".join(patterns), re.IGNORECASE) for kind, patterns in _PATTERNS.items()}


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that the task asks."""

    text: str
    wants: Wants
    terms: tuple[str, ...]
    """Terms of the question itself."""
    context: tuple[str, ...] = ()
    """Terms of the task around it, which say what "it" is."""
    query: str = ""
    """What to search for."""
    names: tuple[str, ...] = ()
    """Terms of the names in it: what holds none of them is about something else."""
    sides: tuple[tuple[str, ...], ...] = ()
    """Of a comparison, the terms of each name that the other has not."""
    thing: str = ""
    """The term of what is to be counted."""
    kind: tuple[str, ...] = ()
    """Terms that say what kind of thing is asked for, as in "which year": an answer need not hold them."""


def split_task(task: str) -> tuple[Question, ...]:
    """Return the sub-questions of `task`, at most 8, in their order; one that is the whole task when it holds none."""
    pieces = _pieces(_URL.sub(" ", task))
    asked = [piece for piece in pieces if _asks(piece)] or pieces or [task.strip()]
    questions: list[Question] = []
    for text in list(dict.fromkeys(asked))[:MOST_QUESTIONS]:
        own = tuple(content_terms(text))
        # "it" may be what the question before is about, or what the whole task is about.
        leant = f"{questions[-1].text} {asked[0]}" if questions and _leans(text, own) else ""
        around = tuple(term for term in content_terms(leant) if term not in own)
        words = content_words(text)
        words += [word for word in content_words(leant) if word not in words]
        query = " ".join(words[:24]) or text[:200]
        kind = tuple(term for noun in _KIND.findall(text) for term in terms(noun))
        counted = _HOW_MANY.search(text)
        thing = terms(counted[1])[0] if counted else ""
        names = _names(f"{text} {leant}")
        questions.append(Question(text, _wants(text), own, around, query, names, _sides(text), thing, kind))
    return tuple(questions)


def _pieces(text: str) -> list[str]:
    lines = [_MARKER.sub("", line).strip() for line in text.splitlines()]
    pieces: list[str] = []
    for line in lines:
        for sentence in re.split(r"(?<=[?？!！。])\s*|(?<=[.;；])\s+(?=\S{2})", line):
            for piece in (piece.strip(" ,，;；") for piece in _JOIN.split(sentence)):
                if pieces and piece and not content_terms(piece):
                    # a bare "and why?" belongs to what it follows
                    pieces[-1] += f" and {piece}" if piece.isascii() else piece
                elif terms(piece):
                    pieces.append(piece)
    return pieces


def _names(text: str) -> tuple[str, ...]:
    """Return the terms of the words that are written as names: with a capital, and not because a sentence begins.

    A year is one too: what was in 2010 is told by no sentence on 2011.
    """
    found = [term for match in _NAME.finditer(text) for term in content_terms(match[0])]
    found += _YEAR.findall(text)
    return tuple(dict.fromkeys(found))


def _sides(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the terms of the names that "or" stands between, without those that both have."""
    before, found, after = text.rpartition(" or ")
    one, other = _names(before), _names(f"x {after}")
    sides = (tuple(t for t in one if t not in other), tuple(t for t in other if t not in one))
    return sides if found and all(sides) else ()


def _asks(piece: str) -> bool:
    return piece.endswith(("?", "？")) or _wants(piece) not in ("any", "definition", "how") or _begins(piece)


def _begins(piece: str) -> bool:
    return (
        re.match(r"\s*(?:what|which|how|find|list|name|explain|describe|compare|tell|summari[sz]e)\b", piece, re.I)
        is not None
    )


def _wants(text: str) -> Wants:
    for kind, pattern in _WANTS.items():
        if pattern.search(text):
            return "any" if kind == "how" and _NO_WAY.search(text) else kind
    return "any"


def _leans(text: str, own: tuple[str, ...]) -> bool:
    """Return True if the question needs the one before it: it holds one term at most, or says "it", "they", "that"."""
    return (
        len(own) <= 1
        or re.match(r"比|还|又|并|同比|分别|有多|为何|其", text) is not None
        or re.search(r"\b(?:it|its|they|them|their|he|she|his|her|this|that|these|those)\b|它|他|她|其|那", text)
        is not None
    )
