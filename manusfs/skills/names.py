"""What a skill may be called, and which names look like another's."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["skeleton", "slug", "told_name"]

_NAME_MAX = 64
_DROPPED = re.compile(r"[^\w]+|_+")
# Letters of other scripts that look like Latin ones (a small part of Unicode's list of confusable characters).
_LOOKS = dict(zip("авеѕіјкмнорстухьԁɡӏαεηικνορτυχγω", "abesijkmhopctyxbdgiaenikvoptuxyw", strict=True))


def slug(text: str) -> str:
    """Return `text` as a name: lower-case letters, digits and single hyphens, at most 64; "" when nothing is left.

    Letters of any script are kept: people name skills in their own language.
    """
    plain = unicodedata.normalize("NFKC", text).lower()
    return _DROPPED.sub("-", plain).strip("-")[:_NAME_MAX].strip("-")


def skeleton(name: str) -> str:
    """Return `name` as it looks: two names with one skeleton are told apart by nobody."""
    if name.isascii():
        return name
    marked = unicodedata.normalize("NFKD", name)
    return "".join(_LOOKS.get(char, char) for char in marked if not unicodedata.combining(char))


def told_name(name: str) -> str:
    """Return why `name` can't be taken, "" when it can."""
    scripts = {_script(char) for char in name if char.isalpha()}
    if len(scripts & {"LATIN", "CYRILLIC", "GREEK"}) > 1:
        return f"its name {name!a} mixes letters of several scripts that look alike"
    return ""


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]
