"""Search over a workspace: the index brought up to date, asked, and repaired when it turns out to be damaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from manusfs.errors import ManusfsError
from manusfs.memory.search import reindex
from manusfs.memory.search.everything import sources
from manusfs.memory.search.finder import find
from manusfs.memory.search.grep import Matches, grep
from manusfs.memory.search.hits import Hits
from manusfs.memory.search.listing import Listing, fitting, listing
from manusfs.memory.search.named import completed, unknown
from manusfs.memory.search.query import Query, parse
from manusfs.memory.search.reindex import Counts, Progress
from manusfs.memory.search.reorder import Scorer, reordered
from manusfs.memory.search.texts import Stored, Texts
from manusfs.records import Meta, PathRef, counted, parse_ref

if TYPE_CHECKING:
    from manusfs.store import Index
    from manusfs.workspace import Folder

__all__ = ["Search"]

_SCORED = 5
"""Hits that a scorer sees for each that is wanted."""


class Search:
    """Finds passages, literal texts and things in one workspace. `say` gets one line when the index is made anew."""

    def __init__(
        self, observations: Stored, index: Index, folder: Folder, say: Callable[[str], None] | None = None
    ) -> None:
        self._observations = observations
        self._index = index
        self._folder = folder
        self._say = say or (lambda line: None)
        self._fresh = False
        self._unreadable = 0
        self.scorer: Scorer | None = None
        """A second opinion on hits, for programs that bring their own embedding; see `reorder`."""
        index.recover_order = lambda: reindex.greatest_order(folder)

    def search(self, query: str, within: str | None = None, limit: int = 10, kinds: Sequence[str] = ()) -> Hits:
        """Return up to `limit` passages that fit `query` best.

        Any text is a query: words in any form, "phrases in quotes", -word, kind:web, host:example.org (with all below
        it, on any port), session:…, after:2026-01-31, before:…, within=ref. Sources come before what was written here
        (`finder.OWN_WEIGHTS`) unless `kind:` asks for it.

        `within` is a ref, a path or a folder; `kinds` are those of `kind:`. An empty result has a `note` that says why.
        """
        parsed = parse(query)
        filters = parsed.filters
        filters = replace(filters, within=within or filters.within, kinds=(*filters.kinds, *kinds))
        parsed = replace(parsed, filters=completed(self._folder, filters))
        self.refresh()
        if missing := self._missing(parsed.filters.within):
            return Hits(note=missing)
        hits = self._find(parsed, limit)
        if self._index.needs_rebuild:
            self.rebuild()
            hits = self._find(parsed, limit)
        if self.scorer is not None and hits:
            hits = reordered(hits, query, self.scorer, limit)
        if not hits and (absent := unknown(self._folder, self._index, parsed.filters)):
            hits.note = absent
        hits.note = " ".join([*parsed.remarks, *([hits.note] if hits.note else [])])
        if not hits and (left := reindex.unsearched(self._folder)):
            told = f"{counted(left, 'file')} of notes/ and reports/ not searched: too large, too deep or oddly named."
            hits.note = f"{hits.note} {told}".strip()
        if self._unreadable and not hits.note.endswith("`manusfs verify`."):
            lost = f"{counted(self._unreadable, 'damaged observation')} left out: run `manusfs verify`."
            hits.note = f"{hits.note} {lost}".strip()
        return hits

    def grep(
        self,
        pattern: str,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        within: str | None = None,
        limit: int = 100,
    ) -> Matches:
        """Return where `pattern` stands, literally or as an expression, in texts, notes, reports and transcripts.

        Raises:
            UsageError: the pattern is empty, too long, or no regular expression.
        """
        everything = sources(self._folder, self._observations, within)
        return grep(everything, pattern, regex=regex, ignore_case=ignore_case, limit=max(1, limit))

    def list(
        self,
        of: str = "observations",
        *,
        kind: str = "",
        host: str = "",
        session: str = "",
        after: str = "",
        start: int = 1,
        count: int = 50,
    ) -> Listing:
        """Return a page of the observations, notes, sessions or reports, newest first; see `listing.listing`."""
        self.refresh()
        options = {"kind": kind, "host": host, "session": session, "after": after}
        return listing(self._folder, self._index, of, **options, start=start, count=count)

    def fitting(self, *, kind: str = "", host: str = "", session: str = "", after: str = "") -> frozenset[str]:
        """Return the refs of the observations of a kind, a host (or below), a session, and not older than `after`."""
        self.refresh()
        return fitting(self._index, kind=kind, host=host, session=session, after=after)

    def add(self, meta: Meta, order: int, bodies: Mapping[str, bytes] | None = None) -> None:
        """Queue an observation that was just committed; `bodies` are its views' bytes, read from the tree when None."""
        if bodies is None:
            bodies = {view: self._observations.read(meta.id, view) for view in meta.views}
        reindex.add_observation(self._index, meta, order, bodies)

    def refresh(self, progress: Progress | None = None) -> Counts:
        """Bring the index up to date: at first all of the tree is compared, later what notes and transcripts gained."""
        if self._index.ensure():
            return self.rebuild(progress)
        if not self._fresh:
            counts = reindex.refresh(self._folder, self._observations, self._index, progress)
            self._fresh = True
            self._unreadable = len(counts.unreadable)
            return counts
        messages = reindex.refresh_sessions(self._folder, self._index)
        return Counts(notes=reindex.refresh_notes(self._folder, self._index), messages=messages)

    def rebuild(self, progress: Progress | None = None) -> Counts:
        """Make the index anew from the tree and the transcripts, and say so in one line if there was anything."""
        reason = self._index.reason
        counts = reindex.rebuild(self._folder, self._observations, self._index, progress)
        self._fresh = True
        self._unreadable = len(counts.unreadable)
        if reason and (counts.observations or reason != "missing"):
            self._say(f"index rebuilt from {counted(counts.observations, 'observation')} ({reason})")
        return counts

    def _missing(self, within: str) -> str:
        """Return a line when `within` is a path that is not in the workspace: no hit could be in it."""
        try:
            if not within or not isinstance(parse_ref(within), PathRef):
                return ""
            path = within.removeprefix("./").rstrip("/")
            if self._folder.root.exists(path) or self._folder.root.is_dir(path):
                return ""
        except ManusfsError:
            pass
        return f"There is no {within!r} in this workspace: give a ref, a path or a folder in it."

    def _find(self, query: Query, limit: int) -> Hits:
        wanted = max(1, limit) if self.scorer is None else _SCORED * max(1, limit)
        return find(self._index, Texts(self._folder, self._observations), query, wanted)
