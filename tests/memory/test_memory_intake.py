"""The one way in: dedupe, order, errors that never become the page, durability (MA-2, MA-5, section 2.5; n04, n08)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from memory_world import CLOCK, World, page

from manusfs.errors import Interrupted, StorageError
from manusfs.memory import Workspace
from manusfs.memory.intake import Intake, Taken
from manusfs.memory.workspace import Doors
from manusfs.records import Fetched, HttpMeta, Source, Span, part_from_json
from manusfs.workspace.fs import FileSystem

URL = "https://example.org/page"


def take(world: World, *fetched: Fetched) -> list[Taken]:
    """Take in one group, recorded and indexed as an agent does it."""
    intake = world.workspace.intake
    taken = intake.take(fetched, "20261130-test", [f"call-{n}" for n in range(len(fetched))])
    intake.index(taken)
    return taken


def test_what_is_taken_is_stored_and_stands_as_a_stub(world: World) -> None:
    body = b"<html>" + b"A line of the page. " * 500
    (taken,) = take(world, page(URL, body))
    meta = world.workspace.observations.meta(taken.meta.id)
    assert meta == taken.meta
    assert (meta.session, meta.call, meta.created, meta.previous) == ("20261130-test", "call-0", CLOCK, "")
    assert (taken.status, taken.is_error, taken.notice, taken.order) == ("new", False, "", 1)
    assert taken.part.form == "stub" and taken.part.tokens < 500
    assert world.workspace.renderer.text(taken.part) == taken.text
    assert world.workspace.observations.read(meta.id, "raw") == body


def test_the_event_has_the_ref_and_the_hash_but_never_the_body(world: World) -> None:
    (taken,) = take(world, page(URL, b"<html>" + b"secret body " * 500))
    event = world.workspace.intake.event(taken, "call-0")
    assert event.kind == "observation"
    assert set(event.data) == set("call id order ref source kind url title bytes status part is_error notice".split())
    assert part_from_json(event.data["part"]) == taken.part
    assert "secret body" not in str(event.data)


def test_the_same_bytes_are_known_and_keep_their_views_whatever_the_extractor_makes_now(world: World) -> None:
    """Offsets that stubs hold must not move."""
    (first,) = take(world, page(URL, b"<html>one"))
    world.extractor.version = 2
    (second,) = take(world, page(URL, b"<html>one"))
    assert (second.status, second.meta, second.order) == ("known", first.meta, 2)
    assert world.extractor.calls == 1
    assert second.text == first.text and second.notice.startswith("Unchanged")


def test_content_goes_a_b_a_and_the_latest_is_a(world: World) -> None:
    """Latest is the greatest order, never a clock (d13: the clock stands still here)."""
    (a,) = take(world, page(URL, b"<html>A"))
    (b,) = take(world, page(URL, b"<html>B"))
    (again,) = take(world, page(URL, b"<html>A"))
    assert [t.status for t in (a, b, again)] == ["new", "changed", "known"]
    assert b.meta.previous == a.meta.id and f"obs:{a.meta.id}" in b.notice
    assert again.meta == a.meta and again.order == 3
    assert world.workspace.read(URL).text == "v1 A\n"


def test_one_group_may_hold_one_source_several_times(world: World) -> None:
    a, b, again = take(world, page(URL, b"<html>A"), page(URL, b"<html>B"), page(URL, b"<html>A"))
    assert (a.status, b.status, again.meta.id) == ("new", "changed", a.meta.id)
    assert b.meta.previous == a.meta.id
    assert [t.order for t in (a, b, again)] == [1, 2, 3]
    assert world.workspace.read(URL).text == "v1 A\n"


@pytest.mark.parametrize("status", [404, 403, 429, 500])
def test_an_error_page_is_kept_told_as_an_error_and_never_the_latest(world: World, status: int) -> None:
    """n08, R16."""
    take(world, page(URL, b"<html>the page"))
    (bad,) = take(world, page(URL, b'{"error": "no"}', status))
    assert bad.is_error and bad.status == "error"
    assert bad.notice.startswith(f"Error: HTTP {status} from {URL}.") and "\nTry: " in bad.notice
    assert f"note: HTTP {status}: an error page" in bad.text
    assert world.workspace.read(URL).text == "v1 the page\n"
    assert world.workspace.read(f"obs:{bad.meta.id}/raw").text == '{"error": "no"}'


def test_a_cut_body_is_kept_told_as_an_error_and_an_earlier_copy_stays(world: World) -> None:
    """n04, R25."""
    take(world, page(URL, b"<html>the whole page"))
    (cut,) = take(world, page(URL, b"<html>the wh", complete=False))
    assert cut.is_error and not cut.meta.complete and "was cut after" in cut.notice
    assert "note: incomplete: the body was cut on its way" in cut.text
    assert world.workspace.read(URL).text == "v1 the whole page\n"


@pytest.mark.parametrize(
    ("status", "note", "said"),
    [
        (200, "body incomplete: the connection ended after 11 bytes of 90", "cut after 11 bytes: the connection ended"),
        (200, "body incomplete: cut at 11 bytes (max_body_bytes)", "read what came"),
        (302, "the server answered 302, which is not the page", "answered 302, which is not the page"),
        (206, "the server answered 206, which is not the page", "answered 206, which is not the page"),
        (202, "the server answered 202, which is not the page", "answered 202, which is not the page"),
        (429, "the server asks to wait 7200 s before the next try", "; the server asks to wait 7200 s before"),
    ],
)
def test_what_is_not_the_page_is_told_with_its_reason(world: World, status: int, note: str, said: str) -> None:
    """n04, n14, I9: no redirect is called a cut body, no limit a failure that passes by waiting."""
    (bad,) = take(world, replace(page(URL, b"<html>the w", status, complete=False), notes=(note,)))
    assert bad.is_error and said in bad.notice and "\nTry: " in bad.notice


def test_what_has_no_text_keeps_its_bytes_and_says_what_it_is(world: World) -> None:
    raw = b"\x89PNG\r\n\x1a\n" + bytes(100)
    (taken,) = take(world, Fetched(Source.file("a.png", "/x/a.png"), raw, name="a.png"))
    assert "note: no text: image/png, 108 bytes; the raw bytes are kept" in taken.text
    assert world.workspace.observations.read(taken.meta.id, "raw") == raw
    assert "raw.png" in world.files(f"obs:{taken.meta.id}")


def test_text_that_is_its_own_raw_body_is_stored_once(world: World) -> None:
    (taken,) = take(world, Fetched(Source.user("stdin"), b"just text\n"))
    assert list(world.files(f"obs:{taken.meta.id}")) == ["meta.json", "text.md"]


def test_a_failed_extraction_loses_no_bytes(world: World) -> None:
    class Broken:
        def extract(self, raw: bytes, **hints: str) -> object:
            raise StorageError("the child died")

    intake = Intake(world.workspace.observations, world.workspace.index, Broken())  # type: ignore[arg-type]
    (taken,) = intake.take([page(URL, b"\x00\x01")], "s", ["c"])
    assert world.workspace.observations.read(taken.meta.id, "raw") == b"\x00\x01"
    assert "note: no text: the child died" in taken.text


@pytest.mark.parametrize("stop", [KeyboardInterrupt, Interrupted])
def test_who_stops_an_extraction_stores_nothing_of_it(world: World, stop: type[BaseException]) -> None:
    """Ctrl-C is no fault of the document: it must not stand there without its text."""

    class Stopped:
        def extract(self, raw: bytes, **hints: str) -> object:
            raise stop("at once")

    intake = Intake(world.workspace.observations, world.workspace.index, Stopped())  # type: ignore[arg-type]
    for bodies in ([page(URL, b"<p>a")], [page(URL, b"<p>a"), page(f"{URL}/b", b"<p>b")]):
        with pytest.raises(stop):
            intake.take(bodies, "s", ["c"] * len(bodies))
    assert list(world.workspace.observations.ids()) == []
    assert list(world.workspace.folder.root.walk(".manusfs/tmp")) == []


def test_a_title_falls_back_to_the_name_of_the_source(world: World) -> None:
    titles = [t.meta.title for t in take(world, Fetched(Source.user("stdin"), b"x"), page("https://e.org/a", b"y"))]
    assert titles == ["stdin", "https://e.org/a"]


def test_a_redirect_is_told(world: World) -> None:
    moved = Fetched(Source.web(URL), b"<html>x", http=HttpMeta(200, "https://example.org/new"))
    assert "note: redirected to https://example.org/new" in take(world, moved)[0].text


def test_two_sources_with_the_same_bytes_are_two_observations(world: World) -> None:
    a, b = take(world, page("https://e.org/a", b"<html>x"), page("https://e.org/b", b"<html>x"))
    assert a.meta.id != b.meta.id and b.status == "new"


def test_find_and_limit_of_the_call_reach_the_stub(world: World) -> None:
    body = b"<html>" + b"nothing here. " * 400 + b"The toll was abolished in 2011. " + b"nothing here. " * 400
    fetched = page(URL, body)
    looking = Fetched(fetched.source, body, http=fetched.http, find="toll abolished")
    (taken,) = take(world, looking)
    assert "The toll was abolished in 2011." in taken.text and "\npassage " in taken.text


class FailsAt(FileSystem):
    """Refuses one write after a number of good ones."""

    def __init__(self) -> None:
        self.left = 10**9

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise StorageError("no space is left on the disk")

    def write(self, fd: int, data: bytes | memoryview) -> None:
        self._count()
        super().write(fd, data)

    def rename(self, src_dirfd: int, src: str, dst_dirfd: int, dst: str) -> None:
        self._count()
        super().rename(src_dirfd, src, dst_dirfd, dst)


@pytest.mark.parametrize("good", range(0, 9, 2))
def test_when_the_disk_refuses_nothing_counts_and_it_can_be_tried_again(tmp_path: Path, good: int) -> None:
    disk = FailsAt()
    world = World(tmp_path / "w", lambda path, **named: Workspace.create(path, fs=disk, **named))
    pages = [page(f"https://e.org/{n}", b"<html>%d" % n) for n in range(2)]
    intake = world.workspace.intake
    disk.left = good
    try:
        taken: Sequence[Taken] = intake.take(pages, "s", ["a", "b"])
    except StorageError:
        disk.left = 10**9
        taken = intake.take(pages, "s", ["a", "b"])
    disk.left = 10**9
    for one, fetched in zip(taken, pages, strict=True):
        assert world.workspace.observations.read(one.meta.id, "raw") == fetched.raw
    assert not world.workspace.verify().damaged
    world.workspace.close()


def test_orders_and_the_latest_go_on_when_the_index_was_deleted(world: World) -> None:
    """I8: nothing of it lives only there; the transcripts know, and the first query fills it again."""
    first = world.store(URL, b"<html>a")
    world.store("https://e.org/b", b"<html>b")
    path = world.path
    world.workspace.close()
    for file in (path / ".manusfs").glob("index.db*"):
        file.unlink()
    again = World(path, Workspace.open)
    (taken,) = take(again, page(URL, b"<html>c"))
    (later,) = take(again, page(URL, b"<html>d"))
    assert (taken.order, taken.status, taken.meta.previous) == (3, "changed", first.removeprefix("obs:"))
    assert (later.order, later.status, later.meta.previous) == (4, "changed", taken.meta.id)
    assert again.workspace.search("v1 a")
    assert again.told == ["index rebuilt from 4 observations (missing)"]
    again.workspace.close()


def test_bodies_and_calls_must_agree(world: World) -> None:
    with pytest.raises(ValueError, match="1 bodies for 2 calls"):
        world.workspace.intake.take([page(URL, b"x")], "s", ["a", "b"])
    assert world.workspace.intake.take([], "s", []) == []


def test_the_whole_form_shows_all_of_a_small_text(world: World) -> None:
    (taken,) = take(world, page(URL, b"<html>small"))
    assert taken.part.form == "whole" and taken.part.spans == (Span(0, 9),)
    assert Doors().network
