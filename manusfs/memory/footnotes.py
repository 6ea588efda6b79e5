"""The grammar of a report's footnotes: how one is written, found, and which sentences have none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from manusfs.records import escape

__all__ = ["Footnote", "footnotes", "format_footnote", "one_line", "uncited_claims", "used_labels"]

# Models write footnotes as items of a list or inside a quotation, too.
_DEFINITION = re.compile(
    r"^\ufeff?(?: {0,3}|[ \t]*[-*+>][ \t]+)\[\^([^\]\s]{1,64})\]:[ \t]*(.*(?:\n(?:[ \t]{2,}\S.*))*)", re.MULTILINE
)
_MARK = re.compile(r"\[\^([^\]\s]{1,64})\](?!:)")
_REF = re.compile(
    r"(?<![\w/])(obs:[0-9a-f]{12,64}(?:/(?:text|full|raw))?@\d{1,18}-\d{1,18}"
    r"|msg:[A-Za-z0-9.-]{1,80}:\d{1,12}(?:\.\d{1,9})?(?:-\d{1,12})?(?:@\d{1,18}-\d{1,18})?)(?![\w@])"
)
_LOOSE_REF = re.compile(r"(?<![\w/])((?:obs|msg):[^\s,;)>\]]+)")
_URL = re.compile(r"<(https?://[^\s<>]+)>")
_PAIRS = {
    '"': '"',
    "“": "”“",
    "„": "“”",
    "«": "»",
    "»": "«",
    "”": "”",
    "‹": "›",
    "›": "‹",
    "「": "」",
    "『": "』",
    "＂": "＂",
}
"""What opens a quote, and what may close it."""
_SINGLE = {"'": "'", "‘": "’", "`": "`"}
"""Apostrophes stand in titles too: only a footnote that begins with one has its quote between them."""
_AFTER_QUOTE = re.compile(r"\s*(?:[—–―-]|[,，、]|$|[(（<]|obs:|msg:|https?:)")
_CODE = re.compile(r"(`+)(?!`)[^\n]*?(?<!`)\1(?!`)|<!--(?s:.*?)-->")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
# Sections that say what was not found make no claim that a source could support.
_NO_CLAIMS = re.compile(
    r"#{1,6}\s+(?:no support found|nothing found|not found|could not be read|not answered|open questions)\W*\Z",
    re.IGNORECASE,
)
_HEADING = re.compile(r"(#{1,6})\s")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})\s*\Z")
_LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_SENTENCE = re.compile(
    r".+?(?:(?<!\b[A-Z])[.!?][\"”’')\]*_]*(?:\s*\[\^[^\]\s]{1,64}\])*(?=\s)|[。！？][”’」』）]*(?:\s*\[\^[^\]\s]{1,64}\])*|$)"
)
# What manusfs itself writes round the answer in a report file.
_OWN = re.compile(r"\d{4}-\d\d-\d\d · .* · session |Citations: \d+ of \d+ quotes ")
_ACCOUNT = "\n---\n\nCitations: "
_ACCOUNT_LINES = ("* ", "Claims without a citation: ")
_CJK = re.compile("[\u3040-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Footnote:
    """One footnote as it stands in a report."""

    label: str
    quotes: tuple[str, ...]
    """What may be the quote, shortest first: a quote may itself hold quotation marks."""
    ref: str
    """The last ref in it; empty when there is none."""
    url: str
    line: int
    """Of the report, from 1."""
    ref_at: tuple[int, int]
    """Where the ref stands in the report's text, in characters; empty when there is none."""
    at: tuple[int, int] = (0, 0)
    """Where the whole footnote stands, in characters."""


def footnotes(report: str) -> tuple[Footnote, ...]:
    """Return the footnotes that `report` defines, in order."""
    return tuple(_footnote(report, match) for match in _DEFINITION.finditer(_blanked(report)))


def format_footnote(label: str | int, quote: str, title: str, url: str, ref: str) -> str:
    """Return the line of a footnote: `[^n]: "quote" — title, <URL>, obs:<id>@<start>-<end>`; the URL may be empty."""
    place = "".join(f"%{ord(c):02X}" if c in '<> "' else c for c in one_line(url))
    parts = [one_line(title) or "untitled", *([f"<{place}>"] if place else []), ref]
    return f'[^{label}]: "{one_line(quote)}" — {", ".join(parts)}'


def one_line(text: str) -> str:
    """Return `text` as one line without controls or our own tags, for a place in a report."""
    return " ".join(escape.body(text).split())


def used_labels(report: str) -> tuple[str, ...]:
    """Return the labels that the text of `report` uses, each once, in order of first use."""
    prose = _CODE.sub("", _DEFINITION.sub("", _blanked(report)))
    return tuple(dict.fromkeys(match[1] for match in _MARK.finditer(prose)))


def uncited_claims(report: str) -> tuple[str, ...]:
    """Return the sentences and list items of `report` that carry no footnote mark.

    Headings, quotations, tables, code, questions, lead-ins that end in a colon and very short sentences are no claims;
    nor is what stands below a heading such as "No support found".
    """
    return tuple(claim for claim in _claims(report) if not _MARK.search(claim) and _is_claim(claim))


def _claims(report: str) -> Iterator[str]:
    paragraph: list[str] = []
    silent = 0
    prose = _COMMENT.sub("", _DEFINITION.sub("", _blanked(_without_account(report.removeprefix("\ufeff")))))
    for line in [*prose.split("\n"), ""]:
        begins_item = bool(_LIST_ITEM.match(line))
        ends = not line.strip() or begins_item or line.lstrip().startswith(("#", ">", "|", "---", "***", "==="))
        if paragraph and _UNDERLINE.match(line):
            paragraph = []  # a heading, underlined
        if ends and paragraph:
            yield from _units(" ".join(paragraph))
            paragraph = []
        if heading := _HEADING.match(line.lstrip()):
            level = len(heading[1])
            silent = level if _NO_CLAIMS.match(line.strip()) else 0 if level <= silent else silent
        if silent:
            continue
        if begins_item or not ends:
            paragraph.append(line.strip())


def _without_account(report: str) -> str:
    """Return `report` without what manusfs itself wrote below it of its citations."""
    head, found, tail = report.rpartition(_ACCOUNT)
    ours = all(not line.strip() or line.startswith(_ACCOUNT_LINES) for line in tail.split("\n")[1:])
    return head if found and ours else report


def _units(text: str) -> Iterator[str]:
    if _LIST_ITEM.match(text):
        yield _LIST_ITEM.sub("", text).strip()
        return
    for match in _SENTENCE.finditer(text):
        yield match[0].strip()


def _is_claim(text: str) -> bool:
    plain = _MARK.sub("", text).strip(" *_")
    if plain.endswith((":", "?", "：", "？")) or _OWN.match(plain):
        return False
    return len(plain.split()) >= 4 or len(_CJK.findall(plain)) >= 8


def _footnote(report: str, match: re.Match[str]) -> Footnote:
    body, base = match[2], match.start(2)
    refs = list(_REF.finditer(body)) or list(_LOOSE_REF.finditer(body))
    ref = refs[-1] if refs else None
    urls = _URL.findall(body)
    return Footnote(
        label=match[1],
        quotes=_quotes(body),
        ref=ref[1] if ref else "",
        url=urls[-1] if urls else "",
        line=report.count("\n", 0, match.start()) + 1,
        ref_at=(base + ref.start(1), base + ref.end(1)) if ref else (0, 0),
        at=match.span(),
    )


def _quotes(body: str) -> tuple[str, ...]:
    body = " ".join(body.split())
    start = next((at for at, char in enumerate(body) if char in _PAIRS), -1)
    if start < 0 and body[:1] not in _SINGLE:
        return ()
    start = max(0, start)
    closing = (_PAIRS if body[start] in _PAIRS else _SINGLE)[body[start]]
    ends = [
        at
        for at in range(start + 1, len(body))
        if body[at] in closing and _AFTER_QUOTE.match(body, at + 1) and body[start + 1 : at].strip()
    ]
    return tuple(body[start + 1 : end].strip() for end in ends[:8])


def _blanked(report: str) -> str:
    """Return `report` with code and front matter blanked out, every character in its place."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    return _FENCE.sub(blank, _FRONT_MATTER.sub(blank, report))
