"""Sub-agents: isolated and forked, in sessions of their own, with results that their parent can cite."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from agent_stage import PAGES, agent, assert_sound, events_of, make_workspace, page, prefix_of, results
from subagents_stage import Cast

from manusfs.agent import Access, Agent, AgentEvent
from manusfs.errors import ModelError, UsageError
from manusfs.memory import Workspace
from manusfs.messages import Profile, Reply, Usage
from manusfs.models import call
from manusfs.records import sha256_hex
from manusfs.session import sessions
from manusfs.workspace.settings import Settings

BOTH = [call("task", prompt="the river: what is there?"), call("task", prompt="the mill: what is there?")]


def stage(path: Path, **settings: Any) -> Workspace:
    pages = {f"{PAGES}river": page("river"), f"{PAGES}mill": page("mill")}
    return make_workspace(path / "w", pages, Settings(summary_tokens=0, **settings))


def reads(name: str) -> list[Any]:
    """Return what a child does that fetches one page and answers from it."""
    return [[call("web_fetch", url=f"{PAGES}{name}")], f"There is a {name}."]


def children(workspace: Workspace, session: str) -> list[str]:
    return [info.session for info in sessions(workspace.folder) if info.session.startswith(f"{session}.")]


def test_an_isolated_child_begins_with_its_prompt_alone(tmp_path: Path) -> None:
    """CC-25, GN-1, OC-12: no line of the parent; of the start-up files only those on the list."""
    workspace = stage(tmp_path)
    (workspace.folder.path / "AGENTS.md").write_text("Answer in metres.\n", "utf-8")
    (workspace.folder.path / "todo.md").write_text("- [ ] the parent's own plan\n", "utf-8")
    model = Cast({"the whole": [BOTH, "Both."], "river": reads("river"), "mill": reads("mill")})
    result = agent(workspace, model).run("the whole question, which is the parent's own")
    assert result.answer == "Both."
    first = model.asked["river"][0]
    assert len(first.messages) == 1
    text = json.dumps(first.to_json(), ensure_ascii=False)
    assert "which is the parent's own" not in text and "the parent's own plan" not in text
    assert "Answer in metres." in text
    said = [block["text"] for block in first.messages[0]["content"] if block["text"].startswith("<user_message")]
    assert said == ["<user_message>\nthe river: what is there?\n</user_message>"]


def test_the_start_up_files_of_a_child_are_a_setting(tmp_path: Path) -> None:
    """OC-12: an allow-list, which may be empty."""
    workspace = stage(tmp_path, task_files=())
    (workspace.folder.path / "AGENTS.md").write_text("Answer in metres.\n", "utf-8")
    model = Cast({"the whole": [BOTH, "Both."], "river": reads("river"), "mill": reads("mill")})
    Agent(workspace, model, workspace.settings).run("the whole")
    assert "Answer in metres." not in json.dumps(model.asked["river"][0].to_json())
    assert "Answer in metres." in json.dumps(model.asked["the whole"][0].to_json())


def test_a_fork_begins_with_its_parents_window_byte_for_byte(tmp_path: Path) -> None:
    """CC-26, I2: tools, system and each block of the parent's last request stand at the beginning of the fork's first.

    Open calls have placeholders, what to do stands last; the fork keeps the tools, and its transcript can be read.
    """
    workspace = stage(tmp_path)
    thinking = {"type": "thinking", "thinking": "I think.", "signature": "c2lnbmF0dXJl"}
    split = [thinking, call("task", prompt="fork one", mode="fork"), call("task", prompt="fork two", mode="fork")]
    model = Cast(
        {
            "the whole": [[call("web_fetch", url=f"{PAGES}river")], [call("todo", items=["look"])], split, "All."],
            "fork one": [[call("read", ref=f"{PAGES}river", offset=900, limit=300)], "One."],
            "fork two": ["Two."],
        }
    )
    result = agent(workspace, model).run("the whole")
    assert result.answer == "All."
    last, first = model.asked["the whole"][2], model.asked["fork one"][0]
    assert prefix_of(first)[: len(prefix_of(last))] == prefix_of(last)
    assert first.tools == model.asked["the whole"][3].tools
    assert results(first)[-2:] == results(model.asked["fork two"][0])[-2:]
    assert "answered in the session that this one is a fork of" in results(first)[-1]
    assert_sound(model.asked["fork one"])
    assert_sound(model.asked["the whole"])
    name = children(workspace, result.session)[0]
    text = workspace.read(f"msg:{name}:{len(events_of(workspace, name)) - 2}").data.decode()
    assert "One." in text
    assert workspace.verify().ok


def test_a_fork_is_refused_at_the_call_what_it_may_not_do(tmp_path: Path) -> None:
    """CC-26: the list of tools is part of the prefix, so that nothing can be taken out of it."""
    workspace = stage(tmp_path)
    tried = [call("todo", items=["mine"]), call("task", prompt="deeper"), call("grep", pattern="x")]
    model = Cast(
        {
            "the whole": [[call("task", prompt="fork one", mode="fork", tools=["read"])], "All."],
            "fork one": [tried, "One."],
        }
    )
    agent(workspace, model).run("the whole")
    told = results(model.asked["fork one"][1])[-3:]
    assert "todo is refused here" in told[0] and "plan" in told[0]
    assert "task is refused here" in told[1]
    assert "grep is refused here" in told[2] and "may use read only" in told[2]
    assert workspace.folder.root.read_edited("todo.md").count(b"mine") == 0


def test_the_tools_of_a_child_are_cut_before_it_sees_them(tmp_path: Path) -> None:
    """CC-27, OC-29: an allow-list, narrowed by the call; no plan, no children of its own, nothing its parent lacks."""
    workspace = stage(tmp_path)
    asks = [call("task", prompt="narrow", tools=["read", "search"]), call("task", prompt="usual")]
    wrong = [call("task", prompt="wide", tools=["read", "web_search"])]
    model = Cast({"the whole": [asks, wrong, "All."], "narrow": ["N."], "usual": ["U."]})
    agent(workspace, model).run("the whole")
    names = {words: [tool["name"] for tool in model.asked[words][0].tools] for words in ("narrow", "usual")}
    assert names["narrow"] == ["read", "search"]
    assert names["usual"] == ["web_fetch", "read", "search", "grep", "list", "write", "edit", "context_status"]
    assert "can have no tool that you lack" in results(model.asked["the whole"][2])[-1]


def test_children_may_begin_children_as_deep_as_the_settings_say(tmp_path: Path) -> None:
    workspace = stage(tmp_path)
    model = Cast(
        {
            "top": [[call("task", prompt="middle")], "T."],
            "middle": [[call("task", prompt="bottom")], "M."],
            "bottom": [[call("task", prompt="deeper still")], "B."],
        }
    )
    result = agent(workspace, model, task_depth=2).run("top")
    assert children(workspace, result.session) == [f"{result.session}.1", f"{result.session}.1.1"]
    assert "task" not in [tool["name"] for tool in model.asked["bottom"][0].tools]
    assert "there is no tool 'task'" in results(model.asked["bottom"][1])[-1]


def test_what_a_child_brings_is_an_observation_with_the_refs_that_it_cited(tmp_path: Path) -> None:
    """Section 2.9: the answer has a ref, its quotes are checked, and its parent may cite what only the child read."""
    workspace = stage(tmp_path)

    def cites(request: Any) -> str:
        ref = results(request)[-1].partition('ref="')[2].partition('"')[0]
        quote = "the river number 3 was opened in May 1903"
        return f'It opened in 1903.[^1]\n\n[^1]: "{quote}" — River, {ref}@0-600'

    model = Cast(
        {
            "the whole": [[call("task", prompt="river?")], lambda request: cited(request)],
            "river": [[call("web_fetch", url=f"{PAGES}river")], cites],
        }
    )

    def cited(request: Any) -> str:
        result = results(request)[-1]
        return result[result.index("It opened") :].partition("\n</observation>")[0]

    result = agent(workspace, model).run("the whole")
    shown = results(model.asked["the whole"][1])[-1]
    assert 'kind="tool"' in shown and "1 of 1 quotes stand word for word" in shown
    assert f"msg:{result.session}.1:1-" in shown
    assert (result.citations.total, result.citations.verified) == (1, 1)
    assert not any("never read" in problem for problem in result.problems), result.problems


def test_two_tasks_of_one_wording_are_two_results(tmp_path: Path) -> None:
    workspace = stage(tmp_path)
    model = Cast({"the whole": [[call("task", prompt="same"), call("task", prompt="same")], "All."], "same": ["Same."]})
    result = agent(workspace, model).run("the whole")
    made = [event.data["ref"] for event in events_of(workspace, result.session) if event.kind == "observation"]
    assert len(set(made)) == 2 and len(children(workspace, result.session)) == 2


def test_tasks_of_one_turn_run_side_by_side_and_share_what_they_fetch(tmp_path: Path) -> None:
    """All are under way at once, and a page that one fetches is not asked for again by another."""
    workspace = stage(tmp_path)
    meeting = threading.Barrier(4, timeout=60)
    asked: list[str] = []
    text = page("river").encode("utf-8")

    class Slow:
        def fetch(self, url: str) -> Any:
            from manusfs.records import Fetched, Source

            asked.append(url)
            threading.Event().wait(0.3)
            return Fetched(Source.web(url), text, "text/html", "utf-8")

    workspace._doors = workspace._doors.__class__(extractor=workspace._doors.extractor, fetcher=Slow())  # type: ignore[arg-type]

    def together(request: Any) -> Any:
        meeting.wait()
        return [call("web_fetch", url=f"{PAGES}river")]

    model = Cast(
        {
            "the whole": [[call("task", prompt=f"part {n}") for n in range(4)], "All."],
            "part": [together, "Read."],
        }
    )
    agent(workspace, model).run("the whole")
    assert asked == [f"{PAGES}river"]
    assert workspace.verify().ok


def test_children_change_no_file_of_others(tmp_path: Path) -> None:
    """They write side by side: what collides is refused with words, what is their own is not."""
    workspace = stage(tmp_path)
    mine = [
        call("write", path="notes/findings/own.md", content="first\n"),
        call("edit", path="notes/findings/own.md", old="first", new="second"),
        call("write", path="notes/findings/parent.md", content="gone\n"),
        call("edit", path="notes/findings/parent.md", old="kept", new="gone"),
    ]
    model = Cast(
        {
            "the whole": [
                [call("write", path="notes/findings/parent.md", content="kept\n")],
                [call("task", prompt="c")],
                "A.",
            ],
            "c": [mine, [call("write", path="notes/findings/own.md", content="third\n", append=True)], "C."],
        }
    )
    agent(workspace, model).run("the whole")
    told = results(model.asked["c"][1])
    assert told[0].startswith("Wrote") and told[1].startswith("Edited")
    assert "was not written by you" in told[2] and "was not written by you" in told[3]
    root = workspace.folder.root
    assert root.read_edited("notes/findings/own.md") == b"second\nthird\n"
    assert root.read_edited("notes/findings/parent.md") == b"kept\n"


def test_an_answer_of_the_wrong_form_is_asked_for_once_more(tmp_path: Path) -> None:
    """`expects`: a validated object, after one corrected reply."""
    workspace = stage(tmp_path)
    schema = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}
    model = Cast(
        {
            "the whole": [[call("task", prompt="when", expects=schema)], "All."],
            "when": ['{"year": "1903"}', 'Here:\n```json\n{"year": 1903}\n```'],
        }
    )
    result = agent(workspace, model).run("the whole")
    assert "'1903' is not of type 'integer'" in json.dumps(model.asked["when"][1].messages[-1])
    assert '"year": 1903' in results(model.asked["the whole"][1])[-1]
    assert len(children(workspace, result.session)) == 1


def test_an_answer_that_never_fits_is_told_as_a_failure(tmp_path: Path) -> None:
    """I9: an honest failure with the way to what was said."""
    workspace = stage(tmp_path)
    schema = {"type": "object", "required": ["year"]}
    model = Cast(
        {
            "the whole": [[call("task", prompt="when", expects=schema)], "All."],
            "when": ["no idea", "still none"],
        }
    )
    result = agent(workspace, model).run("the whole")
    told = results(model.asked["the whole"][1])[-1]
    assert "ended without an answer" in told and "it is no JSON" in told and f"msg:{result.session}.1:1-" in told
    assert len(model.asked["when"]) == 2


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "nothing"}, "is no JSON Schema"),
        ({"type": "string", "pattern": "(a+)+$"}, "'pattern', which is not taken"),
        ({"$ref": "https://example.org/schema"}, "'$ref', which is not taken"),
        ({"enum": ["x" * 30_000]}, "more than 20000 characters"),
    ],
)
def test_a_schema_that_can_not_be_held_is_refused_before_anything_runs(
    tmp_path: Path, schema: dict[str, Any], said: str
) -> None:
    """I7: no expression without end, nothing fetched to resolve a reference."""
    workspace = stage(tmp_path)
    model = Cast({"the whole": [[call("task", prompt="child", expects=schema)], "All."], "child": ["C."]})
    result = agent(workspace, model).run("the whole")
    assert said in results(model.asked["the whole"][1])[-1]
    assert not children(workspace, result.session)


def test_properties_may_be_called_like_words_of_a_schema(tmp_path: Path) -> None:
    workspace = stage(tmp_path)
    schema = {"type": "object", "properties": {"pattern": {"type": "string"}}}
    model = Cast({"the whole": [[call("task", prompt="child", expects=schema)], "All."], "child": ['{"pattern": "x"}']})
    agent(workspace, model).run("the whole")
    assert '"pattern": "x"' in results(model.asked["the whole"][1])[-1]


def test_an_error_in_one_child_does_not_end_the_others(tmp_path: Path) -> None:
    workspace = stage(tmp_path)
    model = Cast(
        {
            "the whole": [[*BOTH, call("task", prompt="odd")], "All."],
            "river": [ModelError("the provider is down", status=500)],
            "mill": reads("mill"),
            "odd": [ValueError("a mistake of ours")],
        }
    )
    result = agent(workspace, model).run("the whole")
    told = results(model.asked["the whole"][1])
    assert result.answer == "All."
    assert "ended without an answer: the provider is down" in told[0]
    assert "There is a mill." in told[1]
    assert "ended without an answer: ValueError: a mistake of ours" in told[2]


def test_what_children_use_counts_against_the_limits_of_their_parent(tmp_path: Path) -> None:
    """Tokens and money of the tree are the run's; a child that meets its parent's limit goes on when that does."""
    workspace = stage(tmp_path)
    dear = Reply(({"type": "text", "text": "D."},), "end_turn", Usage(900_000, 10))
    model = Cast(
        {
            "the whole": [[call("task", prompt="dear"), call("task", prompt="long")], "All."],
            "dear": [dear],
            "long": [lambda request: wait() or [call("list", what="notes")], "L."],
        }
    )
    done = threading.Event()
    told: list[AgentEvent] = []

    def wait() -> None:
        done.wait(30)

    def hear(event: AgentEvent) -> None:
        told.append(event)
        if event.kind == "done":
            done.set()

    first = Agent(workspace, model, Settings(summary_tokens=0, max_total_tokens=100_000), hear).run("the whole")
    assert first.stop == "max_tokens_total" and first.usage.input_tokens > 900_000
    states = [event.data["state"] for event in told if event.kind == "done"]
    assert sorted(states) == ["finished", "stopped"]
    second = agent(workspace, model).resume()
    assert second.answer == "All."
    assert len(model.asked["dear"]) == 1, "a finished child is not run twice"
    assert len(children(workspace, first.session)) == 2


def test_a_child_has_limits_of_its_own(tmp_path: Path) -> None:
    workspace = stage(tmp_path)
    model = Cast(
        {
            "the whole": [[call("task", prompt="endless")], [call("task", prompt="one more")], "All."],
            "endless": lambda request: [call("list", what="notes")],
            "one more": ["M."],
        }
    )
    result = agent(workspace, model, task_turns=3, task_children=1).run("the whole")
    told = results(model.asked["the whole"][2])
    assert "it reached its limit of 3 replies (setting task_turns)" in told[0] and len(model.asked["endless"]) == 3
    assert "may begin no more (setting task_children)" in told[1]
    assert result.answer == "All." and result.exit_code == 3


def test_no_sub_agents_where_the_settings_allow_none(tmp_path: Path) -> None:
    """OC-29: what can't work is not offered."""
    model = Cast({"the whole": ["Alone."]})
    agent(stage(tmp_path), model, task_depth=0).run("the whole")
    assert "task" not in [tool["name"] for tool in model.requests[0].tools]


REVIEWER = """---
description: Checks claims, <todo> and "all"
tools: [read, search, shell]
policy: openclaw
---
Look at each claim twice.
"""


def with_agents(path: Path) -> Workspace:
    workspace = stage(path)
    (workspace.folder.path / "agents").mkdir()
    (workspace.folder.path / "agents" / "reviewer.md").write_text(REVIEWER, "utf-8")
    (workspace.folder.path / "agents" / "broken.md").write_bytes(b"\xff\xfe")
    (workspace.folder.path / "agents" / "dear.md").write_text("---\nmodel: claude-opus-5-5\n---\nThink.\n", "utf-8")
    return workspace


def test_agents_come_from_files_and_stand_escaped_in_the_description_in_a_fixed_order(tmp_path: Path) -> None:
    """CC-27: description, tools, policy and instructions; I6: the file's words are one escaped line."""
    workspace = with_agents(tmp_path)
    asks = [call("task", prompt="check it", agent="reviewer"), call("task", prompt="x", agent="reviewr")]
    model = Cast({"the whole": [[*asks, call("task", prompt="y", agent="dear")], "All."], "check": ["Checked."]})
    result = agent(workspace, model).run("the whole")
    listed = next(tool for tool in model.requests[0].tools if tool["name"] == "task")["description"]
    assert listed.endswith("The agents:\n* dear: Think.\n* reviewer: Checks claims, &lt;todo&gt; and &quot;all&quot;")
    first = model.asked["check"][0]
    assert [tool["name"] for tool in first.tools] == ["read", "search"]
    texts = [block["text"] for block in first.messages[0]["content"]]
    assert '<instructions path="agents/reviewer.md">\nLook at each claim twice.\n</instructions>' in texts
    told = results(model.asked["the whole"][1])
    assert "did you mean 'reviewer'?" in told[1]
    assert "asks for the model 'claude-opus-5-5', which is not allowed" in told[2]
    assert children(workspace, result.session) == [f"{result.session}.1"]


def test_agents_of_a_folder_count_only_as_they_were_approved(tmp_path: Path) -> None:
    """A page could have written them: the hash of what the user saw decides, whoever made the folder."""
    workspace = with_agents(tmp_path)
    model = Cast({"the whole": [[call("task", prompt="check it", agent="reviewer")], "All."], "check": ["Checked."]})
    for pins, offered in (({}, False), ({"agents/reviewer.md": sha256_hex(REVIEWER.encode("utf-8"))}, True)):
        access = Access(agents=lambda pins=pins: pins)  # type: ignore[misc]
        result = Agent(workspace, model, Settings(summary_tokens=0), access=access).run("the whole")
        listed = next(tool for tool in model.requests[-1].tools if tool["name"] == "task")["description"]
        assert ("* reviewer:" in listed) is offered and "* dear:" not in listed
        assert bool(children(workspace, result.session)) is offered
    assert "waits for the user's approval" in results(model.asked["the whole"][1])[-1]


def test_a_child_by_itself_is_never_resumed(tmp_path: Path) -> None:
    workspace = stage(tmp_path)
    model = Cast({"the whole": [BOTH, "All."], "river": reads("river"), "mill": reads("mill")})
    result = agent(workspace, model).run("the whole")
    with pytest.raises(UsageError, match=f"is a sub-agent of {result.session}"):
        agent(workspace, model).resume(f"{result.session}.1", "go on")
    assert agent(workspace, model).resume(message="the whole again").session == result.session


def test_the_register_is_told_after_a_compaction_and_on_resume_and_by_status(tmp_path: Path) -> None:
    """Section 2.9: the parent knows which ran, which failed, and under which refs their results are."""
    workspace = stage(tmp_path)
    more = [[call("web_fetch", url=f"{PAGES}{n}", limit=12_000)] for n in ("river", "mill") * 3]
    script = iter([[*BOTH, call("task", prompt="bad")], [call("context_status")], *more, "All.", "Again."])
    model = Cast(
        {
            "the whole": lambda request: next(script),
            "river": reads("river"),
            "mill": reads("mill"),
            "bad": [ModelError("down")],
        },
        profile=Profile("scripted", window=30_000, max_output=2_000),
    )
    result = agent(workspace, model).run("the whole")
    status = results(model.asked["the whole"][2])[-1]
    assert "sub-agents: 3: 2 finished, 1 failed" in status
    later = [r for r in model.asked["the whole"] if len(r.messages) == 1][1:]
    assert later, "it was compacted"
    opening = json.dumps(later[-1].messages[0], ensure_ascii=False)
    assert '<listing of=\\"sub-agents\\" total=\\"3\\" open=\\"0\\">' in opening
    assert f'{result.session}.1 finished \\"the river: what is there?\\" obs:' in opening
    assert f"{result.session}.3 failed (model_error)" in opening
    agent(workspace, model).resume(message="the whole, once more")
    assert "The sub-agents of this session so far" in json.dumps(model.requests[-1].to_json())


def test_what_the_caller_raises_while_a_child_speaks_ends_the_run(tmp_path: Path) -> None:
    workspace = stage(tmp_path)
    model = Cast({"the whole": [BOTH, "All."], "river": reads("river"), "mill": reads("mill")})

    def hear(event: AgentEvent) -> None:
        if event.kind == "call" and event.data.get("child"):
            raise RuntimeError("nobody listens any more")

    with pytest.raises(RuntimeError, match="nobody listens"):
        Agent(workspace, model, Settings(summary_tokens=0), hear).run("the whole")
    result = agent(workspace, model).resume()
    assert result.answer == "All." and len(children(workspace, result.session)) == 2


def test_a_stop_stops_the_tree_and_a_resume_goes_on_with_all_of_it(tmp_path: Path) -> None:
    """Ctrl-C: each child writes its end, and the calls of the parent stay open for them."""
    workspace = stage(tmp_path)
    stop = threading.Event()

    def pressed(request: Any) -> Any:
        stop.set()
        return [call("web_fetch", url=f"{PAGES}river")]

    model = Cast(
        {
            "the whole": [BOTH, "All."],
            "river": [pressed, "R."],
            "mill": [lambda request: stop.wait(30) and [call("web_fetch", url=f"{PAGES}mill")], "M."],
        }
    )
    first = Agent(workspace, model, Settings(summary_tokens=0), stop=stop).run("the whole")
    assert first.stop == "interrupted" and first.exit_code == 130
    for name in (first.session, *children(workspace, first.session)):
        last = events_of(workspace, name)[-1]
        assert (last.kind, last.data["stop"]) == ("end", "interrupted"), name
    second = agent(workspace, model).resume()
    assert second.answer == "All." and len(children(workspace, first.session)) == 2
    assert len(model.asked["river"]) == 3, "the reply that was under way is dropped, and asked for once more"
    assert_sound(model.asked["the whole"])


def test_a_child_whose_agent_is_gone_when_the_run_goes_on_is_told_as_a_failure(tmp_path: Path) -> None:
    """The register must not wait for ever for what can't go on."""
    workspace = with_agents(tmp_path)
    stop = threading.Event()

    def pressed(request: Any) -> Any:
        stop.set()
        return [call("read", ref="AGENTS.md")]

    model = Cast({"the whole": [[call("task", prompt="check it", agent="reviewer")], "All."], "check": [pressed]})
    first = Agent(workspace, model, Settings(summary_tokens=0), stop=stop).run("the whole")
    assert first.stop == "interrupted"
    (workspace.folder.path / "agents" / "reviewer.md").unlink()
    assert agent(workspace, model).resume().answer == "All."
    assert "there is no agent 'reviewer'" in results(model.asked["the whole"][-1])[-1]
    last = [event.data for event in events_of(workspace, first.session) if event.kind == "child"][-1]
    assert last["state"] == "failed"


@pytest.mark.parametrize("mode", ["isolated", "fork"])
def test_a_child_is_compacted_like_any_session_and_keeps_its_beginning(tmp_path: Path, mode: str) -> None:
    """I2, I4: its own epochs; start-up files, what it is and its prompt stand in each, the parent's plan in none."""
    workspace = stage(tmp_path)
    (workspace.folder.path / "AGENTS.md").write_text("Answer in metres.\n", "utf-8")
    pages = [[call("web_fetch", url=f"{PAGES}{n}", limit=14_000)] for n in ("river", "mill") * 4]
    script = iter([*pages, "Read it all."])
    model = Cast(
        {
            "the whole": [
                [call("write", path="notes/p.md", content="P.")],
                [call("task", prompt="long", mode=mode)],
                "All.",
            ],
            "long": lambda request: next(script),
        },
        profile=Profile("scripted", window=30_000, max_output=2_000),
    )
    result = agent(workspace, model).run("the whole")
    (workspace.folder.path / "todo.md").write_text("- [ ] a plan that came later\n", "utf-8")
    assert result.answer == "All."
    assert_sound(model.asked["long"])
    later = [request for request in model.asked["long"] if len(request.messages) == 1][mode == "isolated" :]
    assert later, "it was compacted"
    text = json.dumps(later[-1].messages[0], ensure_ascii=False)
    assert "Answer in metres." in text and "long" in text
    assert ("You are a sub-agent" in text) is (mode == "isolated")
    assert workspace.verify().ok
