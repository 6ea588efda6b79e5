"""What an answer looks like: signs of a date, a number, a name, a reason; and of text that answers nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from manusfs.models.offline.questions import Wants
from manusfs.models.offline.words import terms

__all__ = ["DATE", "RELATIVE", "SIGNS", "counts", "defines", "fits", "worth"]

_NUMBER = (
    r"\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|million|billion)\b|"
    "[一二三四五六七八九十百千万亿两〇零]{2,}|[一二三四五六七八九十百千万亿两][个条名人年座台家倍]"
)
_MONTH = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?"
)
DATE = re.compile(
    rf"\b1\d{{3}}\b|\b20\d\d\b|\b\d{{1,2}}\.? (?:{_MONTH})\b|\b(?:{_MONTH})\.? \d{{1,2}}\b|\d+年|\d+月\d+日",
    re.IGNORECASE,
)
"""A date that stands by itself."""
RELATIVE = (
    r"\b(?:yesterday|today|tonight|tomorrow|recently|"
    r"(?:last|next|this|past) (?:night|week(?:end)?|month|year|summer|winter|spring|fall|autumn|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)(?:day)?)|"
    r"(?:an?|one|two|three|four|five|six|seven|\d+|few|couple of) (?:days?|weeks?|months?|years?) ago)\b|"
    r"昨天|今天|明天|前天|去年|今年|明年|上周|本周|下周|上个?月|下个?月|昨日|今日|明日"
)
"""A date that counts from the day when it was said."""
SIGNS: dict[Wants, re.Pattern[str]] = {
    "number": re.compile(_NUMBER, re.IGNORECASE),
    "when": re.compile(
        rf"\b1\d{{3}}\b|\b20\d\d\b|\b(?:{_MONTH})\b|\b\d{{1,2}}[./]\d{{1,2}}\b|\bcentury\b|\d+年|\d+月|世纪|{RELATIVE}",
        re.IGNORECASE,
    ),
    "who": re.compile(
        r"\b[A-Z][\w'’.-]+(?:\s+(?:of|the|de|van|von|and|&)?\s*[A-Z][\w'’.-]+)+|[\u3400-\u9fff]{2,4}(?:说|先生|女士|公司|集团)"
    ),
    "where": re.compile(
        r"\b(?:in|at|near|from|of|to|between|across|off|over|along|beside|into|outside|inside|through)\s+(?:the\s+)?"
        r"(?:(?:river|lake|city|town|village|county|province|state|valley|mount|island|port|district)\s+(?:of\s+)?)?[A-Z]|位于|在[\u3400-\u9fff]{2,}|[省市县区国]"
    ),
    "why": re.compile(
        r"\b(?:because|due to|since|in order to|so that|as a result|caused|therefore|owing|reason|allows?|prevents?)\b"
        r"|因为|由于|因此|为了|所以|原因",
        re.IGNORECASE,
    ),
    "how": re.compile(
        r"\b(?:by|using|through|via|with|first|then|step|method|process)\b|通过|利用|采用|首先|"
        r"\A(?:add|place|put|cover|use|choose|pour|fill|remove|cut|mix|press|open|click|run|install|set|make|take|select|"
        r"turn|create|write|wash|keep|lay|spread|plant|water|go|get|let|start|begin)\b",
        re.IGNORECASE,
    ),
    "definition": re.compile(
        r"\b(?:is|are|was|were|means|refers to|called|known as|defined)\b|是指|是|称为|即", re.IGNORECASE
    ),
}
_COUNT = re.compile(_NUMBER, re.IGNORECASE)
_DEFINES = re.compile(r"\b(?:is|are|was|were|means?|refers? to|denotes?)\b|是指|是", re.IGNORECASE)
_MOST_HEAD = 80
"""Characters before the verb of a sentence that says what something is."""
_NOISE = re.compile(
    r"\[\^\]|\b(?:cookies?|subscribe|sign (?:in|up)|log ?in|newsletter|all rights reserved|privacy policy|"
    r"retrieved \d|terms of (?:use|service)|javascript|advertisement|share (?:on|this)|click here|read more)\b|©|"
    r"\(cont(?:\.|inued)\)",
    re.IGNORECASE,
)
_HALF = re.compile(r"[a-z][a-z-]+ |[^\s(]{1,12}\)")
"""How the rest of a sentence begins."""
_FIGURE = re.compile(r"(?<![\w.])\d[\d–-]*n?(?![\w.])")
_ENDED = re.compile(r"[.!?…。！？|:：;；][\"'”’)\]*_]*(?:\[\^?\w+\])*\Z|</\w+>\Z|\]\Z")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def fits(text: str, wants: Wants) -> bool:
    """Return True if `text` holds the kind of thing that is asked for; always for a question that asks for no kind."""
    sign = SIGNS.get(wants)
    return sign is None or sign.search(text) is not None


def defines(text: str, wanted: Iterable[str]) -> bool:
    """Return True if `text` begins with the terms `wanted` and goes on with what that is."""
    match = _DEFINES.search(text)
    head = set(terms(text[: match.start()])) if match and match.start() <= _MOST_HEAD else set()
    return bool(head) and head.issuperset(wanted)


def counts(text: str, thing: str) -> bool:
    """Return True if a number stands before the term `thing` in `text`, with two words between them at most."""
    found = list(_COUNT.finditer(text))
    return any(thing in terms(text[match.end() :][:60])[:3] for match in found)


def worth(text: str, chars: int) -> float:
    """Return what a sentence of `chars` characters counts as an answer, 0 to 1: little for menus and notices."""
    value = 0.7 if chars < 25 else 0.9 if chars > 400 else 1.0
    if _NOISE.search(text) or text.endswith(("?", "？")) or text.count("](") > 2:
        value *= 0.5
    if len(_LINK.sub("", text).strip(" *|-•")) < 0.3 * len(_LINK.sub(r"\1", text)):
        value *= 0.3  # an entry of a menu
    if not _ENDED.search(text) and (chars > 80 or not any(char.isdigit() for char in text)):
        value *= 0.7  # a heading, a caption, an entry of a list, or a sentence that a page's end cuts off
    if _HALF.match(text):
        value *= 0.8
    if len(_FIGURE.findall(text)) > max(6, chars // 20):
        value *= 0.4  # an entry of an index, a line of figures
    return value
