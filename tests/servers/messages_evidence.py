"""Search results and what is cited of them: all can be cited or none, and a citation that comes back is one that was
given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from servers.messages_blocks import bad, content_of

Json = dict[str, Any]


def results_of(messages: list[Json]) -> Iterator[tuple[int, Json]]:
    """Yield the search results of all messages in order, each with the number of its message."""
    for index, message in enumerate(messages):
        for block in content_of(message):
            inner = block.get("content") if block.get("type") == "tool_result" else None
            for one in (block, *(inner if isinstance(inner, list) else ())):
                if one.get("type") == "search_result":
                    yield index, one


def cite(messages: list[Json], result: int, start: int, end: int) -> Json:
    """Return the citation of the pieces `start` to `end` of the search result number `result`."""
    block = [one for _, one in results_of(messages)][result]
    return {
        "type": "search_result_location",
        "source": block["source"],
        "title": block["title"],
        "cited_text": "".join(piece["text"] for piece in block["content"][start:end]),
        "search_result_index": result,
        "start_block_index": start,
        "end_block_index": end,
    }


def check_evidence(messages: list[Json]) -> None:
    """Refuse mixed search results, and citations of what does not stand there."""
    found = list(results_of(messages))
    if len({bool((one.get("citations") or {}).get("enabled")) for _, one in found}) > 1:
        raise bad("messages", "citations must be enabled for all search results or for none")
    for index, message in enumerate(messages):
        for block in content_of(message) if message["role"] == "assistant" else ():
            for given in block.get("citations") or ():
                number = given.get("search_result_index", -1)
                known = [one for at, one in found if at < index]
                if given.get("type") != "search_result_location":
                    continue
                if not 0 <= number < len(known):
                    raise bad(f"messages.{index}.citations", f"no search result number {number} before it")
                if given != cite(messages, number, given["start_block_index"], given["end_block_index"]):
                    raise bad(f"messages.{index}.citations", "the citation does not match its search result")
