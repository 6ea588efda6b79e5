"""What is read from a transcript that other programs have had in their hands: whole records load, in their order."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from manusfs.errors import Damaged
from manusfs.records import Event
from manusfs.session import Transcript, read_event
from manusfs.session.lines import encode, scan
from manusfs.workspace import Folder

EVENTS = [Event("message", {"text": f"line {n}"}, n, "2026-11-30T12:00:00.000Z") for n in range(1, 8)]
LINES = [encode(event)[0] for event in EVENTS]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.replace(b"\n", b"\n\n"),
        lambda raw: raw * 2,
        lambda raw: raw.replace(b"\n", b" \n"),
        lambda raw: b"".join(reversed(raw.splitlines(keepends=True))),
        lambda raw: b"<<<<<<< HEAD\n" + raw.replace(b"\n", b"\n=======\n", 1),
    ],
    ids=["line ends", "byte order mark", "empty lines", "twice", "blanks", "backwards", "a merge"],
)
def test_what_editors_and_version_control_do_costs_no_record(spoil: Callable[[bytes], bytes]) -> None:
    """Promise 4: every whole record loads, in its place, and that the file was changed is told."""
    found = scan(spoil(b"".join(LINES)))
    assert list(found.events) == EVENTS and found.missing == () and found.damage
    assert [spoil(b"".join(LINES))[start:end] + b"\n" for start, end in found.places] == LINES


@pytest.mark.parametrize("spoil", [lambda raw: raw.replace(b"\n", b"\r\n"), lambda raw: raw * 2])
def test_a_change_that_cost_no_record_costs_no_number(spoil: Callable[[bytes], bytes]) -> None:
    """Else the next record would leave a gap, which says that one is lost."""
    assert scan(spoil(b"".join(LINES))).next_seq == 8


def test_any_order_of_the_lines_gives_the_records_in_their_order() -> None:
    dice = random.Random(4)
    for _ in range(50):
        mixed = dice.sample(LINES, len(LINES))
        assert list(scan(b"".join(mixed)).events) == EVENTS


def test_lines_that_were_taken_out_are_missing() -> None:
    found = scan(b"".join(LINES[:2] + LINES[4:5] + LINES[6:]))
    assert found.missing == ((3, 4), (6, 6)) and not found.damage
    assert scan(b"".join(LINES[2:])).missing == ((1, 2),)
    assert scan(b"".join(LINES) + b"rubbish\n").missing == ((8, 8),), "it may have been a record"


def test_a_transcript_in_the_place_of_another_is_never_read_as_that(tmp_path: Path) -> None:
    """Promise 4: swapped bytes are found; `msg:` refs of one session never give the words of another."""
    with Folder.create(tmp_path / "w") as folder:
        names = []
        for text in ("one", "two"):
            with Transcript.create(folder) as made:
                made.append([Event("message", {"role": "user", "content": [{"type": "text", "text": text}]})])
                names.append(made.session)
        first, second = (tmp_path / f"w/sessions/{name}/transcript.jsonl" for name in names)
        first.write_bytes(second.read_bytes())
        for read in (
            lambda: Transcript.open(folder, names[0]),
            lambda: Transcript.open(folder, names[0], write=True),
            lambda: read_event(folder, names[0], 2),
        ):
            with pytest.raises(Damaged, match=f"is the transcript of session {names[1]}"):
                read()
        assert read_event(folder, names[1], 2).data["content"][0]["text"] == "two"
