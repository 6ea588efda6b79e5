"""A transport for httpx that goes through the guarded network, with one deadline for each request and its answer."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpcore
import httpx

from manusfs.errors import ConfigError
from manusfs.fetch.address import Allowed
from manusfs.fetch.network import Clock, GuardedBackend, Resolve, look_up

__all__ = ["DEADLINE", "GuardedTransport"]

DEADLINE = "manusfs_deadline"
"""The key of a request's extensions that holds its deadline, a time of `time.monotonic`."""

_DEFAULT_S = 60.0


class GuardedTransport(httpx.BaseTransport):
    """Sends requests over connections that `GuardedBackend` made. No proxies, no environment, HTTP/1.1.

    The total deadline holds for the answer's body too: iterate the response in the thread that made it.
    """

    def __init__(self, allowed: Allowed, *, ca_file: str = "", resolve: Resolve | None = None) -> None:
        self._clock = Clock()
        self._pool = httpcore.ConnectionPool(
            ssl_context=_context(ca_file),
            max_connections=20,
            max_keepalive_connections=10,
            keepalive_expiry=15.0,
            network_backend=GuardedBackend(allowed, self._clock, resolve or look_up),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request` and return the answer, its body still to be read.

        Raises:
            AddressRefused: the host has an address that is not allowed.
            Unavailable: no such host, or its certificate is not valid.
            httpx.TransportError: anything else that went wrong on the way.
        """
        deadline = request.extensions.get(DEADLINE, time.monotonic() + _DEFAULT_S)
        left = max(deadline - time.monotonic(), 0.001)
        inner = httpcore.Request(
            method=request.method,
            url=httpcore.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions={"timeout": {"pool": left}},
        )
        with _translated(), self._clock.until(deadline), self._clock.headers():
            answer = self._pool.handle_request(inner)
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Stream(answer, self._clock, deadline),
            request=request,
        )

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


class _Stream(httpx.SyncByteStream):
    def __init__(self, inner: httpcore.Response, clock: Clock, deadline: float) -> None:
        self._inner = inner
        self._clock = clock
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        parts = iter(self._inner.iter_stream())
        while True:
            # Set anew for each part: the thread may make other requests between two parts.
            with _translated(), self._clock.until(self._deadline):
                part = next(parts, None)
            if part is None:
                return
            yield part

    def close(self) -> None:
        self._inner.close()


def _context(ca_file: str) -> ssl.SSLContext:
    if not ca_file:
        return httpx.create_ssl_context(trust_env=False)
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise ConfigError(
            f"the certificate authorities in {ca_file!r} cannot be read: {error}", hint="give a PEM file"
        ) from error


@contextmanager
def _translated() -> Iterator[None]:
    """Turn an exception of httpcore into the one of httpx that has the same name, or the nearest base that has."""
    try:
        yield
    except (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
    ) as e:
        names = (kind.__name__ for kind in type(e).__mro__)
        kind = next(getattr(httpx, name) for name in names if hasattr(httpx, name))
        raise kind(str(e)) from e
