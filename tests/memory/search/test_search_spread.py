"""How hits spread over texts: no file takes all places, and its name says which file is meant, not which record."""

from __future__ import annotations

from search_place import Place


def records(kind: str, count: int, field: str) -> str:
    """Return a file of records of which each has the same words and a number of its own."""
    return "\n".join(f"### {kind}-{n:04}\n\nowner: pers-{n:04}\n{field}: {kind} {n}\n" for n in range(count))


def test_a_text_with_many_hits_leaves_room_for_the_others(place: Place) -> None:
    """Issue 6: what a question joins stands in several files."""
    place.add(records("lamp", 20, "brand"), "lamps")
    place.add(records("boat", 400, "brand"), "boats")
    hits = place.search.search("brand of what its owner has", limit=40)
    assert len(hits) == 40
    assert len({hit.path for hit in hits}) == 2


def test_the_name_of_a_file_does_not_outweigh_the_words_of_a_record(place: Place) -> None:
    """The product takes the name of a file as its title; a thousand records stand under it."""
    place.add(records("boat", 300, "harbour"), "boats", title="boats.txt")
    place.add(
        f"{records('crew', 300, 'name')}\n### crew-9999\n\nowner: pers-0001\nname: Zebulon\n", "c", title="crew.txt"
    )
    assert any("Zebulon" in text for text in place.texts("which boats has the owner Zebulon", limit=3))


def test_a_text_is_still_found_by_its_name_alone(place: Place) -> None:
    place.add("Only other words stand here.", title="boats.txt")
    assert place.texts("boats") == ["Only other words stand here."]


def test_characters_that_stand_in_one_piece_come_before_their_pairs(place: Place) -> None:
    """The index holds pairs: what holds both pairs apart is as good to it."""
    place.add("固态其实对于电脑很贵。", "whole")
    for n in range(2):
        place.add(f"他其实对我很好,至于第{n}个关对于大家。", f"apart {n}")
    assert "实对于" in place.texts("实对于", limit=1)[0]
