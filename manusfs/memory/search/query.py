"""What a query means: words, phrases, what to leave out, and filters. Any text is a legal query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from manusfs.memory.search.fold import CJK, fold
from manusfs.memory.search.stopwords import STOP_PAIRS, stop_words
from manusfs.records.forms import forms_of

__all__ = ["KINDS", "Filters", "Query", "Term", "parse"]

KINDS = ("web", "file", "tool", "user", "note", "report", "message")
"""What `kind:` takes: the kinds of observations, and what else the index holds."""

_MOST_WORDS = 32
_MOST_PAIRS = 64
_MOST_CHARS = 4_000
_LEAST_BEGINNING = 4
"""Letters of a word that others may begin with; shorter ones begin half the dictionary."""
_FILTER = re.compile(r"(kind|host|session|after|before|within)[:=](\S+)\Z", re.IGNORECASE)
_FILTER_LIKE = re.compile(r"(kind|after|before):", re.IGNORECASE)
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T[\d:.]+Z?)?)?)?\Z")
_PIECE = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+")
_CJK_ONLY = re.compile(rf"[{CJK}]+\Z")
_TOKEN = re.compile(r'-?"([^"]*)"|(\S+)')


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for: its FTS5 expression, and the folded pieces that stand in a row where it occurs."""

    fts: str
    pieces: tuple[str, ...]
    cjk: bool = False
    begins: bool = False
    """Words that begin with it fit too."""
    forms: tuple[str, ...] = ()
    """Other forms of its one word, which fit as well: went, gone."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a hit must be, beside matching. Empty means anything."""

    kinds: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    after: str = ""
    """Least `created`, as a prefix of an ISO 8601 time."""
    before: str = ""
    within: str = ""
    """A ref or path: only that text, or what stands below that folder."""

    def __bool__(self) -> bool:
        return bool(self.kinds or self.hosts or self.sessions or self.after or self.before or self.within)


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query. `terms` are alternatives, `phrases` must all occur, `excluded` must not."""

    text: str
    terms: tuple[Term, ...] = ()
    phrases: tuple[Term, ...] = ()
    excluded: tuple[Term, ...] = ()
    filters: Filters = field(default_factory=Filters)
    remarks: tuple[str, ...] = ()
    """What looks like a filter and was read as a word, and what the filter takes."""

    @property
    def wanted(self) -> tuple[Term, ...]:
        """All terms that a hit may hold."""
        return (*self.phrases, *self.terms)

    @property
    def expression(self) -> str:
        """The FTS5 expression; empty when the query names nothing to look for."""
        if not self.wanted:
            return ""
        found = f"({' OR '.join(term.fts for term in self.wanted)})"
        for phrase in self.phrases:
            found = f"({phrase.fts}) AND {found}"
        if self.excluded:
            found = f"({found}) NOT ({' OR '.join(term.fts for term in self.excluded)})"
        return found

    @property
    def unphrased(self) -> Query | None:
        """The query in which the words of phrases need not stand together; None if it has nothing but phrases."""
        if not self.phrases or not self.terms:
            return None
        words = [piece for phrase in self.phrases for piece in phrase.pieces]
        return replace(self, terms=tuple(_distinct([*_terms(words), *self.terms])), phrases=())

    @property
    def looser(self) -> Query | None:
        """The query to which words fit that only begin with its words, as joined ones do; None if that is no other."""
        terms = tuple(_beginning(term) for term in self.terms)
        return None if terms == self.terms else replace(self, terms=terms)


def parse(text: str) -> Query:
    """Return what `text` asks for; syntax that is none is read as words, and never an error."""
    clean = "".join(" " if char == "\x00" or "\ud800" <= char <= "\udfff" else char for char in text[:_MOST_CHARS])
    words: list[str] = []
    phrases: list[Term] = []
    excluded: list[str] = []
    filters: dict[str, list[str]] = {}
    for match in _TOKEN.finditer(clean if clean.count('"') % 2 == 0 else clean.replace('"', " ")):
        token, negative = match[0], match[0].startswith("-")
        if match[1] is not None:
            term = _phrase(match[1])
            if term is not None and negative:
                excluded.append(match[1])
            elif term is not None:
                phrases.append(term)
        elif name := _filter(token):
            filters.setdefault(name[0], []).append(name[1])
        elif negative and len(token) > 1 and fold(token[1]).isalnum():
            excluded.append(token[1:])
        else:
            words.append(token)
    terms = tuple(_terms(words))
    remarks = tuple(dict.fromkeys(remark for word in words if (remark := _remark(word))))
    return Query(text, terms, tuple(phrases[:8]), tuple(_excluded(excluded)), _filters(filters), remarks)


def _remark(word: str) -> str:
    """Return why what looks like a filter is none; empty for a plain word."""
    match = _FILTER_LIKE.match(word)
    if match is None:
        return ""
    takes = f"one of {', '.join(KINDS)}" if match[1].lower() == "kind" else "a date such as 2026-01-31"
    return f"{word[:60]!r} was looked for as a word: {match[1].lower()}: takes {takes}."


def _filter(token: str) -> tuple[str, str] | None:
    match = _FILTER.match(token)
    if match is None:
        return None
    name, value = match[1].lower(), match[2]
    if name == "kind":
        value = value.lower().removesuffix("s")
        return (name, value) if value in KINDS else None
    if name in ("after", "before") and not _DATE.match(value):
        return None
    return name, value


def _filters(found: dict[str, list[str]]) -> Filters:
    last = {name: values[-1] for name, values in found.items()}
    return Filters(
        tuple(found.get("kind", ())),
        tuple(_host(value) for value in found.get("host", ())),
        tuple(found.get("session", ())),
        last.get("after", ""),
        last.get("before", ""),
        last.get("within", "").strip('"'),
    )


def _host(value: str) -> str:
    """Return the host of `value`, which may be a whole URL."""
    return value.lower().rpartition("://")[2].partition("/")[0]


def _terms(words: Iterable[str]) -> Iterator[Term]:
    """Return the distinct terms of a query's words without stop words; if there are only stop words, those."""
    folded = [fold(word) for word in words]
    plain = [word.strip(".,;:!?()[]{}<>\"'`*…“”‘’«»").replace("’", "'") for word in folded]
    stops = stop_words(plain)
    kept = [word for word, bare in zip(folded, plain, strict=True) if bare not in stops]
    found = list(_distinct(term for word in kept for term in _of_word(word)))
    if not found:
        found = list(_distinct(term for word in folded for term in _of_word(word, all_pairs=True)))
    singles = [term for term in found if not term.cjk][:_MOST_WORDS]
    pairs = [term for term in found if term.cjk][:_MOST_PAIRS]
    keep = {*singles, *pairs}
    return (term for term in found if term in keep)


def _beginning(term: Term) -> Term:
    piece = term.pieces[0]
    if len(term.pieces) > 1 or term.cjk or len(piece) < _LEAST_BEGINNING or not piece.isalpha():
        return term
    return Term(f'"{piece}" *', term.pieces, begins=True)


def _excluded(words: Iterable[str]) -> Iterator[Term]:
    for word in list(words)[:_MOST_WORDS]:
        term = _phrase(word)
        if term is not None:
            yield term


def _distinct(terms: Iterable[Term]) -> Iterator[Term]:
    seen: set[str] = set()
    for term in terms:
        if term.fts not in seen:
            seen.add(term.fts)
            yield term


def _of_word(word: str, *, all_pairs: bool = False) -> Iterator[Term]:
    """Yield what one word between blanks asks for: itself, its pairs, or an identifier whole and in parts."""
    pieces = _PIECE.findall(word)
    singles = [piece for piece in pieces if not _CJK_ONLY.match(piece)]
    for piece in pieces:
        if _CJK_ONLY.match(piece):
            yield from _of_run(piece, all_pairs=all_pairs)
    if len(singles) == 1:
        yield _of_single(singles[0])
    elif singles and len(singles) == len(pieces):
        yield Term(f'"{" ".join(singles)}"', tuple(singles))
        if "'" not in word and "’" not in word:
            if len(singles) == 2 and "-" in word:
                yield Term(f'"{"".join(singles)}"', ("".join(singles),))
            if all(piece.isdigit() for piece in singles) and "," in word:
                yield Term(f'"{"".join(singles)}"', ("".join(singles),))
            yield from (Term(f'"{piece}"', (piece,)) for piece in singles if len(piece) > 2 and piece.isalpha())
    else:
        yield from (Term(f'"{piece}"', (piece,)) for piece in singles)


def _of_single(word: str) -> Term:
    forms = forms_of(word)
    if not forms:
        return Term(f'"{word}"', (word,))
    # In one order, so that "buy" and "bought" are one term.
    either = " OR ".join(f'"{form}"' for form in sorted((word, *forms)))
    return Term(f"({either})", (word,), forms=forms)


def _of_run(run: str, *, all_pairs: bool) -> Iterator[Term]:
    if len(run) == 1:
        yield Term(f'"{run}" *', (run,), cjk=True)
    for one, two in pairwise(run):
        if all_pairs or one + two not in STOP_PAIRS:
            yield Term(f'"{one}{two}"', (one + two,), cjk=True)


def _phrase(text: str) -> Term | None:
    """Return the term of words that stand in a row, or None when there are none."""
    tokens: list[str] = []
    pieces = _PIECE.findall(fold(text))[:64]
    for at, piece in enumerate(pieces):
        if _CJK_ONLY.match(piece) and len(piece) > 1:
            tokens += [one + two for one, two in pairwise(piece)]
            if at < len(pieces) - 1:
                tokens.append(piece[-1])
        else:
            tokens.append(piece)
    if not tokens:
        return None
    lone = len(pieces) == 1 and len(pieces[0]) == 1 and _CJK_ONLY.match(pieces[0])
    return Term(f'"{" ".join(tokens)}"{" *" if lone else ""}', tuple(pieces), cjk=bool(_CJK_ONLY.match(pieces[0])))
