"""No tool and no search provider reaches an address that is not public: every one of them is tried."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from servers.web import Reply, WebServer, redirect

from manusfs.agent import Agent
from manusfs.errors import ConfigError, ManusfsError
from manusfs.fetch import FetchOptions
from manusfs.fetch.providers import NAMES, ProviderOptions, load
from manusfs.memory import Workspace
from manusfs.models import ScriptedModel, call
from manusfs.tools import ToolBox
from manusfs.workspace.settings import Settings

SETTINGS = Settings(robots=False, host_delay_s=0.0, fetch_retries=0, fetch_timeout_s=5.0, shell=False, summary_tokens=0)
SPELLINGS = (
    "http://127.0.0.1:{port}/",
    "http://localhost:{port}/x",
    "http://LOCALHOST.:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://127.1:{port}/",
    "http://0:{port}/",
    "http://[::1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://169.254.169.254:{port}/latest/meta-data/",
    "http://user:pw@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}@example.org/",
    "http://example.org@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@example.org/",
    "http://１２７.0.0.1:{port}/",
    "http://127。0。0。1:{port}/",
    "file:///etc/hostname",
    "gopher://127.0.0.1:{port}/",
    "ftp://127.0.0.1:{port}/",
    "//127.0.0.1:{port}/",
)


def _filled(tool: dict[str, Any], name: str, value: str) -> dict[str, Any]:
    """Return arguments of `tool` with `value` as `name` and something for all else that it needs."""
    schema = tool["input_schema"]
    made: dict[str, Any] = {}
    for other in schema["required"]:
        kind = schema["properties"][other]
        made[other] = kind["enum"][0] if "enum" in kind else {"integer": 1, "array": ["x"]}.get(kind["type"], "x")
    array = schema["properties"][name]["type"] == "array"
    return {**made, name: [value] if array else value}


def _textual(schema: dict[str, Any]) -> bool:
    return "enum" not in schema and (schema["type"] == "string" or schema.get("items", {}).get("type") == "string")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_argument_of_any_tool_leads_inside(tmp_path: Path, spelling: str) -> None:
    """I7, promise 7: each text that each tool takes is given such a URL; not one connection is made."""
    tools = [tool for tool in ToolBox(settings=SETTINGS).blocks if tool["name"] not in ("task",)]
    with WebServer({"*": "SECRET"}) as web, Workspace.create(tmp_path / "w", SETTINGS) as workspace:
        url = spelling.format(port=web.port)
        calls = [
            call(tool["name"], **_filled(tool, name, url))
            for tool in tools
            for name, schema in tool["input_schema"]["properties"].items()
            if _textual(schema)
        ]
        model = ScriptedModel([[*calls], "Done."])
        assert Agent(workspace, model).run(f"Look at {url}").answer == "Done."
        assert web.connections == 0
        told = json.dumps(model.requests[-1].to_json())
        assert "SECRET" not in told and len(calls) > 8
        assert not any(meta for meta in workspace.observations.ids())


def test_a_public_page_leads_nowhere_inside(tmp_path: Path) -> None:
    """A redirect is judged like a first address, hop by hop, in whatever form it comes."""
    with WebServer({"*": "SECRET"}) as inside, WebServer() as outside:
        for number, spelling in enumerate(SPELLINGS[:13]):
            outside.pages[f"/{number}"] = redirect(spelling.format(port=inside.port))
        outside.pages["/refresh"] = Reply("<p>x", headers={"Refresh": f"0; url={inside.url()}"})
        outside.pages["/location"] = Reply("<p>x", headers={"Location": inside.url()})
        settings = Settings(
            robots=False,
            host_delay_s=0.0,
            fetch_retries=0,
            allow_hosts=(f"127.0.0.1:{outside.port}",),
            summary_tokens=0,
        )
        with Workspace.create(tmp_path / "w", settings) as workspace:
            for path in outside.pages:
                try:
                    assert b"SECRET" not in workspace.fetch(outside.url(path)).raw
                except ManusfsError:
                    pass
        assert inside.connections == 0 and outside.connections > 0


@pytest.mark.parametrize("name", NAMES)
def test_no_provider_dials_an_address_that_is_not_public(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own name may resolve to anything: the answer is judged. What dials by itself is off by default."""
    with WebServer({"*": Reply('{"results": []}', content_type="application/json")}) as web:
        here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", web.port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *asked, **more: here)
        base = "http://search.example.org/" if name == "searxng" else ""
        options = ProviderOptions(key="key", base_url=base, fetch=FetchOptions(retries=0))
        if name == "searxng":
            # A host that the user gives is allowed, by that name and port and no other.
            options = ProviderOptions(base_url=web.url().rstrip("/"), fetch=FetchOptions(retries=0))
            web.pages["/search"] = redirect(web.url("/elsewhere").replace("127.0.0.1", "localhost"))
        try:
            provider = load(name, options)
        except ManusfsError as error:
            assert name == "ddgs" and isinstance(error, ConfigError), error
            return
        with pytest.raises(ManusfsError):
            provider.search("bridge", 3)
        provider.close()
        assert web.asked("/elsewhere") == [] and (web.connections == 0 or name == "searxng")
