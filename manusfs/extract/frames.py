"""What goes over the pipes between the package and its extraction child: kind, JSON head, body. No pickles."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict
from typing import Any

from manusfs.extract.job import Job, Limits
from manusfs.records import Extracted, Heading

__all__ = ["HEAD", "Frame", "extracted_from", "extracted_head", "job_from", "job_head", "pack", "unpack_head"]

HEAD = struct.Struct(">cII")
"""Kind of the frame, bytes of its JSON, bytes of its body."""

Frame = tuple[bytes, dict[str, Any], bytes]
"""Kinds: J a job (body: raw bytes); R ready; P a page; E what is known (body: text); F its full view; X failed; D done.
"""

MAX_FRAME = 1 << 30


def pack(kind: bytes, data: dict[str, Any], body: bytes = b"") -> bytes:
    """Return the bytes before the body of a frame."""
    head = json.dumps(data, ensure_ascii=True).encode("ascii")
    return HEAD.pack(kind, len(head), len(body)) + head


def unpack_head(head: bytes) -> tuple[bytes, int, int]:
    """Return kind and sizes that a frame's first bytes tell.

    Raises:
        ValueError: no frame of ours.
    """
    kind, json_bytes, body_bytes = HEAD.unpack(head)
    if kind not in b"JRPEFXD" or json_bytes > MAX_FRAME or body_bytes > MAX_FRAME:
        raise ValueError("not a frame")
    return kind, json_bytes, body_bytes


def job_head(job: Job, extractor: str) -> dict[str, Any]:
    """Return `job` without its bytes, for the extractor called `extractor`."""
    return {
        "extractor": extractor,
        "media_type": job.media_type,
        "charset": job.charset,
        "name": job.name,
        "source_url": job.source_url,
        "limits": asdict(job.limits),
        "done": job.done,
        "falls": job.falls,
    }


def job_from(data: dict[str, Any], raw: bytes) -> Job:
    """Return the job that a J frame holds; its clock starts now."""
    return Job(
        raw,
        data["media_type"],
        data["charset"],
        data["name"],
        data["source_url"],
        Limits(**data["limits"]),
        done=tuple(data["done"]),
        falls=data["falls"],
    )


def extracted_head(item: Extracted) -> dict[str, Any]:
    """Return `item` without its texts."""
    data = {name: getattr(item, name) for name in _FIELDS}
    data["outline"] = [[heading.offset, heading.level, heading.title] for heading in item.outline]
    return data


_FIELDS = ("media_type", "charset", "title", "extractor", "complete", "notes", "pages", "page_labels")


def extracted_from(data: dict[str, Any], text: str) -> Extracted:
    """Return the Extracted that an E frame holds."""
    return Extracted(
        media_type=data["media_type"],
        text=text,
        charset=data["charset"],
        title=data["title"],
        extractor=data["extractor"],
        complete=data["complete"],
        notes=tuple(data["notes"]),
        pages=tuple(data["pages"]),
        page_labels=tuple(data["page_labels"]),
        outline=tuple(Heading(*entry) for entry in data["outline"]),
    )
