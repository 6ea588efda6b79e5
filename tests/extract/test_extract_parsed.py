"""The tree that pages are walked and read from: what lxml would move, drop or tear apart."""

from __future__ import annotations

import pytest
from lxml import etree

from manusfs.extract import EXTRACTORS, Job
from manusfs.extract.parsed import as_block, parse
from manusfs.records import Extracted

WORDS = "The harbour master of Carrow dropped oranges from the ferry and timed them with a watch. "


def views(source: str) -> Extracted:
    *_, last = EXTRACTORS.load("html")().extract(Job(source.encode(), "text/html", source_url="http://example.test/"))
    assert isinstance(last, Extracted)
    return last


def test_a_heading_keeps_what_stands_in_a_paragraph_inside_it() -> None:
    root = parse("<h2>One<p>two</p>three</h2>").root
    assert "".join(root.find(".//h2").itertext()) == "Onetwothree"


@pytest.mark.parametrize("times", [20, 21, 4_000])
def test_many_paragraphs_in_headings_stay_in_them_and_cost_no_square(times: int) -> None:
    """A parser whose lists take quadratic time to go through is not gone through."""
    page = (
        "<p>before</p>"
        + "<section><h2>a<b><p>b</p></b></h2><p>c</p></section>" * times
        + "<h3><p>last</p></h3><p>d</p>"
    )
    root = parse(page).root
    headings = ["".join(node.itertext()) for node in root.iter("h2", "h3")]
    assert headings == ["ab"] * times + ["last"]
    assert [node.text for node in root.iter("p")] == ["before", *["c"] * times, "d"]


def test_what_follows_a_part_too_deep_for_one_parser_is_read_by_the_other() -> None:
    page = f"<canvas>{'<div>' * 5_000}x{'</div>' * 5_000}</canvas><p>{WORDS * 5}</p><p>after</p>"
    assert parse(page).root is None
    assert "after" in views(page).text


def test_loose_words_of_a_cell_come_into_paragraphs_in_their_order() -> None:
    root = parse("<table><tr><td>a<b>c</b>d<p>q</p> <i>z</i>y</td></tr></table>").root
    for node in list(root.iter("td")):
        as_block(node)
    cell = root.find(".//tr/div")
    assert etree.tostring(cell) == b"<div><p>a<b>c</b>d</p><p>q</p><p><i>z</i>y</p></div>"


@pytest.mark.parametrize("attribute", ["hidden", 'style="display: none"'])
def test_what_follows_a_hidden_part_stays(attribute: str) -> None:
    found = views(f"<article><p>{WORDS * 4}</p><p>before <span {attribute}>secret</span> behind</p></article>")
    both = found.text + (found.full or "")
    assert "before" in both and "behind" in both and "secret" not in both


def test_a_short_reading_view_that_misses_prose_is_compared_with_other_extractors() -> None:
    prose = "".join(f"<div class='comment-like x{n}'>{WORDS}{WORDS}<br>{WORDS}</div>" for n in range(6))
    found = views(f"<html><body><div id='sidebar'>{prose}</div><article><p>{WORDS}</p></article></body></html>")
    assert found.text.count("oranges") + (found.full or "").count("oranges") >= 18


@pytest.mark.parametrize(
    "page",
    [
        "<p>a<script>b</script>c</p>",
        "<p>a<script>x('<script>b</script>c</p>",
        "<!-- <script> --><p>a<style>b</style>c</p><!-- </script> -->",
        "<p>a<svg><style>x</style><svg><text>b</text></svg><g>b</g></svg>c</p>",
        "<p title='<script>'>a<script>b</script>c</p>",
        "<p title='<!--'>a<style>b</style>c</p><p title='-->'></p>",
        "<xmp><script>a</xmp><p>c</p><script>b</script>",
        "<p>a</p><iframe><script></iframe><p>c</p><script>b</script>",
        "<noscript><style>b</style></noscript><p>a c</p>",
        "<style-guide>a</style-guide><style>b</style>c",
        "<p>a</p><script>b<!-- <script> b </script> --></script>c",
        "<p>a &lt;script&gt; c</p><script>b",
    ],
)
def test_leaving_out_scripts_never_leaves_out_words(page: str) -> None:
    """I9: what looks like a script in an attribute, a comment, raw text or another script takes no words with it."""
    root = parse(page).root
    for node in list(root.iter("script", "style", "svg")):
        node.drop_tree()
    assert {"a", "c"} <= set("".join(root.itertext())) and "b" not in "".join(root.itertext()).replace("</xmp>", "")


def test_scripts_are_no_hidden_text() -> None:
    """A note counts the characters that a reader does not see, not the code beside them."""
    found = views(f"<article><p>{WORDS * 3}</p></article><div hidden><script>{'x();' * 500}</script></div>")
    assert not any("hidden" in note for note in found.notes)


def test_articles_in_json_ld_are_still_found() -> None:
    data = f'{{"@type": "NewsArticle", "articleBody": "{WORDS * 5}"}}'
    root = parse(f"<script type='application/ld+json'>{data}</script><script>x()</script><p>Enable scripts.</p>").root
    assert [node.get("type") for node in root.iter("script")] == ["application/ld+json"]
