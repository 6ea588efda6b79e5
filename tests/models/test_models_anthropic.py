"""The SDK model against the strict local server: exact round trips, failures told and passed, nothing half kept."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.messages_api import Fault, MessagesServer, echo_brain

from manusfs.errors import ConfigError, InvalidRequest, ModelError
from manusfs.messages import Block, Delta, Message, Request
from manusfs.models import OFFICIAL_URL, AnthropicModel, Connection, Described
from manusfs.models.failures import Backoff

NAME = "claude-sonnet-5-5"
MARK = {"cache_control": {"type": "ephemeral"}}
QUICK = Connection(timeout_s=10, connect_s=5, backoff=Backoff(first_s=0.01, most_s=0.02, longest_s=5))
TOOL: Block = {
    "name": "look",
    "description": "Look something up.",
    "input_schema": {"type": "object", "properties": {"what": {"type": "string"}}},
}


def text(words: str, **more: Any) -> Block:
    return {"type": "text", "text": words, **more}


def looking_brain(body: dict[str, Any]) -> tuple[list[Block], str]:
    """Call `look` twice a turn for three turns, thinking before and between, then answer."""
    turns = sum(message["role"] == "assistant" for message in body["messages"])
    if turns >= 3:
        return [{"type": "thinking", "thinking": "Enough."}, text("Found: größer 東京 🎉.")], "end_turn"
    calls: list[Block] = []
    for number in range(2):
        calls.append({"type": "thinking", "thinking": f"Look {number} of turn {turns}."})
        inner = {"what": f"größer {number}", "deep": {"list": [1, 2.5, 1e300, None, True, "🎉"]}, "big": 2**70}
        calls.append({"type": "tool_use", "id": f"toolu_{turns}_{number}", "name": "look", "input": inner})
    return [text(f"Turn {turns}."), {"type": "redacted_thinking"}, *calls], "tool_use"


def request(*messages: Message, model: AnthropicModel | None = None, **options: Any) -> Request:
    thinking = dict(model.profile.thinking) if model else {"type": "adaptive", "display": "summarized"}
    known = {"thinking": thinking} if thinking else {}
    return Request(NAME, 2_000, (text("Be brief."),), (TOOL,), messages or (user("hello"),), {**known, **options})


def user(words: str) -> Message:
    return {"role": "user", "content": [text(words)]}


def model_for(server: MessagesServer, **more: Any) -> AnthropicModel:
    return AnthropicModel(NAME, key="good", base_url=server.url, connection=QUICK, **more)


@pytest.fixture(scope="module")
def echo() -> Iterator[MessagesServer]:
    with MessagesServer(echo_brain) as server:
        yield server


@pytest.fixture
def server(echo: MessagesServer) -> MessagesServer:
    """The echoing server, without what earlier tests asked of it."""
    for record in (echo.seen, echo.accepted, echo.refused):
        record.clear()
    return echo


@pytest.fixture
def model(server: MessagesServer) -> Iterator[AnthropicModel]:
    made = model_for(server)
    yield made
    made.close()


def test_a_tool_loop_with_thinking_goes_out_as_it_came_in() -> None:
    """I3, s17: thinking, redacted thinking, calls and odd characters return byte for byte; every turn is accepted."""
    with MessagesServer(looking_brain) as server:
        model = model_for(server)
        messages: list[Message] = [user("look"), user("well")]
        for _ in range(4):
            reply = model.reply(request(*messages))
            messages.append({"role": "assistant", "content": list(reply.content)})
            calls = [block for block in reply.content if block["type"] == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": c["id"], "content": [text("found")]} for c in calls]
            messages.append({"role": "user", "content": results or [text("thanks")]})
        reply = model.reply(request(*messages))
        assert server.refused == []
        first = messages[2]["content"]
        assert [b["type"] for b in first] == [
            "text", "redacted_thinking", "thinking", "tool_use", "thinking", "tool_use",
        ]  # fmt: skip
        assert first[3]["input"]["deep"] == {"list": [1, 2.5, 1e300, None, True, "🎉"]}
        assert first[3]["input"]["big"] == 2**70
        assert first[3]["caller"] == {"type": "direct"}
        assert reply.content[-1] == text("Found: größer 東京 🎉.")
        assert reply.stop_reason == "end_turn"
        model.close()


def test_what_is_sent_is_the_request_and_nothing_else(server: MessagesServer, model: AnthropicModel) -> None:
    """I3: options that the SDK has no parameter for go out too; nothing is added but `stream`."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAQ=="}}
    asked = request({"role": "user", "content": [image, text("what?", **MARK)]}, output_config={"effort": "low"})
    model.reply(asked)
    assert server.accepted[-1] == {**json.loads(json.dumps(asked.to_json())), "stream": True}


def test_marks_write_and_read_the_cache_and_usage_says_so(server: MessagesServer, model: AnthropicModel) -> None:
    """I2: the request that begins with the one before it is read from the cache."""
    system = (text("word " * 1_500, **MARK),)
    first = model.reply(replace(request(), system=system))
    longer = request(user("hello"), {"role": "assistant", "content": list(first.content)}, user("more"))
    second = model.reply(replace(longer, system=system))
    assert first.usage.cache_creation_input_tokens > 1_000
    assert second.usage.cache_read_input_tokens == first.usage.cache_creation_input_tokens
    assert second.usage.input_tokens > 0 < second.usage.output_tokens


def test_pieces_are_told_while_they_come(model: AnthropicModel) -> None:
    told: list[Delta] = []
    reply = model.reply(request(user("a longer text that comes in several pieces")), told.append)
    assert "".join(delta.text for delta in told if delta.kind == "text") == reply.content[-1]["text"]
    assert "".join(delta.text for delta in told if delta.kind == "thinking") == "I shall repeat it."
    assert len(told) > 3


@pytest.mark.parametrize("kind", ["429", "500", "503", "529"])
def test_a_status_that_can_pass_is_tried_again(server: MessagesServer, model: AnthropicModel, kind: str) -> None:
    server.plan(kind, times=2)
    told: list[Delta] = []
    reply = model.reply(request(), told.append)
    assert reply.stop_reason == "end_turn"
    assert len(server.refused) == 2
    assert [f"HTTP {kind}" in d.text for d in told if d.kind == "restart"] == [True, True]


@pytest.mark.parametrize("fault", ["midstream", "drop", "end", "garbage"])
def test_an_answer_that_breaks_off_is_dropped_and_asked_for_again(
    server: MessagesServer, model: AnthropicModel, fault: str
) -> None:
    """LIBRARIES A1: an error event in mid-stream is not retried by the SDK; its partial text must not be kept."""
    server.plan(Fault(fault, after=8))
    told: list[Delta] = []
    reply = model.reply(request(user("the whole answer")), told.append)
    assert reply.content[-1] == text("You said: the whole answer")
    kinds = [delta.kind for delta in told]
    assert kinds.count("restart") == 1
    assert "".join(d.text for d in told[kinds.index("restart") :] if d.kind == "text") == "You said: the whole answer"
    assert server.accepted[-1] == server.accepted[-2]


def test_a_connection_that_is_reset_before_the_answer_is_made_again(
    server: MessagesServer, model: AnthropicModel
) -> None:
    server.plan(Fault("drop", after=0))
    assert model.reply(request()).stop_reason == "end_turn"


def test_attempts_are_limited_and_the_last_failure_is_told(server: MessagesServer) -> None:
    model = model_for(server, retries=2)
    server.plan(Fault("midstream", times=3))
    with pytest.raises(ModelError) as caught:
        model.reply(request())
    assert (caught.value.kind, caught.value.transient, caught.value.exit_code) == ("overloaded_error", True, 69)
    assert len(server.accepted) == 3


def test_a_stream_error_that_waiting_does_not_help_is_told_at_once(
    server: MessagesServer, model: AnthropicModel
) -> None:
    server.plan(Fault("midstream", error="invalid_request_error"))
    with pytest.raises(ModelError, match="mid-answer") as caught:
        model.reply(request())
    assert not caught.value.transient


def test_a_wait_that_is_too_long_ends_the_run_with_what_to_do(server: MessagesServer, model: AnthropicModel) -> None:
    server.plan(Fault("429", headers={"retry-after": "3600"}))
    with pytest.raises(ModelError) as caught:
        model.reply(request())
    assert (caught.value.status, caught.value.transient) == (429, True)
    assert "wait" in caught.value.hint


def test_a_provider_that_says_do_not_retry_is_obeyed(server: MessagesServer, model: AnthropicModel) -> None:
    server.plan(Fault("429", headers={"x-should-retry": "false"}))
    with pytest.raises(ModelError):
        model.reply(request())
    assert len(server.refused) == 1


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        ("400", "prompt is too long: 208656 tokens > 200000 maximum", "context_overflow"),
        ("400", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", "context_overflow"),
        ("400", "the request exceeds the available context size", "context_overflow"),
        ("400", "This model's maximum context length is 8192 tokens", "context_overflow"),
        ("413", "Request exceeds the maximum size", "context_overflow"),
        ("400", "something else is wrong", "invalid_request_error"),
        ("401", "invalid x-api-key", "authentication_error"),
        ("402", "no credit", "billing_error"),
        ("403", "not for you", "permission_error"),
        ("404", "model: nobody", "not_found_error"),
    ],
)
def test_a_refusal_is_told_with_its_kind_and_never_tried_again(
    server: MessagesServer, model: AnthropicModel, status: str, words: str, kind: str
) -> None:
    server.plan(Fault(status, message=words))
    with pytest.raises(ModelError) as caught:
        model.reply(request())
    assert (caught.value.status, caught.value.kind, caught.value.transient) == (int(status), kind, False)
    assert words in str(caught.value)
    assert server.url in str(caught.value)
    assert bool(caught.value.hint) == (words != "something else is wrong")
    assert len(server.refused) == 1


def test_a_prompt_above_the_real_window_is_an_overflow() -> None:
    with MessagesServer(echo_brain, window=400) as small, pytest.raises(ModelError) as caught:
        model_for(small).reply(request(user("word " * 1_000)))
    assert caught.value.kind == "context_overflow"


def test_a_key_that_is_not_taken_names_the_key(server: MessagesServer) -> None:
    with MessagesServer(echo_brain, keys={"right": "acme"}) as locked, pytest.raises(ModelError) as caught:
        model_for(locked).reply(request())
    assert caught.value.status == 401
    assert "ANTHROPIC_API_KEY" in caught.value.hint


@pytest.mark.parametrize("stop", ["refusal", "pause_turn", "max_tokens", "model_context_window_exceeded"])
def test_every_stop_reason_comes_through(server: MessagesServer, model: AnthropicModel, stop: str) -> None:
    server.plan(stop)
    reply = model.reply(request(user("word " * 40)))
    assert reply.stop_reason == stop
    assert bool(reply.stop_details) == (stop == "refusal")
    assert bool(reply.content) == (stop != "refusal")


def test_a_paused_turn_is_taken_back_as_it_is(server: MessagesServer, model: AnthropicModel) -> None:
    server.plan("pause_turn")
    paused = model.reply(request())
    again = request(user("hello"), {"role": "assistant", "content": list(paused.content)})
    assert model.reply(again).stop_reason == "end_turn"
    assert server.refused == []


def test_a_call_that_a_limit_cut_off_is_left_out() -> None:
    """The rest of the turn stays valid: it can be sent back and answered."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"what": "x" * 4_000}}
    with MessagesServer(lambda body: ([text("I look."), call], "tool_use")) as server:
        model = model_for(server)
        reply = model.reply(replace(request(), max_tokens=200))
        assert reply.stop_reason == "max_tokens"
        assert [block["type"] for block in reply.content] == ["thinking", "text"]
        model.reply(request(user("hello"), {"role": "assistant", "content": list(reply.content)}, user("go on")))
        assert server.refused == []


def test_blank_texts_are_left_out_because_they_may_not_come_back() -> None:
    blocks = [text("\n\n"), {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]
    with MessagesServer(lambda body: (blocks, "tool_use")) as server:
        reply = model_for(server).reply(request())
    assert [block["type"] for block in reply.content] == ["thinking", "tool_use"]
    assert reply.content[1]["input"] == {}


def test_citations_of_an_answer_are_kept() -> None:
    where = {"type": "char_location", "cited_text": "x", "document_index": 0, "start_char_index": 0}
    with MessagesServer(lambda body: ([text("So.", citations=[where, where])], "end_turn")) as server:
        assert model_for(server).reply(request()).content[-1] == text("So.", citations=[where, where])


def test_a_lone_surrogate_never_leaves_the_machine(server: MessagesServer, model: AnthropicModel) -> None:
    """p09: text that is not valid Unicode is an error of ours, not a 400 after a wait."""
    with pytest.raises(InvalidRequest):
        model.reply(request(user("broken \ud800 text")))
    assert server.seen == []


def test_on_delta_may_stop_the_answer_and_the_model_is_asked_again_later(
    server: MessagesServer, model: AnthropicModel
) -> None:
    server.plan(Fault("slow", delay_s=0.01))

    def stop(delta: Delta) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.reply(request(user("word " * 200)), stop)
    assert model.reply(request()).stop_reason == "end_turn"


def test_an_error_of_on_delta_is_not_taken_for_one_of_the_stream(model: AnthropicModel) -> None:
    def fail(delta: Delta) -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        model.reply(request(), fail)


def test_a_server_that_is_not_there_is_named() -> None:
    with MessagesServer() as gone:
        url = gone.url
    model = AnthropicModel("local-model", base_url=url, connection=QUICK, retries=1)
    with pytest.raises(ModelError, match=url) as caught:
        model.reply(request())
    assert (caught.value.kind, caught.value.exit_code, caught.value.transient) == ("connection", 69, True)


def test_a_server_that_is_no_model_is_told(server: MessagesServer, model: AnthropicModel) -> None:
    server.plan("html")
    with pytest.raises(ModelError, match="text/html") as caught:
        model.reply(request())
    assert "Messages API" in caught.value.hint


def test_a_silent_server_times_out(server: MessagesServer) -> None:
    server.plan(Fault("slow", delay_s=1.0))
    model = AnthropicModel(NAME, key="k", base_url=server.url, retries=0, connection=replace(QUICK, timeout_s=0.1))
    with pytest.raises(ModelError) as caught:
        model.reply(request())
    assert caught.value.transient


def test_the_key_goes_out_in_both_headers_to_a_gateway_and_other_headers_say_the_version(
    server: MessagesServer, model: AnthropicModel
) -> None:
    model.reply(request())
    headers = server.seen[-1].headers
    assert headers["authorization"] == "Bearer good"
    assert headers["x-api-key"] == "good"
    assert headers["anthropic-version"] == "2026-10-21"


def test_the_environment_is_not_asked_for_a_key_or_an_address(
    server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STYLE 8: only the command line reads the environment; the SDK would, unless everything is said."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", "/nowhere")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "work")
    with pytest.raises(ConfigError, match="needs an API key") as caught:
        AnthropicModel(NAME)
    assert caught.value.exit_code == 78
    assert "ANTHROPIC_API_KEY" in caught.value.hint
    AnthropicModel(NAME, base_url=server.url, connection=QUICK).reply(request())
    assert server.seen[-1].headers["authorization"] == "Bearer none"
    assert AnthropicModel(NAME, key="k").base_url == OFFICIAL_URL


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://example.org", "http://", "nonsense"])
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        AnthropicModel(NAME, key="k", base_url=url)


@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nbreak"])
def test_a_key_with_impossible_characters_is_refused(key: str) -> None:
    with pytest.raises(ConfigError):
        AnthropicModel(NAME, key=key)


def test_a_base_url_that_ends_in_v1_and_a_key_with_a_line_end_work(server: MessagesServer) -> None:
    model = AnthropicModel(NAME, key="good\n", base_url=f"{server.url}/v1/", connection=QUICK)
    assert model.reply(request()).stop_reason == "end_turn"


def test_the_models_endpoint_says_the_window(server: MessagesServer, model: AnthropicModel) -> None:
    assert model.describe() == Described(1_000_000, 128_000)
    nobody = AnthropicModel("claude-nobody", key="good", base_url=server.url, connection=QUICK)
    assert nobody.describe() is None


def test_two_threads_may_ask_one_model_each_its_own() -> None:
    with MessagesServer(echo_brain) as server:
        model = model_for(server)
        model.reply(request())
        answers: dict[int, str] = {}

        def ask(number: int) -> None:
            answers[number] = model.reply(request(user(f"number {number}"))).content[-1]["text"]

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert answers == {number: f"You said: number {number}" for number in range(4)}


def test_the_key_stands_in_no_message_and_no_log(server: MessagesServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model = AnthropicModel(NAME, key="sk-very-secret", base_url=server.url, connection=QUICK, retries=0)
    server.plan("401")
    with pytest.raises(ModelError) as caught:
        model.reply(request())
    assert "sk-very-secret" not in f"{caught.value} {caught.value.hint} {model!r} {caplog.text}"


@settings(max_examples=40, deadline=None)
@given(words=st.text(min_size=1, max_size=200).filter(str.strip))
def test_any_text_comes_back_as_it_went_out(echo: MessagesServer, words: str) -> None:
    model = _shared(echo)
    assert model.reply(request(user(words))).content[-1]["text"] == f"You said: {words}"


_models: dict[str, AnthropicModel] = {}


def _shared(server: MessagesServer) -> AnthropicModel:
    return _models.setdefault(server.url, model_for(server))
