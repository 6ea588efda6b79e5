"""Reading a file of the user's own configuration: anything may have been put in its place."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from manusfs.errors import ConfigError

__all__ = ["read_own"]

_MOST = 16 << 20


def read_own(file: Path) -> bytes | None:
    """Return the bytes of `file`, None when there is none. Links are followed: people keep their settings elsewhere.

    Raises:
        ConfigError: it can't be read, or is no plain file: a pipe in its place must not hang a command.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(file, error.strerror or str(error)) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _refused(file, "it is no plain file")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return stream.read(_MOST)
    except OSError as error:
        raise _refused(file, error.strerror or str(error)) from error
    finally:
        os.close(descriptor)


def _refused(file: Path, why: str) -> ConfigError:
    return ConfigError(f"can't read {str(file)!r}: {why}", hint="check its owner and mode, or move it away")
