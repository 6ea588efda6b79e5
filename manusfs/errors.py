"""Every error of the package: what went wrong, what to do next, and the exit code that says so.

ManusfsError (1)                 goes to the person
├── UsageError (2)               the command line or an argument is wrong
│   ├── BadRef                   a ref that does not parse
│   └── PastEnd (1)              a page, line or byte behind the last one
├── ConfigError (78)             settings, key or workspace missing or wrong
│   ├── NoWorkspace              no workspace here or above
│   ├── NewerFormat              written by a newer manusfs
│   ├── NotTrusted               the folder asks for what only its owner may grant
│   └── MissingExtra             an optional package is not installed
├── StopError (75)               stopped, can be resumed
│   ├── Locked                   another process holds the session or the workspace
│   └── LimitReached             a limit on turns, tokens, seconds or cost
├── Unavailable (69)             network or model can't be reached; transient
│   └── ModelError               the provider refused or failed
├── Damaged (12)                 stored bytes do not match their hashes
├── NotFound (1)                 no such observation, session, note
├── Refused (1)                  a path or an address that is not allowed
│   ├── PathRefused
│   └── AddressRefused
├── StorageError (1)             the operating system refused a read or a write
├── InvalidRequest (1)           a request that the Messages API would refuse
└── Interrupted (130)            Ctrl-C; can be resumed
ToolError                        goes to the model; `retry` says whether another argument could help
"""

from __future__ import annotations

__all__ = [
    "AddressRefused",
    "BadRef",
    "ConfigError",
    "Damaged",
    "Interrupted",
    "InvalidRequest",
    "LimitReached",
    "Locked",
    "ManusfsError",
    "MissingExtra",
    "ModelError",
    "NewerFormat",
    "NoWorkspace",
    "NotFound",
    "NotTrusted",
    "PastEnd",
    "PathRefused",
    "Refused",
    "StopError",
    "StorageError",
    "ToolError",
    "Unavailable",
    "UsageError",
]


class ManusfsError(Exception):
    """Something a person must know about: a message and, in `hint`, what to do next."""

    exit_code = 1
    transient = False
    """True if the same attempt may succeed later."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(ManusfsError):
    """The command line or an argument is wrong."""

    exit_code = 2


class BadRef(UsageError):
    """A text that should be a ref does not parse as one."""


class PastEnd(UsageError):
    """A page, a line or a byte was asked for that is behind the last one: nothing stands there."""

    exit_code = 1


class ConfigError(ManusfsError):
    """Settings, key or workspace are missing or wrong."""

    exit_code = 78


class NoWorkspace(ConfigError):
    """There is no workspace here or above."""


class NewerFormat(ConfigError):
    """The folder was written by a newer manusfs."""


class NotTrusted(ConfigError):
    """The folder asks for something that only its owner may grant."""


class MissingExtra(ConfigError):
    """An optional package is not installed."""


class StopError(ManusfsError):
    """The run stopped and can be resumed."""

    exit_code = 75


class Locked(StopError):
    """Another process holds the session or the workspace."""


class LimitReached(StopError):
    """A limit on turns, tokens, seconds or cost was reached."""


class Unavailable(ManusfsError):
    """The network or a provider can't be reached now."""

    exit_code = 69
    transient = True


class ModelError(Unavailable):
    """The model's provider refused or failed; `status` is its HTTP status, 0 when there was none."""

    def __init__(
        self, message: str, *, hint: str = "", status: int = 0, kind: str = "", transient: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.kind = kind
        self.transient = transient


class Damaged(ManusfsError):
    """Stored bytes do not match their hashes."""

    exit_code = 12


class NotFound(ManusfsError):
    """No such observation, session, note or file."""


class Refused(ManusfsError):
    """A path or an address that is not allowed."""


class PathRefused(Refused):
    """A path that leaves the workspace, or names what must not be read or written."""


class AddressRefused(Refused):
    """A URL whose scheme or resolved address is not allowed."""


class StorageError(ManusfsError):
    """The operating system refused a read or a write: the message names the file and the reason."""


class InvalidRequest(ManusfsError):
    """A request that the Messages API would refuse; found before it was sent."""


class Interrupted(ManusfsError):
    """The user pressed Ctrl-C; what was done is kept and the run can be resumed."""

    exit_code = 130


class ToolError(Exception):
    """A tool's failure as the model reads it: what went wrong, and in `hint` what to do next.

    `retry` says whether another argument could help.
    """

    def __init__(self, message: str, *, retry: bool = True, hint: str = "") -> None:
        super().__init__(message)
        self.retry = retry
        self.hint = hint
