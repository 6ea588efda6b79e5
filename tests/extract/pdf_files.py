"""PDF files written by hand, small enough to see what is in them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["FONTS", "Sheet", "cmap", "composite", "lines", "packed", "pdf", "stream", "words"]

FONTS = {"F1": "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"}
"""What every page may write with."""


@dataclass(frozen=True)
class Sheet:
    """A page: what it draws, and what else its dictionary says."""

    draws: str | bytes = ""
    more: str = ""


def words(text: str, x: float = 72, y: float = 700, size: float = 12, font: str = "F1") -> str:
    """Return what draws `text`, in brackets if it is hexadecimal, at `x` and `y` points from the lower left corner."""
    shown = text if text.startswith("<") else f"({text})"
    return f"BT /{font} {size} Tf {x} {y} Td {shown} Tj ET\n"


def lines(texts: Sequence[str], x: float = 72, y: float = 700, step: float = 14) -> str:
    """Return what draws `texts` one below the other."""
    return "".join(words(text, x, y - step * number) for number, text in enumerate(texts))


def stream(data: str | bytes, more: str = "") -> bytes:
    """Return the body of a stream object."""
    body = data if isinstance(data, bytes) else data.encode("latin-1")
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(body), more.encode(), body)


def packed(objects: Mapping[int, str]) -> bytes:
    """Return the body of an object stream."""
    starts = [sum(len(body) + 1 for body in list(objects.values())[:at]) for at in range(len(objects))]
    table = " ".join(f"{number} {start}" for number, start in zip(objects, starts, strict=True)) + "\n"
    data = zlib.compress((table + "\n".join(objects.values())).encode("latin-1"))
    return stream(data, f"/Type /ObjStm /N {len(objects)} /First {len(table)} /Filter /FlateDecode")


def cmap(pairs: Mapping[int, str]) -> bytes:
    """Return a ToUnicode map from codes of two bytes to hexadecimal UTF-16."""
    body = "".join(f"<{code:04X}> <{value}>\n" for code, value in pairs.items())
    return stream(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        f"1 begincodespacerange <0000> <FFFF> endcodespacerange {len(pairs)} beginbfchar\n{body}endbfchar endcmap"
    )


def composite(objects: dict[int, str | bytes], first: int, to_unicode: Mapping[int, str] | None) -> str:
    """Add the objects of a font with codes of two bytes from number `first` on, and return a reference to it."""
    mapped = ""
    if to_unicode is not None:
        objects[first + 3] = cmap(to_unicode)
        mapped = f"/ToUnicode {first + 3} 0 R"
    objects[first] = (
        "<< /Type /Font /Subtype /Type0 /BaseFont /AAAAAA+Made /Encoding /Identity-H "
        f"/DescendantFonts [{first + 1} 0 R] {mapped} >>"
    )
    objects[first + 1] = (
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /AAAAAA+Made /DW 500 /CIDSystemInfo "
        f"<< /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor {first + 2} 0 R >>"
    )
    objects[first + 2] = (
        "<< /Type /FontDescriptor /FontName /AAAAAA+Made /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 "
        "/Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>"
    )
    return f"{first} 0 R"


def pdf(
    *sheets: Sheet | str,
    objects: Mapping[int, str | bytes] | None = None,
    fonts: Mapping[str, str] | None = None,
    catalog: str = "",
    trailer: str = "",
    kids: str = "",
    count: int | None = None,
) -> bytes:
    """Return a PDF of `sheets`; a str is what a page draws.

    Page n (from 0) is object 10 + 2n. `objects` take any other number. `kids` and `count` replace what is true.
    """
    shown = [sheet if isinstance(sheet, Sheet) else Sheet(sheet) for sheet in sheets]
    resources = " ".join(f"/{name} {font}" for name, font in {**FONTS, **(fonts or {})}.items())
    numbers = [10 + 2 * number for number in range(len(shown))]
    kids = kids or " ".join(f"{number} 0 R" for number in numbers)
    every: dict[int, str | bytes] = {
        1: f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(shown) if count is None else count} >>",
    }
    for number, sheet in zip(numbers, shown, strict=True):
        mine = "" if "/Resources" in sheet.more else f"/Resources << /Font << {resources} >> >>"
        box = "" if "/MediaBox" in sheet.more else "/MediaBox [0 0 612 792]"
        every[number] = f"<< /Type /Page /Parent 2 0 R /Contents {number + 1} 0 R {box} {mine} {sheet.more} >>"
        every[number + 1] = stream(sheet.draws)
    every.update(objects or {})
    return _written(every, trailer)


def _written(objects: Mapping[int, str | bytes], trailer: str) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    places: dict[int, int] = {}
    for number, body in sorted(objects.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body if isinstance(body, bytes) else body.encode("latin-1"))
    size, start = max(objects) + 1, len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
    out += f"trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode("latin-1")
    return bytes(out)
