"""What an answer's headers say, as far as it is used; every value is the server's claim and no more."""

from __future__ import annotations

import re
from email.message import Message
from urllib.parse import unquote

import httpx

__all__ = ["claimed_name", "claimed_type", "lifetime", "short"]


def short(headers: httpx.Headers, name: str, most: int = 1_000) -> str:
    """Return the value of header `name` without controls; empty when it is missing or longer than `most`."""
    value = headers.get(name, "")
    return "".join(char for char in value if char.isprintable()) if len(value) <= most else ""


def claimed_type(headers: httpx.Headers) -> tuple[str, str]:
    """Return the media type and the charset that `Content-Type` claims, each empty when it does not."""
    message = _parsed("content-type", short(headers, "content-type"))
    kind = message.get_content_type() if message["content-type"] else ""
    charset = message.get_param("charset", "")
    return kind, charset.strip(" '\"").lower()[:60] if isinstance(charset, str) else ""


def claimed_name(headers: httpx.Headers, url: httpx.URL) -> str:
    """Return the file name that `Content-Disposition` or the URL suggests: one name, no path."""
    name = _parsed("content-disposition", short(headers, "content-disposition")).get_filename() or ""
    name = name or unquote(url.path.rpartition("/")[2])
    name = re.split(r"[/\\]", name)[-1]
    return "".join(char for char in name if char.isprintable())[:200]


def lifetime(headers: httpx.Headers) -> tuple[bool, float | None]:
    """Return whether the answer may be stored, and for how many seconds its server calls it fresh, if it says so."""
    told = [part.strip().lower() for part in ",".join(headers.get_list("cache-control")).split(",")]
    if "no-store" in told:
        return False, 0.0
    if "no-cache" in told or headers.get("vary", "").strip() == "*":
        return True, 0.0
    ages = [part.partition("=")[2].strip('" ') for part in told if part.startswith("max-age=")]
    return True, float(ages[0][:9]) if ages and ages[0].isascii() and ages[0].isdecimal() else None


def _parsed(name: str, value: str) -> Message:
    message = Message()
    if value:
        message[name] = value
    return message
