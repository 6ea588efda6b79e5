"""What stands at a path where a file of ours should: for repair, which must see what reading refuses."""

from __future__ import annotations

import os
import stat

from manusfs.errors import NotFound, PathRefused
from manusfs.workspace.fs import storage_error
from manusfs.workspace.paths import Root, check_relative, read_span

__all__ = ["is_taken", "read_second_name"]

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def is_taken(root: Root, rel: str) -> bool:
    """Return True if anything at all stands at `rel`, also a link or a pipe; links are not followed."""
    *above, name = check_relative(rel)
    try:
        with root.folders() as folders:
            os.stat(name, dir_fd=folders.open(tuple(above), create=False), follow_symlinks=False)
    except (NotFound, PathRefused, FileNotFoundError):
        return False
    except OSError as error:
        raise storage_error(error, "look at", rel) from error
    return True


def read_second_name(root: Root, rel: str) -> bytes | None:
    """Return the bytes of a plain file that has several names; None for anything else.

    Only for bytes that prove themselves: such a name may be that of a file outside.
    """
    *above, name = check_relative(rel)
    with root.folders() as folders:
        try:
            fd = os.open(name, _READ, dir_fd=folders.open(tuple(above), create=False))
        except OSError:
            return None
    try:
        status = os.fstat(fd)
        several = stat.S_ISREG(status.st_mode) and status.st_nlink > 1
        return read_span(fd, 0, status.st_size) if several else None
    finally:
        os.close(fd)
