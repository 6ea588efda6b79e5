"""Search over a workspace: hits that can be read as they are, filters, repetitions, and honest emptiness."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from search_place import Place

from manusfs.memory.search import Hit
from manusfs.records import ObsRef, parse_ref

FILLER = "Some other sentence that says nothing about it. " * 40


def read(place: Place, hit: Hit) -> str:
    ref = parse_ref(hit.ref)
    assert isinstance(ref, ObsRef)
    return place.observations.read(ref.id, ref.view, ref.span).decode()


def test_a_hit_is_a_span_that_reads_as_its_snippet(place: Place) -> None:
    """OC-13: short snippets with path and lines, never full texts."""
    text = f"# Bridges\n\n{FILLER}\n\nThe north bridge was opened in 1932.\nIt is long.\n\n{FILLER}"
    meta = place.add(text, url="https://example.org/bridges", title="Bridges of the north")
    hit, *_ = place.search.search("when was the northern bridge opening")
    assert "opened in 1932" in hit.snippet
    assert read(place, hit) == hit.snippet
    assert hit.path == f"{meta.folder}/text.md"
    assert (hit.url, hit.title, hit.kind) == ("https://example.org/bridges", "Bridges of the north", "web")
    lines = text.split("\n")
    assert "opened in 1932" in "\n".join(lines[hit.line_start - 1 : hit.line_end])
    keys = {"ref", "path", "url", "title", "score", "snippet", "line_start", "line_end"}
    assert keys <= json.loads(json.dumps(hit.to_json())).keys()


def test_no_snippet_is_longer_than_700_characters(place: Place) -> None:
    place.add("bridge " * 5_000)
    place.add("桥" * 5_000, "b")
    for query in ("bridge", "桥桥"):
        assert all(len(snippet) <= 700 for snippet in place.texts(query))


CASES = [
    ("GPT-4", {1}), ("e-mail", {1}), ("don't", {1}), ("TODO: fix", {4}), ("POL-358", {4}), ("38.101", {1}),
    ("user@example.com", {1}), ('"unbalanced', set()), ("", set()), ("   ", set()), ("a\0b", set()), ("NEAR(", set()),
    ("東京", {2}), ("東", {2}), ("い", {2}), ("京タワー", {2}), ("final office", {3}), ("cafe", {3}), ("RESUME", {3}),
    ("Foo", {4}), ("error:timeout", {4}), ('"costs $5"', {1}), ('"fix error"', {4}), ('"error fix"', set()),
    ("\ud800", set()),
]  # fmt: skip


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, dict[str, int]]:
    place = Place(tmp_path_factory.mktemp("docs") / "w")
    texts = [
        "GPT-4 e-mail guide: C++ and C# at user@example.com, don't panic, 38.101 costs $5",
        "東京タワーは高い",
        "naïve café ﬁnal ofﬁce résumé",
        "TODO: fix error:timeout in Foo::bar POL-358",
    ]
    return place, {place.add(text, f"doc{at}").id: at for at, text in enumerate(texts, 1)}


@pytest.mark.parametrize(("query", "wanted"), CASES)
def test_queries_that_are_syntax_elsewhere(docs: tuple[Place, dict[str, int]], query: str, wanted: set[int]) -> None:
    """Case f01: never an exception; an empty list is no error and says why."""
    place, numbers = docs
    hits = place.search.search(query)
    assert {numbers[hit.ref[4:16]] for hit in hits} == wanted
    assert bool(hits.note) == (not hits)


def test_chinese_is_found_inside_runs(place: Place) -> None:
    place.add("长期运行的智能体需要上下文压缩来节省费用。")
    place.add("无关的文章。", "b")
    for query in ("上下文压缩", "上下", "压缩", "缩", "费用", '"体需要上"'):
        assert ["上下文压缩" in text for text in place.texts(query)] == [True], query


def test_a_phrase_must_stand_as_it_is_and_a_dash_leaves_out(place: Place) -> None:
    place.add("the north plant opened", "a")
    place.add("the plant in the north closed", "b")
    assert place.texts('"north plant"') == ["the north plant opened"]
    assert place.texts("plant -closed") == ["the north plant opened"]


def test_filters_narrow_the_search(place: Place) -> None:
    first = place.add("the bridge is old", url="https://www.example.org/a")
    place.add("the bridge is new", "pasted")
    place.folder.root.write_atomic("notes/findings/bridge.md", b"# Note\n\nthe bridge is a bridge\n")
    session = place.say("tell me about the bridge please")
    assert len(place.search.search("bridge")) == 4
    assert place.texts("bridge host:example.org") == ["the bridge is old"]
    assert place.texts("bridge kind:user") == ["the bridge is new"]
    assert [hit.ref for hit in place.search.search("bridge kind:note")] == ["notes/findings/bridge.md"]
    assert [hit.ref for hit in place.search.search("bridge kind:message")] == [f"msg:{session}:2.0@0-31"]
    assert place.texts("bridge", within=f"obs:{first.id}") == ["the bridge is old"]
    assert len(place.search.search("bridge", within="notes/")) == 1
    assert len(place.search.search("bridge", within="observations/web/")) == 1
    assert place.texts("bridge", kinds=("user",)) == ["the bridge is new"]
    assert place.texts("bridge after:2026-01-02 kind:web") == ["the bridge is old"]
    assert place.texts("bridge before:2026-01-02 kind:web") == []
    none = place.search.search("bridge kind:web before:2020-01-01")
    assert not none
    assert "filters" in none.note
    assert "Nothing is indexed" in place.search.search("bridge", within="obs:" + "0" * 12).note


def test_a_message_is_found_by_its_session(place: Place) -> None:
    place.say("the zeppelin landed in the harbour")
    session = place.say("the zeppelin started again at noon")
    (hit,) = place.search.search(f"zeppelin session:{session}")
    assert hit.ref.startswith(f"msg:{session}:2.0@")
    assert hit.path == f"sessions/{session}/transcript.jsonl"
    assert (hit.line_start, hit.line_end) == (2, 2)


def test_the_same_passage_in_several_pages_is_one_hit_that_names_the_others(place: Place) -> None:
    text = "The committee decided on the third of May to build the bridge after all, against the advice of many."
    metas = [place.add(text + ("." if at else ""), f"copy{at}") for at in range(3)]
    (hit,) = place.search.search("committee bridge")
    assert {ref[4:16] for ref in (hit.ref, *hit.also)} == {meta.id for meta in metas}


def test_of_equal_passages_the_newest_comes_first(place: Place) -> None:
    place.add("alpha apple stands here", "a")
    place.add("alpha peach stands here", "b")
    assert place.texts("alpha") == ["alpha peach stands here", "alpha apple stands here"]


def test_in_a_small_workspace_more_of_the_words_is_better(place: Place) -> None:
    """Words that stand in half of all passages weigh nothing in bm25."""
    place.add("the bridge was opened by the mayor in 1932", "a")
    place.add("the bridge is long", "b")
    hits = place.search.search("who opened the bridge")
    assert [hit.snippet for hit in hits] == ["the bridge was opened by the mayor in 1932", "the bridge is long"]
    assert all(hit.score > 0.1 for hit in hits)


def test_a_title_is_found_though_the_text_lacks_its_words(place: Place) -> None:
    meta = place.add("Nothing but plain talk.", title="Annual zeppelin report")
    place.add("Other talk.", "b")
    (hit,) = place.search.search("zeppelin")
    assert hit.ref.startswith(f"obs:{meta.id}@")


def test_an_answer_beside_its_question_is_found(place: Place) -> None:
    """A passage lends part of its score to its neighbours (measured: +10 points of recall in dialogues)."""
    turns = [f"{'AB'[at % 2]}nn: filler of this turn, number {at}, about nothing much at all" for at in range(40)]
    turns[20] = "Ann: Where did you put the golden zeppelin that we bought last summer?"
    turns[21] = "Bnn: Oh, that thing. It is in the cupboard, behind the old coats."
    place.add("\n".join(turns))
    (text,) = place.texts("where is the golden zeppelin", limit=1)
    assert "cupboard" in text


def test_only_what_the_full_view_has_more_is_indexed_of_it(place: Place) -> None:
    text = "The main text of the page stands in both views, word for word."
    table = "| zeppelin | 1932 | 17 metres |\n| airship | 1934 | 19 metres |"
    meta = place.add(f"{text}\n\n{FILLER}", full=f"{text}\n\n{FILLER}\n\n# Table\n\n{table}\n{table}\n")
    assert [hit.ref.split("@")[0] for hit in place.search.search("main text views")] == [f"obs:{meta.id}"]
    hit, *_ = place.search.search("zeppelin")
    assert hit.ref.startswith(f"obs:{meta.id}/full@")
    assert hit.path.endswith("/full.md")
    assert read(place, hit) == hit.snippet


def test_a_damaged_text_is_told_and_never_shown(place: Place) -> None:
    """The index is never trusted for bytes."""
    meta = place.add("the bridge is made of stone")
    path = place.folder.path / meta.folder / "text.md"
    path.chmod(0o600)
    path.write_bytes(b"the bridge is made of steel")
    again = Place(place.folder.path, existing=True)
    hits = again.search.search("bridge")
    assert not hits
    assert "verify" in hits.note
    again.close()


def test_what_another_process_committed_is_found(place: Place, tmp_path: Path) -> None:
    place.search.search("anything")
    other = Place(tmp_path / "w", existing=True)
    other.add("the zeppelin of the other process")
    other.close()
    assert place.texts("zeppelin") == ["the zeppelin of the other process"]


QUESTION = "Who is the head roaster?"


def ask_again(place: Place, times: int) -> None:
    """Leave behind what runs leave behind: a question, an answer without support, a report and a note."""
    for at in range(times):
        session = place.say(f"{QUESTION} Please look into it.", f"No support found: {QUESTION} no {at}")
        for path in (f"reports/{session}-1.md", f"notes/findings/f{at}.md"):
            place.folder.root.write_atomic(path, f"# {QUESTION}\n\n- No support found: {QUESTION} ({at})\n".encode())


def test_sources_come_before_what_was_written_here(place: Place) -> None:
    """A question that was asked many times is not answered with itself."""
    for at in range(12):
        place.add(f"Delivery {at}: the beans came late, and nobody was there.", f"other-{at}")
    meta = place.add("# Staff\n\nThe roastery has nine people. Mara Lindt is head roaster since 2019.", "staff")
    for times in (1, 6, 130):
        ask_again(place, times)
        hits = place.search.search(QUESTION, limit=8)
        assert hits[0].ref.startswith(f"obs:{meta.id}@"), times
        assert len(hits) > 1, "what was written here still follows"


def test_what_was_written_here_is_found_where_it_is_asked_for(place: Place) -> None:
    place.add("The head roaster is away.", "a")
    ask_again(place, 2)
    for kind in ("note", "report", "message"):
        hits = place.search.search(f"head roaster kind:{kind}")
        assert hits and {hit.kind for hit in hits} == {kind}
    place.folder.root.write_atomic("notes/findings/sea.md", b"# Sea wall\n\nThe sea wall at Harrow cracked in 2024.\n")
    assert place.search.search("sea wall Harrow")[0].path == "notes/findings/sea.md"


def test_an_empty_answer_says_what_was_wrong_with_the_question(place: Place) -> None:
    place.add("The bridge is long.", "a")
    assert "only says what to leave out" in place.search.search("-bridge").note
    assert "There is no 'nope'" in place.search.search("bridge", within="nope").note
    hits = place.search.search("bridge kind:foo")
    assert hits and "kind: takes one of web" in hits.note


def test_words_that_only_begin_so_are_found_where_nothing_else_is(place: Place) -> None:
    """Case p06: what stands joined in a PDF, and what is written in one word, is found by its beginning."""
    place.add("The \ufb01nalreport names the Donaudampfschiff.", "joined")
    place.say("what does the final report say of the donau")
    for query in ("final", "donau", "final zeppelin"):
        hits = place.search.search(query)
        assert [hit.ref[:4] for hit in hits if hit.kind != "message"] == ["obs:"], query
        assert "begin so" in hits.note
    assert "begin so" not in place.search.search("donaudampfschiff").note
    assert place.texts("zepp") == []


def test_a_slip_is_corrected_from_what_is_there_and_told(place: Place) -> None:
    place.add("She studied education and counselling at the roastery college.", "a")
    place.add("The zeppelin was moored over the harbour.", "b")
    for slip, wanted in (("educaton", "education"), ("zepelin", "zeppelin"), ("hrabour", "harbour")):
        hits = place.search.search(f"what about the {slip}")
        assert wanted in hits[0].snippet
        assert f"for {slip!r}" in hits.note and "Searched also" in hits.note
    assert "Searched also" not in place.search.search("zeppelin").note
    assert not place.search.search("qqqqzzzz")


def test_a_slip_that_only_its_question_holds_is_corrected_too(place: Place) -> None:
    """A question is in the transcript of its own session: that it stands there is no proof that it is spelt so."""
    place.add("The zeppelin was moored over the harbour.", "b")
    place.say("please find out all about the zepelin for me")
    hits = place.search.search("zepelin")
    assert "moored" in hits[0].snippet and "Searched also" in hits.note


def test_words_in_quotes_are_looked_for_apart_where_they_stand_nowhere_together(place: Place) -> None:
    place.add("Nate said that the chronicles of Xenoblade are his new game.", "a")
    hits = place.search.search('which game is "Xenoblade Chronicles" that Nate plays')
    assert "Xenoblade" in hits[0].snippet
    assert "in quotes" in hits.note
    assert not place.search.search('"Xenoblade Chronicles"')


def test_irregular_forms_are_one_word(place: Place) -> None:
    place.add("In spring we bought two geese.", "a")
    place.add("Nothing was sold here.", "b")
    assert place.texts("when did they buy a goose") == ["In spring we bought two geese."]


def test_a_common_word_ranks_what_holds_a_rarer_one_too(place: Place) -> None:
    """Long lists are not read to their end: what they share with short ones is found all the same."""
    turns = [f"the common word stands in number {at} of many paragraphs that say little else" for at in range(1_500)]
    turns[200] += " zeppelin"
    place.add("\n\n".join(f"{turn} {'x' * 420}" for turn in turns))
    first, *_ = place.texts("common word paragraphs zeppelin", limit=3)
    assert "zeppelin" in first
    assert len(place.search.search("common word", limit=5)) == 5
