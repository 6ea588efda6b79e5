"""Web search: one suite over every provider; a failed search is an error, never an empty list. I7, I9."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from servers.web import Page, Raw, Reply, WebServer, redirect

from manusfs.errors import AddressRefused, ConfigError, MissingExtra, Unavailable, UsageError
from manusfs.fetch import Fetcher, FetchOptions
from manusfs.fetch.providers import NAMES, Provider, ProviderOptions, load

RESULTS = [("First <b>page</b>", "https://example.org/1", "About &amp; more"), ("Second", "http://example.org/2", "")]
SENT: list[Any] = []


def searxng(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"query": "q", "results": results, "unresponsive_engines": []}


def brave(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "search", "web": {"type": "search", "results": results}}


def tavily(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"query": "q", "answer": None, "results": results}


@dataclass(frozen=True)
class Case:
    name: str
    path: str
    snippet: str
    wrap: Callable[[list[dict[str, Any]]], dict[str, Any]]

    def body(self, results: list[tuple[str, str, str]] = RESULTS) -> str:
        return json.dumps(self.wrap([{"title": t, "url": u, self.snippet: s} for t, u, s in results]))


CASES = [
    Case("searxng", "/search", "content", searxng),
    Case("brave", "/res/v1/web/search", "description", brave),
    Case("tavily", "/search", "content", tavily),
]
every = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.fixture
def web() -> Iterator[WebServer]:
    """A server that plays the provider."""
    with WebServer() as server:
        yield server


@pytest.fixture
def provider(web: WebServer) -> Iterator[Callable[..., Provider]]:
    """Return a maker of the provider of a case, at the local server."""
    made: list[Provider] = []

    def make(case: Case, page: Page, **options: Any) -> Provider:
        web.pages[case.path] = page
        told = {"key": "k-123", "base_url": web.url(""), "fetch": FetchOptions(retries=0), **options}
        made.append(load(case.name, ProviderOptions(**told)))
        return made[-1]

    yield make
    for one in made:
        one.close()


Make = Callable[..., Provider]


def json_page(text: str, status: int = 200) -> Reply:
    return Reply(text, status, content_type="application/json")


@every
def test_hits_come_in_order_as_plain_lines_with_the_raw_answer(case: Case, provider: Make) -> None:
    """The answer as it came is the observation; markup and entities are gone from titles and snippets."""
    answer = provider(case, json_page(case.body())).search("  two\n words ", 10)
    assert [(hit.title, hit.url) for hit in answer.hits] == [
        ("First page", "https://example.org/1"),
        ("Second", "http://example.org/2"),
    ]
    assert answer.hits[0].snippet == "About & more" and answer.raw == case.body().encode()
    assert (answer.provider, answer.query) == (case.name, "two words")


@every
def test_no_hits_is_an_answer_only_when_the_provider_said_so(case: Case, provider: Make) -> None:
    """I9."""
    assert provider(case, json_page(case.body([]))).search("nothing").hits == ()


@every
@pytest.mark.parametrize(
    "page",
    [
        json_page("{}"),
        json_page("[]"),
        json_page("null"),
        json_page("not json"),
        json_page('{"results": 7, "web": 7}'),
        json_page('{"results": "x", "web": {"results": {}}}'),
        json_page("[" * 100_000),
        Reply("<html>please log in</html>"),
        Reply("", 204),
        json_page('{"error": "bad\\u001b[31m key"}', 401),
        json_page('{"error": "refused"}', 403),
        json_page('{"detail": "too fast"}', 429),
        json_page("{}", 422),
        Reply("<html>oops</html>", 500),
        redirect("http://example.org/"),
        Raw([b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"]),
        Raw([b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n\r\n{"]),
        Raw([]),
    ],
    ids=range(18),
)
def test_a_failed_search_is_an_error_that_names_provider_and_way_out(case: Case, page: Page, provider: Make) -> None:
    """I9: never an empty list, never a traceback, no control characters."""
    with pytest.raises(Unavailable) as error:
        provider(case, page).search("words")
    assert case.name in str(error.value) and error.value.hint and str(error.value).isprintable()


@every
def test_unusable_results_are_left_out_and_all_unusable_is_a_failure(case: Case, provider: Make) -> None:
    """I6, I7: only http and https pages, each once."""
    bad = [("a", "javascript:alert(1)", ""), ("b", "file:///etc/passwd", ""), ("c", "", ""), ("d", "no url", "")]
    mixed = [*bad, *RESULTS, RESULTS[0]]
    assert len(provider(case, json_page(case.body(mixed))).search("q").hits) == 2
    with pytest.raises(Unavailable):
        provider(case, json_page(case.body(bad))).search("q")


@every
def test_strange_fields_are_survived_and_long_ones_cut(case: Case, provider: Make) -> None:
    """I6: one line each, bounded."""
    results = [{"title": 7, "url": "https://example.org/x"}, "text", None, {"title": "x"}]
    results += [{"title": "t\x1b\u202e" * 9_999, "url": "https://example.org/y", case.snippet: ["list"]}]
    hits = provider(case, json_page(json.dumps(case.wrap(results)))).search("q").hits  # type: ignore[arg-type]
    assert [hit.url for hit in hits] == ["https://example.org/x", "https://example.org/y"]
    assert hits[0].title == "https://example.org/x" and len(hits[1].title) <= 300 and hits[1].title.isprintable()


@every
def test_the_count_is_a_limit(case: Case, provider: Make) -> None:
    """At most so many hits, whatever comes."""
    many = [(f"t{n}", f"https://example.org/{n}", "") for n in range(50)]
    assert len(provider(case, json_page(case.body(many))).search("q", 7).hits) == 7


@every
def test_an_empty_or_endless_query_is_refused_before_it_is_sent(case: Case, provider: Make, web: WebServer) -> None:
    """I9: not cut in silence."""
    one = provider(case, json_page(case.body()))
    for query in ("", " \n", "word " * 1_000):
        with pytest.raises(UsageError):
            one.search(query)
    assert web.requests == []


@every
def test_a_busy_provider_is_asked_again(case: Case, provider: Make) -> None:
    """STYLE 23."""
    answers = iter([json_page("{}", 503), json_page(case.body())])
    one = provider(case, lambda _: next(answers), fetch=FetchOptions(retries=1))
    assert len(one.search("q").hits) == 2


@every
def test_the_key_goes_to_the_provider_only(case: Case, provider: Make, web: WebServer) -> None:
    """I7: no redirect is followed with a key in hand."""
    with WebServer({"*": json_page(case.body())}) as thief:
        with pytest.raises(Unavailable):
            provider(case, redirect(thief.url("/search"))).search("q")
        assert thief.requests == [] and len(web.requests) == 1


def test_each_key_goes_where_the_provider_wants_it(provider: Make, web: WebServer) -> None:
    """Their documentation; the key is not in what is printed of the options."""
    searx, brave_case, tavily_case = CASES
    provider(brave_case, json_page(brave_case.body())).search("a b", 99)
    assert web.requests[-1].headers["x-subscription-token"] == "k-123"
    assert web.requests[-1].path == "/res/v1/web/search?q=a+b&count=20"
    provider(tavily_case, json_page(tavily_case.body())).search("a b", 3)
    sent = web.requests[-1]
    assert sent.headers["authorization"] == "Bearer k-123" and sent.method == "POST"
    assert json.loads(sent.body)["query"] == "a b" and json.loads(sent.body)["max_results"] == 3
    provider(tavily_case, json_page(tavily_case.body()), key="", keyless=True).search("a b")
    assert web.requests[-1].headers["x-tavily-access-mode"] == "keyless"
    assert "authorization" not in web.requests[-1].headers
    provider(searx, json_page(searx.body()), base_url=web.url("/search/")).search("a b")
    assert web.requests[-1].path == "/search?q=a+b&format=json" and "k-123" not in str(web.requests[-1].headers)
    assert "k-123" not in repr(ProviderOptions(key="k-123"))


def test_searxng_without_json_is_told_the_two_lines(provider: Make) -> None:
    """The issue: a 403 for JSON explains the settings."""
    with pytest.raises(Unavailable) as error:
        provider(CASES[0], Reply("<html>Forbidden</html>", 403)).search("q")
    assert error.value.hint.endswith(
        "settings.yml says so; add these two lines and restart it:\nsearch:\n  formats: [html, json]"
    )


def test_searxng_whose_engines_are_silent_is_a_failure(provider: Make) -> None:
    """I9: nothing found because nobody answered."""
    body = json.dumps({"results": [], "unresponsive_engines": [["google", "timeout"], ["bing", "blocked"]]})
    with pytest.raises(Unavailable, match="2 of its engines"):
        provider(CASES[0], json_page(body)).search("q")


def test_brave_without_web_results_found_nothing(provider: Make) -> None:
    """Its answer leaves the part out then."""
    assert provider(CASES[1], json_page('{"type": "search", "query": {}}')).search("q").hits == ()


def test_a_server_on_this_machine_is_allowed_at_that_port_only(provider: Make, web: WebServer) -> None:
    """I7: the host of a base URL that the user gave is allowed for this provider, and for no fetch."""
    local = provider(CASES[0], json_page(CASES[0].body()), base_url=web.url("", host="localhost"))
    assert local.search("q").hits and web.requests[0].headers["host"] == f"localhost:{web.port}"
    with Fetcher(FetchOptions(robots=False)) as plain, pytest.raises(AddressRefused):
        plain.fetch(web.url("/search"))
    assert len(web.requests) == 1


def test_what_a_provider_needs_is_asked_for_by_name() -> None:
    """I9: key, address or leave; unknown names list the known ones."""
    for name, word in (("searxng", "searxng_url"), ("brave", "BRAVE_API_KEY"), ("tavily", "TAVILY_API_KEY")):
        with pytest.raises(ConfigError) as error:
            load(name, ProviderOptions())
        assert word in error.value.hint
    with pytest.raises(ConfigError):
        load("searxng", ProviderOptions(base_url="localhost:8080"))
    with pytest.raises(UsageError) as unknown:
        load("bing", ProviderOptions())
    assert "searxng" in unknown.value.hint and set(NAMES) == {"searxng", "brave", "tavily", "ddgs"}


def test_ddgs_is_an_optional_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """STYLE 49: what to install when it is missing."""
    monkeypatch.setitem(sys.modules, "ddgs", None)
    monkeypatch.delitem(sys.modules, "manusfs.fetch.providers.ddgs", raising=False)
    with pytest.raises(MissingExtra) as error:
        load("ddgs", ProviderOptions())
    assert "manusfs[ddgs]" in error.value.hint


def test_ddgs_gives_hits_and_failures_like_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """I9: its exceptions become our error; a stand-in has its documented shape."""
    package, exceptions = types.ModuleType("ddgs"), types.ModuleType("ddgs.exceptions")

    class DDGSException(Exception):
        pass

    class DDGS:
        def __init__(self, timeout: int) -> None:
            assert timeout > 0

        def text(self, query: str, max_results: int) -> list[dict[str, str]]:
            if query == "blocked":
                raise DDGSException("No results found.")
            return [{"title": "T", "href": "https://example.org/", "body": "B"}][:max_results]

    package.DDGS, exceptions.DDGSException = DDGS, DDGSException  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ddgs", package)
    monkeypatch.setitem(sys.modules, "ddgs.exceptions", exceptions)
    monkeypatch.delitem(sys.modules, "manusfs.fetch.providers.ddgs", raising=False)
    with pytest.raises(ConfigError, match="guard on addresses") as refused:
        load("ddgs", ProviderOptions())
    assert "ddgs_own_network" in refused.value.hint
    one = load("ddgs", ProviderOptions(own_network=True))
    answer = one.search("q")
    assert answer.hits[0].url == "https://example.org/" and json.loads(answer.raw)[0]["body"] == "B"
    with pytest.raises(Unavailable, match="web search by ddgs failed"):
        one.search("blocked")
    one.close()
    monkeypatch.delitem(sys.modules, "manusfs.fetch.providers.ddgs")
