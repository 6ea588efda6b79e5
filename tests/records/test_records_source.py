"""Names that follow from sources: safe on every file system, whatever a title, a host or a tool is called (t01)."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from manusfs.records import Source, observation_id

SAFE = re.compile(r"[a-z0-9._-]{1,120}\Z")
RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³")}
ODD = [
    "AUX", "prn.tar.gz", "COM²", "lpt9 ", "NUL:", "...", " . ", "-", "--help", "~root", "`id`", "$(id)", "%2F..%2Fetc",
    "..\\..\\x", "a\x00", "\u202excod.pdf", "\ud800", "\U000e0041", "ÅNGSTRÖM", "A\u030angstrom", "ﬁle", "１２", "İ",
    "ß", "日" * 400, "x" * 5_000, "\n\n", "CLOCK$", "con.", "con .txt", "aux/con",
    "🙂", "a" * 59 + "é", "nul\u200b.txt",
]  # fmt: skip


def sources(name: str) -> list[Source]:
    return [
        Source.user(name),
        Source.file(name, f"/home/{name}"),
        Source.inside(f"notes/{name}"),
        Source.call("fetch", {"title": name}),
        Source.call(name, {}),
        Source.web(f"https://example.org/{name.replace('[', '').replace(']', '')}?q={name}"),
    ]


@given(st.text(max_size=80) | st.sampled_from(ODD))
@example("\udfff\ud800")
def test_every_folder_name_is_safe_everywhere(name: str) -> None:
    """R44: 1 to 120 bytes of a small alphabet, nothing that Windows reserves, no dot or blank at the end."""
    for source in sources(name):
        for part in source.folder(observation_id(source, "0" * 64)).split("/"):
            assert SAFE.match(part), part
            assert part.split(".")[0] not in RESERVED and not part.endswith(".") and part not in (".", "..")


@pytest.mark.parametrize("kind", range(4))
def test_different_names_have_different_folders(kind: int) -> None:
    """Also where a file system folds case and composes accents: the id tells them apart."""
    made = [sources(name)[kind] for name in ODD]
    folders = {unicodedata.normalize("NFKC", one.folder(observation_id(one, "0" * 64))).casefold() for one in made}
    assert len(folders) == len({one.key for one in made}) == len(ODD)


def test_the_name_itself_is_kept() -> None:
    """The slug is for the file system; what it was called stands in the source."""
    assert all(name in Source.user(name).key for name in ODD if name != "\ud800")
