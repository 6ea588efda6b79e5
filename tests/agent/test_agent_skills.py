"""Skills in a whole run: the catalogue in the prefix, the manual as an ordinary result, each bundled one tried."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_stage import assert_sound, events_of, make_workspace, page, results

from manusfs.agent import Access, Agent, AgentEvent
from manusfs.memory import Workspace
from manusfs.messages import Profile, Request
from manusfs.models import ScriptedModel, call
from manusfs.records import canonical
from manusfs.skills import Facts, Homes, Skills
from manusfs.skills.catalogue import RULES
from manusfs.skills.place import bundled
from manusfs.tools import TOOLS
from manusfs.workspace.settings import Settings

BUNDLED = sorted(path.name for path in bundled().base.iterdir())
URL = "https://example.org/bridge"
QUOTE = "the bridge number 7 was opened in May 1907 by somebody."


def put(root: Path, name: str, text: str, front: str = "") -> None:
    """Write a skill."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Is {name}.\n{front}---\n{text}\n", "utf-8")


def skilled(workspace: Workspace, home: Path, steps: Any, window: int = 200_000, **settings: Any) -> Agent:
    """Return an agent that has the skills in `home`, those of the workspace that are approved, and the bundled ones."""
    chosen = Settings(**{"summary_tokens": 0, **settings})
    approved: dict[str, str] = {}
    skills = Skills(workspace.folder.path, chosen, Homes(managed=home), Facts("linux"), lambda: approved)
    model = steps if hasattr(steps, "reply") else ScriptedModel(steps, profile=Profile("scripted", window=window))
    return Agent(workspace, model, chosen, access=Access(skills=skills))


def requests(agent: Agent) -> list[Request]:
    """Return what the scripted model was asked."""
    assert isinstance(agent.model, ScriptedModel)
    return agent.model.requests


def system(request: Request) -> str:
    """Return the system prompt."""
    return "\n".join(block["text"] for block in request.system)


def test_a_manual_is_an_ordinary_result(tmp_path: Path) -> None:
    """OC-27, CC-29, CC-30: offered by name, loaded by the tool, stored, resolvable; the run goes on in one stream."""
    put(tmp_path / "home", "tasting", "# Tasting\n\nStep 1: taste $ARGUMENTS.")
    workspace = make_workspace(tmp_path / "w")
    agent = skilled(workspace, tmp_path / "home", [[call("skill", name="tasting", arguments="beer")], "Tasted."])
    done = agent.run("Taste it.")
    first, second = requests(agent)
    assert_sound([first, second])
    assert "tasting [managed:tasting/SKILL.md]: Is tasting." in system(first)
    assert "Step 1" not in system(first) and "skill" in [tool["name"] for tool in first.tools]
    (shown,) = results(second)
    ref = re.match(r'<observation ref="(obs:[0-9a-f]{12})" kind="tool">\n', shown)
    assert ref and "Step 1: taste beer." in shown and shown.count("</observation>") == 1
    whole = workspace.resolver.resolve(ref[1]).data.decode()
    assert whole.startswith("Manual of the skill tasting") and whole.endswith("Step 1: taste beer.\n")
    (kept,) = [event for event in events_of(workspace, done.session) if event.kind == "observation"]
    assert kept.data["kind"] == "tool" and kept.data["source"] == 'skill {"arguments":"beer","name":"tasting"}'
    assert workspace.verify().ok


def test_a_long_manual_is_shown_as_far_as_a_read_and_says_what_is_left(tmp_path: Path) -> None:
    """OC-27, MA-5: a manual is to be read, so that it is not born a preview; what is over a read's budget is named."""
    put(tmp_path / "home", "long", "".join(f"Line {n} of the manual.\n" for n in range(400)))
    put(tmp_path / "home", "huge", "".join(f"Line {n} of the manual.\n" for n in range(4_000)))
    workspace = make_workspace(tmp_path / "w")
    agent = skilled(workspace, tmp_path / "home", [[call("skill", name="long"), call("skill", name="huge")], "Done."])
    agent.run("Do it.")
    long, huge = results(requests(agent)[1])
    assert "Line 399 of" in long and "NOT READ" not in long
    assert "Line 500 of" in huge and "Line 3999" not in huge and "NOT READ: " in huge


def test_a_manual_is_folded_like_any_result_and_read_again(tmp_path: Path) -> None:
    """OC-27, I5: a compaction folds it, and its ref brings it back."""
    put(tmp_path / "home", "tasting", "Step 1: taste.\n" + "More words on tasting. " * 300)
    workspace = make_workspace(tmp_path / "w", lambda url: page(url[-1], 400))
    ref: list[str] = []

    def loaded(request: Request) -> Sequence[dict[str, Any]]:
        ref.extend(re.findall(r'<observation ref="(obs:[0-9a-f]{12})" kind="tool">', results(request)[0]))
        return [call("todo", items=["taste"])]

    def again(request: Request) -> Sequence[dict[str, Any]]:
        assert ref[0].removeprefix("obs:") in str(request.messages)
        return [call("read", ref=ref[0])]

    steps: list[Any] = [[call("skill", name="tasting")], loaded]
    steps += [[call("web_fetch", url=f"https://example.org/{n}", limit=16_000)] for n in range(12)]
    agent = skilled(workspace, tmp_path / "home", [*steps, again, "Done."], window=40_000)
    agent.run("Taste it.")
    folded = requests(agent)[-2]
    assert "Step 1: taste." not in str(folded.messages) and RULES in system(folded)
    assert "Step 1: taste." in str(requests(agent)[-1].messages)
    assert_sound(requests(agent))


def test_a_skill_that_is_added_in_mid_run_changes_nothing_that_was_sent(tmp_path: Path) -> None:
    """I2, OC-24: the catalogue is part of the stable prefix; the next epoch has the new one."""
    home = tmp_path / "home"
    put(home, "first", "One.")
    workspace = make_workspace(tmp_path / "w", lambda url: page(url[-1], 400))

    def adds(request: Request) -> str | Sequence[dict[str, Any]]:
        put(home, "second", "Two.")
        return [call("todo", items=["go on"])]

    steps: list[Any] = [[call("todo", items=["begin"])], adds, [call("todo", items=["more"])]]
    steps += [[call("web_fetch", url=f"https://example.org/{n}", limit=16_000)] for n in range(12)]
    agent = skilled(workspace, home, [*steps, [call("skill", name="second")], "Done."], window=40_000)
    done = agent.run("Do it.")
    assert_sound(requests(agent))
    texts = [system(request) for request in requests(agent)]
    assert all("second [" not in text for text in texts[:4])
    assert "second [managed:second/SKILL.md]" in texts[-1]
    assert "Two." in results(requests(agent)[-1])[-1]
    epochs = [event for event in events_of(workspace, done.session) if event.kind == "epoch"]
    assert len(epochs) >= 2 == len(set(texts))


def test_a_resumed_session_takes_up_what_changed_of_the_skills(tmp_path: Path) -> None:
    """I2: the same skills go on in the same epoch; others open a new one."""
    home = tmp_path / "home"
    put(home, "first", "One.")
    workspace = make_workspace(tmp_path / "w")
    done = skilled(workspace, home, ["Done."]).run("Do it.")
    skilled(workspace, home, ["Done again."]).resume(done.session, "Go on.")
    put(home, "second", "Two.")
    skilled(workspace, home, ["Done at last."]).resume(done.session, "Go on.")
    epochs = [event.data["system"] for event in events_of(workspace, done.session) if event.kind == "epoch"]
    assert len(epochs) == 2 and "second [" in epochs[1] and "second [" not in epochs[0]


def test_without_skills_not_a_word_is_said_of_them(tmp_path: Path) -> None:
    """OC-22, OC-29: neither in the system prompt nor among the tools."""
    for number, agent in enumerate(
        (
            skilled(make_workspace(tmp_path / "a"), tmp_path / "none", ["Done."], skills_bundled=()),
            skilled(make_workspace(tmp_path / "b"), tmp_path / "none", ["Done."], skills_disabled=("all",)),
            Agent(make_workspace(tmp_path / "c"), ScriptedModel(["Done."])),
            skilled(make_workspace(tmp_path / "d"), tmp_path / "none", ["Done."], window=23_000),
        )
    ):
        agent.run("Do it.")
        (request,) = requests(agent)
        assert "skill" not in canonical([*request.tools, *request.system]), number


def test_what_nobody_approved_never_reaches_the_model(tmp_path: Path) -> None:
    """I6, I7, OC-28: a page could have written it."""
    workspace = make_workspace(tmp_path / "w")
    put(tmp_path / "w" / "skills", "trap", "TRAPPED", "metadata: {note: TRAPPED}\n")
    put(tmp_path / "w" / ".agents" / "skills", "fact-check", "TRAPPED")
    steps = [[call("skill", name="trap"), call("skill", name="fact-check"), call("skill", find="trap")], "Done."]
    agent = skilled(workspace, tmp_path / "none", steps)
    agent.run("Do it.")
    refused, real, found = results(requests(agent)[1])
    assert "can't be used" in refused and "manusfs trust" in refused
    assert "# Fact-check a claim" in real and 'total="0"' in found
    assert "TRAPPED" not in str(requests(agent)[1].to_json())


def test_a_skill_that_forks_runs_apart_and_returns_only_its_result(tmp_path: Path) -> None:
    """CC-31, OC-29: a context of its own, the manual before its task, only the tools that it allows, one result."""
    front = "context: fork\nallowed-tools: WebFetch Read Bash\n"
    put(tmp_path / "home", "dig", "MANUAL: fetch it, then say when $0 opened.", front)
    workspace = make_workspace(tmp_path / "w", {URL: page("bridge", 300)})

    def says(request: Request) -> str | Sequence[dict[str, Any]]:
        inside = "MANUAL: fetch it" in str(request.messages[0])
        seen = results(request)
        if inside:
            return "It opened in 1907." if seen else [call("web_fetch", url=URL, find="number 7")]
        return f"The answer: {seen[0]}" if seen else [call("skill", name="dig", arguments="'number 7' now")]

    agent = skilled(workspace, tmp_path / "home", says)
    done = agent.run("When did it open?")
    parent, *child, last = requests(agent)
    assert_sound([parent, last])
    assert_sound(child)
    assert [tool["name"] for tool in child[0].tools] == ["web_fetch", "read", "search"]
    opening = str(child[0].messages[0])
    assert "say when number 7 opened." in opening and "When did it open?" not in opening
    assert "skill" not in canonical(child[0].system), "no tool loads skills there, so that none are offered"
    (result,) = results(last)
    assert "It opened in 1907." in result and "MANUAL" not in result and "Paragraph" not in result
    kinds = [event.data["state"] for event in events_of(workspace, done.session) if event.kind == "child"]
    assert kinds == ["started", "finished"] and workspace.verify().ok


def test_a_forked_skill_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    """CC-31: the call is made again on resume and finds its child: what that one did is not done twice."""
    put(tmp_path / "home", "dig", "MANUAL: fetch it.", "context: fork\n")
    workspace = make_workspace(tmp_path / "w", {URL: page("bridge", 300)})
    stop = threading.Event()
    asked: list[str] = []

    def says(request: Request) -> str | Sequence[dict[str, Any]]:
        seen = results(request)
        if "MANUAL: fetch it" in str(request.messages[0]):
            asked.append("child")
            if not seen:
                return [call("web_fetch", url=URL)]
            if not stop.is_set():
                stop.set()
                return [call("todo", items=["never"])]
            return "It opened in 1907."
        asked.append("parent")
        return f"The answer: {seen[0]}" if seen else [call("skill", name="dig")]

    first = skilled(workspace, tmp_path / "home", says)
    stopped = Agent(workspace, first.model, first.settings, stop=stop, access=first.access).run("When did it open?")
    assert stopped.stop == "interrupted"
    done = skilled(workspace, tmp_path / "home", says).resume()
    assert "It opened in 1907." in done.answer
    states = [event.data["state"] for event in events_of(workspace, done.session) if event.kind == "child"]
    assert states == ["started", "stopped", "resumed", "finished"]
    assert workspace.verify().ok and asked.count("parent") == 2


def has_it_written(request: Request) -> str | Sequence[dict[str, Any]]:
    """Speak as the one who has the style, or as the one who gives it the task."""
    if "STYLE: short words." in str(request.messages[0]):
        return "Written."
    return "Done." if results(request) else [call("task", prompt="Write it.", agent="writer")]


def test_an_agent_that_names_skills_has_them_before_its_task(tmp_path: Path) -> None:
    """CC-28: whole, as messages, not on demand; also one that is hidden from the model."""
    put(tmp_path / "home", "house-style", "STYLE: short words.", "disable-model-invocation: true\n")
    workspace = make_workspace(tmp_path / "w")
    workspace.folder.root.write_atomic(
        "agents/writer.md", b"---\ndescription: Writes.\nskills: house-style\n---\nWrite.\n"
    )

    agent = skilled(workspace, tmp_path / "home", has_it_written)
    agent.run("Have it written.")
    parent, child, last = requests(agent)
    assert '<instructions path=\\"skill:house-style\\">' in canonical(child.messages)
    assert "house-style" not in canonical(parent.system) and "Written." in results(last)[0]


def test_an_agent_works_without_the_skills_tools_and_policy_that_there_are_not(tmp_path: Path) -> None:
    """CC-27, CC-28: a slip in an agent file costs what it names, not the delegation."""
    put(tmp_path / "home", "house-style", "STYLE: short words.")
    workspace = make_workspace(tmp_path / "w")
    front = b"skills: house-style, no-skill\ntools: read, frobnicate\npolicy: nopolicy\n"
    workspace.folder.root.write_atomic("agents/writer.md", b"---\ndescription: Writes.\n" + front + b"---\nWrite.\n")

    agent = skilled(workspace, tmp_path / "home", has_it_written)
    agent.run("Have it written.")
    _, child, last = requests(agent)
    assert [tool["name"] for tool in child.tools] == ["read"] and "Written." in results(last)[0]


def test_the_user_calls_a_skill_by_its_name(tmp_path: Path) -> None:
    """OC-23, CC-30: `/name words` at the beginning of a task or a message, also one that the model can't call."""
    front = "disable-model-invocation: true\n"
    put(tmp_path / "home", "house-style", "STYLE: short words, on $ARGUMENTS.", front)
    workspace = make_workspace(tmp_path / "w")
    agent = skilled(workspace, tmp_path / "home", ["Done.", "Done.", "Done."])
    done = agent.run("/house-style the bridge")
    (request,) = requests(agent)
    opening = "\n".join(block["text"] for block in request.messages[0]["content"])
    assert "The user calls this skill" in opening and "STYLE: short words, on the bridge." in opening
    assert "<user_message>\n/house-style the bridge\n</user_message>" in opening
    agent.resume(done.session, "/house-style the tower")
    later = "\n".join(block["text"] for block in requests(agent)[1].messages[-1]["content"])
    assert "on the tower." in later and later.index("on the tower.") < later.index("/house-style the tower")
    long = "the mill. " * 2_000
    agent.resume(done.session, f"/house-style\n{long}")
    kept = [event.data["source"] for event in events_of(workspace, done.session) if event.kind == "observation"]
    assert any(key.startswith("skill ") and "… sha256 " in key and len(key) < 600 for key in kept)
    assert_sound(requests(agent))
    assert workspace.verify().ok


@pytest.mark.parametrize("task", ["/etc/hosts says what?", "/nothing here", "house-style", "/ house-style", "/"])
def test_a_task_that_only_looks_like_a_call_is_just_a_task(tmp_path: Path, task: str) -> None:
    """I9: nothing is taken for a skill that is none."""
    put(tmp_path / "home", "house-style", "STYLE")
    agent = skilled(make_workspace(tmp_path / "w"), tmp_path / "home", ["Done."])
    agent.run(task)
    assert "STYLE" not in str(requests(agent)[0].messages)


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("/house-stile the bridge", "no skill called 'house-stile'; did you mean 'house-style'?"),
        ("/nope hi", "no skill called 'nope'"),
        ("/etc/hosts says what?", ""),
        ("What is /nope?", ""),
    ],
)
def test_a_word_that_looks_like_a_skill_and_is_none_is_told_and_stays_a_word(
    tmp_path: Path, task: str, told: str
) -> None:
    """OC-23, I9: a slip in a skill's name is said; a task may begin with a slash all the same."""
    put(tmp_path / "home", "house-style", "STYLE")
    plain, events = skilled(make_workspace(tmp_path / "w"), tmp_path / "home", ["Done."]), list[AgentEvent]()
    agent = Agent(plain.workspace, plain.model, plain.settings, events.append, access=plain.access)
    agent.run(task)
    warnings = [event.text for event in events if event.kind == "warning"]
    assert told in "".join(warnings) and len(warnings) == bool(told)
    assert any(f"\n{task}\n" in block["text"] for block in requests(agent)[0].messages[0]["content"])


# -- the skills that ship


def manual(name: str) -> str:
    """Return what a bundled skill says."""
    return Skills(None, Settings()).manual(name, "THE TASK").text


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_skill_names_only_tools_and_places_that_there_are(name: str) -> None:
    """CC-30: a manual that sends the model to a tool, an argument or a folder that is not there would cost turns."""
    text = manual(name)
    calls = re.findall(r"`(\w+)\(([^`]*)\)`", text)
    for tool, arguments in calls:
        properties = TOOLS.load(tool).input_schema["properties"]
        named = re.findall(r"(\w+)=", arguments)
        assert set(named) <= set(properties), (tool, named)
    words = re.findall(r"`(\w+)`", text)
    assert not {word for word in words if "_" in word} - set(TOOLS.names())
    assert len({*words, *(tool for tool, _ in calls)} & set(TOOLS.names())) >= 3
    for place in re.findall(r"`((?:notes|reports)/[^`]*)`", text):
        assert place.startswith(("notes/findings/", "notes/background/", "notes/errors/", "reports/")), place
    assert "THE TASK" in text and len(text) < 4_000, "a manual is read whole, every time"


def test_the_bundled_skills_cost_little_where_nobody_calls_them(tmp_path: Path) -> None:
    """OC-26: all five with the rules that stand before them."""
    text = Skills(None, Settings()).catalogue(200_000)
    assert len(text) < 2_500 and all(f"{name} [bundled:{name}/SKILL.md]: " in text for name in BUNDLED)
    assert not any(skill.problems for skill in Skills(None, Settings()).offered)


def at_work(name: str) -> list[Any]:
    """Return the turns of a model that follows a bundled skill: plan, fetch, look, read, note, check, answer."""
    note = {
        "literature-review": "notes/findings/matrix.md",
        "compare-sources": "notes/findings/comparison.md",
        "fact-check": "notes/findings/fact-check.md",
        "extract-table": "notes/findings/table.md",
        "cited-report": "notes/findings/evidence.md",
    }[name]
    assert note in manual(name)
    state: dict[str, str] = {}

    def look(request: Request) -> Sequence[dict[str, Any]]:
        (state["ref"],) = re.findall(r'<observation ref="(obs:[0-9a-f]{12})" kind="web"', results(request)[-1])
        return [
            call("search", query="number 7 opened", within=state["ref"]),
            call("grep", pattern=r"number \d+ was", within=state["ref"]),
        ]

    def read(request: Request) -> Sequence[dict[str, Any]]:
        return [call("read", ref=state["ref"], offset=0)]

    def write(request: Request) -> Sequence[dict[str, Any]]:
        body = re.search(r'<read [^>]*start="(\d+)"[^>]*>\n(.*)', results(request)[-1], re.S)
        assert body
        at = int(body[1]) + len(body[2].partition(QUOTE)[0].encode())
        state["span"] = f"{state['ref']}@{at}-{at + len(QUOTE.encode())}"
        return [call("write", path=note, content=f"# Found\n\n* opened 1907, {state['span']}\n")]

    def answer(request: Request) -> str:
        return f'It opened in 1907.[^1]\n\n[^1]: "{QUOTE}" — All about bridge, <{URL}>, {state["span"]}\n'

    return [
        [call("skill", name=name, arguments="When was number 7 opened?")],
        [call("todo", items=["find it", "check it"]), call("list", what="notes"), call("search", query="bridge")],
        [call("web_fetch", url=URL, find="number 7")],
        look,
        read,
        write,
        answer,
    ]


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_skill_is_followed_to_a_checked_report(tmp_path: Path, name: str) -> None:
    """CC-29, CC-30, OC-27: each is tried with a scripted model, from the catalogue to verified citations."""
    workspace = make_workspace(tmp_path / "w", {URL: page("bridge", 300)})
    agent = skilled(workspace, tmp_path / "none", at_work(name))
    done = agent.run("When was bridge number 7 opened?")
    asked = requests(agent)
    assert_sound(asked)
    manual_shown = results(asked[1])[0]
    assert "When was number 7 opened?" in manual_shown and "NOT READ" not in manual_shown
    failed = [text for request in asked[-1:] for text in results(request) if text.startswith("Error")]
    assert not failed
    assert done.citations.total == done.citations.verified == 1 and not done.problems
    assert done.report and done.exit_code == 0


def test_a_skill_of_the_user_is_followed_as_one_that_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OC-16: a folder of the same name in the user's configuration stands in place of the bundled one."""
    put(tmp_path / "home", "fact-check", "My own way.")
    agent = skilled(make_workspace(tmp_path / "w"), tmp_path / "home", [[call("skill", name="fact-check")], "Done."])
    agent.run("Check it.")
    assert "My own way." in results(requests(agent)[1])[0]
