"""The steps of the research, each from what is seen to the next calls; the first that has any is taken."""

from __future__ import annotations

from collections.abc import Sequence

from manusfs.models.offline.answer import WHAT_IT_IS, note
from manusfs.models.offline.links import best_links
from manusfs.models.offline.questions import Question
from manusfs.models.offline.seen import EVERYTHING, Hit
from manusfs.models.offline.wording import failed, fetched, found, looked
from manusfs.models.offline.work import Call, Step, Work
from manusfs.records import canonical

__all__ = ["ROOMY", "fetch", "plan", "read", "search"]

FOLLOWED_HITS = 8
READ_BYTES = 1_600
READ_BEFORE = 400
LINKS_A_TURN = 4
_HEADINGS = "^#{1,6} "
_OUTLINES = 4


def plan(work: Work) -> Step | None:
    """Say what the task was split into, write the plan, and fetch what the user named."""
    if any(work.seen.made("todo")) or work.seen.later:
        return None
    questions, urls = work.questions, work.given
    items = [f"[ ] fetch {url}" for url in urls] + [f"[ ] find out: {question.text}" for question in questions]
    listed = "\n".join(f"{n}. {question.text}" for n, question in enumerate(questions, 1))
    calls: list[Call] = [("todo", {"items": items})]
    calls += [_fetch(url, questions) for url in urls if url not in work.seen.fetched]
    return Step(f"{WHAT_IT_IS}\n\nI split the task into:\n{listed}", calls)


def fetch(work: Work) -> Step | None:
    """Fetch what the user named and what is still missing."""
    seen = work.seen
    left = [url for url in work.given if url not in seen.fetched and not {f"fetch {url}", failed(url)} & seen.done]
    return Step(f"Fetching {len(left)} more sources.", [_fetch(url, work.questions) for url in left])


def search(work: Work) -> Step | None:
    """Search for each question, in a small window for the next one."""
    made = {query for query, within, _ in work.seen.searches() if not within}
    left = [q for q in work.questions if q.query not in made and looked(q) not in work.seen.done]
    left, limit = (left[:1], 3) if work.small else (left, work.hits + 2)
    return Step("Searching what was stored.", [_search(question.query, EVERYTHING, limit) for question in left])


def read(work: Work) -> Step | None:
    """Read around the best hits of each question."""
    wanted: list[Hit] = []
    for question in work.questions:
        for query, _, hits in work.seen.searches():
            if query == question.query or query.startswith(f"{question.query} "):
                wanted.extend(hits[: work.hits])
    for query, _, hits in work.seen.searches():
        if query in {key for support in work.supports for key in work.keys(support)}:
            wanted.extend(hits[: work.hits])
    return Step("Reading around the best hits.", _reads(work, wanted))


def deepen(work: Work) -> Step | None:
    """Search again, with words that the sources use themselves, for what found little support."""
    calls = []
    for support in work.supports:
        query = support.question.query
        again = any(made.startswith(f"{query} ") for made, _, _ in work.seen.searches())
        if support.level in ("none", "low") and not again:
            words = [term for _, term in support.meant] or work.evidence.feedback(support.question)
            if words:
                calls.append(_search(f"{query} {' '.join(words)}", EVERYTHING, work.hits + 2))
    return Step("Too little support for some questions: searching with words from the sources themselves.", calls)


def follow(work: Work) -> Step | None:
    """Look up the keys that the best quotes hold: other records may hold the answer under them."""
    keys = [key for support in work.supports if support.level != "high" for key in work.keys(support)]
    fresh = [key for key in dict.fromkeys(keys) if not work.seen.looked_for(key)]
    return Step("Following the keys in what was found.", [_search(key, EVERYTHING, FOLLOWED_HITS) for key in fresh])


def outlines(work: Work) -> Step | None:
    """Look up the headings of quoted sources that were read from the middle: they say when and where it was said."""
    quoted = [quote for support in work.supports for quote in support.quotes if not quote.sentence.heading]
    refs = [quote.ref for quote in quoted if quote.sentence.start > 0 and quote.ref not in work.seen.outlines]
    asked = {str(call.arguments.get("within", "")) for call in work.seen.made("grep")}
    calls: list[Call] = [
        ("grep", {"pattern": _HEADINGS, "regex": True, "within": ref, "limit": 100})
        for ref in dict.fromkeys(refs)
        if ref not in asked
    ]
    return Step("Looking up the headings above the quotes.", calls[:_OUTLINES] if len(asked) < _OUTLINES else [])


def inside(work: Work) -> Step | None:
    """Search the pages that were followed."""
    asked = {(query, within) for query, within, _ in work.seen.searches()}
    calls: list[Call] = []
    for ref in work.seen.brought_later():
        for support in work.supports:
            query = support.question.query
            if support.level != "high" and (query, ref) not in asked:
                calls.append(_search(query, ref, FOLLOWED_HITS))
    return Step("Searching the pages that were followed.", calls)


def browse(work: Work) -> Step | None:
    """Follow the links that most likely hold what is missing, as long as pages may be followed and pages help."""
    seen = work.seen
    left = work.max_pages - len([url for url in seen.fetched if url not in work.given])
    weak = [support.question for support in work.supports if support.level != "high"]
    if left <= 0 or not weak or _stale(work):
        return None
    looked_in = {str(call.arguments.get("within", "")) for call in seen.made("grep") if "regex" not in call.arguments}
    pages = [f"{s.ref}{'/full' if 'full' in s.views else ''}" for s in seen.sources.values() if s.kind == "web"]
    fresh = [ref for ref in pages if ref not in looked_in]
    if fresh:
        return Step("Looking for links.", [("grep", {"pattern": "](http", "within": ref}) for ref in fresh])
    urls = best_links(seen, weak, min(left, LINKS_A_TURN))
    return Step(f"Following {len(urls)} links that may hold what is missing.", [_fetch(url, weak) for url in urls])


def write(work: Work) -> Step | None:
    """Write down what was found, and tick what is done."""
    if any(work.seen.made("write")):
        return None
    done = [f"[x] {fetched(work.seen, url)}" for url in work.given]
    items = [f"[{'x' if s.level != 'none' else ' '}] {found(s.question)}" for s in work.supports]
    content = note(work.seen, work.supports)
    calls: list[Call] = [("write", {"path": work.path, "content": content}), ("todo", {"items": done + items})]
    return Step("Writing down what was found.", calls)


ROOMY = (plan, fetch, search, read, deepen, follow, inside, browse, outlines, write)
"""The steps in a window that holds everything that is read."""


def _stale(work: Work) -> bool:
    """Return True if the last pages that were followed gave no quote to any question: more of them would not either."""
    pages = work.seen.brought_later()
    quoted = {quote.source.ref for support in work.supports for quote in support.quotes}
    return len(pages) >= LINKS_A_TURN and not quoted & set(pages[-LINKS_A_TURN:])


def _reads(work: Work, wanted: Sequence[Hit]) -> list[Call]:
    calls: list[Call] = []
    for ref, start, end in _windows([hit for hit in wanted if not work.seen.covered(hit)]):
        calls.append(("read", {"ref": ref, "offset": start, "limit": end - start}))
    done = {canonical(call.arguments) for call in work.seen.made("read")}
    return [call for call in calls if canonical(call[1]) not in done]


def _windows(hits: Sequence[Hit]) -> list[tuple[str, int, int]]:
    """Return what to read: a window round each hit, near ones joined, in order of the best hit in them."""
    windows: list[tuple[str, int, int]] = []
    for hit in hits:
        start, end = max(0, hit.start - READ_BEFORE), max(hit.end + READ_BEFORE, hit.start - READ_BEFORE + READ_BYTES)
        for i, (ref, low, high) in enumerate(windows):
            if ref == hit.ref and start <= high and low <= end and max(high, end) - min(low, start) <= 2 * READ_BYTES:
                windows[i] = (ref, min(low, start), max(high, end))
                break
        else:
            windows.append((hit.ref, start, end))
    return windows


def _search(query: str, within: str, limit: int) -> Call:
    return "search", {"query": query, "within": within, "limit": limit}


def _fetch(url: str, questions: Sequence[Question]) -> Call:
    return "web_fetch", {"url": url, "find": " ".join(question.query for question in questions)[:400]}
