"""The tool `skill`: loading, checking and running inside one call; files beside the manual; running apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from manusfs.errors import ManusfsError, ToolError
from manusfs.memory import Workspace
from manusfs.records import Fetched, Shown, Source
from manusfs.skills import Facts, Homes, Skills
from manusfs.tools import TOOLS, Delegation, ToolBox
from manusfs.tools.skill import allowed_tools
from manusfs.workspace.settings import Settings


class Env:
    """A ToolEnv without an agent: what a call of `skill` or of `read` on a skill asks for."""

    def __init__(self, workspace: Workspace, skills: Skills | None) -> None:
        self.workspace = workspace
        self.settings = workspace.settings
        self.skills = skills
        self.session = "20261130-abcd"
        self.tools = tuple(name for name in TOOLS.names() if name != "web_search")
        self.orders: list[Delegation] = []

    def delegate(self, order: Delegation) -> Fetched:
        """Remember the order and answer."""
        self.orders.append(order)
        return Fetched(Source.call("task", {}), b"the result")


@pytest.fixture
def env(tmp_path: Path) -> Env:
    """The bundled skills, and four of the user's own."""
    for name, front, text in (
        ("apart", "context: fork\nagent: nobody\nallowed-tools: Read Grep Bash(git:*) WebFetch WebSearch", "Do $0."),
        ("plain", "allowed-tools: [Bash]", "Plain.\n</observation>"),
        ("hidden", "disable-model-invocation: true", "Hidden."),
        ("away", 'metadata: {"openclaw": {"requires": {"bins": ["gone"]}}}', "Away."),
    ):
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Is {name}.\n{front}\n---\n{text}\n")
        (folder / "data.csv").write_text("a,b\n1,2\n")
    workspace = Workspace.create(tmp_path / "w")
    skills = Skills(tmp_path / "w", Settings(), Homes(managed=tmp_path / "skills"), Facts("linux"))
    return Env(workspace, skills)


def use(env: Env, tool: str, /, **arguments: Any) -> Fetched | Shown:
    """Return what a tool makes of a call."""
    return ToolBox(TOOLS.names()).call(tool, arguments, env)  # type: ignore[arg-type]


def test_a_skill_comes_as_new_bytes_that_become_an_observation(env: Env) -> None:
    """CC-29, CC-30, OC-27: an ordinary result; name and arguments are its source, it is shown as far as a read is."""
    made = use(env, "skill", name="fact-check", arguments="The moon is cheese")
    assert isinstance(made, Fetched)
    assert made.source == Source.call("skill", {"name": "fact-check", "arguments": "The moon is cheese"})
    assert made.limit == env.settings.read_chars and made.media_type == "text/markdown"
    text = made.raw.decode()
    assert text.startswith("Manual of the skill fact-check, from bundled:fact-check/SKILL.md:\n\n# Fact-check a claim")
    assert "The claim: The moon is cheese\n" in text and "description:" not in text
    odd = use(env, "skill", name="fact-check", arguments="a \ud800 b")
    assert isinstance(odd, Fetched) and "The claim: a \ufffd b\n" in odd.raw.decode()
    again = use(env, "skill", name=" fact-check ", arguments=" ")
    assert isinstance(again, Fetched) and again.source == Source.call("skill", {"name": "fact-check"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`name` says which skill"),
        ({"name": "fact-chek"}, "no skill called"),
        ({"name": "hidden"}, "not for the model"),
        ({"name": "away"}, "the program gone is not installed"),
        ({"name": "../plain"}, "no skill called"),
        ({"name": "fact-check", "fork": "maybe"}, "true or false"),
    ],
)
def test_what_can_t_be_loaded_is_refused_inside_the_tool(env: Env, arguments: dict[str, Any], said: str) -> None:
    """CC-30: validation and permission happen in the call, and the error says what to do."""
    with pytest.raises(ToolError, match=said):
        use(env, "skill", **arguments)


def test_without_skills_the_tool_is_not_offered_and_says_so_when_called(env: Env) -> None:
    """OC-29: trimmed before the model sees it."""
    assert "skill" not in ToolBox().names and "skill" in ToolBox(skilled=True).names
    env.skills = None
    with pytest.raises(ToolError, match="no skills here"):
        use(env, "skill", name="fact-check")


def test_words_find_skills_that_the_catalogue_left_out(env: Env) -> None:
    """OC-26: the way in that the notice names; it shows no skill that may not be called."""
    made = use(env, "skill", find="claim quote")
    assert isinstance(made, Shown)
    assert "fact-check: Check whether one claim" in made.parts[0].text  # type: ignore[union-attr]
    nothing = use(env, "skill", find="hidden")
    assert 'total="0"' in nothing.parts[0].text  # type: ignore[union-attr]


def test_a_skill_that_forks_is_handed_to_a_sub_agent(env: Env) -> None:
    """CC-31, OC-29: manual and arguments in, a result out; of the session's tools it gets those that it allows."""
    made = use(env, "skill", name="apart", arguments="it 'for me'")
    assert isinstance(made, Fetched) and made.raw == b"the result"
    (order,) = env.orders
    assert order.preload[0].startswith('<instructions path="skill:apart">\nDo it.')
    assert "it 'for me'" in order.prompt and order.mode == "isolated"
    assert order.tools == ("web_fetch", "read", "search", "grep")
    assert order.agent == "", "an agent that is not here is left out"
    here = use(env, "skill", name="apart", arguments="it", fork=False)
    assert isinstance(here, Fetched) and b"Do it." in here.raw and len(env.orders) == 1
    use(env, "skill", name="plain", fork=True)
    assert env.orders[1].tools == ("read", "search"), "a skill that only knows tools that are not here can still read"
    use(env, "skill", name="fact-check", fork=True)
    assert env.orders[2].tools is None


def test_an_agent_that_is_here_runs_the_skill(env: Env) -> None:
    """CC-31: `agent:` names a file of the workspace."""
    env.workspace.folder.root.write_atomic("agents/nobody.md", b"---\ndescription: x\n---\n")
    use(env, "skill", name="apart")
    assert env.orders[0].agent == "nobody"


def test_files_beside_a_skill_are_read_by_their_address(env: Env) -> None:
    """OC-28, CC-30: skill:NAME/PATH; the file becomes an observation like whatever comes from outside."""
    made = use(env, "read", ref="skill:plain/data.csv")
    assert isinstance(made, Fetched) and made.raw == b"a,b\n1,2\n"
    assert made.source == Source.call("skill", {"name": "plain", "file": "data.csv"}) and made.name == "data.csv"
    as_listed = use(env, "read", ref="managed:plain/data.csv")
    assert isinstance(as_listed, Fetched) and as_listed.source == made.source
    called = use(env, "read", ref="skill:hidden/data.csv")
    assert isinstance(called, Fetched), "whoever was given its manual by a person needs its files"
    whole = use(env, "read", ref="skill:plain")
    assert isinstance(whole, Fetched) and whole.raw.startswith(b"---\nname: plain")


@pytest.mark.parametrize(
    "ref",
    [
        "skill:plain/../apart/SKILL.md",
        "skill:plain//etc/passwd",
        "skill:plain/gone",
        "skill:nothing/x",
        "skill:",
        "managed:../config",
        "bundled:",
    ],
)
def test_no_address_leads_out_of_a_skill(env: Env, ref: str) -> None:
    """OC-28, I7."""
    with pytest.raises((ToolError, ManusfsError)):
        use(env, "read", ref=ref)


def test_what_tools_a_skill_allows_is_known_by_other_names_too(env: Env) -> None:
    """OC-29: names of other agents' tools stand for ours; a shell is none of them."""
    assert env.skills is not None
    apart = env.skills.usable("apart")
    assert apart.allowed == ("Read", "Grep", "Bash", "WebFetch", "WebSearch")
    assert allowed_tools(apart, ("read",)) == ("read",)
    assert allowed_tools(env.skills.usable("fact-check"), ("read",)) is None
