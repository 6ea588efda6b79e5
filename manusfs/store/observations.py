"""Observations on disk: one folder each, committed by one rename, never changed, every read checked by hash."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from manusfs.errors import Damaged, NotFound
from manusfs.records import Meta, Source, Span
from manusfs.store import lines
from manusfs.store.observations_files import blocks, check, load_meta
from manusfs.store.observations_names import Names, walk
from manusfs.workspace import Folder

if TYPE_CHECKING:
    from manusfs.store.observations_commit import Committed, Committer, Staged
    from manusfs.store.observations_files import Draft

__all__ = ["Observations"]

_METAS = 256
"""Descriptions kept in memory."""


class Observations:
    """The observations of one workspace. May be used by several threads.

    `locate` is a quick guess where an id lies (the index); it is believed only as far as the folder bears it out.
    """

    def __init__(self, folder: Folder, locate: Callable[[str], str | None] | None = None) -> None:
        self._folder = folder
        self._root = folder.root
        self._names = Names(folder.root, locate)
        self._own_committer: Committer | None = None
        self._metas: OrderedDict[str, tuple[str, Meta]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def _committer(self) -> Committer:
        # Made when something is stored: reading does without all that writing needs.
        with self._lock:
            if self._own_committer is None:
                from manusfs.store.observations_commit import Committer

                self._own_committer = Committer(self._folder, self._names)
            return self._own_committer

    def stage(self, draft: Draft) -> Staged:
        """Write the files of `draft` to the staging folder, in any thread. It must be committed or discarded.

        What the workspace has already, whole, is not written again.

        Raises:
            StorageError: the disk refused; nothing is left behind that counts.
        """
        return self._committer.stage(draft)

    def known(self, source: Source, raw_sha256: str) -> Meta | None:
        """Return the observation of these bytes of this source, None when there is none or it is not whole.

        For whoever wants to spare the work of making views: a known observation keeps its old ones.
        """
        return self._committer.known(source, raw_sha256)

    def commit(self, staged: Sequence[Staged]) -> list[Committed]:
        """Make a group durable and return what each one became, in the same order.

        All files and folders are synced, each folder is renamed to its place, and each parent is synced once. A damaged
        folder of the same id is set aside and replaced, and that is told in `repairs`.

        Raises:
            StorageError: the disk refused; then none of the group is acknowledged, and all of it is discarded.
        """
        return self._committer.commit(staged)

    def discard(self, staged: Staged) -> None:
        """Give up a staged observation."""
        self._committer.discard(staged)

    def meta(self, id: str) -> Meta:
        """Return what is known of the observation `id`.

        Raises:
            NotFound: no such observation.
            Damaged: its `meta.json` is missing or not whole.
        """
        return self._meta(id)[1]

    def _meta(self, id: str, fresh: bool = False) -> tuple[str, Meta]:
        with self._lock:
            known = self._metas.get(id)
            if known is not None and not fresh:
                self._metas.move_to_end(id)
                return known
        found = self._described(id)
        with self._lock:
            self._metas[id] = found
            if len(self._metas) > _METAS:
                self._metas.popitem(last=False)
        return found

    def _described(self, id: str) -> tuple[str, Meta]:
        path = self._names.likely(id)
        if path is not None:
            try:
                return path, load_meta(self._root, path, id)
            except Damaged:
                pass  # Or moved since: the names themselves are looked at, which is no cost worth having each time.
        path = self.path(id)
        return path, load_meta(self._root, path, id)

    def read(self, id: str, view: str = "text", span: Span | None = None) -> bytes:
        """Return the stored bytes of a view ("text", "full" or "raw"), or of its part `span`.

        A span that runs past the end is cut there. Costs the reading and hashing of the blocks that it touches.

        Raises:
            NotFound: no such observation or view.
            Damaged: a block that the span touches does not match its sha256.
        """
        try:
            return b"".join(self.blocks(id, view, span))
        except Damaged:
            # The folder may have been repaired, replaced or moved by someone else since its description was read.
            path, meta = self._meta(id, fresh=True)
            return b"".join(blocks(self._root, path, meta, view, span))

    def blocks(self, id: str, view: str = "text", span: Span | None = None) -> Iterator[bytes]:
        """Yield what `read` returns in checked pieces of at most 256 KiB, so that memory stays flat."""
        path, meta = self._meta(id)
        return blocks(self._root, path, meta, view, span)

    def size(self, id: str, view: str = "text") -> int:
        """Return the bytes of a view."""
        file = self.meta(id).files.get(view)
        if file is None:
            raise NotFound(f"observation {id} has no view {view!r}", hint=f"it has: {', '.join(self.meta(id).files)}")
        return file.size

    def line_of(self, id: str, view: str, offset: int) -> int:
        """Return the number, from 1, of the line that holds the byte `offset` of a view."""
        self.size(id, view)
        return lines.line_of(self.meta(id).files[view], lambda span: self.read(id, view, span), offset)

    def line_span(self, id: str, view: str, first: int, last: int) -> Span:
        """Return the span of the lines `first` to `last` of a view, both included; lines past the end are cut off."""
        self.size(id, view)
        return lines.line_span(self.meta(id).files[view], lambda span: self.read(id, view, span), first, last)

    def line_total(self, id: str, view: str) -> int:
        """Return how many lines a view has."""
        self.size(id, view)
        return lines.line_total(self.meta(id).files[view], lambda span: self.read(id, view, span))

    def ids(self) -> Iterator[str]:
        """Yield the id of every observation folder, by path; only names are looked at."""
        return (id for id, _ in walk(self._root))

    def path(self, id: str) -> str:
        """Return the workspace path of the folder of `id`; only names are looked at.

        Raises:
            NotFound: no folder has that id.
        """
        path = self._names.find(id)
        if path is None:
            raise NotFound(f"no observation {id!r}", hint="`manusfs ls observations` lists them")
        return path

    def complete_id(self, prefix: str) -> str:
        """Return the one id that begins with `prefix`.

        Raises:
            NotFound: there is none.
            BadRef: there are several.
        """
        return self._names.complete(prefix)

    def check(self, id: str) -> tuple[str, ...]:
        """Return what is wrong with an observation, one line each, after reading every byte of it; () when whole."""
        path = self.path(id)
        try:
            return check(self._root, path, load_meta(self._root, path, id))
        except Damaged as error:
            return (str(error),)
