"""The policies that are named after other systems: each figure and each habit of theirs, one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest
from compact.runs import Run, performed
from compact.summarisers import asked, good, perform
from context.conversations import call, hex_id, request_text, sealed, text, thinking

from manusfs.compact import AskFirst, Budget, Fold, Summarise, ask, birth, due, load_policy, undo
from manusfs.compact.curated import curated, is_sound
from manusfs.compact.summary_source import Group, chunks
from manusfs.context import fold
from manusfs.records import Event, ObsRef, Span, TextPart, ViewPart
from manusfs.workspace.settings import Settings

WIDE = Budget(1_000_000, 10_000)
USUAL = Budget(200_000, 0)


def filled(name: str, turns: int = 60, **settings: Any) -> Run:
    """A session far above the mark of a small window."""
    run = Run(load_policy(name, Settings(**settings)), 40_000)
    rng = random.Random(3)
    for number in range(0, turns, 2):
        run.turn(number, 2, rng)
    return run


def moved(run: Run, moves: Any) -> set[tuple[int, int]]:
    """Return what a plan names."""
    return {item.key for move in moves for block in move.blocks for item in run.window.between(block)}


def test_the_marks_are_as_published() -> None:
    """CC-1, CC-19, GC-1, OC-5: 92 % or 13,000 below, 70 %, 50 %."""
    marks = {name: load_policy(name).mark(USUAL) for name in ("claude-code", "gemini-cli", "openclaw", "manus")}
    assert marks == {"claude-code": 184_000, "gemini-cli": 140_000, "openclaw": 100_000, "manus": 100_000}
    assert load_policy("claude-code").mark(Budget(100_000, 0)) == 87_000
    assert load_policy("claude-code").mark(Budget(10_000, 0)) == 5_000


@pytest.mark.parametrize(
    ("name", "setting", "value", "mark"),
    [
        ("claude-code", "claude_code_share", 0.5, 500_000),
        ("claude-code", "claude_code_reserve", 400_000, 600_000),
        ("gemini-cli", "gemini_cli_share", 0.5, 500_000),
        ("openclaw", "openclaw_share", 0.25, 250_000),
        ("manus", "manus_tokens", 40_000, 40_000),
        ("manus", "manus_share", 0.01, 10_000),
    ],
)
def test_each_mark_is_a_setting(name: str, setting: str, value: Any, mark: int) -> None:
    """GC-1: overridable; MECHANISMS 1.10: the later figures can be set."""
    assert load_policy(name, Settings(**{setting: value})).mark(WIDE) == mark


def test_claude_code_keeps_the_last_five_messages_and_the_active_task() -> None:
    """CC-5: summary, newest messages word for word, the task and the plan."""
    run = filled("claude-code")
    run.add(run.log.add("recite", text="<todo>\n- [ ] neap tides\n</todo>"))
    perform(run, good)
    kept = [turn for turn in run.window.exchanges() if any(i.form == "full" and i.kind == "text" for i in turn.items)]
    messages = {item.seq for turn in kept for item in turn.items if item.kind in ("text", "call")}
    assert 1 <= len(messages) <= 3
    newest = list(run.window.exchanges())[-3:]
    assert all(item.form == "full" for turn in newest for item in turn.items)
    said = request_text(run.request())
    assert "What is known of tides?" in said and "- [ ] neap tides" in said


@pytest.mark.parametrize(("count", "kept"), [(1, 1), (5, 3), (9, 5)])
def test_how_many_messages_stay_is_a_setting_and_no_turn_is_parted(count: int, kept: int) -> None:
    """CC-5, OC-9."""
    run = filled("claude-code", claude_code_messages=count, claude_code_reads=0)
    named = moved(run, run.policy.plan(run.window, run.budget))
    turns = [turn for turn in run.window.exchanges() if turn.turn]
    left = [turn for turn in turns if not any(item.key in named for item in turn.items)]
    assert left == turns[-kept:]


def with_reads(name: str, count: int, **settings: Any) -> Run:
    """A session that reads `count` spans of 2,000 bytes, then goes on for some turns."""
    run = Run(load_policy(name, Settings(**settings)), 40_000)
    run.add(run.log.says(call("a")), run.log.saw("a", hex_id(1)))
    for n in range(count):
        span = Span(2_000 * n, 2_000 * n + 2_000)
        part = sealed(ViewPart("read", ObsRef(hex_id(1)), (span,), (("state", "stored"),)))
        run.add(run.log.says(call(f"r{n}", "read")))
        run.add(run.log.shows(f"r{n}", part, reads=[f"obs:{hex_id(1)}@{span}"]))
    for n in range(4):
        run.add(run.log.says(text("On."), call(f"b{n}")), run.log.saw(f"b{n}", hex_id(50 + n)))
    return run


def attached(run: Run) -> list[str]:
    """Return the spans of the reads that stand in full, in order."""
    found = []
    for item in run.window.items:
        part = run.window.events[item.seq].data.get("parts", [{}])[0]
        if item.form == "full" and part.get("form") == "read":
            found.append(f"{part['spans'][0][0]}")
    return found


def test_up_to_five_recent_reads_stay_as_spans() -> None:
    """CC-22, MECHANISMS 2.14: spans, never binaries."""
    run = with_reads("claude-code", 8)
    perform(run, good)
    assert attached(run) == ["6000", "8000", "10000", "12000", "14000"]
    assert '<read ref=\\"obs:' in request_text(run.request())
    for number in range(0, 60, 2):
        run.turn(100 + number, 2, random.Random(number))
    perform(run, good)
    assert len(attached(run)) <= 5


def test_the_reads_that_stay_have_a_quota_of_tokens() -> None:
    """CC-22: within a token quota; both figures are settings."""
    run = with_reads("claude-code", 8, claude_code_read_tokens=1_200)
    size = max(item.tokens for item in run.window.items if item.kind == "result")
    perform(run, good)
    assert len(attached(run)) == 1_200 // size
    run = with_reads("claude-code", 8, claude_code_reads=2)
    perform(run, good)
    assert len(attached(run)) == 2


def test_the_ninth_part_can_be_left_out() -> None:
    """CC-2, CC-20: eight parts, or nine."""
    for wanted in (True, False):
        _, (request,) = perform(filled("claude-code", claude_code_next_step=wanted), good)
        assert "8. Current Work" in asked(request) and ("9. Next Step" in asked(request)) is wanted


def test_gemini_cli_keeps_the_newest_thirty_percent() -> None:
    """GC-2: by size, between two turns where no user speaks (GC-7: never a model's turn parted from its results)."""
    run = filled("gemini-cli")
    (move,) = run.policy.plan(run.window, run.budget)
    named = moved(run, [move])
    tokens = {True: 0, False: 0}
    for item in run.window.items:
        if item.turn:
            tokens[item.key in named] += item.tokens
    assert 0.2 < tokens[False] / sum(tokens.values()) < 0.4
    for turn in run.window.exchanges():
        assert len({item.key in named for item in turn.items if not item.fixed}) <= 1


def test_the_cut_moves_forward_to_where_a_user_speaks() -> None:
    """GC-7: the kept part begins with a user's turn."""
    run = filled("gemini-cli", turns=44)
    run.add(run.log.user("And the neap tides?"))
    asked_at = run.log.events[-1].seq
    for number in range(60, 70, 2):
        run.turn(number, 2, random.Random(number))
    named = moved(run, run.policy.plan(run.window, run.budget))
    assert max(seq for seq, _ in named) < asked_at
    assert all((item.key in named) == (item.seq < asked_at) for item in run.window.items if not item.fixed)


def test_nothing_is_proposed_for_no_history() -> None:
    """GC-6: an empty history is left alone."""
    for name in ("claude-code", "gemini-cli", "openclaw", "manus"):
        run = Run(load_policy(name), 40_000)
        assert run.policy.plan(run.window, run.budget) == []


def test_the_snapshot_is_acknowledged_before_the_kept_turns() -> None:
    """GC-8: summary, acknowledgment, tail; two phases, of which the first, the scratchpad, is thrown away."""
    run = filled("gemini-cli")
    perform(run, good)
    said = request_text(run.request())
    assert said.index("</summary>") < said.index("has been taken in") < said.index("<turn ref=")
    assert "<current_plan>" in said and "SECRET DRAFT" not in said


def test_tokens_before_and_after_are_written_down() -> None:
    """GC-12."""
    run = filled("gemini-cli")
    before = run.window.tokens
    (compaction, _), _ = perform(run, good)
    assert (compaction.data["before_tokens"], compaction.data["after_tokens"]) == (before, run.window.tokens)


def test_a_run_of_replies_counts_only_if_all_of_them_are_sound() -> None:
    """GC-3, GC-4: all or nothing for replies; what users said stays in any case."""
    run = Run(load_policy("gemini-cli"), 40_000)
    log = run.log
    run.add(log.says(text("good one"), stop="end_turn"))
    run.add(log.says(text("broken with it"), stop="end_turn"), log.says(text("  "), stop="end_turn"))
    run.add(log.user("Go on."))
    run.add(log.says(text("sound"), call("a")), log.saw("a", hex_id(1)))
    kept = curated(run.window, list(run.window.exchanges()))
    kinds = [(item.kind, item.seq) for turn in kept for item in turn.items]
    texts = [run.window.events[seq].data["content"][0]["text"] for kind, seq in kinds if kind == "text"]
    assert texts == ["sound"] and ("user", 6) in kinds


def test_what_is_broken_is_not_shown_to_the_model_that_summarises() -> None:
    """GC-3, GC-9: the filter comes before the summary."""
    run = Run(load_policy("gemini-cli"), 40_000)
    run.add(run.log.says(text("half a reply"), text(""), stop="end_turn"), run.log.user("Again, please."))
    for number in range(0, 40, 2):
        run.turn(number, 2, random.Random(number))
    seen: list[str] = []
    perform(run, lambda request: seen.append(str(request.messages)) or good(request))  # type: ignore[func-returns-value]
    assert seen and "half a reply" not in seen[0] and "Again, please." in seen[0]


def test_chunks_have_about_the_same_tokens_and_part_no_group() -> None:
    """OC-6, OC-9."""
    rng = random.Random(4)
    groups = [Group(n, n, str(n), rng.randrange(10, 400)) for n in range(60)]
    for count in (1, 2, 3, 7):
        parts = chunks(groups, count)
        assert [group for part in parts for group in part] == groups and len(parts) == count
        sizes = [sum(group.tokens for group in part) for part in parts]
        assert max(sizes) - min(sizes) <= 800
    assert chunks(groups[:1], 3) == [groups[:1]]


def test_openclaw_drops_the_oldest_chunk_after_passes_and_a_merge() -> None:
    """OC-5 to OC-8: as many passes as chunks, then one request that puts the pieces together."""
    run = filled("openclaw", openclaw_parts=3, openclaw_ask_first=False)
    (move,) = run.policy.plan(run.window, run.budget)
    assert isinstance(move, Summarise) and move.passes == 3
    named = moved(run, [move])
    share = sum(i.tokens for i in run.window.items if i.key in named) / sum(
        i.tokens for i in run.window.items if i.turn
    )
    assert 0.3 < share < 0.75
    _, requests = perform(run, good)
    ends = [str(request.messages[0]["content"][-1]["text"]) for request in requests]
    assert [end[:20] for end in ends] == [f"This is piece {n} of 3" for n in (1, 2, 3)] + ["Now write the record"]
    assert "<piece>" in str(requests[-1].messages)


def test_what_is_kept_of_the_history_is_at_most_its_share() -> None:
    """OC-5: more than one chunk goes where one is too little."""
    run = filled("openclaw", turns=160, openclaw_ask_first=False)
    named = moved(run, run.policy.plan(run.window, run.budget))
    left = sum(item.tokens for item in run.window.items if item.turn and item.key not in named)
    assert left <= 0.5 * run.budget.window


def test_notes_come_first_once_an_epoch() -> None:
    """OC-10: asked before, not in the compaction; where it would not fit it is not asked."""
    run = filled("openclaw", turns=46)
    assert due(run.window, run.policy, run.budget)
    words = ask(run.window, run.policy, run.budget)
    assert "write it to notes/" in words
    run.add(run.log.add("changed", text=words, paths=[], ask_first=True))
    assert ask(run.window, run.policy, run.budget) == ""
    assert words in request_text(run.request_now())
    run.add(run.log.says(call("n", "write")), run.log.shows("n", TextPart("wrote"), wrote=["notes/a.md"]))
    perform(run, good)
    assert words not in request_text(run.request())
    over = filled("openclaw", turns=200)
    assert over.window.tokens > over.budget.limit and ask(over.window, over.policy, over.budget) == ""
    assert isinstance(run.policy.plan(over.window, over.budget)[0], AskFirst)
    quiet = filled("openclaw", openclaw_ask_first=False)
    assert ask(quiet.window, quiet.policy, quiet.budget) == ""


def test_the_request_for_notes_is_no_block_of_the_session() -> None:
    """I5: with every compaction undone, a session is as one without compaction, undo and ask-first."""
    run = filled("openclaw", turns=30)
    run.add(run.log.add("changed", text="Write notes.", paths=[], ask_first=True))
    run.add(run.log.says(call("n", "write")), run.log.shows("n", TextPart("wrote"), wrote=["notes/a.md"]))
    events, _ = perform(run, good)
    window = fold([*run.log.events, Event("undo", {"compaction": events[0].seq}, len(run.log.events) + 1)])
    plain = fold(
        event
        for event in run.log.events
        if event.kind not in ("compaction", "undo")
        and not event.data.get("ask_first")
        and not (event.kind == "epoch" and event.data["because"] == "compaction")
    )
    assert window.items == plain.items


def test_a_cold_cache_is_the_moment_to_fold_old_results() -> None:
    """OC-11: soft trim of what lies behind the newest turns, at a new epoch; the transcript is untouched."""
    run = filled("openclaw", turns=34)
    assert 0.3 * 40_000 < run.window.tokens < 0.5 * 40_000
    assert not due(run.window, run.policy, run.budget)
    cold = Budget(run.budget.window, run.budget.reserve, idle_s=301.0)
    assert due(run.window, run.policy, cold)
    assert not due(run.window, run.policy, Budget(cold.window, cold.reserve, idle_s=299.0))
    moves = run.policy.plan(run.window, cold)
    assert [(type(move), getattr(move, "form", "")) for move in moves] == [(Fold, "trim")]
    newest = {item.key for turn in list(run.window.exchanges())[-3:] for item in turn.items}
    assert not moved(run, moves) & newest
    assert all(run.window.item(*key).kind == "result" for key in moved(run, moves))  # type: ignore[union-attr]
    events = list(run.log.events)
    run.budget = cold
    run.record(performed(run.window, run.policy, cold, run.reader))
    large = [item for item in run.window.items if item.kind == "result" and item.tokens > 40 and item.key not in newest]
    assert {item.form for item in large} == {"stub"} and run.log.events[: len(events)] == events
    assert all(item.tokens < 2_000 for item in large), "what is small stands by its ref alone"
    run.request_now()


def test_the_trim_keeps_head_and_tail_of_large_results_and_the_ref_of_the_middle() -> None:
    """OC-11: of printed text and of what was read; undone it is whole again; what can't be parted stands by its ref."""
    run = Run(load_policy("openclaw"), 40_000)
    words = "The first line.\n" + "moored vessels drift ü " * 700 + "\nThe last line."
    span = Span(580, 9_580)
    run.add(run.log.says(call("a", "grep"), call("b", "read"), call("c")))
    printed = run.log.shows("a", TextPart(words))
    read = run.log.shows("b", sealed(ViewPart("read", ObsRef(hex_id(1)), (span,), (("state", "stored"),))))
    small = run.log.saw("c", hex_id(2))
    run.add(printed, read, small)
    for number in range(3, 18):
        run.turn(number, 1, random.Random(number))
    cold = Budget(run.budget.window, run.budget.reserve, idle_s=301.0)
    before = run.window.tokens
    event, epoch = performed(run.window, run.policy, cold, run.reader)
    run.record((event, epoch))
    forms = {seq: run.window.item(seq).form for seq in (printed.seq, read.seq, small.seq)}  # type: ignore[union-attr]
    assert forms == {printed.seq: "trim", read.seq: "trim", small.seq: "stub"} and run.window.tokens < before
    said = request_text(run.request_now())
    end = len(words.encode()) - len(words[-1_500:].encode())
    start = len(words[:1_500].encode())
    assert "The first line." in said and "The last line." in said
    assert f'…[TRIMMED {start}-{end}: read(ref=\\"msg:{run.log.session}:{printed.seq}.0@{start}-{end}\\")]…' in said
    part = run.window.trimmed((read.seq, 0))
    assert isinstance(part, ViewPart) and part.form == "read" and part.sha256 and part.tokens
    assert part.spans == (Span(580, 2_080), Span(8_080, 9_580))
    assert fold(run.log.events) == run.window
    run.record(undo(run.window, event.seq, Budget(10**6, 0), run.reader))
    assert {item.form for item in run.window.items} == {"full"} and words[2_000:4_000] in request_text(
        run.request_now()
    )


def test_a_reply_is_sound_only_if_each_part_of_it_holds_something() -> None:
    """GC-4: no parts, a part that is nothing, an empty text; thinking may be without words."""
    run = Run(load_policy("gemini-cli"), 40_000)
    sound = [[text("words")], [thinking(""), text("words")], [call("a")]]
    broken: list[list[dict[str, object]]] = [[], [{}], [text("")], [text(" \n")], [text("words"), text("")]]
    for blocks in (*sound, *broken):
        run.add(run.log.says(*blocks, stop="end_turn"))
        if blocks == [call("a")]:
            run.add(run.log.saw("a", hex_id(1)))
    replies = [turn for turn in run.window.exchanges() if turn.turn]
    assert [is_sound(run.window, turn) for turn in replies] == [True] * 3 + [False] * (len(replies) - 3)
    run.add(run.log.user("Go on."))
    said = run.request_now().messages
    assert all(block.get("type") and block.get("text", "-").strip() for message in said for block in message["content"])


def test_what_the_trim_leaves_too_large_is_cleared() -> None:
    """OC-11: the hard clear: results of old turns become lines of a ledger, still refs."""
    settings = {"openclaw_clear_share": 0.1, "openclaw_keep_turns": 2}
    run = filled("openclaw", turns=34, **settings)
    cold = Budget(run.budget.window, run.budget.reserve, idle_s=400.0)
    trim, clear = run.policy.plan(run.window, cold)
    assert isinstance(trim, Fold) and isinstance(clear, Fold) and (trim.form, clear.form) == ("trim", "ledger")
    assert load_policy("openclaw", Settings(openclaw_idle_s=0)).mark(cold) == load_policy("openclaw").mark(run.budget)


def test_results_are_as_large_at_birth_as_in_those_systems() -> None:
    """CC-17, CC-18, OC-3: their figures, each a setting; `manus` has none of its own."""
    claude = birth(load_policy("claude-code"), USUAL)
    claw = birth(load_policy("openclaw"), USUAL)
    assert claude is not None and claw is not None
    assert (claude.inline_chars, claude.preview_chars, claude.message_chars) == (50_000, 2_000, 200_000)
    assert (claw.inline_chars, claw.preview_chars, claw.tail_chars) == (16_000, 16_000, 4_000)
    small = birth(load_policy("openclaw"), Budget(8_000, 0))
    assert small is not None and small.inline_chars == int(0.3 * 8_000 * 2.5)
    assert birth(load_policy("manus"), USUAL) is None
    set_so = birth(load_policy("claude-code", Settings(claude_code_result_chars=9)), USUAL)
    assert set_so is not None and set_so.inline_chars == 9
