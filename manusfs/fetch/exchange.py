"""One request and its answer over the guarded transport."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

from manusfs.fetch.body import ACCEPT_ENCODING, Body, read_body
from manusfs.fetch.transport import DEADLINE

__all__ = ["Answer", "Asking", "exchange"]

_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class Asking:
    """How to ask: the headers of every request, the deadline, the limits of the body, and the cookies of this chain."""

    headers: Mapping[str, str]
    deadline: float
    max_wire: int
    max_body: int
    cookies: httpx.Cookies = field(default_factory=httpx.Cookies)

    @classmethod
    def within(cls, seconds: float, headers: Mapping[str, str], max_wire: int, max_body: int) -> Asking:
        """Return an asking that must be over in `seconds` from now."""
        return cls(headers, time.monotonic() + seconds, max_wire, max_body)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came for `url`; a redirect has no body here, and its target in `location`."""

    url: httpx.URL
    status: int
    headers: httpx.Headers
    body: Body
    location: str = ""


def exchange(
    transport: httpx.BaseTransport,
    url: httpx.URL,
    asking: Asking,
    *,
    more: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> Answer:
    """Ask for `url` (POST when there is `content`) with the headers of `asking` and `more`, and return the answer.

    Raises:
        AddressRefused, Refused, Unavailable: see `GuardedTransport` and `read_body`.
        httpx.TransportError: it went wrong before there was a body.
    """
    headers = {"Accept-Encoding": ACCEPT_ENCODING, **asking.headers, **(more or {})}
    request = httpx.Request(
        "GET" if content is None else "POST",
        url,
        headers=headers,
        content=content,
        extensions={DEADLINE: asking.deadline},
    )
    asking.cookies.set_cookie_header(request)
    response = transport.handle_request(request)
    asking.cookies.extract_cookies(response)
    location = response.headers.get("location", "")
    if response.status_code in _REDIRECTS and location:
        response.close()
        return Answer(url, response.status_code, response.headers, Body(b""), location)
    body = read_body(response, max_wire=asking.max_wire, max_body=asking.max_body)
    return Answer(url, response.status_code, response.headers, body)
