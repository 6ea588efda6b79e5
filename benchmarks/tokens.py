"""The offline token estimate against counts of today's models' tokenizer: bias, error of a text, and speed.

Without FILEs it goes over the texts that the tests hold, whose counts were made once. With FILEs it cuts each into
pieces and counts these with ctok where that is installed (it says that it needs Python 3.12, and runs on 3.11); without
it only the speed is told.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from _measure import Goal, parser, report

from manusfs.records.tokens import _known, _weigh, estimate

FIXTURE = Path(__file__).parents[1] / "tests" / "records" / "token_texts.json"
PIECE = 4_000

Counted = tuple[str, int]
"""A text and its tokens, 0 where nobody counted."""


def main() -> int:
    """Print the table, and the JSON where it is asked for."""
    options = parser(__doc__, 5)
    options.add_argument("files", nargs="*", type=Path, metavar="FILE", help="texts to count instead")
    given = options.parse_args()
    groups = dict(_of_files(given.files)) if given.files else _fixture()
    rows = {name: row for name, texts in groups.items() if (row := _row(texts))}
    everything = [text for texts in groups.values() for text in texts]
    goals = [Goal("megabytes a second, CPU", _speed(everything, given.rounds), 3.0, "MB/s", ">=")]
    if total := _row(everything):
        rows["all"] = total
        goals.append(Goal("total bias, either way", abs(total["bias"]), 0.05, ""))
        goals.append(Goal("error of a text, 9 of 10 within", total["p90"], 0.20, ""))
    for name, row in rows.items():
        print(
            f"{name:<32} {row['texts']:>5} texts {row['tokens']:>9,} tokens  {row['bias']:+.3f}  p90 {row['p90']:.3f}"
        )
    report("tokens", goals, {"by_kind": rows}, given.out)
    return 0 if all(goal.met for goal in goals) else 1


def _fixture() -> dict[str, list[Counted]]:
    groups: dict[str, list[Counted]] = {}
    for one in json.loads(FIXTURE.read_text("utf-8"))["texts"]:
        groups.setdefault(one["kind"], []).append((one["text"], one["tokens"]))
    return groups


def _of_files(files: Sequence[Path]) -> Iterator[tuple[str, list[Counted]]]:
    count = _counter()
    for file in files:
        text = file.read_text("utf-8", "replace")
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        yield file.name, [(piece, count(piece)) for piece in pieces if piece.strip()]


def _counter() -> Callable[[str], int]:
    try:
        from ctok import token_count  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        print("ctok is not installed: only the speed is told", file=sys.stderr)
        return lambda text: 0
    frame = token_count("", "4.8")
    return lambda text: int(token_count(text, "4.8")) - frame


def _row(texts: Sequence[Counted]) -> dict[str, Any] | None:
    pairs = [(estimate(text), tokens) for text, tokens in texts if tokens]
    if not pairs:
        return None
    errors = sorted(abs(guess / tokens - 1) for guess, tokens in pairs)
    real = sum(tokens for _, tokens in pairs)
    bias = sum(guess for guess, _ in pairs) / real - 1
    return {"texts": len(pairs), "tokens": real, "bias": round(bias, 4), "p90": round(errors[len(errors) * 9 // 10], 4)}


def _speed(texts: Sequence[Counted], rounds: int) -> float:
    """Return megabytes of UTF-8 a second of CPU time, the best of some rounds; no word is known from the one before."""
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text, _ in texts)
    best = 0.0
    for _ in range(rounds):
        _known.clear()
        begun = time.process_time()
        for text, _ in texts:
            _weigh(text)
        best = max(best, size / 1e6 / max(time.process_time() - begun, 1e-9))
    return best


if __name__ == "__main__":
    sys.exit(main())
