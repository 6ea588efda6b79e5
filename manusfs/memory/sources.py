"""What people give by name: local files, URLs and standard input, told apart and read."""

from __future__ import annotations

import os
import re
import shlex
import stat
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from manusfs.errors import NotFound, PathRefused, Refused, StorageError, UsageError
from manusfs.records import Fetched, ObsRef, Source, parse_ref, valid_text
from manusfs.workspace.paths import Root

__all__ = ["classify", "from_bytes", "read_file"]

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_OURS = ("observations/", "sessions/", ".manusfs/", "lost+found/")
_PIECE = 1 << 20


def classify(text: str) -> Literal["url", "path", "-"]:
    """Return what a source given by a person is: a URL to fetch, a file, or `-` for standard input.

    Raises:
        UsageError: nothing, or a URL of a scheme that is not fetched.
    """
    text = text.strip()
    if not text:
        raise UsageError("an empty source", hint="give a URL, a file, or - for standard input")
    if text == "-":
        return "-"
    match = _SCHEME.match(text)
    if match is None:
        return "path"
    scheme = match[0].lower()
    if scheme in ("http://", "https://"):
        return "url"
    if scheme == "file://":
        return "path"
    raise UsageError(
        f"can't fetch {text!r}: only http and https", hint="give an http or https URL, or save it as a file"
    )


def from_bytes(data: bytes, label: str = "stdin", *, name: str = "") -> Fetched:
    """Return what a user gave directly, on its way to become an observation."""
    return Fetched(Source.user(label), data, name=name)


def read_file(text: str, root: Root, most: int) -> Fetched:
    """Return the plain file `text` names, a path or a file: URL; one inside the workspace keeps its relative path.

    Raises:
        NotFound: there is no such file.
        UsageError: a folder, or something that is stored already.
        Refused: no plain file, or more than `most` bytes.
        StorageError: the system refuses to read it.
    """
    path = Path(unquote(urlsplit(text).path) if text.lower().startswith("file://") else text)
    inside = _inside(path, root)
    if inside is not None:
        _check_inside(inside, path)
        size = root.size(inside)
        _check_size(size, most, path)
        return Fetched(Source.inside(inside), root.read(inside), name=path.name)
    data = _read_outside(path, most)
    name = valid_text(os.fsencode(path.name).decode("utf-8", "replace"))
    return Fetched(Source.file(name, os.path.abspath(path)), data, name=name)  # noqa: PTH100 - links stay as given


def _inside(path: Path, root: Root) -> str | None:
    """Return the path relative to the workspace, None when the file lies outside or is reached through a link."""
    try:
        relative = path.absolute().resolve().relative_to(Path(root.path).resolve())
    except (ValueError, OSError, RuntimeError):
        return None
    try:
        there = root.exists(relative.as_posix()) and not root.is_dir(relative.as_posix())
    except PathRefused:  # a name that no path of a workspace may have: it is read as any other file
        return None
    return relative.as_posix() if there else None


def _check_inside(inside: str, path: Path) -> None:
    if not inside.startswith(_OURS):
        return
    ref = parse_ref(inside)
    known = f"it is {ref} already" if isinstance(ref, ObsRef) else "it belongs to manusfs itself"
    raise UsageError(f"can't add {str(path)!r}: {known}", hint="add files of your own: notes, reports or any other")


def _read_outside(path: Path, most: int) -> bytes:
    try:
        # Without O_NONBLOCK a pipe without a writer would hold us for ever.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise NotFound(
            f"no such file: {str(path)!r}", hint="check the path; a URL begins with http:// or https://"
        ) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise StorageError(f"can't open {str(path)!r}: {why}", hint="check who may read it") from error
    try:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise UsageError(
                f"{str(path)!r} is a folder", hint=f"name the files: manusfs add {shlex.quote(str(path))}/*"
            )
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{str(path)!r} is no plain file", hint="send it by standard input: manusfs add - < …")
        _check_size(status.st_size, most, path)
        pieces, size = [], 0
        while piece := os.read(fd, _PIECE):
            pieces.append(piece)
            size += len(piece)
            _check_size(size, most, path)
        return b"".join(pieces)
    except OSError as error:
        raise StorageError(f"can't read {str(path)!r}: {error.strerror}", hint="copy it elsewhere first") from error
    finally:
        os.close(fd)


def _check_size(size: int, most: int, path: Path) -> None:
    if size > most:
        raise Refused(
            f"{str(path)!r} has {size} bytes; the most is {most}",
            hint="raise the setting max_body_bytes, or split the file",
        )
