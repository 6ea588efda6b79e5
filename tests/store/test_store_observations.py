"""Observations: what goes in comes out byte for byte, is stored once, and is never served wrong."""

from __future__ import annotations

import json
import os
import resource
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from disks.faulty import FaultyDisk
from disks.workload import draft, empty_workspace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manusfs.errors import BadRef, Damaged, NotFound, StorageError
from manusfs.records import BLOCK_BYTES, Heading, HttpMeta, Meta, Source, Span, observation_id
from manusfs.store import Committed, Draft, Observations
from manusfs.workspace import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    empty_workspace(tmp_path / "w")
    with Folder.open(tmp_path / "w", FaultyDisk()) as opened:
        yield opened


@pytest.fixture
def observations(folder: Folder) -> Observations:
    return Observations(folder)


def _put(observations: Observations, *drafts: Draft) -> list[Committed]:
    return observations.commit([observations.stage(one) for one in drafts])


def _big(blocks: float = 3.5) -> bytes:
    line = b"0123456789 some words of a long text, \xe6\x9d\xb1\xe4\xba\xac\n"
    return (line * (int(BLOCK_BYTES * blocks) // len(line) + 1))[: int(BLOCK_BYTES * blocks)]


def test_the_folder_holds_what_the_format_says(folder: Folder, observations: Observations) -> None:
    http = HttpMeta(200, "https://example.org/a", etag='"x"', redirects=("https://example.org/",))
    one = Draft(
        Source.web("https://example.org/a?b=1"),
        b"<html>",
        "html",
        {"text": "Größe\n".encode(), "full": b"all"},
        title="T\ud800",
        outline=(Heading(0, 1, "Intro"),),
        pages=(0, 3),
        http=http,
        notes=("no text layer",),
        previous="0123456789ab",
    )
    (done,) = _put(observations, one)
    path = folder.path / observations.path(done.meta.id)
    assert path.relative_to(folder.path).as_posix() == f"observations/web/example.org/a-b-1-{done.meta.id}"
    assert {file.name: file.read_bytes() for file in path.iterdir() if file.name != "meta.json"} == {
        "raw.html": b"<html>",
        "text.md": "Größe\n".encode(),
        "full.md": b"all",
    }
    raw = (path / "meta.json").read_bytes()
    value = json.loads(raw)
    assert next(iter(value)) == "format"
    assert list(value)[-1] == "crc"
    assert value["crc"] == f"{zlib.crc32(raw[: raw.rindex(b'crc') - 1]):08x}"
    assert Observations(folder).meta(done.meta.id) == done.meta
    assert done.meta.http == http
    assert done.meta.pages == (0, 3)
    assert path.stat().st_mode & 0o777 == 0o700
    assert (path / "text.md").stat().st_mode & 0o777 == 0o600


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(
    raw=st.binary(max_size=300), text=st.text(st.characters(codec="utf-8"), max_size=100), label=st.text(max_size=30)
)
def test_what_goes_in_comes_out_byte_for_byte(folder: Folder, raw: bytes, text: str, label: str) -> None:
    """I1: from another process's point of view, too."""
    # One folder serves all examples; the same pair again would keep its old text.
    label = f"{label}{text}"
    (done,) = _put(Observations(folder), Draft(Source.user(label), raw, "txt", {"text": text.encode()}))
    fresh = Observations(folder)
    assert fresh.read(done.meta.id, "raw") == raw
    assert fresh.read(done.meta.id) == text.encode()
    assert fresh.check(done.meta.id) == ()
    assert done.meta.id == observation_id(Source.user(label), done.meta.raw_sha256)


def test_a_text_that_is_the_raw_bytes_is_stored_once(folder: Folder, observations: Observations) -> None:
    (done,) = _put(observations, Draft(Source.user("paste"), b"same", "txt", {"text": b"same"}))
    assert sorted(os.listdir(folder.path / done.meta.folder)) == ["meta.json", "text.md"]  # noqa: PTH208
    assert observations.read(done.meta.id, "raw") == b"same"


@pytest.mark.parametrize("suffix", ["../x", "", "HTML", "a/b", "x" * 40, "tar.gz"])
def test_a_suffix_never_becomes_a_path(folder: Folder, observations: Observations, suffix: str) -> None:
    """I7: file names come from outside."""
    (done,) = _put(observations, Draft(Source.user(suffix or "x"), b"raw", suffix))
    assert done.meta.files["raw"].name == "raw.bin"
    assert observations.read(done.meta.id, "raw") == b"raw"


def test_an_empty_observation_is_one_too(observations: Observations) -> None:
    (done,) = _put(observations, Draft(Source.user("empty"), b"", "txt", {"text": b""}))
    assert observations.read(done.meta.id) == observations.read(done.meta.id, "raw", Span(0, 10)) == b""
    assert observations.check(done.meta.id) == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.integers(0, 4 * BLOCK_BYTES), st.integers(0, 2 * BLOCK_BYTES))
def test_any_span_is_that_part_of_the_whole(folder: Folder, start: int, length: int) -> None:
    """A span that runs past the end is cut there."""
    observations = Observations(folder)
    text = _big()
    (done,) = _put(observations, Draft(Source.user("big"), text, "txt", {"text": text}))
    assert observations.read(done.meta.id, "text", Span(start, start + length)) == text[start : start + length]
    assert b"".join(observations.blocks(done.meta.id, "text", Span(start, start + length))) == text[start:][:length]


def test_a_span_of_a_huge_text_costs_its_blocks_only(folder: Folder, observations: Observations) -> None:
    text = _big(400)
    (done,) = _put(observations, Draft(Source.user("huge"), text, "txt", {"text": text}))
    fresh = Observations(folder)
    tracemalloc.start()
    for start in (0, len(text) // 2, len(text) - 16_000):
        assert fresh.read(done.meta.id, "text", Span(start, start + 16_000)) == text[start : start + 16_000]
    middle = fresh.line_of(done.meta.id, "text", len(text) // 2)
    assert fresh.line_span(done.meta.id, "text", middle, middle).start <= len(text) // 2
    assert sum(len(piece) for piece in fresh.blocks(done.meta.id)) == len(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * BLOCK_BYTES


def test_the_same_bytes_of_the_same_source_are_known(folder: Folder, observations: Observations) -> None:
    first = _put(observations, draft(1), draft(2), draft(1))
    assert [one.known for one in first] == [False, False, True]
    again = _put(Observations(folder), draft(2), draft(3))
    assert [one.known for one in again] == [True, False]
    assert again[0].meta == first[1].meta
    assert len(list(observations.ids())) == 3


def test_a_known_observation_keeps_its_old_views(observations: Observations) -> None:
    """A newer extractor must not move the offsets that stubs hold."""
    source = Source.web("https://example.org/")
    _put(observations, Draft(source, b"<p>x", "html", {"text": b"old view"}))
    (done,) = _put(observations, Draft(source, b"<p>x", "html", {"text": b"newer view"}))
    assert done.known
    assert observations.read(done.meta.id) == b"old view"


def test_what_is_known_is_told_before_any_view_is_made(folder: Folder, observations: Observations) -> None:
    (done,) = _put(observations, draft(1))
    source, sha = done.meta.source, done.meta.raw_sha256
    assert observations.known(source, sha) == done.meta
    assert observations.known(Source.user("other"), sha) is None
    assert observations.known(source, "0" * 64) is None
    (folder.path / done.meta.folder / "text.md").write_text("damaged")
    assert observations.known(source, sha) is None


def test_content_may_go_there_and_back(observations: Observations) -> None:
    """A, B, A: two observations, the third answer is the first one again."""
    source = Source.web("https://example.org/")
    ids = [_put(observations, Draft(source, raw, "html"))[0].meta.id for raw in (b"A", b"B", b"A")]
    assert ids[0] == ids[2] != ids[1]


def _collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all 12-digit ids one: as a 48-bit collision would, which a hostile page can arrange."""

    def short(source: Source, raw_sha256: str, digits: int = 12) -> str:
        full = observation_id(source, raw_sha256, 64)
        return ("a" * 12 + full)[:digits]

    for module in ("observations_files", "observations_commit"):
        monkeypatch.setattr(f"manusfs.store.{module}.observation_id", short)


def test_an_id_that_another_pair_holds_grows(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The design's rule for ids: by 4 digits at a time, in one batch, later, and in another process."""
    _collide(monkeypatch)
    observations = Observations(folder)
    done = [
        *_put(observations, draft(1), draft(2)),
        *_put(observations, draft(3)),
        *_put(Observations(folder), draft(4)),
    ]
    ids = [one.meta.id for one in done]
    assert len(ids[0]) == 12
    assert [len(id) for id in ids[1:]] == [16, 16, 16]
    assert len(set(ids)) == 4
    again = _put(Observations(folder), *(draft(number) for number in (1, 2, 3, 4)))
    assert [one.meta.id for one in again] == ids
    assert all(one.known for one in again)
    for number, id in zip((1, 2, 3, 4), ids, strict=True):
        assert Observations(folder).read(id, "raw") == draft(number).raw


@pytest.mark.parametrize("how", ["flip", "truncate", "zero", "swap", "gone", "longer", "link", "fifo"])
@pytest.mark.parametrize("file", ["text.md", "raw.html", "meta.json"])
def test_damage_is_an_error_never_wrong_bytes(folder: Folder, observations: Observations, file: str, how: str) -> None:
    """d07, I9: each damage of each file is found; storing the source again sets the damaged folder aside and heals."""
    first, second = _put(observations, draft(1), draft(2))
    path = folder.path / first.meta.folder / file
    raw = path.read_bytes()
    path.unlink()
    if how == "link":
        path.symlink_to(folder.path / second.meta.folder / file)
    elif how == "fifo":
        os.mkfifo(path)
    elif how != "gone":
        path.write_bytes(
            {
                "flip": raw[:-9] + bytes([raw[-9] ^ 1]) + raw[-8:],
                "truncate": raw[: len(raw) // 2],
                "zero": bytes(len(raw)),
                "swap": (folder.path / second.meta.folder / file).read_bytes(),
                "longer": raw + b"more",
            }[how]
        )
    fresh = Observations(folder)
    view = {"text.md": "text", "raw.html": "raw", "meta.json": "text"}[file]
    assert fresh.check(first.meta.id) != ()
    if how == "longer" and file != "meta.json":
        assert fresh.read(first.meta.id, view) == raw
    else:
        with pytest.raises(Damaged, match=first.meta.id) as caught:
            fresh.read(first.meta.id, view)
        assert "verify --repair" in caught.value.hint
    (done,) = _put(fresh, draft(1))
    assert not done.known
    assert done.meta.id == first.meta.id
    assert any("lost+found/" in line for line in done.repairs)
    assert fresh.check(first.meta.id) == ()
    assert observations.read(first.meta.id, "raw") == draft(1).raw
    assert len(list((folder.path / "lost+found").iterdir())) == 1


@pytest.mark.parametrize("flipped", range(0, 400, 7))
def test_a_flipped_bit_in_the_description_is_found(folder: Folder, observations: Observations, flipped: int) -> None:
    (done,) = _put(observations, draft(1))
    path = folder.path / done.meta.folder / "meta.json"
    raw = bytearray(path.read_bytes())
    raw[flipped % len(raw)] ^= 1 << flipped % 8
    path.write_bytes(raw)
    with pytest.raises(Damaged):
        Observations(folder).meta(done.meta.id)


def test_only_the_blocks_that_a_span_touches_must_be_whole(folder: Folder, observations: Observations) -> None:
    text = _big()
    (done,) = _put(observations, Draft(Source.user("big"), text, "txt", {"text": text}))
    with (folder.path / done.meta.folder / "text.md").open("r+b") as file:
        file.seek(BLOCK_BYTES + 5)
        file.write(b"\0")
    assert observations.read(done.meta.id, "text", Span(0, BLOCK_BYTES)) == text[:BLOCK_BYTES]
    assert observations.read(done.meta.id, "text", Span(2 * BLOCK_BYTES, 10**9)) == text[2 * BLOCK_BYTES :]
    with pytest.raises(Damaged, match=f"in bytes {BLOCK_BYTES}-{2 * BLOCK_BYTES}"):
        observations.read(done.meta.id, "text", Span(BLOCK_BYTES - 1, BLOCK_BYTES + 1))


def test_a_description_that_points_elsewhere_is_refused(folder: Folder, observations: Observations) -> None:
    """I7: a stranger may have written the folder, with a valid CRC."""
    from manusfs.store.observations_files import encode_meta

    (done,) = _put(observations, draft(1))
    path = folder.path / done.meta.folder / "meta.json"
    file = done.meta.files["text"]
    for changed in (
        done.meta.with_(files={**done.meta.files, "text": type(file)("../../x", 1, "0", ("0",), (0,))}),
        done.meta.with_(files={**done.meta.files, "text": type(file)("text.md", 10**9, "0", (), ())}),
        done.meta.with_(source=Source.user("someone else")),
        done.meta.with_(raw_sha256="0" * 64),
    ):
        path.write_bytes(encode_meta(changed))
        with pytest.raises(Damaged):
            Observations(folder).meta(done.meta.id)


def test_views_and_ids_that_are_not_there_are_told(observations: Observations) -> None:
    (done,) = _put(observations, draft(1))
    with pytest.raises(NotFound, match="no view 'full'") as caught:
        observations.read(done.meta.id, "full")
    assert "text, raw" in caught.value.hint
    for id in ("0" * 12, "", "../..", "x"):
        with pytest.raises(NotFound, match="no observation"):
            observations.read(id)


def test_an_id_is_completed_from_its_beginning(folder: Folder, observations: Observations) -> None:
    for number in range(40):
        _put(observations, draft(number))
    ids = list(observations.ids())
    assert [observations.complete_id(id) for id in ids] == ids
    assert observations.complete_id(ids[0][:11]) == ids[0]
    with pytest.raises(BadRef, match="begins several ids"):
        observations.complete_id(min("0123456789abcdef", key=lambda digit: -sum(id[0] == digit for id in ids)))
    for prefix in ("", "xyz", "0" * 64):
        with pytest.raises(NotFound):
            observations.complete_id(prefix)


def test_a_guess_of_the_index_is_believed_only_as_far_as_the_folder_bears_it_out(folder: Folder) -> None:
    """I8: the index is never trusted."""
    first, second = _put(Observations(folder), draft(1), draft(2))
    for guess in (None, "observations/web/nowhere/x-000000000000", second.meta.folder, "../etc", first.meta.folder):
        observations = Observations(folder, locate=lambda id, guess=guess: guess)
        assert observations.path(first.meta.id) == first.meta.folder
        assert observations.read(first.meta.id, "raw") == draft(1).raw


def test_reading_a_located_observation_lists_no_folder(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    (done,) = _put(Observations(folder), draft(1))
    observations = Observations(folder, locate=lambda id: done.meta.folder)
    monkeypatch.setattr(os, "scandir", None)
    assert observations.read(done.meta.id, "raw") == draft(1).raw


def test_what_another_process_committed_meanwhile_is_found(folder: Folder, observations: Observations) -> None:
    _put(observations, draft(1))
    (theirs,) = _put(Observations(folder), draft(2))
    assert observations.read(theirs.meta.id, "raw") == draft(2).raw
    assert _put(observations, draft(2))[0].known


def test_two_that_commit_the_same_at_one_time_make_one_folder(folder: Folder) -> None:
    stores = [Observations(folder), Observations(folder)]
    staged = [store.stage(draft(1)) for store in stores]
    done = [store.commit([one])[0] for store, one in zip(stores, staged, strict=True)]
    assert [one.known for one in done] == [False, True]
    assert done[0].meta == done[1].meta
    assert list(folder.root.walk(".manusfs/tmp")) == []


def test_many_threads_may_stage_and_commit(folder: Folder, observations: Observations) -> None:
    def put(number: int) -> str:
        return _put(observations, draft(number), draft(number + 1))[0].meta.id

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(put, range(60)))
    assert len(set(ids)) == 60
    assert len(list(observations.ids())) == 61
    assert all(observations.check(id) == () for id in ids)
    assert threading.active_count() < 20


def test_more_can_be_staged_than_files_can_be_open(folder: Folder, observations: Observations) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_now = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, open_now + 420), hard))
    try:
        done = _put(observations, *(draft(number % 200 + 1000) for number in range(500)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sum(not one.known for one in done) == 200
    assert all(observations.check(one.meta.id) == () for one in done[:200:20])


def test_what_is_discarded_leaves_nothing(folder: Folder, observations: Observations) -> None:
    observations.discard(observations.stage(draft(1)))
    assert list(observations.ids()) == []
    assert list(folder.root.walk(".manusfs")) == []


def test_a_failed_commit_can_be_tried_again(folder: Folder, observations: Observations) -> None:
    """I1: one error at each operation of a commit; the same drafts are stored by the next attempt."""
    disk = folder.fs
    assert isinstance(disk, FaultyDisk)
    for at in range(1, 40):
        disk.at, disk.mode = disk.count + at, "ENOSPC"
        staged = []
        try:
            for number in (at * 2, at * 2 + 1):
                staged.append(observations.stage(draft(number)))
            observations.commit(staged)
        except StorageError:
            for one in staged:
                observations.discard(one)
        disk.at = 0
        done = _put(observations, draft(at * 2), draft(at * 2 + 1))
        assert [observations.check(one.meta.id) for one in done] == [(), ()]
        assert [one.repairs for one in done] == [(), ()]
    assert list(folder.root.walk(".manusfs/tmp")) == []


def test_a_folder_moved_by_a_person_is_still_found(folder: Folder, observations: Observations) -> None:
    (done,) = _put(observations, draft(1))
    old = folder.path / done.meta.folder
    new = old.with_name(f"renamed-{done.meta.id}")
    old.rename(new)
    assert Observations(folder).read(done.meta.id, "raw") == draft(1).raw
    assert observations.read(done.meta.id, "raw") == draft(1).raw
    assert _put(observations, draft(1))[0].known


def test_nothing_names_the_place_where_the_workspace_lies(folder: Folder, observations: Observations) -> None:
    """d11: moved, the folder works on."""
    ids = [one.meta.id for one in _put(observations, *(draft(number) for number in range(10)))]
    place = str(folder.path).encode()
    assert not [path for path in folder.path.rglob("*") if path.is_file() and place in path.read_bytes()]
    moved = folder.path.with_name("moved")
    folder.path.rename(moved)
    link = folder.path.with_name("link")
    link.symlink_to(moved)
    with Folder.open(link) as again:
        assert [Observations(again).read(id, "raw") for id in ids] == [draft(number).raw for number in range(10)]


def test_metas_are_the_same_after_a_round_trip_through_the_file(observations: Observations) -> None:
    (done,) = _put(observations, draft(1))
    assert Meta.from_json(json.loads(json.dumps(done.meta.to_json()))) == done.meta
