"""Everything visible of a page as Markdown, by one walk over its tree that no depth of nesting can break."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin

from lxml import etree

from manusfs.extract.job import plain_view, title_line
from manusfs.extract.markdown import Buffer, Table, code_block
from manusfs.extract.parsed import DeepNode, Parsed
from manusfs.extract.seen import Link, Place, Seen

__all__ = ["walk"]

_SKIPPED = frozenset(
    "script style template noscript iframe object embed svg canvas audio video select datalist head".split()
)
_PARAGRAPHS = frozenset(
    "p div section figure figcaption fieldset details summary address dl hgroup center legend dialog".split()
)
_CHROME = frozenset("nav header footer aside form search".split())
"""Parts of a page that are not what people come for."""
_MAIN = frozenset(("main", "article"))
_LINES = frozenset("dt dd option".split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])", re.IGNORECASE
)
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|brush:?)-?\s*([A-Za-z0-9+#]{1,20})(?=\s|$)")
_FOLLOWED = re.compile(r"https?:|[^:]*$|[^:/?#]*[/?#]", re.IGNORECASE)
_SITE = re.compile(r"https?://[^/?#\s]+")
_NEST = 8
"""Lists and quotes nested deeper are written at this depth."""


def walk(page: Parsed, source_url: str, *, keep_hidden: bool = False) -> Seen:
    """Return what stands in `page`; links are resolved against its base, else `source_url`."""
    walker = _Walker(_base(page.tree, source_url), keep_hidden)
    walker.seen.title = _title(page.tree)
    if page.root is not None:
        body = page.root.find("body")
        walker.run(page.root if body is None else body)
    elif (root := page.tree.body or page.tree.document) is not None:
        walker.run_deep(root)
    walker.seen.text = walker.buffer.text()
    return walker.seen


def _base(tree: Any, source_url: str) -> str:
    element = tree.document.query_selector("base[href]")
    return _joined(source_url, element.getattr("href") or "") if element is not None else source_url


def _title(tree: Any) -> str:
    title = title_line(tree.title or "")
    if not title:
        for selector, attribute in (('meta[property="og:title"]', "content"), ("h1", "")):
            found = tree.document.query_selector(selector)
            if found is not None and not title:
                title = title_line((found.getattr(attribute) if attribute else found.text) or "")
    return title


def _joined(base: str, url: str) -> str:
    url = url.strip()
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def _leaf() -> None:
    """Stand for a node whose children are of no interest."""


def _number(value: str | None) -> int:
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 6 else 1


class _Walker:
    def __init__(self, base: str, keep_hidden: bool) -> None:
        self.seen = Seen()
        self.buffer = Buffer()
        self._base = base
        site = _SITE.match(base)
        self._site = site[0] if site else ""
        self._keep_hidden = keep_hidden
        self._outer: list[Buffer] = []
        self._tables: list[Table] = []
        self._lists: list[int] = []
        self._pre: list[str] | None = None
        self._anchor: tuple[str, list[str]] | None = None
        self._in_chrome = self._in_main = 0

    def run(self, root: Any) -> None:
        leaves: list[Callable[[], None] | None] = []
        deepest = 0
        events = etree.iterwalk(root, events=("start", "end"))
        for event, node in events:
            if event == "start":
                leave = self._enter(node)
                if leave is _leaf:
                    events.skip_subtree()
                    leave = None
                elif text := node.text:
                    self._text(text)
                leaves.append(leave)
                if len(leaves) > deepest:
                    deepest = len(leaves)
            else:
                leave = leaves.pop()
                if leave:
                    leave()
                if (text := node.tail) and leaves:
                    self._text(text)
        self.seen.depth = deepest

    def run_deep(self, root: Any) -> None:
        """As `run`, over the tree of the parser that no depth of nesting can break."""
        stack: list[tuple[Any, Callable[[], None] | None]] = []
        node = root
        while True:
            leave = self._enter_deep(node)
            child = None if leave is _leaf else node.first_child
            if child is not None:
                stack.append((node, leave))
                if len(stack) > self.seen.depth:
                    self.seen.depth = len(stack)
                node = child
                continue
            if leave:
                leave()
            following = node.next if stack else None
            while following is None:
                if not stack:
                    return
                node, leave = stack.pop()
                if leave:
                    leave()
                following = node.next if stack else None
            node = following

    def _enter_deep(self, node: Any) -> Callable[[], None] | None:
        tag = node.tag
        if tag == "#text":
            self._text(node.value or "")
            return _leaf
        if tag == "#document":
            return None
        return _leaf if tag is None or tag[0] in "#!" else self._enter(DeepNode(node))

    def _enter(self, node: Any) -> Callable[[], None] | None:
        """Begin `node`; return what to do at its end, if anything; `_leaf` leaves its children out."""
        tag = node.tag
        if tag in _SKIPPED:
            return _leaf
        style = node.get("style")
        hidden = (style and _HIDDEN_STYLE.search(style)) or node.get("hidden") is not None
        if hidden and not self._keep_hidden:
            self.seen.hidden.append(node)
            self.seen.hidden_chars += len(node.text_content().strip())
            return _leaf
        if self._pre is not None:
            if tag == "br":
                self._pre.append("\n")
            return None
        handler = _HANDLERS.get(tag)
        return None if handler is None else handler(self, node, tag)

    def _text(self, text: str) -> None:
        if text.isspace() and self._pre is None:
            self.buffer.space = True
            return
        # numeric references bring controls past the parser
        text = plain_view(text)
        if self._pre is not None:
            self._pre.append(text)
            return
        self.buffer.words(text)
        if self._anchor is not None:
            self._anchor[1].append(text)

    def _paragraph(self, node: Any, tag: str) -> Callable[[], None]:
        self.buffer.gap(2 if not self._lists else 1)
        return self._end_paragraph

    def _end_paragraph(self) -> None:
        self.buffer.gap(2 if not self._lists else 1)

    def _region(self, node: Any, tag: str) -> Callable[[], None]:
        self._in_region(1, tag in _CHROME)
        return lambda: self._in_region(-1, tag in _CHROME)

    def _in_region(self, more: int, chrome: bool) -> None:
        if chrome:
            self._in_chrome += more
        else:
            self._in_main += more
        self.buffer.gap(2)

    def _line(self, node: Any, tag: str) -> Callable[[], None]:
        self.buffer.gap(1)
        return lambda: self.buffer.gap(1)

    def _break(self, node: Any, tag: str) -> None:
        self.buffer.gap(2 if tag == "hr" else 1)

    def _heading(self, node: Any, tag: str) -> Callable[[], None]:
        self._push()
        return lambda: self._end_heading(_HEADINGS[tag])

    def _end_heading(self, level: int) -> None:
        title = " ".join(self._pop().text().split())
        if title:
            self.buffer.block("#" * level + " " + title)
            self.buffer.blocks += 1

    def _list(self, node: Any, tag: str) -> Callable[[], None]:
        self.buffer.gap(1 if self._lists else 2)
        self.buffer.blocks += 1
        self._lists.append(0 if tag == "ol" else -1)
        return self._end_list

    def _end_list(self) -> None:
        self._lists.pop()
        self.buffer.gap(1 if self._lists else 2)

    def _item(self, node: Any, tag: str) -> Callable[[], None]:
        self.buffer.gap(1)
        bullet = "-"
        if self._lists and self._lists[-1] >= 0:
            self._lists[-1] += 1
            bullet = f"{self._lists[-1]}."
        self.buffer.marker = "  " * min(max(0, len(self._lists) - 1), _NEST) + bullet + " "
        return self._end_item

    def _end_item(self) -> None:
        self.buffer.marker = ""
        self.buffer.gap(1)

    def _code(self, node: Any, tag: str) -> Callable[[], None]:
        self._pre = []
        return lambda: self._end_code(node)

    def _end_code(self, node: Any) -> None:
        code = "".join(self._pre or ()).removeprefix("\n")
        self._pre = None
        if code.strip():
            inner = node.find(".//code[@class]")
            classes = " ".join(filter(None, (node.get("class"), inner.get("class") if inner is not None else "")))
            found = _LANGUAGE.search(classes)
            block = code_block(code, found[1].lower() if found else "")
            self.buffer.block(block)
            self.buffer.blocks += 1
            self.seen.code.append((node, block))

    def _quote(self, node: Any, tag: str) -> Callable[[], None]:
        self._push()
        return self._end_quote

    def _end_quote(self) -> None:
        text = self._pop().text()
        if text:
            deep = len(self._outer) > _NEST
            self.buffer.block(text if deep else "\n".join(f"> {line}".rstrip() for line in text.split("\n")))
            self.buffer.blocks += 1

    def _table(self, node: Any, tag: str) -> Callable[[], None]:
        if self._tables:
            self._tables[-1].layout = True
        self.buffer.gap(2)
        self._tables.append(Table())
        return lambda: self._end_table(node)

    def _end_table(self, node: Any) -> None:
        table = self._tables.pop()
        text = table.markdown()
        if text:
            self.buffer.block(text)
            self.buffer.blocks += 1
        if table.layout:
            self.seen.layout += [node, *table.elements]
        if table.is_data:
            if len(table.rows) > 1 and not table.is_menu:
                self.seen.tables.append((node, text))
            self.seen.rows += [" ".join(row) for row in table.rows if sum(map(bool, row)) > 1]

    def _row(self, node: Any, tag: str) -> None:
        if self._tables:
            self._tables[-1].row()
            self._tables[-1].elements.append(node)

    def _group(self, node: Any, tag: str) -> None:
        if self._tables:
            self._tables[-1].elements.append(node)

    def _caption(self, node: Any, tag: str) -> Callable[[], None] | None:
        if not self._tables:
            return self._paragraph(node, tag)
        self._push()
        return self._end_caption

    def _end_caption(self) -> None:
        self._tables[-1].caption = " ".join(self._pop().text().split())

    def _cell(self, node: Any, tag: str) -> Callable[[], None] | None:
        if not self._tables:
            return None
        self._push()
        self._tables[-1].elements.append(node)
        lists, self._lists = self._lists, []
        return lambda: self._end_cell(node, lists)

    def _end_cell(self, node: Any, lists: list[int]) -> None:
        self._lists = lists
        self._tables[-1].add(self._pop(), _number(node.get("colspan")), _number(node.get("rowspan")))

    def _link(self, node: Any, tag: str) -> Callable[[], None] | None:
        href = node.get("href")
        if not href:
            return None
        if href.strip()[:1] == "#":
            self.seen.anchors.append((node, ""))
            return None
        url = self._url(href)
        if url != href:
            self.seen.anchors.append((node, url))
        if not url.startswith("http") and not _FOLLOWED.match(url):
            return None
        self._anchor = (url, [])
        return self._end_link

    def _url(self, href: str) -> str:
        href = href.strip()
        if href.startswith(("http://", "https://")):
            return href
        if self._site and href[:1] == "/" and href[1:2] != "/" and "/." not in href:
            # the usual case, ten times faster than the general rule
            return self._site + href
        return _joined(self._base, href)

    def _end_link(self) -> None:
        if self._anchor is not None:
            url, words = self._anchor
            if self._tables:
                self._tables[-1].link_chars += sum(map(len, words))
            place = Place.CHROME if self._in_chrome else Place.MAIN if self._in_main else Place.BODY
            known = self.seen.links.get(url)
            if known is None:
                self.seen.links[url] = Link(title_line("".join(words), 120), place)
            elif not known.wording or place > known.place:
                wording = known.wording or title_line("".join(words), 120)
                self.seen.links[url] = Link(wording, max(known.place, place))
            self._anchor = None

    def _image(self, node: Any, tag: str) -> None:
        alt = title_line(node.get("alt") or "", 500)
        if alt:
            self._text(f" {alt} ")

    def _push(self) -> None:
        self._outer.append(self.buffer)
        self.buffer = Buffer()

    def _pop(self) -> Buffer:
        done, self.buffer = self.buffer, self._outer.pop()
        return done


_Handler = Callable[[_Walker, Any, str], "Callable[[], None] | None"]
_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(_PARAGRAPHS, _Walker._paragraph),
    **dict.fromkeys(_CHROME | _MAIN, _Walker._region),
    **dict.fromkeys(_LINES, _Walker._line),
    **dict.fromkeys(_HEADINGS, _Walker._heading),
    "ul": _Walker._list,
    "ol": _Walker._list,
    "menu": _Walker._list,
    "li": _Walker._item,
    "br": _Walker._break,
    "hr": _Walker._break,
    "pre": _Walker._code,
    "listing": _Walker._code,
    "xmp": _Walker._code,
    "blockquote": _Walker._quote,
    "table": _Walker._table,
    "caption": _Walker._caption,
    **dict.fromkeys(("tbody", "thead", "tfoot"), _Walker._group),
    "tr": _Walker._row,
    "td": _Walker._cell,
    "th": _Walker._cell,
    "a": _Walker._link,
    "img": _Walker._image,
}
