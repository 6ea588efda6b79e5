"""One search, from a parsed query to hits: ranked by the index, cut from the tree, filtered, without repetitions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from manusfs.errors import ManusfsError
from manusfs.memory.reading import decoded
from manusfs.memory.search.chunk import Chunk
from manusfs.memory.search.fold import CJK, fold_plain
from manusfs.memory.search.hits import Hit, Hits
from manusfs.memory.search.match import Matcher
from manusfs.memory.search.named import on_host
from manusfs.memory.search.passages import window
from manusfs.memory.search.query import Filters, Query, Term
from manusfs.memory.search.rank import ranked
from manusfs.memory.search.same import Repetitions, words_of
from manusfs.memory.search.spelling import corrected
from manusfs.memory.search.texts import Body, Texts
from manusfs.records import ObsRef, PathRef, Span, counted, parse_ref
from manusfs.store import index_find

if TYPE_CHECKING:
    from manusfs.store import Index, Segment

__all__ = ["SNIPPET_CHARS", "find"]

SNIPPET_CHARS = 700
"""Most characters of a snippet (OC-13): the least information first, `read` gives the rest."""

_WIDE_BYTES = 700
"""A passage shorter than this shows what stands beside it: an answer stands beside its question."""

_TASKS = "observations/tool/task/"
"""What sub-agents answered stands there: it is written here, like a report, and its sources stand beside it."""

_EACH_TERM = 0.3
"""Added to the score for each different term in a hit. In a small workspace every word is common, and bm25 gives 0."""

OWN_WEIGHTS = {"note": 0.5, "report": 0.25, "message": 0.25}
"""What the score of a hit is taken times when a person or a model wrote the text here, unless `kind:` asks for it.
Reports, notes and transcripts repeat the question in its own words: at weight 1 they stood before every source once the
same question was asked for the fourth time. Sources have 1."""

_ROWS = 1.0
"""A hit gains up to this share of its score by holding the query's words in its rows of two, stop words too."""

_BY_CHANCE = 0.15
"""The share of rows that any text on the matter holds: it gains nothing."""

_SENTENCE_WORDS = 8
"""A query of so many words may quote what it looks for: rows count, and half as many hits again are weighed by them."""

_RUN = re.compile(f"[{CJK}]{{3,}}")
"""What stands in the index as pairs: a passage that holds it in one piece comes before one that holds its pairs."""

_OF_ONE = 20
"""So many hits of one text come before those of others that fit less: what a question joins stands in several files."""

_BEGUN = "No stored text holds these words; some hold words that begin so."
_APART = "No passage holds the words in quotes as they stand there; these hold some of them."
_SPARE = 2
_MOST_SAID = 100
_FIRST = 400
_MOST = 100_000
_BATCH = 24


def find(index: Index, texts: Texts, query: Query, limit: int) -> Hits:
    """Return up to `limit` hits, best first; when there are none, the note says why."""
    if not query.expression:
        return Hits(note=_nothing(query))
    low, high = _bounds(index, query.filters)
    if high < low:
        return Hits(note=f"Nothing is indexed of {query.filters.within!r}.")
    found, matched, missing = _find(index, texts, query, limit, low, high)
    if not matched and query.unphrased is not None:
        loose, _, _ = _find(index, texts, query.unphrased, limit, low, high)
        if loose:
            return Hits(loose, _APART)
    filtered = matched and not found
    looser = query.looser
    # What was said in sessions repeats the words of the question, and is no answer to it.
    if looser is not None and not filtered and all(hit.kind == "message" for hit in found):
        begun, _, _ = _find(index, texts, looser, limit, low, high)
        begun = Hits([*found, *(hit for hit in begun if hit.kind != "message")][:limit], _BEGUN)
        if len(begun) > len(found):
            return begun
    if missing and not query.filters.within:
        better, told = corrected(index, query, missing)
        if told:
            nearly, _, _ = _find(index, texts, better, limit, low, high)
            if nearly:
                return Hits(nearly, told)
    return found


def _find(
    index: Index, texts: Texts, query: Query, limit: int, low: int, high: int
) -> tuple[Hits, bool, tuple[Term, ...]]:
    """Return the hits among the chunks, whether any matched before the filters, and the terms that are nowhere."""
    most = max(_FIRST, 20 * limit)
    while True:
        order, more, missing, places = ranked(index, query, most, low, high)
        search = _Search(index, texts, query)
        hits = search.hits(order, limit, places)
        enough = not search.crowded and (len(hits) >= limit or not query.filters)
        if enough or not more or most >= _MOST:
            break
        most *= 8
    return Hits(hits, search.note(len(hits), bool(order))), bool(order), missing


def _nothing(query: Query) -> str:
    if query.excluded:
        return (
            f"The query only says what to leave out: to look for that, put it into quotes: '\"{query.text.strip()}\"'."
        )
    return "The query names nothing to look for: give a word, a name or a number."


class _Search:
    def __init__(self, index: Index, texts: Texts, query: Query) -> None:
        self._index = index
        self._texts = texts
        self._query = query
        self._matcher = Matcher(query.wanted)
        self._unreadable = 0
        said = words_of(query.text)[:_MOST_SAID] if query.text.count(" ") >= _SENTENCE_WORDS - 1 else []
        self._rows = frozenset(pairwise(said))
        self._runs = frozenset(_RUN.findall(fold_plain(query.text)))
        self._weights = {} if query.filters.kinds else OWN_WEIGHTS
        self._own: list[tuple[int, float, Segment]] = []
        self._passed = 0
        self.crowded = False
        """True when what was written here took so many of the places that sources may have been left out."""
        self._shown: dict[tuple[str, str], list[Span]] = {}

    def hits(self, order: list[tuple[int, float]], limit: int, places: dict[int, Segment]) -> list[Hit]:
        """Return the best of `order`: sources first, then of what was written here as much as still counts."""
        kept = Repetitions()
        found: list[Hit] = []
        most = limit + max(_SPARE, limit // 2 if self._rows else 0)
        for hit in self._candidates(order, places):
            if not _keep(hit, found, kept, most):
                break
        else:
            self.crowded = len(self._own) > self._passed
        sources = len(found)
        for hit in self._candidates_here(lambda: _last_score(found, limit)):
            if not _keep(hit, found, kept, sources + most):
                break
        # Stable: of equal ones the one that the index put first.
        return sorted(found, key=lambda hit: -hit.score)[:limit]

    def note(self, hits: int, matched: bool) -> str:
        if self._unreadable:
            return f"{counted(self._unreadable, 'passage')} unreadable or damaged: run `manusfs verify`."
        if hits:
            return ""
        if matched and self._query.filters:
            return "There are matches, but none that the filters let through."
        return "No passage holds these words. Try other words, or fewer of them."

    def _candidates(self, order: list[tuple[int, float]], places: dict[int, Segment]) -> Iterator[Hit]:
        """Yield the hits in sources, and put aside what stands in texts that were written here.

        A text that brought `_OF_ONE` hits waits until the others had their turn.
        """
        brought = Counter[str]()
        later: list[tuple[int, float, Segment]] = []
        for at in range(0, len(order), _BATCH):
            batch = order[at : at + _BATCH]
            unknown = [number for number, _ in batch if number not in places]
            places = {**places, **index_find.segments(self._index, unknown)} if unknown else places
            for number, score in batch:
                if number not in places:
                    continue
                if _kind(places[number]) in self._weights:
                    self._own.append((number, score, places[number]))
                    continue
                self._passed += 1
                if brought[places[number].owner] >= _OF_ONE:
                    later.append((number, score, places[number]))
                elif (hit := self._hit(number, places[number], score)) is not None:
                    brought[places[number].owner] += 1
                    yield hit
        yield from (hit for number, score, place in later if (hit := self._hit(number, place, score)) is not None)

    def _candidates_here(self, least: Callable[[], float]) -> Iterator[Hit]:
        """Yield the weighted hits of what was put aside, as long as one may still score more than `least()`."""
        most_terms = _EACH_TERM * len(self._query.wanted)
        most_weight = max(self._weights.values(), default=1.0)
        for number, score, segment in self._own:
            if (score + most_terms) * most_weight <= least():
                return
            hit = self._hit(number, segment, score)
            if hit is not None:
                yield replace(hit, score=hit.score * self._weights[_kind(segment)])

    def _hit(self, number: int, segment: Segment, score: float) -> Hit | None:
        at = number - segment.first
        start = segment.start + sum(segment.lengths[:at])
        span = Span(start, start + segment.lengths[at])
        try:
            body = self._texts.body(segment.owner, segment.view)
            if span.end > body.size or not _passes(body, self._query.filters):
                return None
            if self._covered(segment, span):
                return None
            span, snippet = self._snippet(body, _widened(segment, at, span))
            first = body.line_of(span.start)
            lines = first, first if body.line else first + snippet.count("\n", 0, -1)
        except ManusfsError:
            self._unreadable += 1
            return None
        if not snippet.strip():
            return None
        self._shown.setdefault((segment.owner, segment.view), []).append(span)
        ref = _ref(segment, span)
        folded = fold_plain(snippet)
        whole = sum(run in folded for run in self._runs)
        score += _EACH_TERM * (len({term for _, _, term in self._matcher.folded_spans(folded)}) + whole)
        if self._weights and body.path.startswith(_TASKS):
            score *= OWN_WEIGHTS["report"]
        if self._rows:
            rows = len(self._rows.intersection(pairwise(words_of(snippet)))) / len(self._rows)
            score *= 1 + _ROWS * max(0.0, rows - _BY_CHANCE)
        return Hit(ref, body.path, body.url, body.title, score, snippet, *lines, kind=body.kind)

    def _covered(self, segment: Segment, span: Span) -> bool:
        middle = (span.start + span.end) // 2
        shown = self._shown.get((segment.owner, segment.view), ())
        return any(other.start <= middle < other.end for other in shown)

    def _snippet(self, body: Body, span: Span) -> tuple[Span, str]:
        data = body.read(span)
        inner = window(data, Chunk(0, len(data), ""), self._matcher, SNIPPET_CHARS)
        cut = data[inner.start : inner.end]
        left, right = len(cut) - len(cut.lstrip()), len(cut.rstrip())
        if left < right:
            inner, cut = Span(inner.start + left, inner.start + right), cut[left:right]
        return Span(span.start + inner.start, span.start + inner.end), decoded(cut)


def _keep(hit: Hit, found: list[Hit], kept: Repetitions, most: int) -> bool:
    """Add `hit` to `found`, or to the hit that says the same; return False when there are `most` already."""
    at = kept.place(hit.snippet)
    if at is None:
        if len(found) >= most:
            return False
        found.append(hit)
    elif at < len(found) and len(found[at].also) < 8:
        found[at] = replace(found[at], also=(*found[at].also, hit.ref))
    return True


def _last_score(found: list[Hit], limit: int) -> float:
    """Return the score that a further hit must exceed to be among the `limit` best."""
    return sorted((hit.score for hit in found), reverse=True)[limit - 1] if len(found) >= limit else -1.0


def _kind(segment: Segment) -> str:
    """Return what sort of text holds a segment: "" for a source."""
    owner = segment.owner
    if owner.startswith("obs:"):
        return ""
    return "message" if owner.startswith("msg:") else "report" if owner.startswith("reports/") else "note"


def _widened(segment: Segment, at: int, span: Span) -> Span:
    """Return the span of a short passage together with those beside it, as long as all stays short."""
    low = high = at
    start, end = span.start, span.end
    for above in (True, False, True, False):
        if above and high + 1 < segment.chunks and end - start + segment.lengths[high + 1] <= _WIDE_BYTES:
            high += 1
            end += segment.lengths[high]
        elif not above and low > 0 and end - start + segment.lengths[low - 1] <= _WIDE_BYTES:
            low -= 1
            start -= segment.lengths[low]
    return Span(start, end)


def _ref(segment: Segment, span: Span) -> str:
    view = "" if segment.view == "text" else f"/{segment.view}"
    # A file that people edit has no lasting span: the lines say where, and the path is what `read` takes.
    return f"{segment.owner}{view}@{span}" if ":" in segment.owner[:4] else segment.owner


def _bounds(index: Index, filters: Filters) -> tuple[int, int]:
    """Return the least and the greatest chunk number that `within` leaves; of a folder, all (it is a filter then)."""
    if not filters.within:
        return 0, 1 << 62
    owner, view = _owner(filters.within)
    segments = index_find.ranges(index, owner, view)
    if segments:
        return segments[0].first, segments[-1].first + segments[-1].chunks - 1
    return (0, 1 << 62) if not owner.startswith("obs:") else (1, 0)


def _owner(within: str) -> tuple[str, str | None]:
    try:
        ref = parse_ref(within)
    except ManusfsError:
        return within, None
    if isinstance(ref, ObsRef):
        return f"obs:{ref.id}", ref.view if ref.view == "full" else None
    return (ref.path.rstrip("/"), None) if isinstance(ref, PathRef) else (str(replace(ref, span=None)), None)


def _passes(body: Body, filters: Filters) -> bool:
    if filters.kinds and body.kind not in filters.kinds:
        return False
    if filters.hosts and not any(on_host(body.host, host) for host in filters.hosts):
        return False
    if filters.sessions and body.session not in filters.sessions:
        return False
    if filters.after and not body.created >= filters.after:
        return False
    if filters.before and not (body.created and body.created < filters.before):
        return False
    within = filters.within
    if within and ":" not in within[:4]:
        place = within.removeprefix("./").rstrip("/")
        return body.path == place or body.path.startswith(f"{place}/")
    return not within.startswith("msg:") or body.kind == "message"
