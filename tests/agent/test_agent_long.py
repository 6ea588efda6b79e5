"""Runs that are larger than any window: huge results, many calls, many epochs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from agent_stage import PAGES, agent, assert_sound, events_of, fetches, is_opening, make_workspace, page, refs, results

from manusfs.agent import AgentEvent
from manusfs.messages import Profile, Request
from manusfs.models import ScriptedModel, call, estimated_usage


def bounded(requests: list[Request], window: int) -> None:
    """I4: each request, with the reserve for its reply, fits the window."""
    for request in requests:
        size = estimated_usage(request, []).window
        assert size + request.max_tokens <= window, (size, request.max_tokens, window)


def rounds(count: int, **arguments: Any) -> Any:
    """Return a brain that fetches three pages a turn and reads one of them, `count` turns long."""
    turn = 0

    def next_turn(request: Request) -> Any:
        nonlocal turn
        turn += 1
        if turn > count:
            return "Done."
        urls = [f"{PAGES}{turn}-{n}" for n in range(3)]
        newest = refs(request)[-1:]
        return [*fetches(urls, **arguments), *(call("read", ref=ref, offset=3_000, limit=4_000) for ref in newest)]

    return next_turn


@pytest.mark.parametrize("window", [12_000, 40_000, 200_000])
def test_a_long_run_stays_within_its_window(tmp_path: Path, window: int) -> None:
    """I1 to I4, MA-2: 160 calls through any window; each epoch append-only, each ref resolvable afterwards."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 100))
    profile = Profile("scripted", window=window)
    model = ScriptedModel(rounds(40), profile=profile)
    told: list[AgentEvent] = []
    result = agent(workspace, model, told, max_turns=0).run("Read very much.")
    assert (result.answer, result.turns) == ("Done.", 41) and result.tool_calls >= 150
    bounded(model.requests, window)
    assert_sound(model.requests)
    epochs = sum(is_opening(request) for request in model.requests)
    compactions = [event for event in told if event.kind == "compaction"]
    assert len(compactions) == epochs - 1
    if window < 100_000:
        assert compactions
    if window == 40_000:  # in the smallest one turn goes from far below the mark to beyond it
        assert any("is compacted at" in event.text for event in told if event.kind == "warning")
    assert all(event.data["after_tokens"] < event.data["before_tokens"] for event in compactions)
    assert "Read very much." in json.dumps(model.requests[-1].to_json()), "the task is never lost"
    assert_everything_resolves(workspace, result.session)


def assert_everything_resolves(workspace: Any, session: str) -> None:
    """I1: every observation and every block that was shown, by its ref, network off."""
    for event in events_of(workspace, session):
        if event.kind in ("observation", "shown"):
            assert workspace.read(f"msg:{session}:{event.seq}", chars=100).total > 0
        if event.kind == "observation":
            assert workspace.read(event.data["ref"]).text.strip().startswith("Paragraph 0:")


@pytest.mark.parametrize("window", [12_000, 60_000])
def test_whatever_a_turn_brings_the_next_request_fits(tmp_path: Path, window: int) -> None:
    """I4: twelve large reads at once share what is left: each shows less, or is not sent and can be read by its ref."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 3_000))
    profile = Profile("scripted", window=window)

    def greedy(request: Request) -> Any:
        return [
            call("read", ref=ref, offset=16_000 * n) for ref in list(dict.fromkeys(refs(request)))[:3] for n in range(4)
        ]

    def from_the_ref(request: Request) -> Any:
        said = json.dumps(request.messages)
        unsent = re.findall(r'NOT SENT.*?read\(ref=\\+"(msg:[\w-]+:\d+)', said)
        shown = re.findall(r"<read ref=", said)
        assert len(unsent) + len(shown) == 12
        return [call("read", ref=(unsent or refs(request))[-1], limit=1_000)]

    model = ScriptedModel(
        [fetches([f"{PAGES}{n}" for n in range(3)], limit=16_000), greedy, from_the_ref, "Done."], profile=profile
    )
    assert agent(workspace, model).run("Read it all at once.").answer == "Done."
    bounded(model.requests, window)
    assert_sound(model.requests)
    assert "Paragraph" in json.dumps(model.requests[-1].messages)


def test_reading_a_page_to_its_end_gives_the_exact_whole(tmp_path: Path) -> None:
    """s15, OC-1: pieces of the tool join to the stored text, also inside one endless line."""
    text = "".join(f"word{n} " for n in range(9_000)) + "末" * 5_000
    workspace = make_workspace(tmp_path / "w", lambda url: text)
    pieces: list[str] = []

    def follow(request: Request) -> Any:
        shown = results(request)[-1]
        if "<read " in shown:
            head, _, rest = shown.partition(">\n")
            pieces.append(rest.removesuffix("\n</read>").split("\n…[OMITTED")[0])
            after = head.split('next="')[1].split('"')[0]
            if not after:
                return "Done."
            return [call("read", ref=refs(request)[0], offset=int(after))]
        return [call("read", ref=refs(request)[0])]

    model = ScriptedModel(fetches_then(follow), profile=Profile("scripted", window=1_000_000))
    assert agent(workspace, model).run("Read all.").answer == "Done."
    assert "".join(pieces) == text


def fetches_then(follow: Any) -> Any:
    """Return a brain that fetches one page and then does as `follow` says."""
    return lambda request: fetches([f"{PAGES}a"]) if not results(request) else follow(request)


def test_after_a_compaction_a_span_is_shown_again(tmp_path: Path) -> None:
    """Section 2.13: "unchanged" is not said when the text is no longer in the window."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 100))
    first: list[str] = []

    def read_again(request: Request) -> Any:
        first[:] = first or refs(request)[:1]
        return [call("read", ref=first[0], offset=0, limit=500)]

    steps = [fetches([f"{PAGES}0"]), read_again, read_again]
    steps += [fetches([f"{PAGES}{n}" for n in range(i, i + 3)], limit=5_000) for i in range(1, 20, 3)]
    model = ScriptedModel([*steps, read_again, "Done."], profile=Profile("scripted", window=30_000))
    told: list[AgentEvent] = []
    agent(workspace, model, told).run("Go.")
    assert any(event.kind == "compaction" for event in told)
    assert results(model.requests[3])[-1].startswith("Unchanged: ")
    assert results(model.requests[-1])[-1].startswith("<read ")


def test_the_plan_is_said_again_as_the_window_grows(tmp_path: Path) -> None:
    """Recitation: after recite_tokens of growth, and when people change it; it never touches the prefix."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 100))
    steps: list[Any] = [[call("todo", items=["[x] begin", "compare", "answer"])]]
    steps += [fetches([f"{PAGES}{n}"], limit=8_000) for n in range(6)]
    edited = lambda request: (tmp_path / "w/todo.md").write_text("- [ ] by hand\n") and fetches([f"{PAGES}9"])  # noqa: E731
    model = ScriptedModel([*steps, edited, "Done."])
    agent(workspace, model, recite_tokens=5_000).run("Go.")
    texts = [
        [b["text"] for b in m["content"] if b["type"] == "text"]
        for m in model.requests[-1].messages[1:]
        if m["role"] == "user"
    ]
    recited = [text for group in texts for text in group]
    assert 1 <= sum("compare" in text for text in recited) <= 4
    assert recited[-1] == "<todo>\n- [ ] by hand\n</todo>"
    assert_sound(model.requests)


@pytest.mark.slow
@pytest.mark.parametrize("window", [30_000, 200_000])
def test_two_thousand_calls_of_50_kb_and_a_resume_from_a_copy(tmp_path: Path, window: int) -> None:
    """I1 to I4 over a run of any length, section 2.16: the copy goes on, and its first request fits as well."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 560))
    turn = 0

    def brain(request: Request) -> Any:
        nonlocal turn
        turn += 1
        return fetches(f"{PAGES}{turn}-{n}" for n in range(8)) if turn <= 250 else "Done."

    model = ScriptedModel(brain, profile=Profile("scripted", window=window))
    result = agent(workspace, model, max_turns=0).run("Fetch two thousand pages.")
    assert (result.answer, result.tool_calls, result.observations) == ("Done.", 2_000, 2_000)
    bounded(model.requests, window)
    assert_sound(model.requests)
    workspace.close()
    shutil.copytree(tmp_path / "w", tmp_path / "copy")
    again = ScriptedModel(["Still here."], profile=Profile("scripted", window=window))
    resumed = agent(make_workspace(tmp_path / "copy"), again).resume(message="Still there?")
    assert resumed.answer == "Still here." and resumed.session == result.session
    bounded(again.requests, window)


@pytest.mark.parametrize("policy", ["manus", "auto"])
def test_in_a_window_of_16_000_tokens_a_page_a_turn_does_not_open_an_epoch_each_time(
    tmp_path: Path, policy: str
) -> None:
    """System prompt and all tools would take nearly a third of it: only those without which there is no report do."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 100))
    turns = [fetches([f"{PAGES}{n}"]) for n in range(24)]
    model = ScriptedModel([*turns, "Done."], profile=Profile("scripted", window=16_000))
    assert agent(workspace, model, policy=policy).run("Fetch all.").answer == "Done."
    bounded(model.requests, 16_000)
    assert {tool["name"] for tool in model.requests[0].tools} == {"web_fetch", "read", "search", "write", "todo"}
    assert sum(is_opening(request) for request in model.requests) <= 6
