"""What is tried when a stored body is missing or damaged: tree, cache, network; each proved by sha256."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from manusfs.errors import Damaged, ManusfsError, NotFound
from manusfs.memory.mend_bytes import as_it_was
from manusfs.memory.reading import State
from manusfs.memory.render import name_of
from manusfs.records import Fetched, Meta, ObsRef, Source, observation_id, sha256_hex, valid_text
from manusfs.workspace.lost import set_aside
from manusfs.workspace.standing import is_taken, read_second_name

if TYPE_CHECKING:
    from manusfs.memory.intake import Extractor
    from manusfs.store import Index, Observations
    from manusfs.workspace import Folder

__all__ = ["Origin", "Recovered", "Recovery"]

_GONE = (404, 410)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a body may come from again."""

    extractor: Callable[[], Extractor] | None = None
    """Gives what makes text of raw bytes; the text counts only if it is the one that was stored."""
    cached: Callable[[str], bytes | None] | None = None
    """Gives the body of a sha256 from the disk cache."""
    fetch: Callable[[str], Fetched] | None = None
    """Asks the network for a URL."""
    keep: Callable[[Fetched], Meta] | None = None
    """Stores what a changed source gives now, as an observation of its own."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """How it ended: the right bytes, or those of a new observation, or nothing because the source is gone."""

    state: State
    meta: Meta | None
    data: bytes = b""
    """The whole view, proved; empty when the state is "gone"."""
    message: str = ""


class Recovery:
    """Brings back views that do not match their hashes. Wrong bytes are never given out as the right ones."""

    def __init__(self, folder: Folder, observations: Observations, index: Index, origin: Origin | None = None) -> None:
        self._folder = folder
        self._observations = observations
        self._index = index
        self._origin = origin or Origin()

    def recover(self, id: str, view: str, error: ManusfsError, *, network: bool = True) -> Recovered:
        """Return the view `view` of the observation `id`, which could not be read because of `error`.

        What is found is put back into its place; the damaged file is set aside. A source that has other bytes now is
        stored as a new observation.

        Raises:
            Damaged, NotFound: nothing could be found; the message is that of `error` and says what was tried.
        """
        try:
            meta = self._observations.meta(id)
        except (Damaged, NotFound):
            return self._whole(id, view, error, network=network)
        if (data := self._as_it_was(meta, view)) is not None:
            self._put_back(meta, {view: data})
            return Recovered("stored", meta, data, "its line ends, its end or its name were changed and are set right")
        raw = self._raw_here(meta)
        if raw is not None:
            data = self._view(meta, view, raw)
            if data is not None:
                return self._restored(meta, view, raw, data, "stored", "its copy")
        if not network:
            raise _failed(error, "the network was not asked")
        fetched = self._fetched(meta.source, error)
        if sha256_hex(fetched.raw) != meta.raw_sha256:
            return self._other(id, fetched, error)
        data = self._view(meta, view, fetched.raw)
        if data is None:
            self._put_back(meta, {"raw": fetched.raw})
            raise _failed(
                error,
                f"its source still has the same bytes, but {meta.extractor} made another text of them than now; "
                f"obs:{id}/raw is whole again",
            )
        return self._restored(meta, view, fetched.raw, data, "unchanged", "its source, which has the same bytes")

    def mend(self, ref: ObsRef, *, network: bool = True) -> bool:
        """Return True if the view of `ref` is whole again after what could be tried."""
        try:
            found = self.recover(ref.id, ref.view, Damaged(f"obs:{ref.id} is damaged"), network=network)
        except ManusfsError:
            return False
        return found.state in ("stored", "unchanged")

    def _raw_here(self, meta: Meta) -> bytes | None:
        """Return the raw bytes from the tree or the cache."""
        try:
            raw = self._observations.read(meta.id, "raw")
        except (Damaged, NotFound):
            raw = self._as_it_was(meta, "raw") or self._cached(meta.raw_sha256) or b""
        return raw if sha256_hex(raw) == meta.raw_sha256 else None

    def _as_it_was(self, meta: Meta, view: str) -> bytes | None:
        """Return the right bytes of a view if those in its place differ at the ends of lines or of the file only."""
        if view not in meta.files:
            return None
        root, name = self._folder.root, f"{self._observations.path(meta.id)}/{meta.files[view].name}"
        try:
            stands = root.read(name) if root.exists(name) and not root.is_dir(name) else read_second_name(root, name)
        except ManusfsError:
            return None
        return None if stands is None else as_it_was(stands, meta.files[view])

    def _cached(self, sha256: str) -> bytes | None:
        return None if self._origin.cached is None else self._origin.cached(sha256)

    def _view(self, meta: Meta, view: str, raw: bytes) -> bytes | None:
        """Return the bytes of a view made from `raw`, None when they can't be made again."""
        file = meta.files.get(view)
        if file is None or file.sha256 == meta.raw_sha256:
            return raw if file is not None else None
        if self._origin.extractor is None:
            return None
        url = meta.http.final_url if meta.http is not None else meta.source.url
        try:
            made = self._origin.extractor().extract(
                raw,
                media_type=meta.media_type,
                charset=meta.charset,
                name="" if meta.source.kind == "web" else name_of(meta.source),
                source_url=url,
            )
        except ManusfsError:
            return None
        text = made.text if view == "text" else made.full
        data = valid_text(text or "").encode("utf-8")
        return data if sha256_hex(data) == file.sha256 else None

    def _restored(self, meta: Meta, view: str, raw: bytes, data: bytes, state: State, whence: str) -> Recovered:
        self._put_back(meta, {"raw": raw, view: data})
        return Recovered(state, meta, data, f"the stored body was damaged and is repaired from {whence}")

    def _put_back(self, meta: Meta, views: dict[str, bytes]) -> None:
        """Write the right bytes where wrong ones stand. Where that can't be done they are served all the same."""
        root = self._folder.root
        path = self._observations.path(meta.id)
        for view, data in views.items():
            name = f"{path}/{meta.files[view].name}"
            try:
                if root.exists(name) and not root.is_dir(name) and root.read(name) == data:
                    continue
                if is_taken(root, name):
                    set_aside(root, name)
                root.write_atomic(name, data)
            except ManusfsError:
                continue

    def _fetched(self, source: Source, error: ManusfsError) -> Fetched:
        if source.kind != "web":
            raise _failed(error, f"a {source.kind} source is not fetched again by itself")
        if self._origin.fetch is None:
            raise _failed(error, "there is no network here")
        try:
            return self._origin.fetch(source.url)
        except ManusfsError as why:
            raise _failed(error, f"its source could not be fetched again: {why}") from why

    def _other(self, id: str, fetched: Fetched, error: ManusfsError) -> Recovered:
        """Return what a source that no longer has the same bytes gives now."""
        status = fetched.http.status if fetched.http is not None else 200
        if status in _GONE:
            return Recovered("gone", None, message=f"{error}; its source is gone (HTTP {status})")
        if status >= 400 or not fetched.complete:
            raise _failed(error, f"its source gave HTTP {status}{'' if fetched.complete else ', cut on its way'}")
        if self._origin.keep is None:
            raise _failed(error, "its source has other bytes now")
        meta = self._origin.keep(fetched)
        message = f"the stored body of obs:{id} is damaged and its source has other bytes now: this is obs:{meta.id}"
        data = self._observations.read(meta.id, "text") if "text" in meta.files else b""
        return Recovered("changed", meta, data, message)

    def _whole(self, id: str, view: str, error: ManusfsError, *, network: bool) -> Recovered:
        """Recover an observation whose description is gone too, by what the index says of its source."""
        row = next((row for row in self._index.observations() if row.id == id), None)
        if row is None or row.kind != "web" or self._origin.keep is None:
            raise _failed(error, "nothing else is known of it")
        source = Source("web", row.source)
        raw = self._cached(row.sha256)
        if raw is not None and observation_id(source, sha256_hex(raw), len(id)) == id:
            fetched, state, whence = Fetched(source, raw), "stored", "the cache"
        elif not network:
            raise _failed(error, "the network was not asked")
        else:
            fetched, state, whence = self._fetched(source, error), "unchanged", "its source, which has the same bytes"
            if observation_id(source, sha256_hex(fetched.raw), len(id)) != id:
                return self._other(id, fetched, error)
        meta = self._origin.keep(fetched)
        size = meta.files["text"].size if "text" in meta.files else 0
        if meta.id != id or (view != "raw" and size != row.text_bytes):
            raise _failed(error, f"its raw bytes are stored again as obs:{meta.id}, but its text is not the one it was")
        message = f"it was missing and is stored again from {whence}"
        return Recovered(
            "stored" if state == "stored" else "unchanged", meta, self._observations.read(id, view), message
        )


def _failed(error: ManusfsError, why: str) -> ManusfsError:
    kind = type(error) if isinstance(error, Damaged | NotFound) else Damaged
    return kind(f"{error}; {why}", hint=error.hint or "run `manusfs verify`")
