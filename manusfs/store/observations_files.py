"""The files of one observation: what is to be stored, how it is hashed, and how it is read back and checked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from manusfs.errors import Damaged, NotFound, PathRefused
from manusfs.records import BLOCK_BYTES, FileMeta, Heading, HttpMeta, Meta, Source, Span, observation_id
from manusfs.workspace import Root, read_span
from manusfs.workspace.sealed import dumps, seal, unseal
from manusfs.workspace.standing import read_second_name

__all__ = ["META", "Draft", "blocks", "check", "encode_meta", "file_meta", "load_meta"]

META = "meta.json"
_HINT = "run `manusfs verify --repair`; or `manusfs add` its page or file again"
_SUFFIX = re.compile(r"[a-z0-9]{1,16}\Z")
_FILE = re.compile(r"(?:(?:text|full)\.md|raw\.[a-z0-9]{1,16})\Z")
_META_MAX = 256 << 20


@dataclass(frozen=True, slots=True)
class Draft:
    """An observation that is not stored yet. Offsets in `pages` and `outline` are bytes of `texts["text"]`."""

    source: Source
    raw: bytes
    raw_suffix: str = "bin"
    """Name of the raw file after `raw.`; anything but letters and digits becomes "bin"."""
    texts: Mapping[str, bytes] = field(default_factory=dict)
    """UTF-8 of the views "text" and "full", as far as they exist."""
    title: str = ""
    media_type: str = ""
    charset: str = ""
    tokens: int = 0
    extractor: str = ""
    complete: bool = True
    notes: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    page_labels: tuple[str, ...] = ()
    outline: tuple[Heading, ...] = ()
    http: HttpMeta | None = None
    created: str = ""
    session: str = ""
    call: str = ""
    previous: str = ""
    """The id of the earlier observation of the same source."""

    def files(self) -> tuple[dict[str, FileMeta], dict[str, bytes]]:
        """Return what `Meta.files` says and the bytes of each file; a raw body that is a view is stored once."""
        metas: dict[str, FileMeta] = {}
        bodies: dict[str, bytes] = {}
        for view in ("text", "full"):
            text = self.texts.get(view)
            if text is not None:
                metas[view] = file_meta(f"{view}.md", text)
                bodies[f"{view}.md"] = text
        same = next((view for view in metas if self.texts[view] == self.raw), None)
        if same is None:
            name = f"raw.{self.raw_suffix if _SUFFIX.match(self.raw_suffix) else 'bin'}"
            metas["raw"] = file_meta(name, self.raw)
            bodies[name] = self.raw
        else:
            metas["raw"] = metas[same]
        return metas, bodies

    def meta(self, files: dict[str, FileMeta]) -> Meta:
        """Return the Meta of this draft with the shortest id."""
        raw = files["raw"]
        return Meta(
            id=observation_id(self.source, raw.sha256),
            source=self.source,
            title=self.title,
            media_type=self.media_type,
            charset=self.charset,
            raw_sha256=raw.sha256,
            raw_size=raw.size,
            files=files,
            tokens=self.tokens,
            extractor=self.extractor,
            complete=self.complete,
            notes=self.notes,
            pages=self.pages,
            page_labels=self.page_labels,
            outline=self.outline,
            http=self.http,
            created=self.created,
            session=self.session,
            call=self.call,
            previous=self.previous,
        )


def file_meta(name: str, data: bytes) -> FileMeta:
    """Return name, size, sha256 and the sha256 and newlines of each block of `data`."""
    if len(data) <= BLOCK_BYTES:
        digest = sha256(data).hexdigest()
        return FileMeta(name, len(data), digest, (digest,) if data else (), (data.count(b"\n"),) if data else ())
    view, starts = memoryview(data), range(0, len(data), BLOCK_BYTES)
    digests = tuple(sha256(view[at : at + BLOCK_BYTES]).hexdigest() for at in starts)
    newlines = tuple(data.count(b"\n", at, at + BLOCK_BYTES) for at in starts)
    return FileMeta(name, len(data), sha256(data).hexdigest(), digests, newlines)


def encode_meta(meta: Meta) -> bytes:
    """Return the bytes of `meta.json`: one member a line, for people, and sealed like a transcript line."""
    data = meta.to_json()
    ordered = {"format": data.pop("format"), **data}
    members = b",\n".join(b'"%s":%s' % (name.encode("ascii"), dumps(value)) for name, value in ordered.items())
    return seal(members) + b"\n"


def load_meta(root: Root, path: str, id: str) -> Meta:
    """Return the Meta of the observation folder `path`, which must be the observation `id`.

    Raises:
        Damaged: `meta.json` is missing, not whole, or tells of something else.
    """
    name = f"observation {id} ({path})"
    try:
        raw = root.read(f"{path}/{META}", 0, _META_MAX)
    except (NotFound, PathRefused) as error:
        # Hard links, as backups make them: what stands there proves itself below.
        second = read_second_name(root, f"{path}/{META}") if isinstance(error, PathRefused) else None
        if second is None:
            raise Damaged(f"{name}: its {META} is missing or no plain file", hint=_HINT) from error
        raw = second
    data = unseal(raw.removesuffix(b"\n"))
    if data is None:
        raise Damaged(f"{name}: its {META} is damaged", hint=_HINT)
    try:
        meta = Meta.from_json(data)
        wrong = meta.id != id or observation_id(meta.source, meta.raw_sha256, len(id)) != id or not _sound(meta)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Damaged(f"{name}: its {META} is no description of an observation", hint=_HINT) from error
    if wrong:
        raise Damaged(f"{name}: its {META} tells of something else", hint=_HINT)
    return meta


def _sound(meta: Meta) -> bool:
    """Return True if the files are plain names and their blocks cover them; a stranger may have written the folder."""
    return meta.files["raw"].sha256 == meta.raw_sha256 and all(
        _FILE.match(file.name)
        and file.size >= 0
        and len(file.blocks) == len(file.newlines) == -(-file.size // BLOCK_BYTES)
        for file in meta.files.values()
    )


def blocks(root: Root, path: str, meta: Meta, view: str, span: Span | None) -> Iterator[bytes]:
    """Yield the checked pieces of `span` of a view, one a block.

    Raises:
        NotFound: the observation has no such view.
        Damaged: the file is missing or a block does not match its sha256.
    """
    file = meta.files.get(view)
    if file is None:
        has = ", ".join(meta.files)
        raise NotFound(f"observation {meta.id} has no view {view!r}", hint=f"it has: {has}")
    start, end = (0, file.size) if span is None else (min(span.start, file.size), min(span.end, file.size))
    try:
        fd = root.open_read(f"{path}/{file.name}")
    except (NotFound, PathRefused) as error:
        raise Damaged(f"observation {meta.id}: {path}/{file.name} is missing or no plain file", hint=_HINT) from error
    try:
        for number in range(start // BLOCK_BYTES, -(-end // BLOCK_BYTES) if end > start else 0):
            at = number * BLOCK_BYTES
            data = read_span(fd, at, min(at + BLOCK_BYTES, file.size))
            if sha256(data).hexdigest() != file.blocks[number]:
                raise Damaged(
                    f"observation {meta.id}: {path}/{file.name} does not match its hash in bytes {at}-{at + len(data)}",
                    hint=_HINT,
                )
            low, high = max(0, start - at), end - at
            yield data if low == 0 and high >= len(data) else data[low:high]
    finally:
        os.close(fd)


def check(root: Root, path: str, meta: Meta) -> tuple[str, ...]:
    """Return what is wrong with the files of an observation, one line each: every byte is read, one block at a time."""
    problems = []
    for view, file in {file.name: (view, file) for view, file in meta.files.items()}.values():
        whole = sha256()
        try:
            for piece in blocks(root, path, meta, view, None):
                whole.update(piece)
            if whole.hexdigest() != file.sha256 or root.size(f"{path}/{file.name}") != file.size:
                problems.append(f"observation {meta.id}: {path}/{file.name} does not match its size or hash")
        except Damaged as error:
            problems.append(str(error))
    return tuple(problems)
