"""The only place that dials: names resolved once, every answer judged, the very address connected to, all on one clock.

A check before the connection leaves a gap in which a name may change its address. Here the address that was judged is
the one that is dialled, while TLS, SNI and the Host header stay on the name.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpcore

from manusfs.errors import AddressRefused, Unavailable
from manusfs.fetch.address import Allowed

__all__ = ["Clock", "GuardedBackend", "HeadersTooLong", "Resolve", "look_up"]

Resolve = Callable[[str, int], Sequence[str]]
"""From host and port to the texts of all its addresses; raises socket.gaierror."""

_CONNECT_S = 10.0
"""Most time for one of several addresses, so that a dead one leaves time for the next."""
_ADDRESSES = 4
_HEADER_BYTES = 100_000
_LOOKUPS = threading.BoundedSemaphore(32)


class HeadersTooLong(httpcore.RemoteProtocolError):
    """The headers of an answer, or the interim answers before it, go over the limit."""


class Clock:
    """The deadline, and what is left of the header limit, of the request that this thread is making."""

    def __init__(self) -> None:
        self._local = threading.local()

    @contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Let every network operation of this thread end by `deadline`, a time of `time.monotonic`."""
        before = getattr(self._local, "deadline", None)
        self._local.deadline = deadline
        try:
            yield
        finally:
            self._local.deadline = before

    @contextmanager
    def headers(self) -> Iterator[None]:
        """Count what this thread reads as headers, and refuse more than 100,000 bytes of them."""
        self._local.budget = _HEADER_BYTES
        try:
            yield
        finally:
            self._local.budget = None

    def left(self, late: type[httpcore.TimeoutException], timeout: float | None = None) -> float:
        """Return the seconds left, at most `timeout`; raise `late` when there are none."""
        seconds: float = self._local.deadline - time.monotonic()
        if seconds <= 0:
            raise late("the total time is used up")
        return seconds if timeout is None else min(seconds, timeout)

    def count(self, size: int) -> None:
        """Note that `size` bytes were read."""
        budget = getattr(self._local, "budget", None)
        if budget is None:
            return
        if budget <= 0:
            raise HeadersTooLong(f"the headers are longer than {_HEADER_BYTES} bytes")
        self._local.budget = budget - size


class _Stream(httpcore.NetworkStream):
    """A connection whose every operation ends by the clock's deadline, however many bytes trickle in."""

    def __init__(self, inner: httpcore.NetworkStream, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, self._clock.left(httpcore.ReadTimeout, timeout))
        self._clock.count(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._clock.left(httpcore.WriteTimeout, timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = self._clock.left(httpcore.ConnectTimeout, timeout)
        try:
            return _Stream(self._inner.start_tls(ssl_context, server_hostname, seconds), self._clock)
        except httpcore.ConnectError as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                raise Unavailable(
                    f"the certificate of {server_hostname!r} is not valid: {error.__cause__.verify_message}",
                    hint="the site is misconfigured, or something stands between you and it; it is not fetched",
                ) from error
            raise

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class GuardedBackend(httpcore.NetworkBackend):
    """Connects to public addresses, and to what `allowed` adds."""

    def __init__(self, allowed: Allowed, clock: Clock, resolve: Resolve) -> None:
        self._allowed = allowed
        self._clock = clock
        self._resolve = resolve
        self._real = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Return a connection to `host`.

        Raises:
            AddressRefused: any of the addresses of `host` is not allowed; nothing was dialled then.
            Unavailable: there is no such name.
        """
        addresses = self._judged(host, port)
        error: Exception = httpcore.ConnectError(f"{host!r} has no address")
        for address in addresses[:_ADDRESSES]:
            seconds = self._clock.left(httpcore.ConnectTimeout, min(timeout or _CONNECT_S, _CONNECT_S))
            try:
                stream = self._real.connect_tcp(address, port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failure:
                error = failure
                continue
            self._check_peer(stream, address)
            return _Stream(stream, self._clock)
        raise error

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Refuse: nothing that is fetched lives behind a file."""
        raise AddressRefused("unix sockets are not fetched from")

    def _judged(self, host: str, port: int) -> list[str]:
        addresses = list(dict.fromkeys(self._resolved(host, port)))
        refused = [address for address in addresses if not self._allowed.permits(host, port, address)]
        if refused:
            where = f"{host!r}" if host == refused[0] else f"{host!r} ({', '.join(refused[:3])})"
            raise AddressRefused(
                f"{where} is no address of the public internet, so it is not fetched",
                hint=f"if you trust it: --allow-host {_literal(host)}:{port}, or the setting `allow_hosts`",
            )
        return addresses

    def _resolved(self, host: str, port: int) -> Sequence[str]:
        try:
            return _in_time(self._resolve, host, port, self._clock.left(httpcore.ConnectTimeout))
        except socket.gaierror as error:
            if error.errno == socket.EAI_AGAIN:
                raise httpcore.ConnectError(
                    f"the name {host!r} could not be looked up now: {error.strerror}"
                ) from error
            raise Unavailable(
                f"there is no host named {host!r} ({error.strerror})",
                hint="check the spelling of the URL, and that this machine is online",
            ) from error
        except UnicodeError as error:
            raise Unavailable(f"{host!r} cannot be a host name: {error}", hint="check the URL") from error

    def _check_peer(self, stream: httpcore.NetworkStream, address: str) -> None:
        try:
            peer = stream.get_extra_info("server_addr")
        except OSError as error:
            stream.close()
            raise httpcore.ConnectError(f"{address} closed the connection at once") from error
        if not peer or ipaddress.ip_address(peer[0]) != ipaddress.ip_address(address):
            stream.close()
            raise AddressRefused(f"the connection to {address} ended at {peer!r}, so it was closed")


def look_up(host: str, port: int) -> Sequence[str]:
    """Return all addresses of `host`, as the system's resolver has them."""
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _in_time(resolve: Resolve, host: str, port: int, seconds: float) -> Sequence[str]:
    """Resolve in a thread of its own: the system's resolver takes no time limit, and may hang for minutes."""
    answers: queue.Queue[Sequence[str] | BaseException] = queue.Queue()

    def work() -> None:
        try:
            answers.put(resolve(host, port))
        except Exception as error:  # noqa: BLE001 - handed over to the thread that asked, which raises it
            answers.put(error)
        finally:
            _LOOKUPS.release()

    if not _LOOKUPS.acquire(timeout=seconds):
        raise httpcore.ConnectTimeout("too many names are being looked up")
    threading.Thread(target=work, name="look-up", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise httpcore.ConnectTimeout(f"the name {host!r} was not found in time") from None
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _literal(host: str) -> str:
    return f"[{host}]" if ":" in host else host
