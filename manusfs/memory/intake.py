"""The one way in: what was fetched becomes text, a durable observation, and the stub that the model sees."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from manusfs.errors import ManusfsError
from manusfs.memory import stubs
from manusfs.memory.extracting import Extractor, text_of
from manusfs.memory.render import name_of
from manusfs.memory.suffixes import raw_suffix
from manusfs.records import (
    Event,
    Extracted,
    Fetched,
    Meta,
    Source,
    Span,
    ViewPart,
    escape,
    observation_id,
    part_to_json,
    sha256_hex,
    tokens,
    valid_text,
)

if TYPE_CHECKING:
    from manusfs.store import Draft, Index, Observations, Staged
    from manusfs.workspace import Folder

__all__ = ["Extractor", "Intake", "Status", "Taken", "latest_by_source", "utc_now"]

Status = Literal["new", "known", "changed", "error"]
_THREADS = 4
_TITLE_CHARS = 2_000
_CUT = "body incomplete: "
"""How the note of a fetcher begins that says why a body was cut."""


def utc_now() -> str:
    """Return the time as people read it in an observation's description."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def latest_by_source(folder: Folder) -> dict[str, str]:
    """Return the newest good observation of each source, as the transcripts tell it."""
    from manusfs.session import Transcript, sessions

    found: dict[str, tuple[int, str]] = {}
    for info in sessions(folder):
        try:
            with Transcript.open(folder, info.session) as transcript:
                events = transcript.events
        except ManusfsError:
            continue  # `verify` tells it
        for event in events:
            if event.kind == "observation" and not event.data.get("is_error"):
                order, key = int(event.data.get("order", 0)), str(event.data.get("source", ""))
                if order >= found.get(key, (0, ""))[0]:
                    found[key] = order, str(event.data.get("id", ""))
    return {key: id for key, (_, id) in found.items()}


@dataclass(frozen=True, slots=True)
class Taken:
    """One observation that is durable, and how it stands in the context."""

    meta: Meta
    status: Status
    order: int
    part: ViewPart
    text: str
    """The rendered part."""
    notice: str = ""
    """What stands before it: an error page, a cut body, what changed."""
    is_error: bool = False
    repairs: tuple[str, ...] = ()
    """What was found damaged in its place, for the person."""
    texts: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    """The views of a new observation, for the index; empty for one that was known."""


@dataclass(slots=True)
class _Item:
    fetched: Fetched
    call: str
    raw_sha256: str
    previous: str
    staged: Staged | None = None
    texts: dict[str, bytes] = field(default_factory=dict)


class Intake:
    """Takes what tools and people bring. Everything it returns is durable."""

    def __init__(
        self,
        observations: Observations,
        index: Index,
        extractor: Extractor,
        limits: stubs.StubLimits | None = None,
        clock: Callable[[], str] = utc_now,
        history: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        """Take the parts of one workspace.

        `clock` gives the UTC time that is written beside an observation; nothing is ordered by it. `history` gives
        the latest observation of each source by the transcripts, asked while the index is not filled.
        """
        self._observations = observations
        self._index = index
        self._extractor = extractor
        self._limits = limits or stubs.StubLimits()
        self._clock = clock
        self._history = history
        self._ids: set[str] | None = None
        self._newest: dict[str, str] | None = None

    def take(
        self,
        fetched: Sequence[Fetched],
        session: str,
        calls: Sequence[str],
        limits: stubs.StubLimits | None = None,
    ) -> list[Taken]:
        """Store `fetched`, made durable together, and return what each became, in the same order.

        Text is extracted in parallel. The same bytes of the same source are known and keep their old views; an error
        page or a cut body is kept too, but never becomes the latest of its source. `limits` says how large they may
        stand, where that is not as in the whole workspace. The transcript line of each must be
        written before the model sees it, and `index` called after that.

        Raises:
            StorageError: the disk refused; then none of them counts.
        """
        if len(fetched) != len(calls):
            raise ValueError(f"{len(fetched)} bodies for {len(calls)} calls")
        if not fetched:
            return []
        items = self._items(fetched, calls)
        try:
            self._stage_all(items, session)
            staged = [item.staged for item in items if item.staged is not None]
            committed = self._observations.commit(staged)
        except BaseException:
            for item in items:
                if item.staged is not None:
                    self._observations.discard(item.staged)
            raise
        order = self._index.next_order(len(items))
        if self._newest is not None:
            good = (done.meta for item, done in zip(items, committed, strict=True) if not _is_bad(item.fetched))
            self._newest.update((meta.source.key, meta.id) for meta in good)
        taken: list[Taken] = []
        for item, done in zip(items, committed, strict=True):
            self._known_ids().add(done.meta.id)
            made = self._taken(item, done.meta, done.known, order + len(taken), done.repairs, limits or self._limits)
            taken.append(made)
        return taken

    def draft(self, fetched: Fetched, session: str) -> Draft:
        """Return what would be stored of `fetched`; nothing is."""
        return self._draft(_Item(fetched, "", sha256_hex(fetched.raw), ""), session)

    def event(self, taken: Taken, call: str) -> Event:
        """Return the transcript event of `taken`: ref, form and hash, never the body."""
        meta = taken.meta
        data = {
            "call": call,
            "id": meta.id,
            "order": taken.order,
            "ref": f"obs:{meta.id}",
            "source": meta.source.key,
            "kind": meta.source.kind,
            "url": meta.source.url,
            "title": meta.title,
            "bytes": meta.files["text"].size if "text" in meta.files else 0,
            "status": taken.status,
            "part": part_to_json(taken.part),
            "is_error": taken.is_error,
            "notice": taken.notice,
        }
        return Event("observation", data)

    def index(self, taken: Taken | Sequence[Taken]) -> None:
        """Queue the rows of what was taken; called when its transcript line is durable."""
        from manusfs.memory.search import reindex

        for one in [taken] if isinstance(taken, Taken) else taken:
            reindex.add_observation(self._index, one.meta, one.order, one.texts)

    def _items(self, fetched: Sequence[Fetched], calls: Sequence[str]) -> list[_Item]:
        newest: dict[str, str] = {}
        items = []
        for one, call in zip(fetched, calls, strict=True):
            key, sha = one.source.key, sha256_hex(one.raw)
            if key not in newest:
                newest[key] = self._latest(key)
            items.append(_Item(one, call, sha, newest[key]))
            if not _is_bad(one):
                newest[key] = observation_id(one.source, sha)
        return items

    def _latest(self, key: str) -> str:
        if self._history is None or not self._index.needs_rebuild:
            self._newest = None
            return self._index.latest(key) or ""
        if self._newest is None:
            self._newest = dict(self._history())
        return self._newest.get(key, "")

    def _stage_all(self, items: Sequence[_Item], session: str) -> None:
        if sum(not _is_plain(item.fetched.raw) for item in items) < 2:
            # Plain texts are ready at once: threads would only wait for each other (a sixth more CPU, measured).
            for item in items:
                self._stage(item, session)
            return
        with ThreadPoolExecutor(min(_THREADS, len(items)), "intake") as pool:
            try:
                # Consumed to the end, so that no thread still writes when an error is raised.
                done = list(pool.map(lambda item: _caught(self._stage, item, session), items))
            except BaseException:  # Ctrl-C, of somebody who would not wait for the longest document of these
                pool.shutdown(wait=False, cancel_futures=True)
                self._let_go()
                raise
        for error in done:
            if error is not None:
                raise error

    def _let_go(self) -> None:
        close = getattr(self._extractor, "close", None)
        if close is not None:
            close()

    def _stage(self, item: _Item, session: str) -> None:
        from manusfs.store import Draft

        if observation_id(item.fetched.source, item.raw_sha256) in self._known_ids():
            # Known and whole: then its text is not made again, as a newer extractor must not move offsets.
            staged = self._observations.stage(Draft(item.fetched.source, item.fetched.raw))
            if staged.known:
                item.staged = staged
                return
            self._observations.discard(staged)
        item.staged = self._observations.stage(self._draft(item, session))

    def _draft(self, item: _Item, session: str) -> Draft:
        from manusfs.store import Draft

        fetched = item.fetched
        extracted = text_of(self._extractor, fetched)
        text = valid_text(extracted.text)
        if text:
            item.texts["text"] = text.encode("utf-8")
        if extracted.full:
            item.texts["full"] = valid_text(extracted.full).encode("utf-8")
        return Draft(
            source=fetched.source,
            raw=fetched.raw,
            raw_suffix=raw_suffix(extracted.media_type, fetched.name),
            texts=item.texts,
            title=_title(extracted.title, fetched.source),
            media_type=extracted.media_type,
            charset=extracted.charset,
            tokens=tokens.estimate(text),
            extractor=extracted.extractor,
            complete=fetched.complete,
            notes=_notes(fetched, extracted),
            pages=extracted.pages,
            page_labels=extracted.page_labels,
            outline=extracted.outline,
            http=fetched.http,
            created=self._clock(),
            session=session,
            call=item.call,
            previous=item.previous,
        )

    def _taken(
        self, item: _Item, meta: Meta, known: bool, order: int, repairs: tuple[str, ...], limits: stubs.StubLimits
    ) -> Taken:
        fetched = item.fetched
        texts = {} if known else item.texts

        def body(span: Span) -> bytes:
            text = texts.get("text")
            return self._observations.read(meta.id, "text", span) if text is None else text[span.start : span.end]

        from manusfs.memory.search import passages

        part, text = stubs.born(meta, body, find=fetched.find, limit=fetched.limit, limits=limits, passages=passages)
        status = _status(fetched, meta, known, item.previous)
        notice = _notice(fetched, meta, status, item.previous)
        return Taken(meta, status, order, part, text, notice, _is_bad(fetched), repairs, texts)

    def _known_ids(self) -> set[str]:
        if self._ids is None:
            self._ids = set(self._observations.ids())
        return self._ids


def _caught(stage: Callable[[_Item, str], None], item: _Item, session: str) -> BaseException | None:
    try:
        stage(item, session)
    except BaseException as error:  # noqa: BLE001 - raised again by the caller when all threads are done
        return error
    return None


def _is_plain(raw: bytes) -> bool:
    """Return True for what looks like plain text at its beginning; a wrong guess costs time only."""
    head = raw[:1024].lstrip()
    return head[:1] not in (b"<", b"%") and b"\x00" not in head


def _is_bad(fetched: Fetched) -> bool:
    return not fetched.complete or _http_error(fetched) > 0


def _http_error(fetched: Fetched) -> int:
    return fetched.http.status if fetched.http is not None and fetched.http.status >= 400 else 0


def _status(fetched: Fetched, meta: Meta, known: bool, previous: str) -> Status:
    if _is_bad(fetched):
        return "error"
    if known:
        return "known"
    return "changed" if previous and previous != meta.id else "new"


def _title(title: str, source: Source) -> str:
    line = " ".join(valid_text(title).split()) or " ".join(name_of(source).split())
    return line[:_TITLE_CHARS]


def _notes(fetched: Fetched, extracted: Extracted) -> tuple[str, ...]:
    notes = [*fetched.notes, *extracted.notes]
    status = _http_error(fetched)
    if status:
        notes.insert(0, f"HTTP {status}: an error page, not what was asked for")
    if not fetched.complete and not fetched.notes:
        notes.insert(0, "incomplete: the body was cut on its way")
    if not extracted.complete and not extracted.notes:
        notes.append("incomplete text: extraction stopped early")
    if fetched.http is not None and Source.web(fetched.http.final_url).key != fetched.source.key:
        notes.append(f"redirected to {fetched.http.final_url}")
    if not extracted.text and not any(note.startswith(("no text", "empty")) for note in notes):
        kind = extracted.media_type or "unknown type"
        notes.append(f"no text: {kind}, {len(fetched.raw)} bytes; the raw bytes are kept" if fetched.raw else "empty")
    return tuple(dict.fromkeys(valid_text(note) for note in notes))


def _notice(fetched: Fetched, meta: Meta, status: Status, previous: str) -> str:
    name = escape.field(name_of(meta.source), 300)
    code = _http_error(fetched)
    if code:
        wait = next((f"; {note}" for note in fetched.notes if note.startswith("the server asks to wait")), "")
        told = f"Error: HTTP {code} from {name}{wait}. The answer below is an error page, not the page."
        return f"{told}\nTry: {_remedy(code)}"
    if status == "error":
        return _incomplete(fetched, name)
    if status == "known":
        return "Unchanged: the same bytes as when it was first stored."
    if status == "changed":
        return f"Changed: it differs from the earlier observation obs:{previous}; both are kept."
    return ""


def _incomplete(fetched: Fetched, name: str) -> str:
    """Return what is told of a body that is not the page: why, and what can be done about it."""
    http = fetched.http
    if http is not None and any(note.endswith(", which is not the page") for note in fetched.notes):
        return f"Error: {name} answered {http.status}, which is not the page.\nTry: another address of the page."
    why = next((note for note in fetched.notes if note.startswith(_CUT)), "").removeprefix(_CUT)
    told = f"incomplete, it was cut after {len(fetched.raw)} bytes" + (f": {escape.field(why, 200)}" if why else "")
    remedy = "read what came; the rest is beyond that limit." if "max_" in why else "fetch it again later."
    return f"Error: the body of {name} is {told}.\nTry: {remedy}"


def _remedy(code: int) -> str:
    if code in (408, 425, 429) or code >= 500:
        return "fetch it again later, or use another source."
    if code in (401, 402, 403, 407):
        return "use another source; this one asks for a permission that you don't have."
    return "check the address, or search for where the page is now."
