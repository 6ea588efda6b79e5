"""The model behind a Messages API: the provider's own, a gateway's, or a local server's that speaks the same."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from manusfs.errors import ConfigError, InvalidRequest, ModelError
from manusfs.messages import Delta, Profile, Reply, Request
from manusfs.models.failures import Backoff, failures, model_error
from manusfs.models.profiles import Described
from manusfs.models.profiles import profile as profile_of
from manusfs.models.stream import BrokenStream, Collector

if TYPE_CHECKING:
    import anthropic

__all__ = ["OFFICIAL_URL", "AnthropicModel", "Connection"]

OFFICIAL_URL = "https://api.anthropic.com"
_CONNECTION_RETRIES = 2


@dataclass(frozen=True, slots=True)
class Connection:
    """How the server is spoken to."""

    timeout_s: float = 600.0
    """Longest silence of the server, within an answer too. Local models may think for minutes before the first word."""
    connect_s: float = 10.0
    """Longest wait for the connection itself."""
    backoff: Backoff = field(default_factory=Backoff)
    open_telemetry: bool = False
    """Let the SDK emit OpenTelemetry spans to the program's tracer. Off, whatever the environment says."""


class AnthropicModel:
    """A model that is asked through the Anthropic SDK, which is imported with the first request."""

    def __init__(
        self,
        name: str,
        *,
        key: str = "",
        base_url: str = "",
        profile: Profile | None = None,
        retries: int = 5,
        thinking: Mapping[str, Any] | None = None,
        connection: Connection | None = None,
    ) -> None:
        """Take the model's `name` and the `key` to use; nothing is sent yet.

        `base_url` is a server in place of the provider; a local one may need no key. `retries` is how often a turn is
        asked for again after a failure that can pass by waiting. `thinking` stands in place of the profile's.

        Raises:
            ConfigError: there is no key for the provider, it has impossible characters, or `base_url` is no http URL.
        """
        self.base_url = _checked_url(base_url)
        if not key.strip() and self.base_url == OFFICIAL_URL:
            raise ConfigError(
                f"model {name!r} needs an API key",
                hint="set ANTHROPIC_API_KEY (a program: Agent(…, key=…)), or use `--model offline`, which needs no key",
            )
        self.profile = profile or profile_of(name)
        if thinking is not None:
            self.profile = replace(self.profile, thinking=dict(thinking))
        self._key = _checked_key(key) or "none"
        self._retries = retries
        self._connection = connection or Connection()
        self._opened: anthropic.Anthropic | None = None

    def __repr__(self) -> str:
        return f"AnthropicModel({self.profile.name!r}, base_url={self.base_url!r})"

    def reply(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Reply:
        """Return the answer to `request`, streamed; its blocks are exactly what came.

        An attempt that fails in a way that can pass is made again after a wait, told as `Delta("restart", why)`: what
        came so far is dropped, so that no half answer is ever kept. `on_delta` may raise to stop: the connection is
        closed and the exception goes on to the caller.

        Raises:
            ModelError: the provider refused or failed, after the retries. `kind` is "context_overflow" for a prompt
                that is too long, "connection", "timeout" or "stream" where nobody answered, else the provider's word.
            InvalidRequest: it holds text that can't be encoded.
        """
        tell = on_delta or _ignore
        expected = failures()
        for attempt in range(1, self._retries + 2):
            try:
                return self._attempt(request, tell)
            except expected as error:
                failed, asked_s = model_error(error, self.base_url)
                wait_s = self._wait_s(failed, asked_s, attempt)
                if wait_s is None:
                    raise failed from error
                tell(Delta("restart", f"{_short(failed)}; trying again in {wait_s:.1f} s"))
            time.sleep(wait_s)
        raise AssertionError("the last attempt returns or raises")

    def describe(self) -> Described | None:
        """Return what the server's models endpoint says of this model, None when it has no such endpoint or model.

        Raises:
            ModelError: the server can't be reached, or refuses the key.
        """
        try:
            found = self._client().with_options(timeout=self._connection.connect_s).models.retrieve(self.profile.name)
        except failures() as error:
            failed, _ = model_error(error, self.base_url)
            if failed.status in (400, 404, 405, 501):
                return None
            raise failed from error
        return Described(window=found.max_input_tokens or 0, max_output=found.max_tokens or 0)

    def offered(self) -> tuple[str, ...] | None:
        """Return the models that the server lists, its newest first; None when it has no such list.

        Raises:
            ModelError: the server can't be reached, or refuses the key.
        """
        try:
            page = self._client().with_options(timeout=self._connection.connect_s).models.list(limit=100)
            return tuple(str(model.id) for model in page.data or ())
        except failures() as error:
            failed, _ = model_error(error, self.base_url)
            if failed.status in (400, 404, 405, 501):
                return None
            raise failed from error

    def close(self) -> None:
        """Close the connections."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _attempt(self, request: Request, tell: Callable[[Delta], None]) -> Reply:
        collector = Collector()
        with self._stream(request) as events:
            for event in events:
                if (delta := collector.feed(event)) is not None:
                    tell(delta)
        return collector.reply()

    @contextmanager
    def _stream(self, request: Request) -> Iterator[Iterator[dict[str, Any]]]:
        """Open the answer to `request`: the JSON of its events, as it came and not as the SDK models it."""
        from anthropic import Stream

        body = request.to_json()
        named = {name: body.pop(name) for name in ("model", "max_tokens", "messages")}
        opened = self._client().messages.with_streaming_response.create(**named, stream=True, extra_body=body)
        with ExitStack() as stack:
            try:
                response = stack.enter_context(opened)
            except UnicodeEncodeError as error:
                raise InvalidRequest(f"the request holds text that is not valid Unicode: {error}") from error
            kind = response.headers.get("content-type", "")
            if "text/event-stream" not in kind:
                raise ModelError(
                    f"{self.base_url} answered with {kind or 'no content type'!r} where a stream of events should be",
                    hint="check --base-url: it must be a server that speaks the Anthropic Messages API",
                    kind="not_messages_api",
                )
            yield _events(response.parse(to=Stream[object]))

    def _wait_s(self, failed: ModelError, asked_s: float | None, attempt: int) -> float | None:
        limit = min(self._retries, _CONNECTION_RETRIES) if failed.kind == "connection" else self._retries
        return self._connection.backoff.wait_s(attempt, asked_s) if failed.transient and attempt <= limit else None

    def _client(self) -> anthropic.Anthropic:
        if self._opened is None:
            import anthropic

            # Everything is said explicitly, so that the SDK takes no key, profile or address from the environment.
            # It does not retry: our loop does, tells it, and bounds the wait that a server may ask for.
            # Some gateways read the key only from X-Api-Key; the provider itself gets it once.
            self._opened = anthropic.Anthropic(
                api_key=self._key,
                base_url=self.base_url,
                timeout=anthropic.Timeout(self._connection.timeout_s, connect=self._connection.connect_s),
                max_retries=0,
                default_headers={} if self.base_url == OFFICIAL_URL else {"X-Api-Key": self._key},
                open_telemetry=None if self._connection.open_telemetry else False,
            )
            # whoever forgets to close a model must not leave its connections to the garbage collector's order
            weakref.finalize(self, self._opened.close)
        return self._opened


def _checked_url(base_url: str) -> str:
    url = (base_url or OFFICIAL_URL).strip().rstrip("/").removesuffix("/v1")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"not the base URL of a model server: {base_url!r}", hint="for example http://127.0.0.1:8080")
    return url


def _checked_key(key: str) -> str:
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("the API key has characters that no key has", hint="copy it again, without blanks or quotes")
    return key


def _events(stream: Any) -> Iterator[dict[str, Any]]:
    """Yield the events of `stream`; text that is no JSON, or no UTF-8, is a broken stream."""
    try:
        for event in stream:
            if isinstance(event, dict):
                yield event
    except ValueError as error:
        raise BrokenStream(f"an event that can't be read: {error}") from error


def _short(failed: ModelError) -> str:
    """Return why an attempt failed, for a line that a person watches."""
    return f"HTTP {failed.status} {failed.kind}" if failed.status else failed.kind.replace("_", " ")


def _ignore(delta: Delta) -> None:
    del delta
