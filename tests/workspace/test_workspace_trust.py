"""The user's approvals: what is pinned of a folder's settings and skills, and that neither takes the other away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from manusfs.errors import ConfigError
from manusfs.workspace.trust import Trust


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    """No approvals yet."""
    return Trust(tmp_path / "config" / "trust.json")


def test_approved_skills_stay_until_others_are_approved(trust: Trust, tmp_path: Path) -> None:
    """OC-28: pinned by hash outside the folder; approving settings alone keeps them."""
    assert trust.skills(tmp_path) == {}
    trust.pin(tmp_path, {}, own=True)
    assert trust.skills(tmp_path) == {}
    trust.pin(tmp_path, {}, skills={"skills/a": "1", "skills/b": "2"})
    trust.pin(tmp_path, {"robots": False})
    assert trust.skills(tmp_path) == {"skills/a": "1", "skills/b": "2"} and trust.is_own(tmp_path)
    trust.pin(tmp_path, {}, skills={"skills/b": "3"})
    assert trust.skills(tmp_path) == {"skills/b": "3"}
    assert trust.skills(tmp_path / "elsewhere") == {}


def test_skills_say_nothing_of_settings(trust: Trust, tmp_path: Path) -> None:
    """I7: a folder whose skills were approved with its settings is trusted for these settings, not for later ones."""
    trust.pin(tmp_path, {"robots": False}, skills={"skills/a": "1"})
    assert trust.state(tmp_path, {"robots": False}) == "trusted"
    assert trust.state(tmp_path, {"robots": False, "allow_hosts": ["x"]}) == "changed"


def test_approvals_of_before_there_were_skills_are_read(trust: Trust, tmp_path: Path) -> None:
    """A file that an earlier version wrote names no skills; one that is damaged is told, not guessed at."""
    trust.file.parent.mkdir()
    trust.file.write_text(json.dumps({str(tmp_path.resolve()): {"own": True, "pin": ""}}), "utf-8")
    assert trust.is_own(tmp_path) and trust.skills(tmp_path) == {}
    trust.file.write_text(json.dumps({str(tmp_path.resolve()): {"own": True, "pin": "", "skills": [1]}}), "utf-8")
    with pytest.raises(ConfigError):
        trust.skills(tmp_path)
