"""What repair sets aside: it goes to `lost+found/` under a free name and is never deleted."""

from __future__ import annotations

import os

from manusfs.workspace.paths import Root, check_relative

__all__ = ["LOST", "keep_bytes", "set_aside"]

LOST = "lost+found"


def set_aside(root: Root, rel: str) -> str:
    """Move the file, link or folder at `rel` to `lost+found/`, durably, and return where it lies now.

    Raises:
        NotFound: the folder that should hold it is not there.
        StorageError: it can't be moved.
    """
    path = f"{LOST}/{_free_name(check_relative(rel)[-1])}"
    root.rename(rel, path)
    return path


def keep_bytes(root: Root, name: str, data: bytes) -> str:
    """Write `data` to a new file of `lost+found/`, durably, and return its path."""
    path = f"{LOST}/{_free_name(name)}"
    root.write_atomic(path, data)
    return path


def _free_name(name: str) -> str:
    # The slug may fill the name to its limit of 255 bytes; what tells one thing from another is at its end.
    return f"{name.encode('utf-8')[-200:].decode('utf-8', 'ignore')}~{os.urandom(4).hex()}"
