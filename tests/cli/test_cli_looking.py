"""init, config, add, ls, read, search, note, verify, index: what a person does without a model."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from cli.conftest import PAGE, Call

ADDED = set("source ref kind path url title media_type bytes text_bytes tokens sha256 status error".split())


def test_a_workspace_is_made_and_found_from_below(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("init", "ws").code == 0
    for name in (
        "manusfs.toml",
        "AGENTS.md",
        "todo.md",
        "README.md",
        "notes/findings",
        "notes/background",
        "notes/errors",
    ):
        assert (tmp_path / "ws" / name).exists(), name
    monkeypatch.chdir(tmp_path / "ws" / "notes" / "findings")
    assert call("ls", "notes").code == 0
    again = call("-w", str(tmp_path / "ws"), "ls")
    assert again.code == 0


def test_the_flag_wins_over_the_environment_and_that_over_the_folder(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "three"):
        call("init", name)
        call("-w", name, "note", f"written in {name}", "--title", name)
    monkeypatch.chdir(tmp_path / "one")
    monkeypatch.setenv("MANUSFS_WORKSPACE", str(tmp_path / "two"))
    assert any(record["path"].endswith("two.md") for record in call("ls", "notes", "--json").records)
    listed = call("-w", str(tmp_path / "three"), "ls", "notes", "--json").records
    assert any(record["path"].endswith("three.md") for record in listed)


def test_without_a_workspace_the_message_says_what_to_do(call: Call) -> None:
    done = call("ls")
    assert done.code == 78
    assert "manusfs init" in done.err and "Traceback" not in done.err


def test_a_second_init_is_refused(call: Call) -> None:
    call("init", "ws")
    assert call("init", "ws").code == 78


def test_adding_listing_and_reading_keep_the_promised_shapes(filled: Call) -> None:
    (added,) = filled("add", "../bridge.md", "--json").records
    assert added.keys() >= ADDED and added["status"] == "known"
    (listed,) = filled("ls", "--json").records
    assert listed.keys() >= ADDED | {"created"} and listed["ref"] == added["ref"]
    (read,) = filled("read", added["ref"], "--limit", "100", "--json").records
    assert set(read) == {"ref", "start", "end", "total", "next_offset", "text", "sha256", "state"}
    assert read["state"] == "stored" and read["next_offset"] == read["end"] == len(read["text"].encode("utf-8"))


def test_pieces_join_to_the_exact_bytes_and_raw_is_the_original(filled: Call, tmp_path: Path) -> None:
    (added,) = filled("add", "../bridge.md", "--json").records
    text, offset = "", 0
    while offset is not None:
        (piece,) = filled("read", added["ref"], "--offset", str(offset), "--limit", "999", "--json").records
        text += piece["text"]
        offset = piece["next_offset"]
    assert (
        sha256(text.encode("utf-8")).hexdigest()
        == added["sha256"]
        == sha256((tmp_path / "bridge.md").read_bytes()).hexdigest()
    )


def test_search_finds_a_passage_that_read_takes_as_it_is(filled: Call) -> None:
    hits = filled("search", "why was the toll removed", "--json").records
    assert hits[0].keys() >= {"ref", "path", "url", "title", "score", "snippet", "line_start", "line_end"}
    assert "loan had been paid" in filled("read", hits[0]["ref"]).out


@pytest.mark.parametrize("query", ["", "   ", 'a "b', "AND OR NOT", "x" * 3000, "foo-bar C++ *"])
def test_any_text_is_a_legal_query(filled: Call, query: str) -> None:
    assert filled("search", query).code == 0


def test_one_source_that_fails_stops_no_other(filled: Call, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("Something else entirely.", "utf-8")
    done = filled("add", "missing.txt", "../other.txt", "--json")
    assert done.code == 1
    states = [record["status"] for record in done.records]
    assert states == ["error", "new"] and done.records[0]["error"]


def test_verify_is_content_and_finds_a_flipped_byte(filled: Call) -> None:
    done = filled("verify", "--json")
    assert done.code == 0
    assert done.records[0].keys() >= {"observations", "bytes", "refs", "damaged", "lost", "orphans", "ok"}
    (text,) = Path("observations").rglob("text.md")
    data = bytearray(text.read_bytes())
    data[40] ^= 1
    text.write_bytes(bytes(data))
    broken = filled("verify", "--json")
    assert broken.code == 12 and broken.records[0]["damaged"]
    assert filled("read", broken.records[0]["damaged"][0].split()[0].rstrip(":"), "--offline").code == 12


def test_the_derived_folder_may_be_deleted(filled: Call) -> None:
    import shutil

    shutil.rmtree(".manusfs")
    assert filled("search", "toll", "--json").records
    assert filled("index", "rebuild", "--json").records == [{"observations": 1}]


def test_config_tells_each_value_and_its_origin(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call("init", "ws")
    monkeypatch.chdir(tmp_path / "ws")
    Path("manusfs.toml").write_text("format = 1\nmax_turns = 7\n", "utf-8")
    monkeypatch.setenv("MANUSFS_PREVIEW_CHARS", "900")
    origins = {record["name"]: (record["value"], record["origin"]) for record in call("config", "--json").records}
    assert origins["max_turns"] == (7, "workspace file")
    assert origins["preview_chars"] == (900, "environment")
    assert origins["policy"][1] == "default"


def test_an_unknown_setting_is_named_with_the_nearest(filled: Call) -> None:
    Path("manusfs.toml").write_text("format = 1\nmax_turn = 7\n", "utf-8")
    done = filled("config")
    assert done.code == 78 and "max_turns" in done.err


def test_a_strangers_folder_does_not_widen_access(
    filled: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Path("manusfs.toml").write_text('format = 1\nallow_hosts = ["127.0.0.1"]\n', "utf-8")
    values = {record["name"]: record["value"] for record in filled("config", "--json").records}
    assert values["allow_hosts"] == []
    assert filled("trust", "--yes").code == 0
    values = {record["name"]: record["value"] for record in filled("config", "--json").records}
    assert values["allow_hosts"] == ["127.0.0.1"]


def test_a_format_of_the_future_is_refused(filled: Call) -> None:
    Path("manusfs.toml").write_text("format = 2\n", "utf-8")
    done = filled("ls")
    assert done.code == 78 and "format 2" in done.err and "upgrade" in done.err


@pytest.mark.parametrize("ref", ["obs:xyz", "msg:", "obs:000000000000", "notes/none.md", "../outside", "/etc/passwd"])
def test_a_ref_that_leads_nowhere_is_told_without_a_traceback(filled: Call, ref: str) -> None:
    done = filled("read", ref)
    assert done.code in (1, 2) and done.err.startswith("Error:") and "root:" not in done.out


def test_controls_in_a_text_do_not_reach_the_terminal(filled: Call, tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_bytes("title \x1b]0;owned\x07 \x1b[2J \u202e text".encode())
    (added,) = filled("add", "../evil.txt", "--json").records
    assert "\x1b" not in filled("read", added["ref"]).out
    assert "\x1b" not in filled("ls").out


def test_doctor_and_completion_answer(filled: Call) -> None:
    names = {record["name"] for record in filled("doctor", "--json").records}
    assert {"python", "packages", "sqlite", "file system", "key", "model"} <= names
    assert "_MANUSFS_COMPLETE" in filled("completion", "bash").out
    assert PAGE  # the fixture's text is what the others read


def test_a_named_folder_that_is_no_workspace_is_told(call: Call, tmp_path: Path) -> None:
    for place in ("nowhere", str(tmp_path)):
        done = call("-w", place, "ls")
        assert done.code == 78 and "no workspace" in done.err


def test_repair_says_what_is_lost_for_good_and_does_not_ask_to_be_run_again(filled: Call) -> None:
    (meta,) = Path().glob("observations/file/*/meta.json")
    ref = filled("ls", "--json").records[0]["ref"]
    for name, state in (("meta.json", "all whole"), ("text.md", "lost for good")):
        file = meta.parent / name
        data = bytearray(file.read_bytes())
        data[30] ^= 0xFF
        file.write_bytes(data)
        told = filled("verify")
        assert told.code == 12 and "`manusfs verify --repair`" in told.out
        filled("verify", "--repair")
        again = filled("verify")
        assert state in again.out and "--repair" not in again.out
        assert filled("ls", "--json").records[0]["ref"] == ref


def test_a_note_with_a_wrong_ref_is_told_by_verify(filled: Call) -> None:
    assert filled("note", "See obs:cccccccccccc@0-5 for it.").code == 0
    told = filled("verify")
    assert told.code == 0 and "leads nowhere: obs:cccccccccccc in notes/" in told.out and "1 ref in notes" in told.out


def test_lists_say_what_a_thing_is_called_and_how_it_ended(filled: Call, tmp_path: Path) -> None:
    (tmp_path / "nothing.txt").write_bytes(b"")
    assert "[no text: it is empty]" in filled("add", str(tmp_path / "nothing.txt")).out
    listed = filled("ls").out
    assert "Aldon Bridge  (bridge.md)" in listed and "[no text: it is empty]" in listed
    assert all(" finished " in line for line in filled("ls", "sessions").out.splitlines())
    assert filled("ls", "notes").out == filled("ls", "reports").out == ""


def test_a_wrong_filter_is_told_though_there_are_hits(filled: Call) -> None:
    done = filled("search", "bridge kind:foo")
    assert done.out and "kind: takes one of web" in done.err
    assert "only says what to leave out" in filled("search", "--", "-bridge").err
    assert "There is no 'nope'" in filled("search", "bridge", "--within", "nope").err
