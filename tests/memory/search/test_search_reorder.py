"""The seam for embeddings: a second opinion on hits is fused with the order of the words."""

from __future__ import annotations

from collections.abc import Sequence

from search_place import Place


class ByLength:
    """Prefers short texts."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [-len(text) for text in texts]


def test_a_second_opinion_moves_hits_and_brings_no_others(place: Place) -> None:
    place.add("the bridge at the harbour was opened, a bridge of stone and steel, long after the war", "a")
    place.add("a bridge", "b")
    place.add("another bridge of the harbour that was opened in the morning", "c")
    before = place.search.search("harbour bridge opened")
    place.search.scorer = ByLength()
    after = place.search.search("harbour bridge opened")
    assert {hit.ref for hit in after} == {hit.ref for hit in before}
    assert [hit.ref for hit in after] != [hit.ref for hit in before]
    assert len(place.search.search("harbour bridge opened", limit=1)) == 1
