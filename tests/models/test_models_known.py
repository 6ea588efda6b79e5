"""What is known of models, and how one is found by its name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from manusfs.errors import ConfigError, ModelError, NotFound
from manusfs.messages import Usage
from manusfs.models import (
    AnthropicModel,
    Described,
    RecordedModel,
    default_name,
    fingerprint,
    is_known,
    load,
    prices,
    profile,
    profiles,
)

TODAY = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2")


@pytest.mark.parametrize("name", TODAY)
def test_the_built_in_table_says_what_the_price_list_says(name: str) -> None:
    """The table is for the day when the list has no entry; it must not drift from it."""
    assert profiles._TABLE[name][0] == prices.listed(name)


@pytest.mark.parametrize("name", TODAY)
def test_todays_models_are_known_whole(name: str) -> None:
    """GC-10."""
    known = profile(name)
    assert (known.window, known.max_output) == (1_000_000, 128_000)
    assert known.thinking == {"type": "adaptive", "display": "summarized"}
    assert known.caches
    assert known.cost(Usage(1_000_000)) == known.price_input > known.price_cache_read > 0
    assert is_known(name)


def test_without_the_price_list_the_table_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    before = profile("claude-opus-5-5")
    monkeypatch.setattr(profiles, "listed", lambda name: None)
    assert profile("claude-opus-5-5") == before
    assert profile("claude-opus-9-9").window == 200_000


@pytest.mark.parametrize(
    "name",
    ["claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5", "eu.anthropic.claude-haiku-4-5-20251001-v1:0"],
)
def test_dated_names_and_those_of_gateways_are_the_same_model(name: str) -> None:
    known = profile(name)
    assert (known.name, known.window, known.price_input, known.price_output) == (name, 200_000, 1.0, 5.0)
    assert known.thinking == {}


def test_the_first_tier_of_a_price_counts() -> None:
    assert profile("claude-haiku-5-5").price_input == 0.10


@pytest.mark.parametrize("name", ["qwen3:8b", "gpt-5.2", "llama-3.1-8b"])
def test_a_model_of_another_maker_gets_what_every_server_takes_and_no_price(name: str) -> None:
    known = profile(name)
    assert (known.window, known.caches, known.thinking) == (200_000, False, {})
    assert known.cost(Usage(1_000, 1_000)) is None
    assert not is_known(name)


def test_the_window_set_by_hand_comes_before_what_the_endpoint_says_and_that_before_the_list() -> None:
    def said(name: str) -> Described:
        return Described(500_000, 32_000)

    assert profile("claude-opus-5-5", window=80_000, fetch_info=said).window == 80_000
    assert profile("claude-opus-5-5", fetch_info=said).window == 500_000
    assert profile("claude-opus-5-5", fetch_info=said).max_output == 32_000
    assert profile("local", fetch_info=said).window == 500_000


def test_an_endpoint_that_fails_is_as_good_as_none() -> None:
    def failing(name: str) -> Described:
        raise ModelError("down")

    assert profile("claude-opus-5-5", fetch_info=failing) == profile("claude-opus-5-5", fetch_info=lambda name: None)


def test_the_default_model_needs_a_key_and_offline_none() -> None:
    assert default_name(True) == "claude-sonnet-5-5"
    assert default_name(False) == "offline"


def test_a_name_finds_its_model(tmp_path: Path) -> None:
    by_key = load("claude-opus-5-5", key="k", window=90_000)
    assert isinstance(by_key, AnthropicModel)
    assert by_key.profile.window == 90_000
    local = load("qwen3:8b", base_url="http://127.0.0.1:11434")
    assert isinstance(local, AnthropicModel)
    assert not local.profile.caches
    line = {"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"}
    (tmp_path / "replies.jsonl").write_text(json.dumps(line) + "\n")
    assert isinstance(load(f"recorded:{tmp_path / 'replies.jsonl'}"), RecordedModel)


def test_a_model_without_its_key_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="needs an API key") as caught:
        load("claude-opus-5-5")
    assert "offline" in caught.value.hint


@pytest.mark.parametrize("name", ["gpt-5", "scripted", "anthropic", "recorded", ""])
def test_a_name_that_nothing_answers_to_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(name, key="k")
    assert "--base-url" in caught.value.hint


def test_a_recording_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        load(f"recorded:{tmp_path / 'none.jsonl'}")


def test_an_installed_model_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name = "house-model"

        def load(self) -> Any:
            return lambda: RecordedModel([])

    monkeypatch.setattr("manusfs.registry.entry_points", lambda group: [Point()])
    assert isinstance(load("house-model"), RecordedModel)


def test_a_fingerprint_tells_keys_apart_and_nothing_else() -> None:
    assert fingerprint("a", b"secret") == fingerprint("a", b"secret") != fingerprint("b", b"secret")
    assert fingerprint("a", b"secret") != fingerprint("a", b"other")
    assert fingerprint("", b"secret") == ""
    assert int(fingerprint("a", b"secret"), 16)


def test_the_room_is_light_until_a_model_is_asked() -> None:
    """STYLE 7: no SDK, no transport and no price list for a look at the room, nor for a recorded model."""
    code = (
        "import sys, manusfs.models as m; m.RecordedModel([]); m.ScriptedModel([]); m.profile('local');"
        "m.AnthropicModel('claude-x', key='k', profile=m.profile('local'));"
        "print([n for n in ('anthropic', 'httpx2', 'httpx', 'genai_prices', 'pydantic') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
