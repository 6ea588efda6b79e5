"""Tiny recorded runs, made here."""

from __future__ import annotations

from manusfs.lab import Call, Recording, Result, Step

FACT = "the copper roof of the old station was laid by nine men in the wet spring of 1911"


def page(number: int, chars: int = 9_000, fact: str = "") -> str:
    """A text in which no six words stand in any other one; `fact` stands behind its first half."""
    words = [f"w{number}x{at}" for at in range(chars // 9)]
    words.insert(len(words) // 2, fact)
    return " ".join(words)


def recording(texts: list[str], quotes: dict[int, str] | None = None, args: dict[int, str] | None = None) -> Recording:
    """A run that fetches `texts` one by one; reply `at` says `quotes[at]` and sends `args[at]`."""
    steps = []
    for at, text in enumerate([*texts, ""]):
        said = (quotes or {}).get(at, f"Now page number {at}.")
        call = Call("fetch", {"page": at, "body": (args or {}).get(at, "")})
        calls = (call,) if at < len(texts) else ()
        steps.append(Step(said, calls=calls, results=(Result(text),) if calls else ()))
    return Recording("made", "one", "You fetch pages.", "Fetch all the pages and report.", tuple(steps))
