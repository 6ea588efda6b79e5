"""Going on: after every possible cut, after kill -9, in a copy, with another model, when people edited files."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from agent_stage import (
    PAGES,
    agent,
    assert_sound,
    events_of,
    fetches,
    is_opening,
    make_workspace,
    page,
    prefix_of,
    refs,
    results,
)

from manusfs.agent import Access, Agent, AgentEvent
from manusfs.errors import Locked, NotFound, UsageError
from manusfs.memory import Workspace
from manusfs.messages import Profile, Reply, Request
from manusfs.models import ScriptedModel, call
from manusfs.session import Transcript
from manusfs.workspace.settings import Settings

THINKING = {"type": "thinking", "thinking": "I think.", "signature": "c2lnbmF0dXJl"}


def by_what_it_sees(request: Request) -> Any:
    """Answer from the request alone, as a model does: so that it can be asked at any point of the session."""
    shown = results(request)
    if sum("All about" in text and "<observation" in text for text in shown) < 2:
        return [THINKING, *fetches([f"{PAGES}a", f"{PAGES}b"])]
    if not any(text.startswith("<read") for text in shown):
        return [THINKING, *(call("read", ref=ref, offset=700, limit=400) for ref in refs(request)[:2])]
    if not any("notes/n.md" in text for text in shown):
        return [call("write", path="notes/n.md", content="A note.\n"), call("todo", items=["[x] fetch", "answer"])]
    return "The answer."


def whole_session(path: Path) -> str:
    pages = {f"{PAGES}a": page("plant"), f"{PAGES}b": page("mill")}
    workspace = make_workspace(path, pages)
    result = agent(workspace, lambda request: by_what_it_sees(request)).run("What is it?", [b"A file. " * 400])
    assert result.answer == "The answer."
    workspace.close()
    return result.session


def transcript_of(path: Path, session: str) -> Path:
    return path / "sessions" / session / "transcript.jsonl"


def test_a_session_goes_on_from_any_line_at_which_it_was_cut(tmp_path: Path) -> None:
    """s01, section 2.16: cut behind each line; open calls get an honest result, the answer comes all the same."""
    session = whole_session(tmp_path / "w")
    lines = transcript_of(tmp_path / "w", session).read_bytes().splitlines(keepends=True)
    begun = next(i for i, line in enumerate(lines, 1) if json.loads(line)["kind"] == "epoch")
    for keep in range(1, len(lines)):
        copy = tmp_path / f"cut{keep}"
        shutil.copytree(tmp_path / "w", copy)
        transcript_of(copy, session).write_bytes(b"".join(lines[:keep]))
        workspace = make_workspace(copy, {f"{PAGES}a": page("plant"), f"{PAGES}b": page("mill")})
        model = ScriptedModel(lambda request: by_what_it_sees(request))
        if keep < begun:
            with pytest.raises(UsageError, match="before its task was written down"):
                agent(workspace, model).resume()
            result = agent(workspace, model).resume(message="What is it?")
        else:
            result = agent(workspace, model).resume()
        assert result.answer == "The answer.", keep
        assert_sound(model.requests)
        events = events_of(workspace, session)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert transcript_of(copy, session).read_bytes().startswith(b"".join(lines[:keep])), "a line was changed"
        called = [b["id"] for e in events if e.kind == "message" for b in e.data["content"] if b["type"] == "tool_use"]
        answered = [e.data["call"] for e in events if e.kind in ("observation", "shown") and e.data["call"]]
        assert sorted(called) == sorted(answered), "each call has exactly one result"
        workspace.close()


def test_a_torn_last_line_is_set_aside_and_told(tmp_path: Path) -> None:
    """s06: whole records load, the torn bytes are kept, a second resume works too."""
    session = whole_session(tmp_path / "w")
    file = transcript_of(tmp_path / "w", session)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-4]) + lines[-4][:20])
    workspace = make_workspace(tmp_path / "w")
    told: list[AgentEvent] = []
    assert agent(workspace, lambda request: by_what_it_sees(request), told).resume().answer == "The answer."
    assert any("lost+found" in event.text for event in told if event.kind == "warning")
    assert agent(workspace, ["Again."]).resume(message="Once more.").answer == "Again."


def test_an_interrupted_call_is_told_and_not_run_again(tmp_path: Path) -> None:
    """s01: 'interrupted, not known whether it ran'."""
    session = whole_session(tmp_path / "w")
    file = transcript_of(tmp_path / "w", session)
    lines = file.read_bytes().splitlines(keepends=True)
    last_call = max(i for i, line in enumerate(lines) if b'"tool_use"' in line)
    file.write_bytes(b"".join(lines[: last_call + 1]))
    (tmp_path / "w/notes/n.md").unlink()
    workspace = make_workspace(tmp_path / "w")
    model = ScriptedModel(["Stopped here."])
    agent(workspace, model).resume()
    texts = [text for text in results(model.requests[0]) if "interrupted, not known whether it ran" in text]
    assert len(texts) == 2 and not (tmp_path / "w/notes/n.md").exists()


def test_the_epoch_goes_on_append_only(tmp_path: Path) -> None:
    """I2, s17: what was sent before the resume is the prefix of what is sent after it, thinking byte for byte."""
    workspace = make_workspace(tmp_path / "w", {f"{PAGES}a": page("plant")})
    first = ScriptedModel([[THINKING, *fetches([f"{PAGES}a"])], "Enough."])
    agent(workspace, first).run("Go.")
    workspace.close()
    second = ScriptedModel(["More."])
    agent(make_workspace(tmp_path / "w"), second).resume(message="Go on.")
    before, after = prefix_of(first.requests[-1]), prefix_of(second.requests[0])
    assert after[: len(before)] == before and not is_opening(second.requests[0])
    assert "Go on." in after[-1] and any("c2lnbmF0dXJl" in block for block in after)


@pytest.mark.parametrize("change", ["model", "credential", "tools"])
def test_other_hands_open_a_new_epoch_without_the_old_thinking(tmp_path: Path, change: str) -> None:
    """s17: thinking is signed over model, key and tools; the observations stand there all the same."""
    workspace = make_workspace(tmp_path / "w", {f"{PAGES}a": page("plant")})
    agent(workspace, [[THINKING, *fetches([f"{PAGES}a"])], "Enough."]).run("Go.")
    name = "another" if change == "model" else "scripted"
    settings = (
        Settings(search_provider="searxng", searxng_url="http://127.0.0.1:9/") if change == "tools" else Settings()
    )
    access = Access(credential="0123" if change == "credential" else "")
    model = ScriptedModel(["More."], profile=Profile(name))
    Agent(workspace, model, settings, access=access).resume(message="Go on.")
    (request,) = model.requests
    text = json.dumps(request.to_json())
    assert is_opening(request) and "thinking" not in text and request.model == name
    assert refs(request) and "All about plant" in text and "Go on." in text
    assert_sound(model.requests)


def test_a_copied_folder_goes_on(tmp_path: Path) -> None:
    """Section 2.16: the folder is the memory: nothing in it names where it was."""
    session = whole_session(tmp_path / "w")
    shutil.copytree(tmp_path / "w", tmp_path / "moved")
    shutil.rmtree(tmp_path / "w")
    shutil.rmtree(tmp_path / "moved/.manusfs")
    model = ScriptedModel(["Still here."])
    result = agent(make_workspace(tmp_path / "moved"), model).resume(session, "And now?")
    assert result.answer == "Still here." and result.report.endswith("-2.md")
    assert str(tmp_path / "w") not in json.dumps(model.requests[0].to_json())


def test_what_people_edited_meanwhile_is_told(tmp_path: Path) -> None:
    """Files that changed, came or went are named; the plan and the standing instructions are shown as they are now."""
    whole_session(tmp_path / "w")
    (tmp_path / "w/notes/n.md").write_text("Edited by hand.\n")
    (tmp_path / "w/notes/new.md").write_text("New.\n")
    (tmp_path / "w/todo.md").write_text("- [ ] ask the mill\n")
    (tmp_path / "w/AGENTS.md").write_text("Answer in verse.\n")
    model = ScriptedModel(["So be it."])
    agent(make_workspace(tmp_path / "w"), model).resume(message="Go on.")
    text = json.dumps(model.requests[0].messages[-1], ensure_ascii=False)
    for words in ("changed: notes/n.md", "new: notes/new.md", "ask the mill", "Answer in verse", "<user_message>"):
        assert words in text, words
    again = ScriptedModel(["Yes."])
    agent(make_workspace(tmp_path / "w"), again).resume(message="And?")
    assert "<changed>" not in json.dumps(again.requests[0].messages[-1]), "it is told once"


def test_nothing_is_told_when_only_the_agent_wrote(tmp_path: Path) -> None:
    whole_session(tmp_path / "w")
    model = ScriptedModel(["Yes."])
    agent(make_workspace(tmp_path / "w"), model).resume(message="And?")
    assert "<changed>" not in json.dumps(model.requests[0].messages[-1])


def test_a_finished_session_needs_a_message(tmp_path: Path) -> None:
    whole_session(tmp_path / "w")
    workspace = make_workspace(tmp_path / "w")
    with pytest.raises(UsageError, match="is finished"):
        agent(workspace, ["x"]).resume()
    with pytest.raises(NotFound):
        agent(workspace, ["x"]).resume("20200101-abcd")
    with pytest.raises(NotFound, match="no session to resume"):
        agent(make_workspace(tmp_path / "empty"), ["x"]).resume()


def test_an_intake_session_is_never_offered(tmp_path: Path) -> None:
    """`add` outside a run writes a session of its own; resume goes on with the run."""
    session = whole_session(tmp_path / "w")
    workspace = make_workspace(tmp_path / "w", {f"{PAGES}c": page("kiln")})
    workspace.add(f"{PAGES}c")
    assert agent(workspace, ["Yes."]).resume(message="And?").session == session


def test_a_session_that_runs_elsewhere_is_locked(tmp_path: Path) -> None:
    """Exit code 75."""
    session = whole_session(tmp_path / "w")
    workspace = make_workspace(tmp_path / "w")
    with Transcript.open(workspace.folder, session, write=True), pytest.raises(Locked):
        agent(workspace, ["x"]).resume(message="Go on.")


def test_the_report_is_written_when_only_the_end_was_lost(tmp_path: Path) -> None:
    """The answer stands in the transcript: no second request is paid for it."""
    session = whole_session(tmp_path / "w")
    file = transcript_of(tmp_path / "w", session)
    lines = file.read_bytes().splitlines(keepends=True)
    assert b'"kind":"end"' in lines[-1]
    file.write_bytes(b"".join(lines[:-1]))
    model = ScriptedModel([])
    result = agent(make_workspace(tmp_path / "w"), model).resume()
    assert result.answer == "The answer." and result.stop == "end_turn" and model.requests == []


def test_after_a_refusal_or_a_cut_reply_the_request_does_not_end_with_the_model(tmp_path: Path) -> None:
    """A request that ends with an assistant turn is a 400 today."""
    workspace = make_workspace(tmp_path / "w")
    agent(workspace, [Reply(({"type": "text", "text": "No."},), "refusal")]).run("Go.")
    model = ScriptedModel(["Done."])
    assert agent(workspace, model).resume().answer == "Done."
    assert model.requests[0].messages[-1]["role"] == "user"


_CHILD = """
    import sys, time
    sys.path[:0] = sys.argv[1:3]
    from pathlib import Path
    from agent_stage import PAGES, agent, fetches, make_workspace, page
    from manusfs.models import call
    from manusfs.messages import Reply
    from test_agent_resume import counting

    workspace = make_workspace(Path(sys.argv[3]), lambda url: page(url.rsplit("/")[-1], 20))

    class Tell(list):
        def append(self, event):
            if event.kind == "usage":
                print("ready", flush=True)

    work = agent(workspace, counting, Tell(), max_turns=0)
    work.resume() if sys.argv[4] == "resume" else work.run("Count.")
"""


def counting(request: Request) -> Any:
    """Fetch page after page, and write a note of each: three calls a turn."""
    n = sum(1 for text in results(request) if text.startswith("Wrote") or "interrupted" in text)
    at = sum(message["role"] == "assistant" for message in request.messages)
    if n > 400:
        return "Counted."
    return [*fetches([f"{PAGES}p{at}a", f"{PAGES}p{at}b"]), call("write", path=f"notes/n{at}.md", content=f"{at}\n")]


def test_kill_9_at_any_moment_loses_nothing_that_was_shown(tmp_path: Path) -> None:
    """I1: what the transcript says was shown is there, byte for byte; a resumed run goes on."""
    code = textwrap.dedent(_CHILD)
    tests = Path(__file__).parents[1]
    make_workspace(tmp_path / "w").close()
    for attempt, seconds in enumerate((0.05, 0.2, 0.12, 0.3)):
        command = [sys.executable, "-c", code, str(tests), str(tests / "agent"), str(tmp_path / "w")]
        child = subprocess.Popen([*command, "resume" if attempt else "run"], stdout=subprocess.PIPE)
        assert child.stdout is not None
        with child.stdout:
            assert child.stdout.readline() == b"ready\n"
            time.sleep(seconds)
            child.send_signal(signal.SIGKILL)
            assert child.wait(30) == -signal.SIGKILL, "it ended before it was killed"
    workspace = make_workspace(tmp_path / "w")
    model = ScriptedModel(["Done."])
    result = agent(workspace, model).resume(message="Stop now.")
    assert result.answer == "Done."
    assert_sound(model.requests)
    report = workspace.verify()
    assert report.ok, report
    assert_every_block_resolves(workspace, result.session)


def assert_every_block_resolves(workspace: Workspace, session: str) -> None:
    """I1: each part of the transcript renders to the hash that was recorded when it was shown."""
    from manusfs.records import part_from_json

    for event in events_of(workspace, session):
        for part in [*event.data.get("parts", ()), *([event.data["part"]] if "part" in event.data else [])]:
            workspace.renderer.text(part_from_json(part))


def test_what_people_edit_while_a_run_goes_on_is_told_at_the_next_resume(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path / "w")

    def edited(request: Request) -> str:
        (tmp_path / "w/notes/by-hand.md").write_text("Mine.\n")
        return "Done."

    agent(workspace, [[call("write", path="notes/a.md", content="a")], edited]).run("Go.")
    model = ScriptedModel(["Yes."])
    agent(workspace, model).resume(message="And?")
    text = json.dumps(model.requests[0].messages[-1])
    assert "new: notes/by-hand.md" in text and "notes/a.md" not in text
