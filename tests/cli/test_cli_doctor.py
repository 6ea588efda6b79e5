"""doctor asks the server for the model, and says what there is instead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cli.conftest import Call
from servers.messages_api import MessagesServer, echo_brain


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    with MessagesServer(echo_brain) as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "good")
        yield running


def _model(call: Call) -> dict[str, object]:
    return next(record for record in call("doctor", "--json").records if record["name"] == "model")


def test_a_model_that_the_server_has_is_known(server: MessagesServer, call: Call) -> None:
    assert _model(call)["ok"] is True


def test_a_model_that_it_has_not_is_told_with_those_it_has(
    server: MessagesServer, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUSFS_MODEL", "foo")
    found = _model(call)
    assert found["ok"] is False and "not known" in str(found["detail"])
    assert "it offers: " in str(found["hint"]) and "claude-sonnet-5-5" in str(found["hint"])


def test_a_server_without_a_list_of_models_is_not_blamed(
    server: MessagesServer, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url + "/elsewhere")
    found = _model(call)
    assert found["ok"] is True and "was not checked" in str(found["detail"])


def test_a_server_that_is_not_there_is_told(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "good")
    found = _model(call)
    assert found["ok"] is False and "can't connect" in str(found["detail"])
