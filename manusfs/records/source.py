"""Where an observation came from, the id that follows from it, and the slug that names its folder."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from manusfs.records import secrets
from manusfs.records.canonical import canonical, sha256_hex, valid_text

__all__ = ["Kind", "Source", "observation_id"]

Kind = Literal["web", "file", "tool", "user"]
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SLUG_MAX = 60
# Windows refuses these as the first part of any file name.
_RESERVED = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}


@dataclass(frozen=True, slots=True)
class Source:
    """Where an observation came from. `key` is its identity: two sources with one key are one source."""

    kind: Kind
    key: str
    tool: str = ""
    """The tool's name when `kind` is "tool"."""

    @classmethod
    def web(cls, url: str) -> Source:
        """Return the source of a URL: scheme and host lower-cased, default port and fragment dropped."""
        parts = urlsplit(valid_text(url.strip()))
        host = (parts.hostname or "").lower()
        if ":" in host:
            host = f"[{host}]"
        port = parts.port
        if port is not None and port != _DEFAULT_PORTS.get(parts.scheme.lower()):
            host = f"{host}:{port}"
        # Credentials in a URL are a secret, and no part of what the page is.
        return cls("web", urlunsplit((parts.scheme.lower(), host, parts.path or "/", parts.query, "")))

    @classmethod
    def file(cls, name: str, absolute_path: str) -> Source:
        """Return the source of a file outside the workspace; the path itself is not kept, only its hash."""
        try:
            path = absolute_path.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            # No path of this system: a name that someone made up.
            path = absolute_path.encode("utf-8", "surrogatepass")
        return cls("file", f"file:{valid_text(name)}#{sha256_hex(path)[:12]}")

    @classmethod
    def inside(cls, path: str) -> Source:
        """Return the source of a file of the workspace, by its relative path."""
        return cls("file", f"file:{valid_text(path)}")

    @classmethod
    def call(cls, tool: str, arguments: dict[str, Any]) -> Source:
        """Return the source of a tool's output: its name and the canonical JSON of its arguments."""
        tool = valid_text(tool)
        return cls("tool", f"{tool} {canonical(arguments)}", tool)

    @classmethod
    def user(cls, label: str) -> Source:
        """Return the source of what a user gave directly: `label` is "stdin", "paste" or a name."""
        return cls("user", f"user:{valid_text(label)}")

    @property
    def url(self) -> str:
        """The URL of a web source, otherwise an empty text."""
        return self.key if self.kind == "web" else ""

    @property
    def shown(self) -> str:
        """The key as it is shown: with its secrets masked. Nothing is fetched, named or compared by it."""
        return secrets.url(self.key) if self.kind == "web" else _masked(self.key)

    @property
    def host(self) -> str:
        """The host (with a port that is not the default) of a web source, otherwise an empty text."""
        return urlsplit(self.key).netloc if self.kind == "web" else ""

    @property
    def arguments(self) -> str:
        """The canonical JSON of a tool source's arguments, otherwise an empty text."""
        return self.key.partition(" ")[2] if self.kind == "tool" else ""

    @property
    def slug(self) -> str:
        """A name of 1 to 60 bytes of `[a-z0-9-]` that follows from the source alone."""
        return _slug(_wording(Source(self.kind, self.shown, self.tool)))

    def folder(self, id: str) -> str:
        """Return the workspace path of the observation `id` of this source."""
        name = f"{self.slug}-{id}"
        if self.kind == "web":
            return f"observations/web/{_component(self.host)}/{name}"
        if self.kind == "tool":
            return f"observations/tool/{_component(self.tool)}/{name}"
        return f"observations/{self.kind}/{name}"


def observation_id(source: Source, raw_sha256: str, digits: int = 12) -> str:
    """Return the first `digits` hex digits of sha256(source, NUL, sha256 of raw).

    An id that is held by a different pair grows by 4 digits; who stores decides that.
    """
    return hashlib.sha256(source.key.encode("utf-8") + b"\0" + raw_sha256.encode("ascii")).hexdigest()[:digits]


_masked = lru_cache(maxsize=1_024)(secrets.text)


def _wording(source: Source) -> str:
    if source.kind == "web":
        parts = urlsplit(source.key)
        return unquote(f"{parts.path} {parts.query}") if parts.path != "/" or parts.query else "index"
    if source.kind == "tool":
        return source.arguments
    return source.key.partition(":")[2].partition("#")[0]


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_SLUG_MAX].strip("-")
    return f"x-{slug}" if slug in _RESERVED else slug or "x"


def _component(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).lower()
    plain = folded if folded.isascii() else folded.encode("punycode", "replace").decode("ascii")
    name = re.sub(r"[^a-z0-9._-]+", "_", plain).strip("._-")
    if len(name) > 80:
        name = f"{name[:66]}-{sha256_hex(text.encode('utf-8'))[:12]}"
    return f"x-{name}" if name.split(".")[0] in _RESERVED else name or "x"
