"""One suite over every extractor; a new one joins by a plain and a broken document in extract_documents."""

from __future__ import annotations

import pytest
from extract_documents import BROKEN, PLAIN

from manusfs.extract import EXTRACTORS, Extractor, Job, Page, sniff
from manusfs.extract.collect import Collector
from manusfs.records import Extracted

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
NAMES = EXTRACTORS.names()
ALL = [(name, kind, documents[name]) for kind, documents in (("plain", PLAIN), ("broken", BROKEN)) for name in NAMES]
every_document = pytest.mark.parametrize(("name", "raw"), [pytest.param(n, raw, id=f"{n}-{k}") for n, k, raw in ALL])


def check_views(found: Extracted) -> None:
    """Assert what holds for the views of any document."""
    for view in (found.text, found.full or ""):
        data = view.encode("utf-8")
        assert b"\x00" not in data
        assert data.decode("utf-8") == view
    data = found.text.encode("utf-8")
    for heading in found.outline:
        assert data[heading.offset :].decode("utf-8").lstrip("# ").startswith(heading.title.rstrip("…").split("\n")[0])
    for offset in found.pages:
        assert offset <= len(data)
        data[offset:].decode("utf-8")
    assert list(found.pages) == sorted(found.pages)
    assert "\n" not in found.title
    assert not any("\n" in note for note in found.notes)


@every_document
def test_views_are_valid_utf8_without_nul_and_offsets_stand_on_borders(extractor: Extractor, name: str, raw: bytes):
    """I3, I6: what goes to disk, index and model can be encoded; the outline points at its headings."""
    found = extractor.extract(raw, name=f"a.{name}" if name == "text" else "")
    assert found.media_type == sniff(raw).media_type or name == "text"
    check_views(found)


@every_document
def test_the_same_bytes_give_the_same_text(extractor: Extractor, other_extractor: Extractor, name: str, raw: bytes):
    """What a stub says must not depend on the process that extracted."""
    first = extractor.extract(raw)
    assert extractor.extract(raw) == first
    assert other_extractor.extract(raw) == first


@pytest.mark.parametrize("name", [name for name in NAMES if name != "image"])
def test_a_plain_document_gives_its_words(extractor: Extractor, name: str):
    found = extractor.extract(PLAIN[name])
    assert "oranges" in found.text.lower()
    assert found.complete
    assert found.extractor


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_document_gives_what_could_be_read_or_says_why_not(extractor: Extractor, name: str):
    """I9: never nothing, never silence."""
    found = extractor.extract(BROKEN[name])
    assert found.text.strip() or found.notes


@pytest.mark.parametrize("name", NAMES)
def test_no_byte_at_which_a_document_is_cut_makes_its_extractor_fail(name: str):
    """A file cut anywhere: the extractor itself may give up, but only by what the child reports as an error."""
    raw = PLAIN[name]
    for end in range(0, len(raw), max(1, len(raw) // 40)):
        collector = Collector(sniff(raw).media_type, 1 << 20)
        for item in EXTRACTORS.load(name)().extract(Job(raw[:end], sniff(raw).media_type)):
            assert isinstance(item, Page | Extracted)
            collector.add(item)
        check_views(collector.result())


def test_every_extractor_names_its_media_types():
    for name in NAMES:
        assert all("/" in media_type for media_type in EXTRACTORS.load(name).media_types)
    assert set(NAMES) == set(PLAIN) == set(BROKEN)


def test_nothing_is_told_as_nothing(extractor: Extractor):
    found = extractor.extract(b"")
    assert (found.text, found.notes) == ("", ("empty: 0 bytes",))


def test_what_no_extractor_reads_keeps_its_bytes_and_says_so(extractor: Extractor):
    found = extractor.extract(b"PK\x03\x04" + bytes(60), name="a.zip")
    assert found.media_type == "application/zip"
    assert found.text == ""
    assert found.notes == (
        "no text: a zip archive is not read by this version; the 64 raw bytes are kept as they came",
    )
