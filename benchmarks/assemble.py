"""What a turn costs as a session grows: folding its events and assembling its request, at each size of the session.

    python benchmarks/assemble.py [--events 10000] [--json]

Times are CPU microseconds a turn, the least of three passes; `ratio` is against the first row. Three sessions: one that
is never compacted (a window without end), and one under the default policy and under `auto` in a window of 200,000
tokens, in which each row also says what its compactions cost a turn. Asking whether a compaction is due is part of a
turn. Folding the whole session anew, as a resume does, is the last column.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence

from manusfs.compact import Budget, compact, due, load_policy
from manusfs.context import Assembler, Window, first_opening, fold
from manusfs.messages import Block, Profile
from manusfs.records import Event, ObsRef, Part, Span, TextPart, ViewPart, part_to_json, sha256_hex

STUB = "words of a preview and some more of them " * 14
ROWS = 10
POLICIES = ("manus", "auto")


class Reader:
    """Renders every view as the same stub, so that only the assembly is measured."""

    def blocks(self, parts: Sequence[Part]) -> list[Block]:
        """Return a text block a part."""
        return [{"type": "text", "text": part.text if isinstance(part, TextPart) else STUB} for part in parts]


def opening_events() -> list[Event]:
    """Return the beginning of a session."""
    epoch = {
        "n": 1, "because": "start", "system": "You are a researcher. " * 100, "tools": [], "model": "m",
        "options": {}, "max_tokens": 16_000, "opening": first_opening("2026-11-30", ["What is known of tides?"]),
    }  # fmt: skip
    return [Event("session", {"session": "20261130-ab12"}, 1), Event("epoch", epoch, 2)]


def turn_events(seq: int) -> list[Event]:
    """Return an assistant turn with a fetch, its bill and the stub that came."""
    id = sha256_hex(str(seq).encode())[:12]
    part = part_to_json(ViewPart("stub", ObsRef(id), (Span(0, 580),), tokens=330))
    call = {"type": "tool_use", "id": f"t{seq}", "name": "web_fetch", "input": {"url": f"https://example.org/{seq}"}}
    seen = {
        "call": f"t{seq}", "id": id, "ref": f"obs:{id}", "source": f"https://example.org/{seq}", "kind": "web",
        "title": "A page", "bytes": 50_000, "part": part,
    }  # fmt: skip
    content = [{"type": "text", "text": "The next page says more."}, call]
    return [Event("message", {"role": "assistant", "content": content}, seq), Event("observation", seen, seq + 1)]


def measure(events: int, window_tokens: int, name: str) -> list[dict[str, float]]:
    """Return a row for each tenth of the session: mean cost of a turn in it."""
    profile = Profile("m", window=window_tokens)
    policy, budget = load_policy(name), Budget.of(profile, 16_000)
    log, reader = opening_events(), Reader()
    window, assembler = fold(log), Assembler(reader, profile)
    rows = []
    while len(log) < events:
        goal, turns, compactions = len(log) + events // ROWS, 0, 0
        spent = closing = 0.0
        while len(log) < goal:
            start = time.process_time()
            if due(window, policy, budget):
                closing -= time.process_time()
                for event in _performed(window, policy, budget, reader):
                    log.append(event)
                    window.apply(event)
                closing += time.process_time()
                compactions += 1
            assembler.request(window)
            for event in turn_events(len(log) + 1):
                log.append(event)
                window.apply(event)
            spent += time.process_time() - start
            turns += 1
        rows.append(_row(log, window, turns, spent - closing, closing, compactions))
    return rows


def _row(
    log: list[Event], window: Window, turns: int, spent: float, closing: float, compactions: int
) -> dict[str, float]:
    start = time.process_time()
    fold(log)
    return {
        "events": len(log),
        "messages": 2 * len(window.turns) - 1,
        "turn_us": spent / turns * 1e6,
        "compaction_us": closing / turns * 1e6,
        "compactions": compactions,
        "refold_ms": (time.process_time() - start) * 1e3,
    }


def _performed(window: Window, policy: object, budget: Budget, reader: Reader) -> tuple[Event, ...]:
    try:
        next(compact(window, policy, budget, reader))  # type: ignore[arg-type]
    except StopIteration as end:
        events: tuple[Event, ...] = end.value
        return events
    raise SystemExit("a model was asked for")


def main() -> None:
    """Print the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sessions = (("one endless epoch", 10**9, "none"), *((f"policy {n}, 200,000 tokens", 200_000, n) for n in POLICIES))
    for name, tokens, policy in sessions:
        passes = [measure(given.events, tokens, policy) for _ in range(3)]
        rows = [{key: min(row[key] for row in same) for key in same[0]} for same in zip(*passes, strict=True)]
        for row in rows:
            row["ratio"] = row["turn_us"] / rows[0]["turn_us"]
        if given.json:
            sys.stdout.write(json.dumps({"session": name, "rows": rows}) + "\n")
            continue
        sys.stdout.write(f"\n{name}\n  events  messages  turn µs  ratio  compaction µs/turn  refold ms\n")
        for row in rows:
            sys.stdout.write(
                f"{row['events']:8.0f}{row['messages']:10.0f}{row['turn_us']:9.0f}{row['ratio']:7.2f}"
                f"{row['compaction_us']:20.0f}{row['refold_ms']:11.0f}\n"
            )


if __name__ == "__main__":
    main()
