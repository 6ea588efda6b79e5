"""How a provider is asked: the guarded network, its own host allowed, no redirects, so that a key goes nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import httpx

from manusfs.errors import AddressRefused, ConfigError, ManusfsError, UsageError
from manusfs.fetch.address import Allowed
from manusfs.fetch.exchange import Answer, Asking, exchange
from manusfs.fetch.providers.base import ProviderOptions, failed
from manusfs.fetch.retry import backoff_s, passes, passes_by_waiting, reason, retry_after_s
from manusfs.fetch.transport import GuardedTransport
from manusfs.fetch.urls import brief, checked

__all__ = ["Line"]

_MOST_BYTES = 5_000_000
_TIMEOUT_S = 20.0
_PATIENCE_S = 30.0
_HINTS = {
    401: "check its key: it was not accepted",
    402: "its plan is used up: wait for the next period, or use another provider",
    403: "check its key and plan: access was refused",
    404: "check its address",
    429: "it was asked too often: wait, or use another provider",
    432: "its plan is used up: wait for the next period, or use another provider",
    433: "its pay-as-you-go limit is reached: raise it, or use another provider",
}


class Line:
    """A line to one provider at `base_url`.

    Raises:
        ConfigError: `base_url` is no URL.
    """

    def __init__(
        self, name: str, base_url: str, options: ProviderOptions, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._name = name
        self._options = options
        self._sleep = sleep
        try:
            base = checked(base_url)
        except (UsageError, AddressRefused) as error:
            raise ConfigError(f"the address of {name} is not usable: {error}", hint=error.hint) from error
        self.base = str(base).rstrip("/")
        host = f"[{base.host}]" if ":" in base.host else base.host
        allowed = [f"{host}:{base.port or (443 if base.scheme == 'https' else 80)}"] if options.base_url else []
        self._transport = GuardedTransport(Allowed(allowed), ca_file=options.fetch.ca_file)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def ask(
        self,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        hints: Mapping[int, str] | None = None,
    ) -> bytes:
        """Return the body of a good answer to `path`.

        `hints` says, by status, what to do about an answer that is none.

        Raises:
            Unavailable: there was no good answer, after all tries.
        """
        url = httpx.URL(f"{self.base}{path}", params=dict(params or {}))
        retries = self._options.fetch.retries
        for attempt in range(1, retries + 2):
            try:
                answer = self._asked(url, {"Accept": "application/json", **(headers or {})}, content)
            except httpx.TransportError as error:
                if attempt > retries or not passes_by_waiting(error):
                    what = reason(error) or type(error).__name__
                    raise failed(
                        self._name,
                        f"{brief(self.base)!r} could not be reached: {what}",
                        f"check that {self._name} runs at that address and that you are online",
                        transient=True,
                    ) from error
                self._sleep(backoff_s(attempt))
                continue
            asked = retry_after_s(answer.headers) or 0.0
            if attempt > retries or not passes(answer.status) or asked > _PATIENCE_S:
                break
            self._sleep(max(asked, backoff_s(attempt)))
        return self._good(answer, {**_HINTS, **(hints or {})})

    def _asked(self, url: httpx.URL, headers: Mapping[str, str], content: bytes | None) -> Answer:
        seconds = min(self._options.fetch.timeout_s, _TIMEOUT_S)
        asking = Asking.within(seconds, {"User-Agent": self._options.fetch.agent}, _MOST_BYTES, _MOST_BYTES)
        try:
            return exchange(self._transport, url, asking, more=headers, content=content)
        except ManusfsError as error:
            raise failed(self._name, str(error), error.hint) from error

    def _good(self, answer: Answer, hints: Mapping[int, str]) -> bytes:
        other = "try again later, or use another provider"
        if answer.location:
            raise failed(self._name, f"it answered {answer.status}, a redirect, which is not followed", hints[404])
        if answer.status != 200:
            said = " ".join(answer.body.data[:2_000].decode("utf-8", "replace").split())
            said = "".join(char for char in said if char.isprintable())[:200]
            what = f"HTTP {answer.status}" + (f", with the words {said!r}" if said and not said.startswith("<") else "")
            wait = retry_after_s(answer.headers)
            hint = hints.get(answer.status, other) + (f" (it asks to wait {wait:.0f} s)" if wait else "")
            raise failed(self._name, what, hint, transient=passes(answer.status))
        if not answer.body.complete:
            raise failed(self._name, "; ".join(answer.body.notes), other, transient=True)
        return answer.body.data
