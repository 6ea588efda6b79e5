"""What the SDK raises, told as our errors: what went wrong, whether waiting helps and for how long."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from manusfs.errors import ModelError
from manusfs.models.stream import BrokenStream

if TYPE_CHECKING:
    import anthropic

__all__ = ["Backoff", "failures", "model_error"]

_OVERFLOW_WORDS = ("prompt is too long", "exceed context limit", "context size", "maximum context length")
_TRANSIENT_STATUS = frozenset({408, 409, 429})
_TRANSIENT_KINDS = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_HINTS = {
    401: "the key was not accepted: check ANTHROPIC_API_KEY (`manusfs doctor` says where it was found)",
    402: "the account can't be billed: see the provider's billing page",
    403: "the key may not use this model or feature: check the account, or choose another --model",
    404: "check --model and --base-url (`manusfs doctor` lists what the provider offers)",
    413: "the request is too large: compact the session or give fewer images",
    429: "the provider limits this key's rate: wait a while",
    529: "the provider is overloaded: wait a while",
}


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before an attempt is made again, in seconds."""

    first_s: float = 1.0
    """Wait after the first failure; doubles each time, less up to a quarter of jitter."""
    most_s: float = 30.0
    """Longest wait of our own choosing."""
    longest_s: float = 120.0
    """Longest wait a provider may ask for; one that asks for more ends the run, which can be resumed."""

    def wait_s(self, attempt: int, asked_s: float | None) -> float | None:
        """Return the wait after failure number `attempt` (from 1), None when the provider asks for too long a one."""
        if asked_s is not None:
            return asked_s if asked_s <= self.longest_s else None
        longest = min(self.first_s * 2.0 ** min(attempt - 1, 20), self.most_s)
        return longest * (1 - 0.25 * random.random())  # noqa: S311 (jitter, not a secret)


def failures() -> tuple[type[Exception], ...]:
    """Return the classes that `model_error` understands; imports the SDK."""
    import anthropic
    import httpx2  # the SDK's own transport: a connection that breaks in mid-stream shows as one of its errors

    return anthropic.APIError, httpx2.TransportError, httpx2.StreamError, httpx2.DecodingError, BrokenStream


def model_error(error: Exception, url: str) -> tuple[ModelError, float | None]:
    """Return `error` as a ModelError that names `url`, and the seconds that the provider asks to wait, if it does."""
    import anthropic

    if isinstance(error, anthropic.APIStatusError):
        return _status_error(error, url), _asked_s(error)
    if isinstance(error, anthropic.APITimeoutError):
        return _connection_error(f"no answer in time from {url}", "timeout"), None
    if isinstance(error, anthropic.APIConnectionError):
        reason = error.__cause__ or error
        return _connection_error(f"can't connect to {url}: {reason}", "connection"), None
    return _connection_error(f"the answer from {url} broke off: {error or type(error).__name__}", "stream"), None


def _connection_error(message: str, kind: str) -> ModelError:
    hint = "check the network, --base-url, and that the server runs"
    return ModelError(message, hint=hint, kind=kind, transient=True)


def _status_error(error: anthropic.APIStatusError, url: str) -> ModelError:
    # an error event within a stream arrives with the stream's own status, 200
    status = 0 if error.status_code < 400 else error.status_code
    said = error.api_message or _first_line(error.message)
    kind = _kind(error, status, said)
    place = f"HTTP {status}" if status else "in mid-answer"
    hint = _HINTS.get(status, "")
    if kind == "context_overflow":
        hint = "the model's window is smaller than was thought: set `window`, or compact the session"
    return ModelError(
        f"{url} refused the request ({place}, {kind}): {said}",
        hint=hint,
        status=status,
        kind=kind,
        transient=_transient(error, status, kind),
    )


def _kind(error: anthropic.APIStatusError, status: int, said: str) -> str:
    # the API has no code for a prompt that is too long, and other servers have words of their own
    if status == 413 or (status == 400 and any(words in said.lower() for words in _OVERFLOW_WORDS)):
        return "context_overflow"
    return str(error.error_code or error.type or "error")


def _transient(error: anthropic.APIStatusError, status: int, kind: str) -> bool:
    said: Any = error.response.headers.get("x-should-retry")
    if said in ("true", "false") and status:
        return bool(said == "true")
    if not status:
        return error.type in _TRANSIENT_KINDS
    return kind != "context_overflow" and (status in _TRANSIENT_STATUS or status >= 500)


def _asked_s(error: anthropic.APIStatusError) -> float | None:
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(error.response.headers[name]) * unit_s)
        except (KeyError, ValueError):
            continue  # not there, or a date: our own wait will do
    return None


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:300]
