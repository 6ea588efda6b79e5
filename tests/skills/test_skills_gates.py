"""The gates: switches, the allow-list, what a skill needs, hiding, and the user's approval of a workspace's skills."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skills_stage import Stage, states, write

from manusfs.errors import NotFound, Refused
from manusfs.skills import Facts
from manusfs.skills.place import PRECEDENCE
from manusfs.workspace.settings import Settings

BUNDLED = {"cited-report", "compare-sources", "extract-table", "fact-check", "literature-review"}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Folders without any skill."""
    return Stage(tmp_path)


def reason(stage: Stage, name: str, facts: Facts | None = None, **settings: object) -> str:
    """Return state and reason of the one skill called `name`."""
    entry = stage.skills(facts, **settings).find(name)
    return f"{entry.state}: {entry.why}" if entry.why else entry.state


def test_a_switched_off_skill_is_gone_whatever_its_root(stage: Stage) -> None:
    """OC-20: the kill switch, by name or by the key that the skill gives itself."""
    write(stage.extra, "one")
    write(stage.personal, "two", metadata='{"openclaw": {"skillKey": "second"}}')
    assert reason(stage, "one", skills_disabled=("one",)).startswith("disabled: the setting skills_disabled")
    assert reason(stage, "two", skills_disabled=("second",)).startswith("disabled")
    found = stage.skills(skills_disabled=("all",), skills_bundled=("all",))
    assert not found.offered and {entry.state for entry in found.entries} == {"disabled"}
    assert found.catalogue(200_000) == ""


def test_the_kill_switch_is_for_the_name_and_lets_no_weaker_one_through(stage: Stage) -> None:
    """OC-20: else switching off a skill would switch on what it replaced."""
    write(stage.extra, "one")
    write(stage.personal, "one")
    found = stage.skills(skills_disabled=("one",))
    assert states(found) == {"personal:one/SKILL.md": "disabled", "extra:one/SKILL.md": "shadowed"}


def test_the_allow_list_is_for_bundled_skills_alone(stage: Stage) -> None:
    """OC-21."""
    write(stage.personal, "mine")
    every = stage.skills(skills_bundled=("all",))
    assert {skill.name for skill in every.offered} == {*BUNDLED, "mine"}
    some = stage.skills(skills_bundled=("fact-check",))
    assert {skill.name for skill in some.offered} == {"fact-check", "mine"}
    assert [skill.name for skill in stage.skills(skills_bundled=()).offered] == ["mine"]
    assert some.find("cited-report").state == "not allowed"


@pytest.mark.parametrize(
    ("metadata", "missing"),
    [
        ('{"openclaw": {"requires": {"bins": ["there", "gone"]}}}', "the program gone is not installed"),
        ('{"openclaw": {"requires": {"bins": ["there"]}}}', ""),
        ('{"openclaw": {"requires": {"anyBins": ["gone", "away"]}}}', "none of the programs gone, away is installed"),
        ('{"openclaw": {"requires": {"anyBins": ["gone", "there"]}}}', ""),
        ('{"openclaw": {"requires": {"env": ["SOME_KEY"]}}}', "the environment variable SOME_KEY is not set"),
        ('{"openclaw": {"requires": {"env": ["SET_KEY"]}}}', ""),
        ('{"openclaw": {"requires": {"config": ["search_provider"]}}}', "the setting search_provider is not set"),
        ('{"openclaw": {"requires": {"config": ["robots"]}}}', ""),
        ('{"openclaw": {"requires": {"config": ["channels.x.token"]}}}', "the setting channels.x.token is not set"),
        ('{"openclaw": {"os": ["darwin"]}}', "it is for darwin, and this is linux"),
        ('{"openclaw": {"os": ["darwin", "linux"]}}', ""),
        ('{"openclaw": {"always": true, "requires": {"bins": ["gone"]}}}', ""),
        ('{"openclaw": {"always": true, "os": ["win32"]}}', "it is for win32, and this is linux"),
        ('{"requires": {"bins": ["gone"]}}', "the program gone is not installed"),
        ('{"clawdbot": {"requires": {"bins": "gone"}}}', "the program gone is not installed"),
        ('\'{"openclaw": {"requires": {"bins": ["gone"]}}}\'', "the program gone is not installed"),
        ('{"openclaw": {"requires": "nonsense", "os": {}}}', ""),
        ("words", ""),
    ],
)
def test_what_a_skill_needs_must_be_there(stage: Stage, metadata: str, missing: str) -> None:
    """OC-22: filter first, expose later; in the shapes in which people's skills say it."""
    write(stage.personal, "needy", metadata=metadata)
    facts = Facts("linux", lambda name: name == "there", lambda name: name == "SET_KEY")
    assert reason(stage, "needy", facts) == (f"missing: {missing}" if missing else "ready")


def test_several_lines_of_metadata_are_read_too(stage: Stage) -> None:
    """OC-22: as YAML over lines, and as JSON over lines."""
    folder = write(stage.personal, "needy")
    for metadata in (
        "metadata:\n  openclaw:\n    requires:\n      bins:\n        - gone\n",
        'metadata:\n  {\n    "openclaw":\n      { "requires": { "bins": ["gone"] }, },\n  }\n',
    ):
        (folder / "SKILL.md").write_text(f"---\nname: needy\ndescription: d\n{metadata}---\n", "utf-8")
        assert reason(stage, "needy") == "missing: the program gone is not installed"


@pytest.mark.parametrize("value", ["true", '"true"', "yes"])
def test_a_hidden_skill_stands_in_the_registry_and_nowhere_else(stage: Stage, value: str) -> None:
    """OC-23: hidden from the model; people and agents that name it get it."""
    write(stage.personal, "secret", disable_model_invocation=value)
    found = stage.skills()
    assert found.find("secret").state == "hidden" and found.find("secret").usable
    assert not found.offered and found.catalogue(200_000) == ""
    with pytest.raises(Refused, match="not for the model"):
        found.manual("secret")
    assert "# secret" in found.preload(["secret"])[0]


def test_a_skill_of_the_workspace_counts_only_as_it_was_approved(stage: Stage) -> None:
    """OC-28, I7: a page could have written it; every file beside SKILL.md is part of what is approved."""
    folder = write(stage.own, "mine")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "x.py").write_text("print(1)")
    write(stage.project, "other")
    found = stage.skills()
    assert states(found) == {"skills/mine/SKILL.md": "not approved", ".agents/skills/other/SKILL.md": "not approved"}
    assert [skill.name for skill in found.waiting] == ["mine", "other"] and not found.offered
    stage.approve()
    assert [skill.name for skill in stage.skills().offered] == ["mine", "other"]
    for change in (
        lambda: (folder / "scripts" / "x.py").write_text("print(2)"),
        lambda: (folder / "more.md").write_text(""),
        lambda: (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + " "),
        lambda: (folder / "scripts").rename(folder / "moved"),
    ):
        change()
        entry = stage.skills().find("mine")
        assert entry.state == "not approved" and "changed since" in entry.why
        stage.approve()
        assert stage.skills().find("mine").state == "ready"


def test_a_skill_that_waits_replaces_none(stage: Stage) -> None:
    """OC-16, I7: what nobody approved must not switch off what the user has."""
    write(stage.own, "fact-check")
    found = stage.skills(skills_bundled=("all",))
    assert found.find("fact-check").skill.place.kind == "bundled"
    assert found.find("fact-check").state == "ready"
    stage.approve()
    assert stage.skills(skills_bundled=("all",)).find("fact-check").skill.place.kind == "workspace"


def test_what_is_switched_off_is_asked_about_no_more(stage: Stage) -> None:
    """OC-20: a skill of the workspace that one does not want does not wait for ever, and still replaces none."""
    write(stage.own, "theirs", metadata='{"openclaw": {"skillKey": "unwanted"}}')
    write(stage.personal, "theirs")
    assert [skill.home for skill in stage.skills().waiting] == ["skills/theirs"]
    found = stage.skills(skills_disabled=("unwanted",))
    assert not found.waiting and states(found)["skills/theirs/SKILL.md"] == "disabled"
    assert [skill.location for skill in found.offered] == ["personal:theirs/SKILL.md"]


def test_what_changes_between_approval_and_reading_is_refused(stage: Stage) -> None:
    """OC-28: the bytes that are read are those that were hashed when the gates were passed."""
    folder = write(stage.own, "mine")
    (folder / "a.txt").write_text("fine")
    stage.approve()
    found = stage.skills()
    assert found.file("mine", "a.txt") == b"fine" and "# mine" in found.manual("mine").text
    (folder / "a.txt").write_text("evil")
    (folder / "new.txt").write_text("evil")
    (folder / "SKILL.md").write_text("---\nname: mine\ndescription: d\n---\nevil\n")
    for call in (
        lambda: found.file("mine", "a.txt"),
        lambda: found.file("mine", "new.txt"),
        lambda: found.manual("mine"),
    ):
        with pytest.raises(Refused, match="changed since it was approved"):
            call()


def test_a_workspace_skill_with_more_than_can_be_looked_through_is_told(stage: Stage) -> None:
    """I9: what can't be hashed can't be approved."""
    folder = write(stage.own, "many")
    for at in range(1_001):
        (folder / str(at)).write_text("")
    found = stage.skills()
    assert not states(found) and "more than 1,000 files" in found.broken[0].why


def test_the_registry_says_of_each_name_what_came_of_it(stage: Stage) -> None:
    """OC-22, I9: no skill, the nearest one, and why one can't be used."""
    write(stage.personal, "weather", metadata='{"openclaw": {"os": ["darwin"]}}')
    found = stage.skills(skills_bundled=("all",))
    with pytest.raises(NotFound) as caught:
        found.find("fact-chek")
    assert "fact-check" in caught.value.hint
    with pytest.raises(Refused, match="it is for darwin"):
        found.manual("weather")


def test_search_looks_at_words_and_needs_no_vectors(stage: Stage) -> None:
    """OC-15: names count more than descriptions, and nothing is embedded."""
    write(stage.personal, "table-maker", description="Makes rows.")
    write(stage.personal, "other", description="Puts a TABLE somewhere.")
    found = stage.skills()
    assert [entry.skill.name for entry in found.search("table") if entry.usable] == ["table-maker", "other"]
    assert not found.search("zebra") and not found.search("  ")


def test_an_extra_root_inside_the_workspace_waits_for_approval_too(stage: Stage) -> None:
    """I7: a root that the user's settings name by a relative path must not let a stranger's folder bring its own."""
    for path in ("library", "./library/", str(stage.workspace / "library"), "x/../library"):
        write(stage.workspace / "library", "theirs")
        found = stage.skills()
        found.settings = Settings(skills_extra_roots=(path,), skills_bundled=())
        found.refresh()
        (entry,) = found.waiting
        assert (entry.name, entry.location) == ("theirs", "library/theirs/SKILL.md"), path
    stage.approved["library/theirs"] = entry.pin
    found.refresh()
    assert [skill.name for skill in found.offered] == ["theirs"]


ROOTS = ("extra", "managed", "personal", "project", "own")


@given(
    placed=st.sets(st.tuples(st.sampled_from(ROOTS), st.sampled_from(["a", "b", "fact-check"]))),
    approved=st.sets(st.sampled_from(["skills/a", "skills/b", ".agents/skills/a", "skills/fact-check"])),
    disabled=st.sets(st.sampled_from(["a", "fact-check"])),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_skill_a_name_counts_and_it_is_the_nearest_that_may(
    tmp_path_factory: pytest.TempPathFactory, placed: set[tuple[str, str]], approved: set[str], disabled: set[str]
) -> None:
    """OC-16, OC-20, I7: whatever lies where, is approved or switched off."""
    stage = Stage(tmp_path_factory.mktemp("roots"))
    for root, name in placed:
        write(getattr(stage, root), name)
    pins = {entry.skill.home: entry.skill.pin for entry in stage.skills().entries if entry.skill.place.guarded}
    stage.approved = {home: pin for home, pin in pins.items() if home in approved}
    found = stage.skills(skills_bundled=("all",), skills_disabled=tuple(disabled))
    ready = [skill.name for skill in found.offered]
    assert len(ready) == len(set(ready)) and not disabled & set(ready)
    for skill in found.offered:
        assert not skill.place.guarded or skill.home in approved
        nearer = [
            entry.state
            for entry in found.entries
            if entry.skill.name == skill.name
            and PRECEDENCE.index(entry.skill.place.kind) > PRECEDENCE.index(skill.place.kind)
        ]
        assert set(nearer) <= {"not approved", "disabled"}
    for root, name in placed:
        assert name in disabled or name in ready or root in ("project", "own")
