"""What the file of a raw body is called after `raw.`, so that people can open it."""

from __future__ import annotations

import re

__all__ = ["raw_suffix"]

# Not the system's table: the same observation must get the same file name on every machine.
_BY_TYPE = {
    "application/epub+zip": "epub",
    "application/gzip": "gz",
    "application/json": "json",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/rtf": "rtf",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/x-ipynb+json": "ipynb",
    "application/xhtml+xml": "html",
    "application/xml": "xml",
    "application/zip": "zip",
    "audio/mpeg": "mp3",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tif",
    "image/webp": "webp",
    "text/css": "css",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
    "text/tab-separated-values": "tsv",
    "text/xml": "xml",
    "video/mp4": "mp4",
}
_NAME = re.compile(r"\.([A-Za-z0-9]{1,8})\Z")


def raw_suffix(media_type: str, name: str) -> str:
    """Return the suffix for a body of `media_type`, else that of the file name `name`, else "bin"."""
    known = _BY_TYPE.get(media_type.partition(";")[0].strip().lower())
    if known is not None and known != "txt":
        return known
    match = _NAME.search(name)
    return match[1].lower() if match else known or "bin"
