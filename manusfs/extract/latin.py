"""Which charset a text in Latin letters is in, by the letters that its language has."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["latin_codec"]

# letters beside a-z, by language; the first of equals wins, so the Web's most frequent charset stands first
_LETTERS = (
    ("cp1252", "äöüß"),
    ("cp1252", "éèêëàâçîïôûùœæ"),
    ("cp1252", "áéíóúñü¿¡ºª"),
    ("cp1252", "ãõáéíóúâêôçàüºª"),
    ("cp1252", "àèéìíòóùúç·ïü"),
    ("cp1252", "åäöæøéü"),
    ("cp1252", "ëïéèöüáóê"),
    ("cp1254", "çğıöşüâî"),
    ("cp1252", "áéíóúýæöþð"),
    ("cp1250", "ąćęłńóśźż"),
    ("iso8859_2", "ąćęłńóśźż"),
    ("cp1250", "áčďéěíňóřšťúůýžäľĺŕô"),
    ("iso8859_2", "áčďéěíňóřšťúůýžäľĺŕô"),
    ("cp1250", "áéíóöőúüű"),
    ("iso8859_2", "áéíóöőúüű"),
    ("cp1250", "čćđšž"),
    ("iso8859_2", "čćđšž"),
    ("cp1250", "ăâîşţ"),
    ("iso8859_2", "ăâîşţ"),
    ("cp1257", "ąčęėįšųūžāēģīķļņõäöü"),
)
_NEUTRAL = re.compile(r"[\x00-\x7f\xa0«»“”„‘’‚–—…•€©®°§×]+")


def latin_codec(sample: bytes) -> str:
    """Return the codec under which most letters of `sample` belong to one language."""
    best, codec = -1.0, "cp1252"
    for candidate, letters in _LETTERS:
        text = _NEUTRAL.sub("", sample.decode(candidate, "replace").replace("İ", "i"))
        counts = Counter(text.lower())
        share = sum(counts[letter] for letter in letters) / (counts.total() or 1)
        if share > best + 0.01:
            best, codec = share, candidate
    return codec
