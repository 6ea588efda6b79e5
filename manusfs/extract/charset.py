"""Bytes to text: byte order mark, what was declared, strict UTF-8, and detection for the rest."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from manusfs.extract.latin import latin_codec

__all__ = ["Decoded", "decode", "decode_utf8"]


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, the charset it was in, and what a reader should know of the guess."""

    text: str
    charset: str
    notes: tuple[str, ...] = ()


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# what browsers read under these labels: https://encoding.spec.whatwg.org/#names-and-labels
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "cp936": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "johab": "cp949",
    "big5": "big5hkscs",
    "euc_jis_2004": "euc_jp",
    "euc_jisx0213": "euc_jp",
}
_SHOWN = {
    "cp1252": "windows-1252",
    "cp1250": "windows-1250",
    "cp1251": "windows-1251",
    "cp1253": "windows-1253",
    "cp1254": "windows-1254",
    "cp1255": "windows-1255",
    "cp1256": "windows-1256",
    "cp1257": "windows-1257",
    "cp1258": "windows-1258",
    "cp932": "shift_jis",
    "cp949": "euc-kr",
    "euc_jp": "euc-jp",
    "big5hkscs": "big5",
    "iso8859_2": "iso-8859-2",
}
# what pages without a declared charset are in; the rest of Python's codecs only make for odd guesses
_GUESSED = [
    *(f"cp125{digit}" for digit in range(9)),
    *("cp866", "cp874", "cp932", "cp949", "big5hkscs", "gb18030", "euc_jp", "koi8_r", "koi8_u", "mac_cyrillic"),
    *("iso8859_2", "iso8859_5", "iso8859_7", "iso8859_8", "iso8859_6", "mac_roman"),
]
# UTF-7 and the escape codecs turn harmless bytes into markup; none is a charset of real pages
_NOT_CHARSETS = frozenset({"utf-7", "unicode-escape", "raw-unicode-escape", "undefined", "idna", "punycode", "mbcs"})
_ESCAPED = ("iso2022", "hz")
_MULTIBYTE = ("gb18030", "cp932", "cp949", "big5", "euc_jp", "shift_jis", "johab", *_ESCAPED)

_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})", re.IGNORECASE)
_NO_MARKUP = re.compile(rb"<!--.*?(?:-->|\Z)|<(script|style|title)\b.*?(?:</\1|\Z)", re.IGNORECASE | re.DOTALL)
"""What stands there declares nothing: browsers pass over it as well."""
_TAGS = re.compile(rb"<[^<>]{0,2000}>")
_HIGH = re.compile(rb"[\x80-\xff]")
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_HALF_WIDE = re.compile("[\uff61-\uff9f]")
_SAMPLE_BYTES = 65536
_KATAKANA = 0.5
_CYRILLIC = ("cp1251", "koi8_r", "koi8_u", "cp866", "mac_cyrillic", "iso8859_5")
_FREQUENT = re.compile("[оеаинтсрвлкмдпу]")


def decode_utf8(raw: bytes) -> str | None:
    """Return `raw` as text if it is valid UTF-8 without NUL, byte order mark and ISO 2022 escapes, else None."""
    if b"\x00" in raw or raw.startswith(codecs.BOM_UTF8) or (b"\x1b$" in raw and raw.isascii()):
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def decode(raw: bytes, declared: str = "", *, markup: bool = False) -> Decoded:
    """Return `raw` as valid text without NUL; never raises, whatever the bytes and whatever is `declared`.

    `declared` is a header's charset; with `markup`, a meta tag or XML declaration in the first 4 KB counts as well.
    Valid UTF-8 wins over a declared legacy charset, except where a few bytes could be either.
    """
    decoded = _decode(raw, declared, markup)
    # bytes are searched many times faster than a text of wide characters
    if b"\x00" in raw and "\x00" in decoded.text:
        # browsers show nothing for a NUL in markup
        return Decoded(decoded.text.replace("\x00", "" if markup else "\ufffd"), decoded.charset, decoded.notes)
    return decoded


def _decode(raw: bytes, declared: str, markup: bool) -> Decoded:
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return Decoded(raw[len(mark) :].decode(name, "replace"), name.removesuffix("-le").removesuffix("-be"))
    codec = next((found for label in _labels(raw, declared, markup) if (found := _codec(label))), "")
    if codec.startswith(_MULTIBYTE) and (codec.startswith(_ESCAPED) or _few_bytes(raw)):
        text = _strict(raw, codec)
        if text is not None:
            return Decoded(text, _shown(codec))
    text = _strict(raw, "utf-8")
    if text is not None:
        return _utf8(raw, text)
    return _legacy(raw, codec, markup)


def _utf8(raw: bytes, text: str) -> Decoded:
    if b"\x1b" in raw and b"\x1b$" in raw and raw.isascii():
        japanese = _strict(raw, "iso2022_jp_2")
        if japanese is not None:
            return Decoded(japanese, "iso-2022-jp")
    wide = _wide(raw)
    return wide or Decoded(text, "utf-8")


def _wide(raw: bytes) -> Decoded | None:
    """Return UTF-16 without a byte order mark: every second byte of mostly ASCII text is NUL."""
    sample = raw[:_SAMPLE_BYTES]
    if len(sample) < 4 or 0 not in sample:
        return None
    even, odd = (sample[start::2].count(0) / (len(sample) / 2) for start in (0, 1))
    if max(even, odd) < 0.4 or min(even, odd) > 0.05:
        return None
    return Decoded(raw.decode("utf-16-le" if odd > even else "utf-16-be", "replace"), "utf-16")


def _legacy(raw: bytes, codec: str, markup: bool) -> Decoded:
    wide = _wide(raw)
    if wide is not None:
        return wide
    if codec and codec != "utf_8":
        text = _strict(raw, codec)
        if text is None and codec not in ("cp1252",):
            text = raw.decode(codec, "replace")
            text = text if text.count("\ufffd") <= max(2, len(text) // 100) else None
        if text is not None:
            return Decoded(text, _shown(codec))
    if (pairs := _surrogate_pairs(raw)) is not None:
        return Decoded(pairs, "cesu-8")
    text = raw.decode("utf-8", "replace")
    bad = text.count("\ufffd") - raw.count(b"\xef\xbf\xbd")
    good = sum(1 for char in text[:_SAMPLE_BYTES] if char > "\x7f") - bad
    # A whole sequence hardly comes about by chance: with the label it is enough, without it they must be many.
    labelled = codec == "utf_8" and good > 0 and bad <= max(2, len(text) // 100)
    if labelled or (bad <= max(1, len(text) // 1000) and good > 4 * bad):
        return Decoded(text, "utf-8", (f"{bad} bytes that are not valid UTF-8 were replaced",))
    return _detected(raw, codec, markup)


def _surrogate_pairs(raw: bytes) -> str | None:
    """Return CESU-8, what Java and old databases write for UTF-8: large code points as two of three bytes each."""
    if _SURROGATE.search(raw) is None:
        return None
    try:
        text = raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _detected(raw: bytes, declared: str, markup: bool) -> Decoded:
    from charset_normalizer import from_bytes

    sample = _sample(raw, markup)
    best = from_bytes(sample, cp_isolation=_GUESSED).best() if sample else None
    guess = _codec(best.encoding) if best is not None else ""
    if guess == "cp932" and len(_HALF_WIDE.findall(read := sample.decode(guess, "replace"))) > _KATAKANA * len(read):
        # No text is in half-wide katakana alone; any single-byte charset reads so under this one.
        best = from_bytes(sample, cp_isolation=[name for name in _GUESSED if name != "cp932"]).best()
        guess = _codec(best.encoding) if best is not None else ""
    guess = _cyrillic(sample, guess)
    codec = latin_codec(sample) if _is_latin(best.alphabets if best else ()) else guess or "cp1252"
    text = raw.decode(codec, "replace")
    why = f"charset declared as {_shown(declared)}, which it is not" if declared else "charset not declared"
    notes = (f"{why}, guessed: {_shown(codec)}",)
    if "\ufffd" in text and codec == "cp1252":
        # windows-1252 leaves five bytes without meaning; latin-1 gives each a place
        text = raw.decode("latin-1")
    return Decoded(text, _shown(codec), notes)


def _cyrillic(sample: bytes, guess: str) -> str:
    """Return `guess`, or the charset in which far more of `sample` are the letters that Russian and its kin use most.

    The charsets differ in the order of the letters alone; a short text in one passes for capitals of another.
    """
    if guess not in _CYRILLIC:
        return guess
    shares = {name: len(_FREQUENT.findall(sample.decode(name, "replace"))) for name in (guess, *_CYRILLIC)}
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] > 1.5 * shares[guess] else guess


def _is_latin(alphabets: object) -> bool:
    names = [str(name) for name in alphabets] if isinstance(alphabets, list | tuple) else []
    return all(re.search("Latin|Punctuation|Control|Symbols|Currency|Letterlike|Box|Block", name) for name in names)


def _sample(raw: bytes, markup: bool) -> bytes:
    """Return the parts that hold non-ASCII bytes: what there is to judge by."""
    if markup:
        raw = _TAGS.sub(b" ", raw[: 16 * _SAMPLE_BYTES])
    pieces: list[bytes] = []
    size = 0
    end = 0
    while size < _SAMPLE_BYTES and (match := _HIGH.search(raw, end)):
        start, end = max(end, match.start() - 40), match.start() + 200
        pieces.append(raw[start:end])
        size += end - start
    return b"".join(pieces)


def _labels(raw: bytes, declared: str, markup: bool) -> list[str]:
    labels = [declared]
    if markup:
        head = _NO_MARKUP.sub(b"", raw[:4096])
        labels += [match[1].decode("ascii") for match in (_META.search(head), _XML.search(head)) if match]
    return [label for label in labels if label]


def _codec(label: str) -> str:
    """Return the Python codec that browsers use under `label`, or an empty text when it names no charset."""
    try:
        info = codecs.lookup(label.strip(" \t\"'").lower())
    except (LookupError, ValueError, UnicodeError):
        return ""
    if info.name in _NOT_CHARSETS or not getattr(info, "_is_text_encoding", True) or info.name.startswith("utf-16"):
        # a page that can be read far enough to find "utf-16" in it is not UTF-16
        return ""
    return _SUPERSETS.get(info.name, info.name).replace("utf-8", "utf_8")


def _strict(raw: bytes, codec: str) -> str | None:
    try:
        return raw.decode(codec)
    except (UnicodeDecodeError, LookupError, ValueError):
        return None


def _few_bytes(raw: bytes) -> bool:
    return len(raw) < _SAMPLE_BYTES and len(raw.translate(None, bytes(range(128)))) < 32


def _shown(codec: str) -> str:
    return _SHOWN.get(codec, codec.replace("_", "-"))
