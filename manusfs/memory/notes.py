"""Writes a note as a Markdown file that people find by its name; never over another one."""

from __future__ import annotations

import re

from manusfs.errors import ManusfsError, UsageError
from manusfs.records import Source, sha256_hex, valid_text
from manusfs.workspace.folder import template_dir
from manusfs.workspace.paths import Root

__all__ = ["FOLDERS", "is_template", "note"]

FOLDERS = ("findings", "background", "errors")
"""What a new workspace has under `notes/`; a folder that people made there counts too."""

_NAME = re.compile(r"\w[\w -]*\Z")
_TITLE_CHARS = 200
_MANY = 1_000


def is_template(path: str, data: bytes) -> bool:
    """Return True for what `init` wrote: it says what a folder is for, and nothing that was found."""
    try:
        return (template_dir() / path).read_bytes() == data
    except (OSError, ManusfsError):
        return False


def note(root: Root, text: str, title: str, folder: str = "findings") -> str:
    """Write `text` under `title` to `notes/<folder>/<slug>.md` and return that path.

    The same note again is the same file; another one of the same name gets `-2`, `-3` and so on behind it.

    Raises:
        UsageError: no text, no title, or no such folder.
        PathRefused, StorageError: the folder can't be written.
    """
    title = " ".join(valid_text(title).split())[:_TITLE_CHARS]
    text = valid_text(text).strip("\n")
    if not title or not text.strip():
        raise UsageError("a note needs a title and a text", hint='manusfs note "the text" --title "the title"')
    if folder not in FOLDERS and (not _NAME.match(folder) or not root.is_dir(f"notes/{folder}")):
        raise UsageError(
            f"there is no folder notes/{folder}", hint=f"choose one of {', '.join(FOLDERS)}, or make it first"
        )
    data = f"# {title}\n\n{text}\n".encode()
    slug = Source.user(title).slug
    if slug == "x":
        # A title in a script that file names of ours don't hold: the name then follows from the title's hash.
        slug = f"note-{sha256_hex(title.encode())[:8]}"
    for number in range(1, _MANY):
        path = f"notes/{folder}/{slug}{'' if number == 1 else f'-{number}'}.md"
        if not root.exists(path):
            root.write_atomic(path, data)
            return path
        if root.size(path) == len(data) and root.read(path) == data:
            return path
    raise UsageError(f"notes/{folder} has {_MANY} notes called {slug!r}", hint="choose another title")
