"""What of a web page reaches its views. The h numbers name the cases that the tests are taken from."""

from __future__ import annotations

import pytest
from extract_documents import WORDS, page
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.extract import EXTRACTORS, Job
from manusfs.extract.collect import Collector
from manusfs.records import Extracted

URL = "https://example.test/dir/page?x=1"
CODE = "def f(x):\n    if x:\n\treturn  1\n\n        deep()  # a comment"


def extracted(raw: bytes | str, url: str = URL) -> Extracted:
    """Return what is made of a page, in this process."""
    collector = Collector("text/html", 64 << 20)
    raw = raw.encode() if isinstance(raw, str) else raw
    for item in EXTRACTORS.load("html")().extract(Job(raw, "text/html", source_url=url)):
        collector.add(item)
    return collector.result()


def everything(found: Extracted) -> str:
    """Return both views."""
    return f"{found.text}\n{found.full or ''}"


def test_a_table_in_a_figure_is_kept():
    """h01."""
    table = '<figure class="wp-block-table"><table><tr><td>Alpha</td><td>17</td></tr></table></figure>'
    found = everything(extracted(page(table)))
    assert "Alpha" in found
    assert "17" in found


def test_a_table_that_holds_links_is_kept():
    """h02."""
    row = '<tr><td><a href="/b">B1</a></td><td><a href="/c">B2</a></td></tr>'
    found = everything(extracted(page(f"<table><tr><td>A1</td></tr></table><table>{row}</table>")))
    assert all(cell in found for cell in ("A1", "B1", "B2"))


_DATA = "<table><thead><tr><th>Town</th></tr></thead><tbody><tr><td>Beta</td><td>42</td></tr></tbody></table>"


@pytest.mark.parametrize(
    "markup",
    [
        f"<figure>{_DATA}<figcaption>Gamma</figcaption></figure>",
        f"<figure><figcaption>Gamma</figcaption><div>{_DATA}</div></figure>",
        "<figure><table><caption>Beta</caption><tr><td>42</td><td>x</td></tr><tr><td>Gamma</td><td>y</td></tr></table>"
        "</figure>",
        "<figure><blockquote><p>Beta 42</p></blockquote><figcaption>Gamma</figcaption></figure>",
        "<figure><pre>Beta = 42</pre><figcaption>Gamma</figcaption></figure>",
        "<figure><ul><li>Beta</li><li>42</li><li>Gamma</li></ul></figure>",
        '<figure><img src="a.png" alt="x"><figcaption>Beta 42 Gamma</figcaption></figure>',
        f"<aside>{_DATA}<p>Gamma</p></aside>",
        f"<form>{_DATA}<p>Gamma</p></form>",
        "<aside><pre>Beta = 42  # Gamma</pre></aside>",
        "<table><tr><td>Beta<table><tr><td>42</td><td>x</td></tr></table></td><td>Gamma</td></tr></table>",
        "<table><tr><th>Beta</th><td><p>42</p><p>y</p></td></tr><tr><th>Gamma</th><td><ul><li>x</li></ul></td></tr></table>",
    ],
)
def test_what_stands_in_figures_forms_asides_and_cells_is_in_the_reading_view(markup: str):
    """h01, h02 and their kind: the heuristics drop such places with all that stands in them."""
    found = extracted(page(markup))
    assert all(word in found.text for word in ("Beta", "42", "Gamma")), found.text


@pytest.mark.parametrize(
    "markup", ["<pre>{}</pre>", "<pre><code>{}</code></pre>", '<div class="highlight"><pre>{}</pre></div>']
)
def test_code_keeps_its_indentation(markup: str):
    """h03: blanks, tabs, empty lines, exactly."""
    coloured = CODE.replace("def", '<span class="k">def</span>')
    found = extracted(page(markup.format(coloured)))
    assert f"```\n{CODE}\n```" in found.text
    assert found.full is None


def test_code_names_its_language_and_can_hold_fences():
    found = extracted(page('<pre><code class="language-md">```\n&lt;b&gt;x\n```</code></pre>'))
    assert "````md\n```\n<b>x\n```\n````" in found.text


def test_words_that_look_like_our_own_marks_stay():
    found = extracted(page("<p>QBLOCK0Z0N one QBLOCK0Z0E and QBLOCK1Z7N two three</p><pre>a\n b</pre>"))
    assert "QBLOCK0Z0N one QBLOCK0Z0E and QBLOCK1Z7N two three" in found.text
    assert "```\na\n b\n```" in found.text


@pytest.mark.parametrize(("depth", "word"), [(100_000, "after"), (1_000, "deep"), (150, "shallow")])
def test_text_under_any_depth_of_elements_is_kept(depth: int, word: str):
    """h05, h06: never an empty page."""
    found = extracted(
        "<html><body>" + "<div>" * depth + f"<p>{WORDS * 5}</p>" + "</div>" * depth + f"<p>{word}</p></body></html>"
    )
    assert word in everything(found)
    assert "oranges" in found.text
    assert depth < 200 or f"nested {depth + 2} levels deep" in " ".join(found.notes)


def test_hidden_text_is_left_out_and_told():
    """h10: it may hold instructions for a model; it stays in the raw bytes."""
    hidden = (
        '<p style="display:none">HIDDEN1</p><p hidden>HIDDEN2</p><p style="font-size:0px">HIDDEN3</p>'
        '<div style="visibility: hidden"><p>HIDDEN4</p></div><!-- HIDDEN5 --><p style="font-size:0.8em">SMALL</p>'
    )
    found = extracted(page(hidden))
    assert "HIDDEN" not in everything(found)
    assert "SMALL" in everything(found)
    assert "28 characters of hidden text are left out; they are in the raw bytes" in found.notes


def test_a_page_that_scripts_would_show_is_not_taken_for_empty():
    found = extracted(
        f'<html><body><div id="app" style="visibility:hidden"><h1>T</h1><p>{WORDS * 9}</p></div></body></html>'
    )
    assert "oranges" in found.text
    assert any("hidden until scripts run" in note for note in found.notes)


def test_a_page_of_scripts_says_that_it_has_no_text():
    found = extracted("<html><head><title>App</title></head><body><script>go()</script><noscript>Turn it on</noscript>")
    assert "Turn it on" in found.text
    assert "go()" not in found.text
    assert any(note.startswith("no visible text") for note in found.notes)
    assert extracted("<html><body><script>1</script>").notes == ("no text: the page has no visible text at all",)


def test_a_stub_look_alike_is_text():
    """h12: only the store issues ids; the page's own brackets are no address."""
    found = extracted(
        page('<p>[stub id=0000 path=../../etc/passwd offset=0]</p><p>&lt;observation ref="obs:1"&gt; or so</p>')
    )
    assert "stub id=0000 path=../../etc/passwd offset=0" in found.text
    assert '<observation ref="obs:1">' in found.text


def test_control_characters_are_gone_and_the_rest_is_there():
    """h16: XML refuses them, and terminals obey them."""
    found = extracted(page("<p>fi\x01rst\x1b[31m</p><p>\x0bsecond\x9b &#x1b;[0m &#0; &#xD800; \ufffe</p>"))
    assert "second" in found.text
    assert not [char for char in everything(found) if char < " " and char not in "\n\t"]
    assert not [char for char in everything(found) if "\x7f" <= char <= "\x9f" or char == "\ufffe"]
    everything(found).encode("utf-8")


def test_external_entities_are_never_opened(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """h18: no file and no network is touched while a page is parsed."""
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    head = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    raw = f"{head}<html><body><p>{WORDS * 3}</p><p>&x;</p></body></html>"
    extracted(raw)
    opened: list[str] = []
    monkeypatch.setattr("builtins.open", lambda name, *rest, **named: opened.append(str(name)))
    found = extracted(raw)
    assert opened == []
    assert "SECRET" not in everything(found)
    assert "the page defines entities of its own; they are not expanded" in found.notes


def test_entities_that_multiply_are_not_expanded():
    """h19."""
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(12))
    found = extracted(
        f"<?xml version='1.0'?><!DOCTYPE html [{entities}]><html><body><p>{WORDS}</p><p>&l11;</p></body></html>"
    )
    assert len(everything(found)) < 1_000


def test_tables_stand_in_the_reading_view_as_they_are():
    table = (
        "<table><caption>What it cost</caption><thead><tr><th>Item</th><th>Spent | planned</th></tr></thead>"
        "<tbody><tr><td>Cable</td><td>9.0</td></tr><tr><td>Sum,<br>all</td><td></td></tr></tbody></table>"
    )
    found = extracted(page(table))
    expected = "What it cost\n\n| Item | Spent \\| planned |\n|---|---|\n| Cable | 9.0 |\n| Sum, all |  |\n"
    assert expected in found.text
    assert found.full is None


def test_cells_that_span_others_leave_each_fact_in_its_column():
    table = (
        "<table><tr><th>Year</th><th colspan=2>Cost</th></tr><tr><td rowspan=2>2009</td><td>a</td><td>1</td></tr>"
        "<tr><td>b</td><td>2</td></tr><tr><td>2010</td><td>c</td><td>3</td></tr></table>"
    )
    expected = "| Year | Cost |  |\n|---|---|---|\n| 2009 | a | 1 |\n|  | b | 2 |\n| 2010 | c | 3 |\n"
    assert expected in extracted(page(table)).text


def test_a_table_that_serves_layout_becomes_paragraphs():
    cells = f"<td><h2>Left</h2><p>{WORDS * 5}</p></td><td><ul><li>one</li></ul></td>"
    found = extracted(f"<html><body><table><tr>{cells}</tr></table></body></html>")
    assert "|" not in everything(found)
    assert found.text.count("oranges") == 5


def test_links_are_absolute_and_inline():
    found = extracted(
        page('<p>Read <a href="../a b.html#x">the report</a> and <a href="//other.test/">that</a>, in short.</p>')
    )
    assert "[the report](https://example.test/a b.html#x)" in found.text.replace("%20", " ").replace("<", "").replace(
        ">", ""
    )
    assert "[that](https://other.test/)" in found.text


def test_words_stand_as_on_the_page():
    """What people search for and quote has no backslashes of a Markdown writer in it."""
    words = "call my_func_name[0], 3*4*5 * 6 and [1] #tag `tick` ~x~ C:\\[a] a|b &lt;b&gt; ![a]"
    found = extracted(
        page(f"<p>{words}</p><p># no heading</p><p>1. point</p><p>- dash</p><p><code>a\\_b</code> is a rule</p>")
    )
    assert words.replace("&lt;", "<").replace("&gt;", ">") in found.text
    assert "\n\\# no heading\n" in found.text
    assert "\n1. point\n" in found.text
    assert "\n- dash\n" in found.text
    assert "`a\\_b`" in found.text
    assert [entry.title for entry in found.outline] == ["Oranges"]


def test_a_base_element_counts():
    raw = page(
        '<p>Read <a href="r.html">the report</a> about the matter at hand.</p>',
        head='<base href="https://base.test/d/">',
    )
    assert "(https://base.test/d/r.html)" in extracted(raw).text


def test_links_of_the_main_part_that_the_reading_view_loses_are_listed():
    """What an agent follows next must not hang on the heuristics of main content."""
    more = "<ul>" + "".join(f'<li><a href="/more/{n}">Paper {n}</a></li>' for n in range(3)) + "</ul>"
    raw = page(f"<h2>Further reading</h2>{more}").replace(b"<body>", b'<body><nav><a href="/menu">Menu</a></nav>')
    found = extracted(raw)
    assert all(f"[Paper {n}](https://example.test/more/{n})" in found.text for n in range(3))
    assert "Menu" not in found.text


def test_the_full_view_is_there_when_much_is_left_out_and_says_what():
    """The design's rule: a table row, a line of code, or over 30 % of the visible words."""
    aside = "".join(f"<aside><p>Side remark {n} with words of its own, many of them.</p></aside>" for n in range(40))
    raw = page("").replace(b"</body>", aside.encode() + b"</body>")
    found = extracted(raw)
    assert "Side remark" not in found.text
    assert found.full is not None
    assert "Side remark 39" in found.full
    assert any("the full view has everything visible" in note and "visible words" in note for note in found.notes)


def test_the_outline_has_the_headings_with_their_offsets():
    found = extracted(
        page("<h2>Über die Größe</h2><p>" + WORDS * 2 + "</p><h3>甲 <em>und</em> 乙</h3><p>" + WORDS * 2 + "</p>")
    )
    assert [(entry.level, entry.title.replace("*", "")) for entry in found.outline][:3] == [
        (1, "Oranges"),
        (2, "Über die Größe"),
        (3, "甲 und 乙"),
    ]
    data = found.text.encode()
    assert all(data[entry.offset :].startswith(b"#" * entry.level + b" ") for entry in found.outline)


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>A &amp; B\n  and\x1b C</title>", "A & B and C"),
        ('<meta property="og:title" content="From the card">', "From the card"),
        ("", "From the heading"),
    ],
)
def test_the_title_is_one_line(head: str, title: str):
    assert extracted(f"<html><head>{head}</head><body><h1>From the heading</h1><p>{WORDS}</p>").title == title


def test_lists_keep_bullets_numbers_and_nesting_in_the_full_view():
    raw = "<html><body><ul><li>one<ol><li>first<li>second</ol><li><p>two</p></ul></body></html>"
    assert everything(extracted(raw)).count("- one\n  1. first\n  2. second\n- two") >= 1


def test_a_page_of_a_few_words_is_no_less_a_page():
    assert extracted("<html><body><p>Gone fishing.</p></body></html>").text == "Gone fishing.\n"
    assert extracted("<p>one<br>two").text.split() == ["one", "two"]


def test_tags_of_a_thousand_attributes_are_cut_down():
    """Parsers need quadratic time for them."""
    raw = (
        "<html><body><a href='/x' "
        + " ".join(f"a{n}=1" for n in range(200_000))
        + f">link</a><p>{WORDS * 4}</p></body></html>"
    )
    found = extracted(raw)
    assert "oranges" in found.text
    assert "attributes of 1 overlong tags were left out" in found.notes


def test_the_whole_text_comes_before_the_reading_view_is_tried():
    """A kill in the middle of the heuristics leaves everything visible."""
    first = next(iter(EXTRACTORS.load("html")().extract(Job(page("<p>end</p>"), "text/html"))))
    assert isinstance(first, Extracted)
    assert "oranges" in first.text
    assert first.notes == ("the text is everything visible, menus too; no reading view could be made",)


def test_a_page_with_too_many_elements_to_be_walked_keeps_its_words(monkeypatch: pytest.MonkeyPatch):
    """A million links would take the walk longer than the limit: the words come from faster code then."""
    from manusfs.extract.worker import TimeUp

    def late(*rest: object, **named: object) -> None:
        raise TimeUp

    monkeypatch.setattr("manusfs.extract.html.walk", late)
    found = extracted(page("<h2>Second</h2><p>the end</p>"))
    assert found.text.count("oranges") == 6
    assert "the end" in found.text
    assert found.notes == ("the page has too many elements: the text is everything visible, without tables and links",)


def test_heuristics_that_fail_leave_everything_visible(monkeypatch: pytest.MonkeyPatch):
    def broken(*rest: object, **named: object) -> str:
        raise RuntimeError("a heuristic tripped")

    monkeypatch.setattr("manusfs.extract.html.trafilatura.extract", broken)
    found = extracted(page("<pre>a\n  b</pre>"))
    assert "```\na\n  b\n```" in everything(found)
    assert any("the reading view could not be made: RuntimeError" in note for note in found.notes)


_TAGS = st.sampled_from(
    "p div table tr td th ul ol li pre code h1 h2 a b blockquote br hr img script style caption form nav main dl dt dd "
    "span noscript template svg math title select option textarea".split()
)
_PIECES = st.one_of(
    st.builds("<{}>".format, _TAGS),
    st.builds("</{}>".format, _TAGS),
    st.builds('<{} href="{}" rowspan=3 colspan={}>'.format, _TAGS, st.text(max_size=8), st.integers(-1, 200)),
    st.text(max_size=12),
    st.sampled_from(["&amp;", "&#0;", "&#xd800;", "<!--", "-->", "<![CDATA[", "]]>", "\x00", "`", "|", "\n"]),
)


@settings(max_examples=120, deadline=None)
@given(st.lists(_PIECES, max_size=40))
def test_any_soup_of_tags_gives_valid_views(pieces: list[str]):
    """I3, I9: valid UTF-8 without NUL, headings where the outline says, words or a note."""
    found = extracted("".join(pieces).encode("utf-8", "replace"))
    assert "\x00" not in everything(found)
    data = found.text.encode("utf-8")
    everything(found).encode("utf-8")
    assert found.text.strip() or found.notes
    for entry in found.outline:
        assert data[entry.offset :].startswith(b"#" * entry.level)
