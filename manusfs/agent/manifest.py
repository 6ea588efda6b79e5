"""What the files that people may edit hold: so that a resumed session can say what changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from manusfs.errors import NotFound, Refused
from manusfs.records import Event, escape, sha256_hex
from manusfs.workspace.paths import Root

__all__ = ["changed_event", "changes", "known", "manifest"]

_FILES = ("AGENTS.md", "todo.md")
_FOLDERS = ("notes", "skills")
_DIGITS = 16
_MOST_NAMED = 40
_HASHED_WHOLE = 8 << 20
_SAMPLE = 1 << 20


def manifest(root: Root, paths: Iterable[str] | None = None) -> dict[str, str]:
    """Return the first 16 hex digits of the SHA-256 of each of `paths`, by default of all that people may edit."""
    if paths is None:
        paths = [*_FILES, *(path for folder in _FOLDERS if root.is_dir(folder) for path in root.walk(folder))]
    hashes = {}
    for path in paths:
        try:
            if _is_watched(path) and root.exists(path):
                hashes[path] = _hash(root, path)
        except (Refused, NotFound):
            continue  # a link or a hard link, which no tool reads either, or gone since it was listed
    return hashes


def _hash(root: Root, path: str) -> str:
    """Return the hash of a file; of one above 8 MiB, that of its size, its beginning and its end."""
    size = root.size(path)
    if size <= _HASHED_WHOLE:
        return sha256_hex(root.read(path, 0, _HASHED_WHOLE))[:_DIGITS]
    ends = root.read(path, 0, _SAMPLE) + root.read(path, size - _SAMPLE)
    return sha256_hex(b"%d\0" % size + ends)[:_DIGITS]


def _is_watched(path: str) -> bool:
    return path in _FILES or path.partition("/")[0] in _FOLDERS


def known(events: Iterable[Event]) -> dict[str, str]:
    """Return the hashes as the session last knew them: what it saw at its begin, wrote, recited, or was told of.

    What people change while a run goes on is in none of these, so that the next resume tells it.
    """
    hashes: dict[str, str] = {}
    for event in events:
        files = event.data.get("files")
        if isinstance(files, Mapping):
            if event.kind in ("epoch", "changed"):
                hashes = dict(files)
            else:
                hashes.update(files)
    return hashes


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return what became of each file that is not as it was: "new", "changed" or "removed"."""
    words = {path: "new" if path not in before else "changed" for path in now if now[path] != before.get(path)}
    words.update({path: "removed" for path in before if path not in now})
    return dict(sorted(words.items()))


def changed_event(found: Mapping[str, str], files: Mapping[str, str]) -> Event:
    """Return the event that tells the model what changed; file names are untrusted and escaped."""
    lines = [f"{word}: {escape.field(path)}" for path, word in list(found.items())[:_MOST_NAMED]]
    if len(found) > _MOST_NAMED:
        lines.append(f"… and {len(found) - _MOST_NAMED} more; see list(what='notes')")
    text = (
        "<changed>\nThese files are not as this session last saw them (people may have edited them). "
        "Read those that matter before you rely on them.\n" + "\n".join(lines) + "\n</changed>"
    )
    return Event("changed", {"text": text, "paths": list(found), "files": dict(files)})
