"""What verify and context say of a transcript with a damaged line."""

from __future__ import annotations

from pathlib import Path

from cli.conftest import Call

QUESTION = "When did the Aldon Bridge open?"


def _ran(filled: Call) -> tuple[str, Path]:
    session = filled("run", QUESTION, "--model", "offline", "--json").records[-1]["session"]
    return session, Path(f"sessions/{session}/transcript.jsonl")


def test_a_damaged_line_of_a_transcript_is_not_said_to_come_back_by_add(filled: Call) -> None:
    _, file = _ran(filled)
    lines = file.read_bytes().split(b"\n")
    lines[5] = lines[5][:40] + b"#" + lines[5][41:]
    file.write_bytes(b"\n".join(lines))
    for command in (("verify",), ("verify", "--repair"), ("verify",)):
        told = filled(*command)
        assert told.code == 12 and "manusfs add" not in told.out
        assert "nothing but a copy can bring back what a transcript lost" in told.out
    assert file.read_bytes() == b"\n".join(lines[:5] + lines[6:]), "whole lines stay byte for byte"
    (kept,) = Path("lost+found").glob("*.jsonl~*")
    assert kept.read_bytes() == b"\n".join(lines), "and so does the damaged one, aside"


def test_an_emptied_transcript_is_found(filled: Call) -> None:
    session, file = _ran(filled)
    file.write_bytes(b"")
    told = filled("verify")
    assert told.code == 12 and f"damaged: sessions/{session}/transcript.jsonl" in told.out


def test_what_repair_only_keeps_is_not_called_repaired(filled: Call) -> None:
    (text,) = Path().glob("observations/file/*/text.md")
    Path("../bridge.md").unlink()
    data = bytearray(text.read_bytes())
    data[30] ^= 0xFF
    text.write_bytes(data)
    told = filled("verify", "--repair")
    assert told.code == 12 and "lost for good: obs:" in told.out and "kept: obs:" in told.out
    assert "repaired:" not in told.out and "manusfs add" in told.out


def test_a_request_that_needs_a_damaged_line_says_so_and_the_others_are_printed(filled: Call) -> None:
    session, file = _ran(filled)
    whole = file.read_bytes().split(b"\n")
    steps = sum(b'"role":"assistant"' in line for line in whole)
    codes = set()
    for at in range(1, len(whole) - 1):
        lines = [*whole]
        lines[at] = b"#" + lines[at][1:]
        file.write_bytes(b"\n".join(lines))
        for number in range(1, steps):
            done = filled("context", session, "--at", str(number), "--json")
            codes.add(done.code)
            assert "calls without results" not in done.err
            assert done.code in (0, 2, 12)
            if done.code == 12:
                assert "damaged line" in done.err and "`manusfs verify`" in done.err
    assert {0, 12} <= codes
