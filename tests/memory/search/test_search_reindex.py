"""I8: the index may be lost at any time, and what it lacks is added from the tree and the transcripts."""

from __future__ import annotations

import shutil
from pathlib import Path

from search_place import Place

from manusfs.memory.search import reindex
from manusfs.memory.search.gather import gather
from manusfs.memory.search.query import parse
from manusfs.records import Event
from manusfs.session import Transcript


def seen(place: Place, id: str, order: int) -> Event:
    data = {"call": "", "id": id, "order": order, "ref": f"obs:{id}", "part": {"type": "text", "text": ""}}
    return Event("observation", data)


def test_everything_is_found_again_when_the_index_is_gone(place: Place, tmp_path: Path) -> None:
    meta = place.add("the old bridge", url="https://example.org/")
    place.folder.root.write_atomic("notes/a.md", f"A zeppelin note on obs:{meta.id}.".encode())
    session = place.say("a question about the harbour")
    with Transcript.open(place.folder, session, write=True) as transcript:
        transcript.append([seen(place, meta.id, 17)])
    place.close()
    shutil.rmtree(tmp_path / "w" / ".manusfs")
    again = Place(tmp_path / "w", existing=True)
    assert [len(again.texts(query)) for query in ("bridge", "zeppelin", "harbour")] == [1, 1, 1]
    assert again.said == ["index rebuilt from 1 observation (missing)"]
    assert again.index.latest("https://example.org/") == meta.id
    assert again.index.mentions(f"obs:{meta.id}") == ["notes/a.md"]
    assert again.index.next_order() == 18
    again.close()


def test_a_new_workspace_says_nothing(place: Place) -> None:
    place.search.search("anything")
    place.add("the old bridge")
    assert place.texts("bridge")
    assert place.said == []


def test_intake_before_any_search_says_nothing_either(place: Place) -> None:
    place.add("the old bridge")
    assert place.texts("bridge") == ["the old bridge"]
    assert place.said == []


def test_what_a_crash_kept_out_of_the_index_is_added_at_opening(place: Place, tmp_path: Path) -> None:
    place.add("the old bridge", "a")
    place.put("the new bridge", "b")
    place.close()
    again = Place(tmp_path / "w", existing=True)
    assert sorted(again.texts("bridge")) == ["the new bridge", "the old bridge"]
    assert again.said == []
    again.close()


def test_a_text_that_was_seen_again_before_it_was_indexed_is_indexed(place: Place, tmp_path: Path) -> None:
    """A crash before the rows were written, then the same page again: known, without its text at hand."""
    meta = place.put("the old bridge", "a")
    place.index.add_observation(meta, place.index.next_order())
    place.close()
    again = Place(tmp_path / "w", existing=True)
    assert again.texts("bridge") == ["the old bridge"]
    again.close()


def test_a_missing_observation_gets_its_order_from_a_transcript_that_is_indexed_already(
    place: Place, tmp_path: Path
) -> None:
    place.add("version one", url="https://example.org/")
    late = place.put("version two", url="https://example.org/")
    session = place.say("a question about the harbour")
    with Transcript.open(place.folder, session, write=True) as transcript:
        transcript.append([seen(place, late.id, 9)])
    reindex.refresh_sessions(place.folder, place.index)
    place.close()
    again = Place(tmp_path / "w", existing=True)
    again.search.refresh()
    assert again.index.latest("https://example.org/") == late.id
    assert again.index.next_order() == 10
    again.close()


def test_notes_that_people_edit_are_found_as_they_are(place: Place) -> None:
    place.folder.root.write_atomic("notes/a.md", b"the old wording of it")
    assert place.texts("wording") == ["the old wording of it"]
    place.folder.root.write_atomic("notes/a.md", b"another text altogether")
    assert place.texts("wording") == []
    assert place.texts("altogether") == ["another text altogether"]
    (place.folder.path / "notes" / "a.md").unlink()
    assert place.texts("altogether") == []


def test_what_init_wrote_is_no_finding(place: Place) -> None:
    assert place.texts("notes findings errors background reports instructions") == []


def test_a_growing_transcript_is_followed(place: Place) -> None:
    session = place.say("the first zeppelin of the day")
    assert len(place.search.search("zeppelin")) == 1
    with Transcript.open(place.folder, session, write=True) as transcript:
        content = [{"type": "text", "text": "a second zeppelin came in the evening"}]
        transcript.append([Event("message", {"role": "assistant", "content": content})])
    assert len(place.search.search("zeppelin")) == 2


def test_a_damaged_observation_does_not_stop_the_rebuild(place: Place) -> None:
    meta = place.add("the stone bridge", "a")
    place.add("the steel bridge", "b")
    path = place.folder.path / meta.folder / "text.md"
    path.chmod(0o600)
    path.write_bytes(b"the wooden bridge")
    counts = place.search.rebuild()
    assert (counts.observations, counts.unreadable) == (1, (f"obs:{meta.id}",))
    assert place.texts("bridge") == ["the steel bridge"]


def test_damage_during_a_search_is_repaired_at_once(place: Place) -> None:
    place.add("the old bridge " * 50)
    place.index.close()
    path = place.folder.path / ".manusfs" / "index.db"
    path.write_bytes(path.read_bytes()[:9_000])
    assert len(place.texts("bridge")) >= 1
    assert len(place.said) == 1
    assert "damaged" in place.said[0]


def test_what_notes_left_behind_takes_no_places(place: Place) -> None:
    """A table without contents keeps the rows of notes that are gone: they lie behind all that is in use."""
    place.add("the heron stands", url="https://example.org/")
    place.search.refresh()
    note = "\n\n".join(f"# Day {day}\n\nA heron came at {day} o'clock." for day in range(700))
    place.folder.root.write_atomic("notes/herons.md", note.encode())
    assert len(place.texts("heron", limit=30)) > 10
    (place.folder.root.path / "notes/herons.md").unlink()
    place.search.refresh()
    found = gather(place.index, parse("heron"), 100, 0, 1 << 62)
    assert [len(one.chunks) for one in found.held] == [1]
    assert place.texts("heron") == ["the heron stands"]


def test_notes_that_no_search_goes_through_are_counted_when_nothing_is_found(place: Place) -> None:
    """I9: a note of 5 MB, one with a control character in its name and one too deep are left out, and that is said."""
    assert "not searched" not in place.search.search("zebra").note
    root = place.folder.path
    (root / "notes/big.md").write_bytes(b"zebra " * 900_000)
    (root / "notes/\x1b[2J.md").write_text("zebra")
    deep = root / "notes" / "/".join("d" * 20)
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("zebra")
    assert "3 files of notes/ and reports/ not searched" in place.search.search("zebra").note
    (root / "notes/small.md").write_text("zebra")
    found = place.search.search("zebra")
    assert len(found) == 1 and "not searched" not in found.note
