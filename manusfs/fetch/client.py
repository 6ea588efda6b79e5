"""From a URL to what its server gave: guarded, polite, limited, tried again where waiting helps, cached."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import overload

import httpx

from manusfs.errors import ManusfsError, Refused, Unavailable
from manusfs.fetch.address import Allowed
from manusfs.fetch.cache import CachedPage, PageCache
from manusfs.fetch.exchange import Answer, Asking, exchange
from manusfs.fetch.headers import claimed_name, claimed_type, lifetime, short
from manusfs.fetch.network import Resolve
from manusfs.fetch.options import FetchOptions
from manusfs.fetch.pace import Pace
from manusfs.fetch.retry import backoff_s, passes, passes_by_waiting, reason, retry_after_s
from manusfs.fetch.robots import MAX_BYTES, Robots
from manusfs.fetch.transport import GuardedTransport
from manusfs.fetch.urls import brief, checked, follow
from manusfs.records import Fetched, HttpMeta, Source

__all__ = ["Fetcher"]

_MAX_REDIRECTS = 10
_ROBOTS_SHARE = 0.25
"""Most of an attempt's time for one robots.txt; what is left is for the page."""
_LONGEST_WAIT_S = 60.0
_PAGES = (200, 201, 203)
"""Statuses whose body is the page; 202 is what puzzles of bot walls come with, 204 and 205 have none, 206 is a part."""
_ACCEPT = "text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9,*/*;q=0.8"


@dataclass(frozen=True, slots=True)
class _Validators:
    """What an earlier answer from `url` may be compared by; to another URL they would mean another page."""

    url: str
    etag: str = ""
    last_modified: str = ""

    def headers(self, url: httpx.URL) -> dict[str, str]:
        if str(url) != self.url:
            return {}
        told = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in told.items() if value}

    def confirmed_by(self, answer: Answer) -> bool:
        return answer.status == 304 and bool(self.headers(answer.url))


@dataclass(frozen=True, slots=True)
class _Chain:
    """The answer at the end of a chain of redirects, and the URLs that were passed on the way."""

    answer: Answer
    passed: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return len(self.answer.body.data)


class Fetcher:
    """Fetches URLs. Safe for threads; close it, or use it in a `with`, to close its connections.

    `cache` may be None. `resolve` and `sleep` stand in for the system's in tests.

    Raises:
        ConfigError: an entry of `allow_hosts`, or `ca_file`, is not usable.
    """

    def __init__(
        self,
        options: FetchOptions,
        cache: PageCache | None = None,
        *,
        resolve: Resolve | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._cache = cache
        self._sleep = sleep
        self._allowed = Allowed(options.allow_hosts)
        self._resolve = resolve
        self._pace = Pace(options.host_delay_s, sleep)
        self._robots = Robots(options.agent, self._ask_for_robots) if options.robots else None
        self._lock = threading.Lock()
        self._transport: GuardedTransport | None = None

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; the fetcher may be used again."""
        with self._lock:
            transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()

    @overload
    def fetch(self, url: str, *, fresh_only: bool = False) -> Fetched: ...

    @overload
    def fetch(
        self, url: str, *, etag: str, last_modified: str = "", validated_url: str = "", fresh_only: bool = False
    ) -> Fetched | None: ...

    def fetch(
        self,
        url: str,
        *,
        etag: str = "",
        last_modified: str = "",
        validated_url: str = "",
        fresh_only: bool = False,
    ) -> Fetched | None:
        """Return what the server of `url` gives, or the cache while it is fresh.

        Answers of 4xx and 5xx come back too, told by `http.status`; a body that was cut has `complete` False, and
        `notes` say where. With `fresh_only` the server is asked even when the cache is fresh; a body that the server
        confirms then comes from the cache.

        With `etag` or `last_modified` (of an answer that `validated_url`, or else `url`, gave) the cache is not
        consulted, and None means that the server answered "not modified".

        Raises:
            UsageError: `url` is no full URL.
            AddressRefused: a scheme other than http and https, a user name in the URL, an address that is not allowed.
            Refused: robots.txt says no, redirects go in a circle, nowhere or do not end, the body has codings that were
                not asked for.
            Unavailable: no answer, after all tries.
        """
        start = checked(url)
        source = Source.web(url)
        if etag or last_modified:
            known = _Validators(str(checked(validated_url or url)), etag, last_modified)
            chain = self._tried(start, known)
            return None if known.confirmed_by(chain.answer) else self._arrived(source, chain)
        page = self._cache.get(source.key) if self._cache else None
        if page and not fresh_only and page.is_fresh(self._options.cache_fresh_s):
            return _fetched(source, page.http, page.raw)
        known = _Validators(page.http.final_url, page.http.etag, page.http.last_modified) if page else _Validators("")
        chain = self._tried(start, known)
        if page and known.confirmed_by(chain.answer):
            return self._confirmed(source, page, chain.answer)
        return self._arrived(source, chain)

    def _confirmed(self, source: Source, page: CachedPage, answer: Answer) -> Fetched:
        keep, max_age = lifetime(answer.headers)
        if self._cache and keep:
            self._cache.put(source.key, replace(page, checked=time.time(), max_age_s=max_age))
        return _fetched(source, page.http, page.raw)

    def _arrived(self, source: Source, chain: _Chain) -> Fetched:
        answer = chain.answer
        http = HttpMeta(
            status=answer.status,
            final_url=str(answer.url),
            etag=short(answer.headers, "etag"),
            last_modified=short(answer.headers, "last-modified"),
            redirects=chain.passed,
            content_type=short(answer.headers, "content-type"),
            content_encoding=answer.body.coding,
            server_date=short(answer.headers, "date", 100),
        )
        notes = (*chain.notes, *answer.body.notes)
        whole = answer.status in _PAGES
        if not whole and answer.status < 400:
            notes = (*notes, f"the server answered {answer.status}, which is not the page")
        complete = answer.body.complete and (whole or answer.status >= 400)
        keep, max_age = lifetime(answer.headers)
        if self._cache and complete and answer.status == 200:
            if keep:
                self._cache.put(source.key, CachedPage(http, answer.body.data, time.time(), max_age))
            else:
                self._cache.drop(source.key)
        fetched = _fetched(source, http, answer.body.data, answer.headers)
        return replace(fetched, complete=complete, notes=notes)

    def _tried(self, start: httpx.URL, validators: _Validators) -> _Chain:
        """Follow the chain from `start`, again while waiting can help; the largest part of a broken body wins."""
        best: _Chain | None = None
        for attempt in range(1, self._options.retries + 2):
            more = attempt <= self._options.retries
            wait = backoff_s(attempt)
            try:
                chain = self._followed(start, validators, self._options.timeout_s, admit=True)
            except httpx.TransportError as error:
                if best is None and not (more and passes_by_waiting(error)):
                    raise _unreachable(start, error, attempt, self._options.timeout_s) from error
            else:
                if not chain.answer.body.broken:
                    asked = retry_after_s(chain.answer.headers)
                    if not (more and passes(chain.answer.status)) or (asked or 0.0) > self._patience_s:
                        return _with_wait(chain, asked)
                    wait = max(wait, asked or 0.0)
                elif best is None or chain.size > best.size:
                    best = chain
            if more:
                self._sleep(wait)
        assert best is not None  # noqa: S101 - every other way out of the last attempt returned or raised
        return best

    @property
    def _patience_s(self) -> float:
        return min(self._options.timeout_s, _LONGEST_WAIT_S)

    def _followed(self, start: httpx.URL, validators: _Validators, seconds: float, *, admit: bool) -> _Chain:
        headers = {"User-Agent": self._options.agent, "Accept": _ACCEPT if admit else "text/plain,*/*;q=0.5"}
        most = (self._options.max_wire_bytes, self._options.max_body_bytes) if admit else (MAX_BYTES, MAX_BYTES)
        asking = Asking.within(seconds, headers, *most)
        url = start
        passed: list[str] = []
        seen: set[tuple[object, ...]] = set()
        while True:
            if admit:
                waited = self._admitted(url)
                # To stand in the queue of a host costs no time of the attempt. Of a chain's next hosts it does: each
                # could ask for more of it.
                asking = asking if passed else replace(asking, deadline=asking.deadline + waited)
            # The same address with another cookie is how many sites greet: no circle.
            state = (str(url), *((cookie.name, cookie.value) for cookie in asking.cookies.jar))
            if state in seen or len(passed) > _MAX_REDIRECTS:
                why = "go in a circle" if state in seen else f"go on for more than {_MAX_REDIRECTS} hops"
                raise Refused(f"the redirects from {brief(str(start))!r} {why}", hint="try another address of the page")
            seen.add(state)
            answer = exchange(self._opened(), url, asking, more=validators.headers(url))
            if not answer.location:
                return _Chain(answer, tuple(passed))
            passed.append(str(url))
            url = follow(url, answer.location)

    def _admitted(self, url: httpx.URL) -> float:
        """Return the seconds that were waited for the turn at the host of `url`, once its robots.txt is known."""
        delay = self._robots.check(url) if self._robots else 0.0
        before = time.monotonic()
        self._pace.wait(url.netloc.decode("ascii"), delay)
        return time.monotonic() - before

    def _ask_for_robots(self, url: str) -> tuple[int, bytes]:
        try:
            seconds = self._options.timeout_s * _ROBOTS_SHARE
            chain = self._followed(checked(url), _Validators(""), seconds, admit=False)
        except (httpx.TransportError, ManusfsError):
            return 0, b""
        return chain.answer.status, chain.answer.body.data

    def _opened(self) -> GuardedTransport:
        with self._lock:
            if self._transport is None:
                self._transport = GuardedTransport(self._allowed, ca_file=self._options.ca_file, resolve=self._resolve)
            return self._transport


def _fetched(source: Source, http: HttpMeta, raw: bytes, headers: Mapping[str, str] | None = None) -> Fetched:
    told = httpx.Headers(headers if headers is not None else {"content-type": http.content_type})
    kind, charset = claimed_type(told)
    return Fetched(source, raw, kind, charset, claimed_name(told, httpx.URL(http.final_url)), http)


def _with_wait(chain: _Chain, asked: float | None) -> _Chain:
    if asked is None or not passes(chain.answer.status):
        return chain
    return replace(chain, notes=(f"the server asks to wait {asked:.0f} s before the next try",))


def _unreachable(url: httpx.URL, error: httpx.TransportError, attempts: int, timeout_s: float) -> Unavailable:
    what = f"no answer within {timeout_s:g} s" if isinstance(error, httpx.TimeoutException) else reason(error)
    tries = f" (tried {attempts} times)" if attempts > 1 else ""
    return Unavailable(
        f"{brief(str(url))!r} could not be fetched: {what or type(error).__name__}{tries}",
        hint="check the address and the connection, or try again later",
    )
