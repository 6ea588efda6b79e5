"""Finding skills: roots and their order, both layouts, sizes, links, and whatever else lies in such folders."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skills_stage import Stage, states, why, write

from manusfs.errors import PathRefused, Refused
from manusfs.skills.place import MOST_FOLDERS, Place
from manusfs.skills.scan import SKILL_MAX


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Folders without any skill."""
    return Stage(tmp_path)


def test_the_root_closest_to_the_project_wins(stage: Stage) -> None:
    """OC-16: extra < bundled < managed < personal < project < workspace; the others are told as shadowed."""
    roots = {
        "extra:fact-check": stage.extra,
        "managed:fact-check": stage.managed,
        "personal:fact-check": stage.personal,
        ".agents/skills/fact-check": stage.project,
        "skills/fact-check": stage.own,
    }
    for root in roots.values():
        write(root, "fact-check")
    stage.approve()
    order = ["extra:fact-check", "bundled:fact-check", *list(roots)[1:]]
    for at in range(len(order), 0, -1):
        found = stage.skills(skills_bundled=("all",))
        (ready,) = (one.home for one in found.offered if one.name == "fact-check")
        assert ready == order[at - 1]
        shadowed = [home for home in order[: at - 1] if states(found)[f"{home}/SKILL.md"] != "shadowed"]
        assert not shadowed
        if ready in roots:
            (roots[ready] / "fact-check" / "SKILL.md").unlink()
        else:
            break


def test_a_root_is_a_skill_or_holds_skills(stage: Stage) -> None:
    """OC-17: SKILL.md at the root makes the root the skill, and its folders are its own files."""
    write(stage.extra, "one")
    write(stage.extra, "two")
    assert [skill.name for skill in stage.skills().offered] == ["one", "two"]
    (stage.extra / "SKILL.md").write_text("---\nname: whole\ndescription: all of it\n---\nbody\n", "utf-8")
    found = stage.skills()
    assert [(skill.name, skill.location) for skill in found.offered] == [("whole", "extra:SKILL.md")]
    assert found.files(found.offered[0]) == ["one/SKILL.md", "two/SKILL.md"]


def test_a_skill_above_the_cap_is_skipped_unread_and_told(stage: Stage) -> None:
    """OC-18: 256 KB; a file of a gigabyte costs nothing."""
    write(stage.extra, "fits", "x" * (SKILL_MAX - 200))
    large = write(stage.extra, "large") / "SKILL.md"
    os.truncate(large, SKILL_MAX + 1)
    huge = write(stage.extra, "huge") / "SKILL.md"
    os.truncate(huge, 1 << 30)
    found = stage.skills()
    assert [skill.name for skill in found.offered] == ["fits"]
    assert "1,073,741,824 bytes; the most is 262,144" in why(found)["extra:huge"]
    assert "262,145 bytes" in why(found)["extra:large"]


def test_broken_front_matter_is_no_reason_to_drop_a_skill(stage: Stage) -> None:
    """OC-19: name from the folder, description from the text, and a note of it."""
    folder = stage.extra / "My Notes"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("# Take notes\n\nDo it so.\n", "utf-8")
    broken = stage.extra / "half"
    broken.mkdir()
    (broken / "SKILL.md").write_text("---\nname: [half\ndescription: x\n---\nThe text.\n", "utf-8")
    found = stage.skills()
    assert [(skill.name, skill.description) for skill in found.offered][1] == ("my-notes", "Take notes")
    assert {skill.name for skill in found.offered} == {"half", "my-notes"}
    assert all(skill.problems for skill in found.offered)


def test_what_is_no_skill_is_told_and_disturbs_none(stage: Stage) -> None:
    """OC-18, OC-19, I9: pipes, sockets, folders, files without rights, other encodings, names that are no text."""
    write(stage.extra, "good")
    for name in ("pipe", "folder", "latin", "empty", "sock", "plain"):
        (stage.extra / name).mkdir()
    os.mkfifo(stage.extra / "pipe" / "SKILL.md")
    (stage.extra / "folder" / "SKILL.md").mkdir()
    (stage.extra / "latin" / "SKILL.md").write_bytes("---\nname: latin\n---\nZähler".encode("latin-1"))
    (stage.extra / "empty" / "SKILL.md").write_bytes(b"")
    (stage.extra / "a file").write_text("no folder")
    odd = os.fsencode(stage.extra) + b"/bad\xff\n"
    os.mkdir(odd)  # noqa: PTH102
    Path(os.fsdecode(odd), "SKILL.md").write_text("---\nname: odd\ndescription: d\n---\nx\n", "utf-8")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(stage.extra / "sock")
        try:
            listener.bind("SKILL.md")
        finally:
            os.chdir(here)
    found = stage.skills()
    assert [skill.name for skill in found.offered] == ["good"]
    told = why(found)
    assert "pipe" in told["extra:pipe"] and "folder" in told["extra:folder"] and "socket" in told["extra:sock"]
    assert "UTF-8" in told["extra:latin"] and "no description" in told["extra:empty"]
    assert "extra:plain" not in told and len(told) == 6


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_a_skill_without_rights_is_told(stage: Stage) -> None:
    """I9."""
    (write(stage.extra, "locked") / "SKILL.md").chmod(0)
    assert "ermission" in why(stage.skills())["extra:locked"]


def test_links_out_of_a_root_are_not_followed_and_those_within_are(stage: Stage, tmp_path: Path) -> None:
    """OC-28: contained by the real path when skills are looked for; circles end."""
    outside = write(tmp_path / "outside", "secret")
    write(stage.extra, "real")
    (stage.extra / "away").symlink_to(outside)
    (stage.extra / "again").symlink_to("real")
    (stage.extra / "circle").symlink_to("circle")
    (stage.extra / "up").symlink_to("..")
    (stage.extra / "self").symlink_to(".")
    linked = stage.extra / "linked"
    linked.mkdir()
    (linked / "SKILL.md").symlink_to(outside / "SKILL.md")
    found = stage.skills()
    assert [skill.name for skill in found.offered] == ["real"]
    told = why(found)
    assert "leads out" in told["extra:away"] and "leads out" in told["extra:up"] and "a link" in told["extra:linked"]


def test_a_root_may_be_a_link_where_the_user_put_it_and_not_in_the_workspace(stage: Stage, tmp_path: Path) -> None:
    """OC-28: ~/.agents is the user's; the folders of a workspace are whoever's who can write there."""
    outside = tmp_path / "outside"
    write(outside, "linked")
    stage.personal.parent.mkdir(parents=True)
    stage.personal.symlink_to(outside)
    stage.own.symlink_to(outside)
    (stage.workspace / ".agents").symlink_to(tmp_path)
    found = stage.skills()
    assert [skill.location for skill in found.offered] == ["personal:linked/SKILL.md"]
    assert set(why(found)) == {"skills", ".agents/skills"}


def test_a_file_with_two_names_counts_where_the_user_installs_and_not_in_the_workspace(stage: Stage) -> None:
    """OC-28: installers make hard links; in a workspace one may be a file from outside."""
    for root in (stage.own, stage.personal):
        os.link(write(root, "two-names") / "SKILL.md", root / "other name")
    found = stage.skills()
    assert [skill.location for skill in found.offered] == ["personal:two-names/SKILL.md"]
    assert "2 names" in why(found)["skills/two-names"]


@pytest.mark.parametrize(
    "path",
    [
        "../good/SKILL.md",
        "/etc/passwd",
        "a/../../x",
        "~/x",
        "link",
        "sub/link/passwd",
        "pipe",
        "sub",
        "",
        "no\x00thing",
        ".",
    ],
)
def test_no_path_leads_out_of_a_skill(stage: Stage, path: str) -> None:
    """OC-28, I7: read-time containment, component by component, whatever changed since the scan."""
    folder = write(stage.extra, "good")
    found = stage.skills()
    assert found.offered
    (folder / "sub").mkdir()
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "sub" / "link").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    with pytest.raises(Refused):
        found.file("good", path)


def test_a_folder_that_becomes_a_link_after_the_scan_is_refused(stage: Stage, tmp_path: Path) -> None:
    """OC-28: what was a folder when it was looked at must still be one when it is read."""
    folder = write(stage.extra, "good")
    secret = write(tmp_path / "outside", "good", "SECRET")
    found = stage.skills()
    assert "good" in found.manual("good").text
    folder.rename(tmp_path / "moved")
    folder.symlink_to(secret)
    with pytest.raises(PathRefused):
        found.manual("good")


def test_thousands_of_folders_are_looked_at_up_to_a_number(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """I9: more than that are told, not silently left out."""
    for at in range(30):
        write(stage.extra, f"s{at:02}")
    monkeypatch.setattr("manusfs.skills.place.MOST_FOLDERS", 20)
    found = stage.skills()
    assert len(found.offered) == 20
    assert f"more than {MOST_FOLDERS:,}" in why(found)["extra:"]


def test_what_did_not_change_is_not_read_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only stat is asked of a skill that was seen before; one that changed is read."""
    folder = write(stage.extra, "one")
    write(stage.extra, "two")
    found = stage.skills()
    assert len(found.offered) == 2
    asked: list[tuple[str, ...]] = []
    real = Place.read

    def counted(self: Place, parts: tuple[str, ...], most: int, root: int | None = None) -> bytes:
        asked.append(parts)
        return real(self, parts, most, root)

    monkeypatch.setattr(Place, "read", counted)
    found.refresh()
    assert len(found.offered) == 2 and not asked
    (folder / "SKILL.md").write_text("---\nname: one\ndescription: other words\n---\n", "utf-8")
    found.refresh()
    assert asked == [("one", "SKILL.md")] and found.offered[0].description == "other words"


@pytest.mark.parametrize(
    ("front", "name", "note"),
    [
        ("pdf-processing", "pdf-processing", ""),
        ("PDF Processing", "pdf-processing", "called 'pdf-processing'"),
        ("../../etc/x", "etc-x", "called 'etc-x'"),
        ("文献综述", "文献综述", ""),
        ("a" * 80, "a" * 64, "called"),
        ("x\u202ey\u200bz", "x-y-z", "called"),
        ('"<b>"', "b", "called"),
        ("123", "123", ""),
        ("---", "folder", "called 'folder'"),
    ],
)
def test_names_become_plain_and_the_change_is_told(stage: Stage, front: str, name: str, note: str) -> None:
    """OC-19, I6: whatever people call a skill, its name can be typed, and nothing hides in it."""
    folder = stage.extra / "folder"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {front}\ndescription: d\n---\n", "utf-8")
    (skill,) = stage.skills().offered
    assert skill.name == name
    assert note in " ".join(skill.problems)


def test_a_name_that_looks_like_another_is_found_out(stage: Stage) -> None:
    """I6: mixed scripts are refused; a name that looks like one that stands nearer is shadowed by it."""
    write(stage.own, "copy")
    write(stage.personal, "сору")
    write(stage.personal, "fаct-check")
    stage.approve()
    found = stage.skills()
    assert states(found)["personal:сору/SKILL.md"] == "shadowed"
    assert "several scripts" in " ".join(why(found).values())


def test_two_skills_of_one_name_in_one_root_do_not_both_count(stage: Stage) -> None:
    """OC-16, I9: the first by folder counts, the other is told."""
    for folder in ("b-folder", "a-folder"):
        write(stage.extra, folder, name="same")
    found = stage.skills()
    assert [skill.location for skill in found.offered] == ["extra:a-folder/SKILL.md"]
    assert states(found)["extra:b-folder/SKILL.md"] == "shadowed"


@given(st.binary(max_size=300), st.binary(max_size=300))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_break_the_scan(stage: Stage, head: bytes, body: bytes) -> None:
    """OC-19: whatever stands in a SKILL.md, its neighbours are found, and it is a skill or told."""
    write(stage.extra, "good")
    (stage.extra / "odd").mkdir(exist_ok=True)
    (stage.extra / "odd" / "SKILL.md").write_bytes(b"---\n" + head + b"\n---\n" + body)
    found = stage.skills()
    assert "good" in [skill.name for skill in found.offered]
    assert len(found.offered) + len(found.broken) == 2 or states(found).get("extra:odd/SKILL.md")


def test_a_file_beside_it_may_be_called_anything(stage: Stage) -> None:
    """I9: names that are no text, of other scripts, with line breaks are approved with the rest."""
    folder = write(stage.own, "mine")
    for name in (b"bad\xff", b"line\nbreak", "Zähler 数.md".encode(), b"plain.md", b"x" * 255):
        with open(os.fsencode(folder) + b"/" + name, "wb") as stream:  # noqa: PTH123
            stream.write(b"content")
    stage.approve()
    found = stage.skills()
    (skill,) = found.offered
    assert found.files(skill) == ["Zähler 数.md", "plain.md", "x" * 255]
    assert found.file("mine", "Zähler 数.md") == b"content"
    (folder / os.fsdecode(b"bad\xff")).write_bytes(b"other")
    assert states(stage.skills())["skills/mine/SKILL.md"] == "not approved"


@pytest.mark.parametrize(
    "front",
    [
        "name: " + "1:" * 9_000 + "1",
        "name: 0x" + "f" * 9_000,
        "description: " + "7" * 9_000,
        "allowed-tools: " + "a(" * 30_000,
        "name: " + "\ufdfa" * 9_000,
        "metadata: '" + '{"a":' * 9_000 + "'",
        "metadata: {requires: {bins: [1, [2], {3: 4}, null, true]}, os: 5}",
        "arguments: {a: b}\nagent: [x]\ncontext: 3\nlicense: {}\nname: [a]\ndescription: {a: b}",
    ],
)
def test_odd_values_are_no_way_to_stop_the_scan(stage: Stage, front: str) -> None:
    """OC-19: numbers without end, brackets without end, lists and tables where a text should stand."""
    folder = stage.extra / "odd"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\n{front}\n---\nThe text.\n", "utf-8")
    write(stage.extra, "good")
    found = stage.skills()
    assert "good" in [skill.name for skill in found.offered] and len(found.entries) == 7
    assert len(found.catalogue(200_000)) < 4_000
