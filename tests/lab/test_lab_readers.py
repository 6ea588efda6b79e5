"""Runs from the five formats come out in the one shape."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from manusfs.agent import Agent
from manusfs.errors import UsageError
from manusfs.lab import Call, Recording, Result, Step, read_runs
from manusfs.memory import Doors, Workspace

HERE = Path(__file__).parent / "recordings"


def one(path: Path) -> Recording:
    (run,) = read_runs(path)
    return run


def test_normalised_runs_stand_one_a_line_and_may_be_gzip(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "text": "S"},
        {"role": "user", "text": "Q"},
        {
            "role": "assistant",
            "text": "A",
            "calls": [{"id": "1", "name": "f", "args": '{"x":1}'}, {"id": "2", "name": "g"}],
        },
        {"role": "tool", "id": "2", "text": "second"},
        {"role": "tool", "id": "1", "text": "first", "is_error": True},
        {"role": "assistant", "text": "B"},
        {"role": "assistant", "text": "C"},
        {"role": "user", "text": "more"},
    ]
    line = json.dumps({"src": "made", "id": "7", "messages": messages})
    file = tmp_path / "runs.jsonl.gz"
    file.write_bytes(gzip.compress(f"{line}\n{line}\n".encode()))
    first, second = read_runs(file)
    assert first == second
    assert (first.name, first.system, first.task) == ("made/7", "S", "Q")
    asked, ended = first.steps
    assert asked.calls == (Call("f", {"x": 1}), Call("g", {}))
    assert asked.results == (Result("first", is_error=True), Result("second"))
    assert (ended.text, ended.user) == ("B\n\nC", "more")


def test_results_without_a_call_get_one_and_calls_without_a_result_an_error(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "text": "Q"},
        {"role": "tool", "tool": "read", "text": "given"},
        {"role": "assistant", "text": "A", "calls": [{"name": "f", "args": "plain words"}]},
        {"role": "user", "text": "stop"},
    ]
    (file := tmp_path / "runs.json").write_text(json.dumps({"messages": messages}))
    given, cut = one(file).steps
    assert given.calls == (Call("read", {}),) and given.results == (Result("given"),)
    assert cut.calls == (Call("f", {"arguments": "plain words"}),)
    assert cut.results[0].is_error and not cut.results[0].stored


@pytest.mark.parametrize("name", ["anthropic.json", "openai.json"])
def test_the_same_run_in_two_apis_is_the_same(name: str) -> None:
    run = one(HERE / name)
    assert (run.system, run.task) == ("You are careful.", "When was the roof laid?")
    assert [step.calls for step in run.steps] == [(Call("search", {"q": "roof"}),), ()]
    assert run.steps[0].results[0].text == "The roof was laid in 1911."
    assert run.steps[1].text == "In 1911."


def test_thinking_is_kept_as_it_came() -> None:
    assert one(HERE / "anthropic.json").steps[0].thinking == (
        {"type": "thinking", "thinking": "I should look.", "signature": "c2ln"},
    )


def test_swe_agent_trajectories_are_calls_of_a_shell() -> None:
    run = one(HERE / "swe_agent.traj")
    assert (run.id, run.task) == ("demo-1", "Fix the bug.")
    assert run.steps[0].calls == (Call("shell", {"command": "ls\n"}),)
    assert run.steps[0].results[0].text == "a.py"


def test_our_own_sessions_are_read_with_the_bodies_from_the_store(tmp_path: Path) -> None:
    source = tmp_path / "facts.txt"
    source.write_text("The roof was laid in 1911. " * 200)
    with Workspace.create(tmp_path / "w", doors=Doors(network=False)) as workspace:
        result = Agent(workspace).run("When was the roof laid?", sources=[str(source)])
    folder = tmp_path / "w" / "sessions" / result.session
    run = one(folder)
    assert run.source == "manusfs" and run.id == result.session
    assert len(run.steps) == result.turns
    assert run == one(folder / "transcript.jsonl")
    assert any(not answer.stored for step in run.steps for answer in step.results)


@pytest.mark.parametrize("text", ["", "no json", '{"a":1}', "[1]", '{"messages":[]}'])
def test_what_is_no_run_is_told(tmp_path: Path, text: str) -> None:
    (file := tmp_path / "x.json").write_text(text)
    with pytest.raises(UsageError, match=r"x\.json"):
        list(read_runs(file))


@pytest.mark.parametrize(
    "data",
    [
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": [None, 3]}]},
        {"messages": [{"role": "assistant", "text": "a", "calls": [None]}]},
        {"messages": [{"role": "assistant", "content": "a", "tool_calls": [None]}]},
        {"trajectory": 5},
        {"trajectory": [None]},
    ],
)
def test_a_run_of_another_shape_is_told_with_its_place(tmp_path: Path, data: object) -> None:
    (file := tmp_path / "x.jsonl").write_text('{"messages":[{"role":"assistant","text":"a"}]}\n' + json.dumps(data))
    with pytest.raises(UsageError, match=r"x\.jsonl.* place 2"):
        list(read_runs(file))


def test_json_nested_without_end_and_a_folder_are_told(tmp_path: Path) -> None:
    (file := tmp_path / "deep.json").write_text("[" * 100_000)
    for path in (file, tmp_path):
        with pytest.raises(UsageError, match=path.name):
            list(read_runs(path))


def test_a_run_of_one_turn_and_one_without_any_text(tmp_path: Path) -> None:
    (file := tmp_path / "x.json").write_text(json.dumps({"messages": [{"role": "assistant", "content": ""}]}))
    assert one(file).steps == (Step(),)
