"""What a URL must be before anything is dialled for it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import httpx

from manusfs.errors import AddressRefused, Refused, UsageError
from manusfs.records import escape

__all__ = ["brief", "checked", "follow"]

_SCHEMES = ("http", "https")
_HOST = re.compile(rb"[0-9A-Za-z._:-]+")


def brief(url: str) -> str:
    """Return `url` for a message: one line, no controls, at most 200 characters, no user name or password."""
    scheme, mark, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    if mark and "@" in authority:
        authority = authority.rpartition("@")[2]
    line = "".join(char for char in f"{scheme}{mark}{authority}{slash}{path}" if char.isprintable())
    return escape.terminal(line if len(line) <= 200 else f"{line[:199]}…")


def checked(url: str) -> httpx.URL:
    """Return `url` as it will be asked for, without its fragment.

    Raises:
        UsageError: it is no absolute URL with a host and a possible port.
        AddressRefused: its scheme is neither http nor https, or it holds a user name or password.
    """
    text = url.strip()
    scheme = text.partition(":")[0].lower()
    if ":" in text and scheme.isalpha() and scheme not in _SCHEMES and not _looks_like_host(text):
        raise AddressRefused(f"{brief(text)!r}: the scheme {scheme!r} is not fetched", hint="only http and https are")
    try:
        parsed, other = httpx.URL(text), urlsplit(text)
        usual = 443 if parsed.scheme == "https" else 80
        same = parsed.host == _as_httpx(other.hostname or "") and (parsed.port or usual) == (other.port or usual)
    except (httpx.InvalidURL, ValueError, UnicodeError) as error:
        raise _malformed(text, str(error)) from error
    if parsed.scheme not in _SCHEMES or other.port == 0 or not _HOST.fullmatch(parsed.raw_host):
        raise _malformed(text, "")
    if not same:
        # Where two parsers read two hosts, one of them would be judged and the other asked.
        raise _malformed(text, "it can be read as naming two different hosts")
    if parsed.userinfo or "@" in other.netloc:
        raise AddressRefused(
            f"{brief(text)!r} was given with a user name or password, which are never sent",
            hint="give the URL without the part before @",
        )
    return parsed.copy_with(fragment=None)


def follow(base: httpx.URL, location: str) -> httpx.URL:
    """Return where a redirect from `base` leads.

    Raises:
        Refused: to what is no URL.
        AddressRefused: as `checked`.
    """
    try:
        return checked(str(base.join(location.strip())))
    except (httpx.InvalidURL, UsageError) as error:
        raise Refused(
            f"{brief(str(base))!r} redirects to what is no URL: {brief(location)!r}",
            hint="try another address of the page",
        ) from error


def _malformed(text: str, reason: str) -> UsageError:
    what = f"not a URL that can be fetched: {brief(text)!r}"
    return UsageError(f"{what} ({reason})" if reason else what, hint="give a full one, like https://example.org/page")


def _looks_like_host(text: str) -> bool:
    """True for "localhost:8000/x": a missing scheme, not a strange one."""
    return text.partition(":")[2].partition("/")[0].isdecimal()


def _as_httpx(hostname: str) -> str:
    return httpx.URL(scheme="http", host=hostname).host if hostname else ""
