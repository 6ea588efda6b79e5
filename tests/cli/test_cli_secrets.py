"""No secret reaches a terminal, a listing, an error or a report; the store keeps the bytes, for its owner alone."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from agent.agent_stage import results
from cli.conftest import Call
from servers.web import WebServer

from manusfs.agent import Agent
from manusfs.cli import out
from manusfs.memory import Workspace
from manusfs.models import ScriptedModel
from manusfs.models import call as tool_call
from manusfs.workspace.settings import Settings

SECRET = "Zq9VerySecretValue77"
KEY = "sk-ant-api03-Zq9VerySecretKey0123"


@pytest.fixture
def keyed(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`call` in a workspace, with keys in the environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("MY_OWN_TOKEN", "an-unusual.token.of-mine")
    out._known.cache_clear()
    assert call("init", "ws").code == 0
    monkeypatch.chdir(tmp_path / "ws")
    return call


def test_a_secret_in_a_url_is_in_the_store_and_in_no_view(keyed: Call, tmp_path: Path) -> None:
    """Promise 12: two pages that differ in the secret alone are two, and each is fetched again by its ref."""
    with WebServer({"/page": "<title>A page</title><p>Bridge of stone. " + "word " * 900}) as web:
        urls = [web.url(f"/page?token={SECRET}{number}") for number in (1, 2)]
        settings = Settings(allow_hosts=("127.0.0.1",), robots=False, host_delay_s=0.0, summary_tokens=0)
        with Workspace.open(tmp_path / "ws", settings) as workspace:
            again = [tool_call("web_fetch", url="obs:PLACE")]

            def refetch(request: object) -> list[dict[str, object]]:
                ref = workspace.search("bridge stone")[0].ref.partition("@")[0]
                return [{**again[0], "input": {"url": ref}}]

            wrong = [tool_call("web_fetch", url=web.url("/page?token=***"))]
            model = ScriptedModel(
                [[tool_call("web_fetch", url=url) for url in urls], refetch, wrong, f"See {urls[0]}."]
            )
            result = Agent(workspace, model, settings).run(f"Read {urls[0]}")
            assert len(list(workspace.observations.ids())) == 2 and len(web.asked(f"/page?token={SECRET}1")) >= 1
            told = "\n".join(results(model.requests[-1]))
            assert SECRET not in told and told.count("token=***") >= 2
            assert "Unchanged" in told and 'web_fetch(url="obs:' in told
    stored = "".join(path.read_text("utf-8") for path in (tmp_path / "ws/observations").rglob("meta.json"))
    assert f"token={SECRET}1" in stored and f"token={SECRET}2" in stored
    for path in (tmp_path / "ws").rglob("*"):
        assert SECRET not in path.name and SECRET.lower() not in path.name
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SECRET not in (tmp_path / "ws" / result.report).read_text()
    for command in (
        ["ls"], ["ls", "--json"], ["show"], ["show", "--json"], ["show", "--all"], ["context"], ["context", "--json"],
        ["search", "bridge"], ["search", "bridge", "--json"], ["stats"], ["verify"], ["gc", "--dry-run"],
        ["ls", "sessions"], ["cite", result.report], ["read", f"msg:{result.session}:3"], ["context", "--tokens"],
    ):  # fmt: skip
        done = keyed(*command)
        assert SECRET not in done.out + done.err, command


@pytest.mark.slow
def test_errors_name_the_url_without_its_secret(keyed: Call) -> None:
    for url in (
        f"http://127.0.0.1:9/x?api_key={SECRET}",
        f"http://user:{SECRET}@127.0.0.1:9/",
        f"ftp://h.example/?token={SECRET}",
        f"http://h.example:99999/?token={SECRET}",
    ):
        for command in (["add", url], ["add", url, "--json"], ["read", url], ["run", "x", "--source", url]):
            done = keyed(*command)
            assert SECRET not in done.out + done.err, command


def test_keys_of_the_environment_are_masked_in_whatever_is_printed(keyed: Call, tmp_path: Path) -> None:
    """Even where a page or a person wrote them down: only `read` shows stored bytes as they are."""
    text = f"The key {KEY} and an-unusual.token.of-mine stood here, about a bridge."
    (tmp_path / "leak.md").write_text(text)
    added = keyed("add", "../leak.md", "--json").records[0]
    keyed("note", text, "--title", "leak")
    for command in (["search", "bridge"], ["search", "bridge", "--json"], ["ls", "notes"], ["show"], ["config"]):
        done = keyed(*command)
        assert KEY not in done.out + done.err and "unusual.token" not in done.out + done.err, command
    assert KEY in keyed("read", added["ref"]).out


@pytest.mark.slow
def test_a_model_server_with_credentials_in_its_address_is_named_without_them(keyed: Call) -> None:
    base = f"http://user:{SECRET}@127.0.0.1:9"
    for command in (["run", "x", "--model", "claude-sonnet-5-5", "--base-url", base], ["config"], ["doctor"]):
        done = keyed(*command)
        assert SECRET not in done.out + done.err and KEY not in done.out + done.err, command


def test_json_stays_json_when_it_is_masked() -> None:
    record = {"url": f"https://h/?token={SECRET}", "n": [1, None, {"a": f"Authorization: Bearer {SECRET}"}], "t": True}
    assert json.loads(json.dumps(out.masked(record))) == {
        "url": "https://h/?token=***", "n": [1, None, {"a": "Authorization: Bearer ***"}], "t": True,
    }  # fmt: skip
