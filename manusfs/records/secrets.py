"""How secrets are masked in what is shown: credentials in URLs, header lines, keys. What is stored keeps every byte.

A masked text is for eyes: nothing is fetched, compared or named by it. Masking twice changes nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote

__all__ = ["MASK", "is_masked", "text", "url"]

MASK = "***"
"""What stands in the place of a secret."""

_NAMES = re.compile(
    r"(?:[\w.-]*[_.-])?(?:api[-_.]?key|access-?_?key(?:-?_?id)?|(?:access|auth|id|refresh|security|session|csrf|xsrf)?"
    r"-?_?token|(?!(?:next)?page|next|continuation|sync|cursor)[a-z]+token|token-?_?hint|pwd?|otp|jwt|bearer|"
    r"(?:api|app|client|consumer|shared|webhook|auth)?-?_?secret(?:-?_?key)?|pass(?:word|wd|phrase|code)|authorization|"
    r"signature|credentials?|apikey|(?:aws)?accesskeyid|(?:client-?_?)?assertion|saml(?:request|response)|oauth_verifier|"
    r"(?:php|j|asp)sess[a-z]*id|(?:access|account|admin|app|auth|client|consumer|dev(?:eloper)?|enc(?:rypt(?:ion)?)?|"
    r"functions|licen[cs]e|login|master|private|service|shared|sign(?:ing)?|storage|subscription|user|webhook)-?_?key)",
    re.IGNORECASE,
)
"""Parameters whose value is a secret by their name alone, also behind a prefix: `X-Amz-Signature`."""
_MAYBE = re.compile(
    r"[\w-]*key|code|sig|sid|auth|pass|session(?:-?_?id)?|hmac|hash|checksum|policy|state|ticket|nonce|key-pair-id|"
    r"googleaccessid|se|sv|sas|app-?_?id|cred|csrf|xsrf|to?k",
    re.IGNORECASE,
)
"""Parameters that hold one where their value looks like it."""
_KEYS = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|tvly-[\w-]{10,}|gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|"
    r"(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abeprs]-[\w-]{10,}|hf_\w{20,}|BSA[\w-]{20,}|"
    r"xapp-\d-[\w-]{10,}|npm_\w{30,}|pypi-[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|[rs]k_live_\w{16,}|ya29\.[\w-]{16,}|"
    r"dop_v1_\w{20,}|shp(?:at|ca|pa|ss)_\w{20,}|(?:gsk|r8)_\w{20,}|(?:xai|pplx)-\w{20,}|"
    r"bot\d{6,}:[\w-]{30,}|(?<=hooks\.slack\.com/services/)[\w/]{20,}|(?<=/api/webhooks/)\d{6,}/[\w-]{20,}|"
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
"""Keys that are known by their form, and JSON web tokens."""
_BEARER = re.compile(r"\b(bearer|basic|digest)(\s+|%20|\+)(?!\*)[\w.~+/=-]{12,}", re.IGNORECASE)
_HEADER = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization|\b(?:set-)?cookie|\bx-(?:api-key|subscription-token|auth-token|csrf-token))"
    r"(?P<mark>\\?[\"']?\s*[:=]\s*\\?[\"']?)(?P<value>[^\r\n\"'\\]+)",
    re.IGNORECASE,
)
_MEMBER = re.compile(r"""(?P<head>\\?["'](?P<name>[\w.-]{3,40})\\?["']\s*:\s*\\?["'])(?P<value>[^"'\\\s]{4,})""")
"""A member of JSON or of a printed dict."""
_PATH_PARAMETER = re.compile(r";(?P<name>[\w.-]{2,40})=(?P<value>[^;/]+)")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,12}://[^\s\"'<>\\^`{|}]+", re.IGNORECASE)
_PARAMETER = re.compile(r"(?P<name>[\w.%-]{2,60})=(?P<value>[^&;\s\"'<>\\#()\[\]{}]+)")
_USERINFO = re.compile(r"(?<=://)[^/?#\s]*@")
_LOOKS = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~+/=%-]{16,}\Z")
_BLOCK = re.compile(r"(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----)(?!\*).*?(-----END|\Z)", re.DOTALL)
_HINTS = ("=", "ey", "sk-", "earer", "asic ", "igest ", "ooki", "uthoriz", "_", "AKIA", "ASIA", "AIza", "-", ":", ".")


def is_masked(text: str) -> bool:
    """Return True if a secret was masked in `text`."""
    return MASK in text


@lru_cache(maxsize=1_024)
def url(text: str) -> str:
    """Return the URL `text` with user name and password, and the values of telling parameters, masked."""
    head, mark, rest = text.partition("?")
    head, hash, fragment = head.partition("#")
    head = _USERINFO.sub(f"{MASK}@", head) if "@" in head else head
    head = _KEYS.sub(MASK, _PATH_PARAMETER.sub(_in_path, head))
    if hash:
        return f"{head}#{_parameters(f'{fragment}{mark}{rest}')}"
    query, hash, fragment = rest.partition("#")
    return f"{head}{mark}{_parameters(query)}{hash}{_parameters(fragment)}"


def text(text: str, known: Iterable[str] = ()) -> str:
    """Return `text` with its secrets masked: in URLs, header lines, keys of a known form, and all of `known`."""
    for secret in filter(None, known):
        text = text.replace(secret, MASK)
    if not any(hint in text for hint in _HINTS):
        return text
    text = _BLOCK.sub(rf"\1{MASK}\2", text) if "PRIVATE KEY" in text else text
    text = _HEADER.sub(_header, text)
    text = _URL.sub(lambda match: url(match[0]), text)
    text = _MEMBER.sub(_member, _PARAMETER.sub(_loose, text))
    return _KEYS.sub(MASK, _BEARER.sub(rf"\1\g<2>{MASK}", text))


def _header(match: re.Match[str]) -> str:
    value = match["value"]
    kind = re.match(r"\s*(?:bearer|basic|digest|token)\s+", value, re.IGNORECASE)
    if "cookie" in match["name"].lower() and "=" not in value and not _LOOKS.match(value.strip()):
        return match[0]  # the word in a sentence
    if kind is None and "authorization" in match["name"].lower() and not _LOOKS.match(value.strip()):
        return match[0]
    return f"{match['name']}{match['mark']}{kind[0] if kind else ''}{MASK}"


def _member(match: re.Match[str]) -> str:
    secret = _NAMES.fullmatch(match["name"]) and match["value"] != MASK
    return f"{match['head']}{MASK}" if secret else match[0]


def _in_path(match: re.Match[str]) -> str:
    secret = _NAMES.fullmatch(match["name"]) or "session" in match["name"].lower()
    return f";{match['name']}={MASK}" if secret and not match["value"].startswith(MASK) else match[0]


def _parameters(query: str) -> str:
    """Return a query or fragment with the secret values masked; the marks between them stay as they are."""
    return "&".join(_parameter(piece) for piece in query.split("&")) if query else query


def _parameter(piece: str) -> str:
    name, mark, value = piece.partition("=")
    if "%" in name and (plain := _plain(piece)) != piece and text(f"?{plain}") != f"?{plain}":
        # The mark itself, or that between two parameters, is encoded; a name alone is judged below.
        return f"{name}={MASK}" if mark and "=" not in _plain(name) and "&" not in _plain(name) else MASK
    if not mark:
        return _KEYS.sub(MASK, name)
    # An escaped URL has `&amp;` between its parameters.
    if value and _is_secret(_plain(name.removeprefix("amp;")), value):
        return f"{name}={MASK}"
    first, semicolon, rest = value.partition(";")
    return f"{name}={first};{_parameter(rest)}" if semicolon else piece


def _loose(match: re.Match[str]) -> str:
    """Mask a parameter that stands in a text without its URL, where its name leaves no doubt."""
    long = len(match["value"]) >= 4 and not match["value"].startswith(MASK)
    secret = long and _NAMES.fullmatch(_plain(match["name"])) is not None
    return f"{match['name']}={MASK}" if secret else match[0]


def _is_secret(name: str, value: str) -> bool:
    # `user[password]` is a password.
    if _NAMES.fullmatch(name) or _NAMES.fullmatch(name.rpartition("[")[2].rstrip("]")):
        return True
    plain = _plain(value)
    if _MAYBE.fullmatch(name) and _LOOKS.match(plain):
        return True
    if _KEYS.search(plain):
        return True
    # A URL or JSON within a parameter, as redirects carry it.
    return any(mark in plain for mark in ("://", "=", '"')) and text(plain) != plain


def _plain(value: str) -> str:
    """Return what a percent-encoded text says, however often it was encoded."""
    for _ in range(3):
        decoded = unquote(value)
        if decoded == value:
            break
        value = decoded
    return value
