"""The folder on disk: its paths, its file-system seam, its locks, and what a new one is made from."""

from manusfs.workspace.folder import MARKER, Folder, find, template_dir
from manusfs.workspace.fs import FileSystem, storage_error
from manusfs.workspace.locks import WorkspaceLock, lock_session, lock_workspace, short_lock
from manusfs.workspace.lost import LOST, keep_bytes, set_aside
from manusfs.workspace.paths import Entry, Root, check_relative, read_span

__all__ = [
    "LOST",
    "MARKER",
    "Entry",
    "FileSystem",
    "Folder",
    "Root",
    "WorkspaceLock",
    "check_relative",
    "find",
    "keep_bytes",
    "lock_session",
    "lock_workspace",
    "read_span",
    "set_aside",
    "short_lock",
    "storage_error",
    "template_dir",
]
