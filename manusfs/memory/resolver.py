"""The one way out: from a ref, a path or a URL to the exact bytes, in pieces of any size."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from manusfs.errors import BadRef, Damaged, ManusfsError, NotFound, PastEnd, PathRefused, UsageError
from manusfs.memory.reading import Place, Reading, State, Text, block_reader, line_range, reading
from manusfs.records import Meta, MsgRef, ObsRef, PathRef, Ref, Source, Span, parse_ref

# Reading a stored span is done thousands of times from the command line: what only showing, messages or repair need
# is imported in the functions that do that.
if TYPE_CHECKING:
    from manusfs.memory.recovery import Recovered, Recovery
    from manusfs.records import Part
    from manusfs.store import Index, Observations
    from manusfs.workspace import Folder
from manusfs.workspace.twins import twin

__all__ = ["Resolved", "Resolver"]

_URL = re.compile(r"https?://", re.IGNORECASE)
_SHORT = re.compile(r"obs:([0-9a-f]{4,11})((?:[/@].*)?)\Z", re.DOTALL)
_OBSERVATION_FOLDER = re.compile(r"observations/(?:[^/]+/)+[^/]*-([0-9a-f]{12,64})/?\Z")
_PRIVATE = ".manusfs"
_TAIL_CHARS = 2_000
_TAIL_SHARE = 5


@dataclass(frozen=True, slots=True)
class Resolved:
    """The bytes of a ref, and whether they are those that were stored."""

    data: bytes
    state: State
    ref: str
    total: int
    """Bytes of the whole view."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A text that can be read in pieces."""

    text: Text
    ref: Ref
    """Without a span."""
    state: State = "stored"
    meta: Meta | None = None
    message: str = ""


class Resolver:
    """Gives the bytes behind refs. What does not match its hash is repaired if that can be proved, else told."""

    def __init__(
        self,
        folder: Folder,
        observations: Observations,
        index: Index,
        recovery: Callable[[], Recovery] | None = None,
        refresh: Callable[[], object] | None = None,
    ) -> None:
        """Take the parts of one workspace.

        `recovery` gives what is tried when a body is damaged or missing; without it, only the tree is. `refresh`
        brings the index up to date before a URL is looked up in it.
        """
        self._folder = folder
        self._observations = observations
        self._index = index
        self._refresh = refresh
        self._make_recovery = recovery

    def parse(self, text: str) -> Ref:
        """Return the ref that `text` means: a ref, the beginning of an id, a path, or a URL's newest observation.

        Raises:
            BadRef: it begins like a ref and is none, or begins several ids.
            NotFound: a URL of which nothing is stored.
        """
        text = text.strip()
        if _URL.match(text):
            return self._newest(text)
        try:
            ref = parse_ref(text)
        except BadRef:
            match = _SHORT.match(text)
            if match is None:
                raise
            return parse_ref(f"obs:{self._observations.complete_id(match[1])}{match[2]}")
        if isinstance(ref, PathRef) and (match := _OBSERVATION_FOLDER.match(ref.path)):
            return ObsRef(match[1])
        return ref

    def data(self, ref: Ref) -> bytes:
        """Return the bytes of `ref` as they are stored; nothing is repaired and no network is asked.

        Raises:
            NotFound, Damaged: they are not there, or not the right ones.
        """
        opened = self._open(ref)
        return opened.text.read(_within(ref, opened.text.total))

    def url(self, id: str) -> str:
        """Return the URL of the observation `id`, empty when it has none."""
        return self._observations.meta(id).source.url

    def place(self, ref: ObsRef) -> Place:
        """Return where people find the first byte of `ref`: file and line, URL and page.

        Raises:
            NotFound, Damaged: it is not there, or not whole.
        """
        opened = self._open_view(ref.whole)
        meta = self._observations.meta(ref.id)
        start = ref.span.start if ref.span is not None else 0
        page = sum(at <= start for at in meta.pages) if ref.view == "text" else 0
        url = meta.source.url if meta.source.kind == "web" else ""
        return Place(f"{meta.folder}/{meta.files[ref.view].name}", opened.text.line_of(start), url, page)

    def resolve(self, ref: Ref | str, *, network: bool = True) -> Resolved:
        """Return the bytes of `ref` and their state; of a changed source, those of the new observation, whole.

        Raises:
            NotFound, Damaged: they are not there or not the right ones, and nothing could bring them back.
        """
        ref = self.parse(ref) if isinstance(ref, str) else ref
        try:
            opened = self._open(ref)
            data = opened.text.read(_within(ref, opened.text.total))
        except (Damaged, NotFound) as error:
            opened = self._recovered(ref, error, network=network)
            data = opened.text.read(_span_after(ref, opened))
        return Resolved(data, opened.state, str(opened.ref), opened.text.total, opened.message)

    def read(
        self,
        ref: Ref | str,
        start: int = 0,
        limit: int | None = None,
        *,
        chars: int | None = None,
        lines: Sequence[int] | None = None,
        page: int | None = None,
        raw: bool = False,
        tail: bool = False,
        network: bool = True,
    ) -> Reading:
        """Return the piece of `ref` from byte `start` on, of at most `limit` bytes and `chars` characters.

        `lines` (first and perhaps last, from 1) or `page` (from 1) choose a part instead; `start` then goes on inside
        it. With `raw` the original bytes are read. With `tail` an end that looks important is named in `Reading.tail`
        when there is more than fits. Pieces end on code-point borders and join to the exact whole.

        Raises:
            BadRef, UsageError, PastEnd: no ref; a page or line that can't be; a page behind the last.
            NotFound, Damaged, Refused: it is not there, not the right bytes, or not to be read.
        """
        if start < 0 or (limit is not None and limit < 0):
            raise UsageError("offset and limit count bytes from 0", hint="leave them out to read from the beginning")
        ref = self.parse(ref) if isinstance(ref, str) else ref
        if raw and isinstance(ref, ObsRef):
            ref = replace(ref, view="raw")
        wish = _Wish(start, limit, chars, lines, page, tail)
        try:
            return _piece(self._open(ref), ref, wish)
        except (Damaged, NotFound) as error:
            if not isinstance(ref, ObsRef):
                raise
            opened = self._recovered(ref, error, network=network)
        if opened.state == "changed":
            ref, wish = opened.ref, replace(wish, start=0, lines=None, page=None)
        return _piece(opened, ref, wish)

    def show(self, made: Reading, *, cite: bool = False) -> tuple[Part, str]:
        """Return how a reading stands in a transcript, and its text as the model sees it.

        With `cite`, what an observation holds stands in requests as evidence that the model can cite by itself.
        """
        from manusfs.memory.render import Frame, body_text, frame
        from manusfs.memory.stubs import read_part, title_of
        from manusfs.records import TextPart

        tail_data = b"" if made.tail is None else self.data(replace(self.parse(made.ref), span=made.tail))  # type: ignore[arg-type]
        if made.meta is not None and made.state != "gone":
            ref = ObsRef(made.meta.id, made.view)
            spans = [made.span] if made.tail is None else [made.span, made.tail]
            return read_part(
                made.meta,
                ref,
                spans,
                lambda span: made.data if span == made.span else tail_data,
                state=made.state,
                lines=made.lines,
                page=made.page,
                cite=title_of(made.meta) if cite else "",
            )
        about = Frame(made.ref, made.view, made.total, made.lines, made.state, made.page)
        text = frame(about, made.span, body_text(made.data), made.tail, body_text(tail_data))
        return TextPart(text), text

    def mend(self, ref: ObsRef, *, network: bool = True) -> bool:
        """Return True if the view of `ref` is whole again after what could be tried."""
        return self._recovery().mend(ref, network=network)

    def _newest(self, url: str) -> ObsRef:
        if self._refresh is not None:
            self._refresh()
        try:
            id = self._index.latest(Source.web(url).key)
        except ValueError as error:
            raise BadRef(f"not a URL: {url!r}", hint="give the whole address, with https://") from error
        if id is None:
            raise NotFound(f"nothing is stored of {url!r}", hint="fetch it first (`manusfs add URL`)")
        return ObsRef(id)

    def _open(self, ref: Ref) -> _Opened:
        if isinstance(ref, ObsRef):
            return self._open_view(ref)
        if isinstance(ref, MsgRef):
            data = self._message(ref).encode("utf-8", "surrogatepass")
            return _Opened(Text.of(data), replace(ref, span=None))
        return _Opened(Text.of(self._file(ref.path)), ref)

    def _open_view(self, ref: ObsRef) -> _Opened:
        meta = self._observations.meta(ref.id)
        file = meta.files.get(ref.view)
        if file is None:
            raise _no_view(meta, ref.view)
        read = block_reader(lambda span: self._observations.read(ref.id, ref.view, span), file.size)
        return _Opened(Text(file.size, read, file.newlines), ref.whole, meta=meta)

    def _message(self, ref: MsgRef) -> str:
        from manusfs.memory.renderer import Renderer
        from manusfs.memory.transcript_text import block_text, event_text, events_text
        from manusfs.session import Transcript, read_event

        render = Renderer(self._observations).text
        try:
            if ref.last_seq is None:
                event = read_event(self._folder, ref.session, ref.seq)
                return event_text(event, render) if ref.block is None else block_text(event, ref.block, ref, render)
            with Transcript.open(self._folder, ref.session) as transcript:
                events = [event for event in transcript.events if ref.seq <= event.seq <= ref.last_seq]
            if events:
                return events_text(events, render)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # Whole by its checksum and still no event of ours: a stranger or a newer version wrote it.
            raise Damaged(f"{ref} is no event that this version can read", hint="run `manusfs verify`") from error
        raise NotFound(f"{ref} holds no events", hint=f"`manusfs show {ref.session}` lists them")

    def _file(self, path: str) -> bytes:
        if path.split("/")[0] == _PRIVATE:
            raise PathRefused(f"{path!r} is derived and private", hint="read notes, reports or observations")
        if self._folder.root.is_dir(path):
            raise UsageError(f"{path!r} is a folder", hint="list what is in it, and read a file")
        try:
            return self._folder.root.read_edited(path)
        except NotFound:
            # A copy on another system may have written the same name otherwise.
            if (same := twin(self._folder.root, path)) is None:
                raise
            return self._file(same)

    def _recovery(self) -> Recovery:
        from manusfs.memory.recovery import Recovery

        if self._make_recovery is None:
            return Recovery(self._folder, self._observations, self._index)
        return self._make_recovery()

    def _recovered(self, ref: Ref, error: ManusfsError, *, network: bool) -> _Opened:
        if not isinstance(ref, ObsRef):
            raise error
        found: Recovered = self._recovery().recover(ref.id, ref.view, error, network=network)
        if found.meta is None:
            return _Opened(Text.of(b""), ref.whole, found.state, None, found.message)
        place = ref.whole if found.meta.id == ref.id else ObsRef(found.meta.id)
        return _Opened(Text.of(found.data), place, found.state, found.meta, found.message)


def _no_view(meta: Meta, view: str) -> UsageError:
    has = ", ".join(f"obs:{meta.id}{'' if view == 'text' else f'/{view}'}" for view in meta.files if view != "raw")
    bytes_ = f"its original bytes are obs:{meta.id}/raw (`manusfs read obs:{meta.id} --raw`)"
    if view == "text":
        return UsageError(
            f"obs:{meta.id} has no text: {meta.no_text}", hint=f"{f'it has {has}; ' if has else ''}{bytes_}"
        )
    return UsageError(f"obs:{meta.id} has no view {view!r}", hint=f"it has {has}; {bytes_}" if has else bytes_)


@dataclass(frozen=True, slots=True)
class _Wish:
    """What piece of a text is wanted."""

    start: int
    limit: int | None
    chars: int | None
    lines: Sequence[int] | None
    page: int | None
    tail: bool


def _piece(opened: _Opened, ref: Ref, wish: _Wish) -> Reading:
    text = opened.text
    bounds = _bounds(opened, ref, wish)
    start = max(bounds.start, wish.start)
    span = text.piece(start, end=bounds.end, limit=wish.limit, chars=wish.chars)
    tail = None
    if wish.tail and wish.chars and wish.limit is None and span.end < bounds.end:
        tail = _tail(text, span, bounds.end, wish.chars)
        if tail is not None:
            room = max(1, wish.chars - _tail_chars(wish.chars))
            span = text.piece(start, end=min(bounds.end, tail.start), chars=room)
    return reading(
        text,
        str(opened.ref),
        span,
        state=opened.state,
        page="" if wish.page is None else str(wish.page),
        message=opened.message,
        view=ref.view if isinstance(ref, ObsRef) else "text",
        meta=opened.meta,
        tail=tail,
    )


def _bounds(opened: _Opened, ref: Ref, wish: _Wish) -> Span:
    if wish.page is not None:
        return _page(opened, wish.page)
    if wish.lines is not None:
        first, last = line_range(wish.lines)
        if last is not None and last < first:
            raise UsageError(f"no lines {first}-{last}", hint="give the first line, then the last")
        found = opened.text.line_span(first, last if last is not None else first)
        return found if last is not None else Span(found.start, opened.text.total)
    return _within(ref, opened.text.total)


def _page(opened: _Opened, page: int) -> Span:
    meta = opened.meta
    pages = len(meta.pages) if meta is not None else 0
    if meta is None or not pages or not isinstance(opened.ref, ObsRef) or opened.ref.view != "text":
        raise UsageError(f"{opened.ref} has no pages", hint="read it by offset or by lines")
    if not 1 <= page <= pages:
        raise PastEnd(f"{opened.ref} has pages 1 to {pages}, not {page}", hint=f"its last page is {pages}")
    return meta.page_span(page)


def _tail(text: Text, head: Span, end: int, chars: int) -> Span | None:
    """Return the end of the text if it looks important: from the beginning of a line, if one begins near."""
    wanted = _tail_chars(chars)
    start = max(head.end, text.border(max(0, end - wanted)))
    data = text.read(Span(start, end))
    newline = data.find(b"\n", 0, len(data) // 2)
    if newline >= 0:
        start, data = start + newline + 1, data[newline + 1 :]
    from manusfs.memory.stubs import important_tail

    return Span(start, end) if data and important_tail(data.decode("utf-8", "replace")) else None


def _tail_chars(chars: int) -> int:
    return min(_TAIL_CHARS, chars // _TAIL_SHARE)


def _within(ref: Ref, total: int) -> Span:
    span = getattr(ref, "span", None)
    return Span(0, total) if span is None else Span(min(span.start, total), min(span.end, total))


def _span_after(ref: Ref, opened: _Opened) -> Span:
    """Return what to give of a recovered text: the same span of the same bytes, all of other ones."""
    if opened.state in ("changed", "gone"):
        return Span(0, opened.text.total)
    return _within(ref, opened.text.total)
