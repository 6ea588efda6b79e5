"""What the first bytes of a file say: magic numbers, container formats, file name endings."""

from __future__ import annotations

__all__ = ["BY_SUFFIX", "SOURCE_TYPES", "binary_type", "office_type", "suffix_type"]

_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"\x00\x00\x01\x00", "image/x-icon"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftyp", "video/mp4"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\x00", "application/x-xz"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (0, b"\x7fELF", "application/x-elf"),
    (0, b"\xca\xfe\xba\xbe", "application/java-vm"),
    (0, b"\x00asm", "application/wasm"),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"%!PS", "application/postscript"),
    (0, b"{\\rtf", "application/rtf"),
)

_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}

_OFFICE: tuple[tuple[bytes, str], ...] = (
    (b"word/document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/workbook", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/presentation", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    (b"application/epub+zip", "application/epub+zip"),
    (b"application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
    (b"application/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.spreadsheet"),
    (b"application/vnd.oasis.opendocument.presentation", "application/vnd.oasis.opendocument.presentation"),
    (b"META-INF/MANIFEST.MF", "application/java-archive"),
)

SOURCE_TYPES: dict[str, str] = {
    suffix: f"text/x-{language}"
    for language, suffixes in {
        "python": "py pyi pyw",
        "c": "c h",
        "c++": "cc cpp cxx hpp hh",
        "csharp": "cs",
        "java": "java",
        "kotlin": "kt kts",
        "go": "go",
        "rust": "rs",
        "ruby": "rb",
        "perl": "pl pm",
        "php": "php",
        "javascript": "js mjs cjs jsx",
        "typescript": "ts tsx",
        "vue": "vue svelte",
        "shellscript": "sh bash zsh fish",
        "sql": "sql",
        "lua": "lua",
        "r": "r",
        "julia": "jl",
        "scala": "scala",
        "swift": "swift",
        "haskell": "hs",
        "ocaml": "ml mli",
        "elixir": "ex exs",
        "erlang": "erl",
        "clojure": "clj",
        "lisp": "el lisp scm",
        "tex": "tex sty cls bib",
        "css": "css scss less",
        "yaml": "yaml yml",
        "toml": "toml",
        "ini": "ini cfg conf properties",
        "diff": "diff patch",
        "makefile": "mk",
        "cmake": "cmake",
        "protobuf": "proto",
        "template": "j2 jinja tmpl erb",
    }.items()
    for suffix in suffixes.split()
}

BY_SUFFIX: dict[str, str] = {
    **SOURCE_TYPES,
    "md": "text/markdown",
    "markdown": "text/markdown",
    "mdx": "text/markdown",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "ndjson": "application/x-ndjson",
    "ipynb": "application/x-ipynb+json",
    "html": "text/html",
    "htm": "text/html",
    "xhtml": "application/xhtml+xml",
    "xml": "application/xml",
    "svg": "image/svg+xml",
    "rst": "text/x-rst",
    "txt": "text/plain",
    "log": "text/plain",
    "pdf": "application/pdf",
}


def suffix_type(name: str) -> str:
    """Return what the ending of the file name or URL path `name` claims, or an empty text."""
    base = name.split("?", 1)[0].split("#", 1)[0].rstrip("/").rsplit("/", 1)[-1].lower()
    return BY_SUFFIX.get(base.rsplit(".", 1)[1], "") if "." in base else ""


def binary_type(raw: bytes) -> str:
    """Return the media type that a magic number in `raw` proves, or an empty text."""
    if raw[:4] == b"RIFF":
        return _RIFF.get(raw[8:12], "")
    if raw[:2] == b"BM" and len(raw) > 30 and raw[6:10] == b"\x00\x00\x00\x00" and raw[14:18] in _DIB_SIZES:
        return "image/bmp"
    for offset, magic, media_type in _MAGIC:
        if raw.startswith(magic, offset):
            return office_type(raw) if media_type == "application/zip" else media_type
    return ""


_DIB_SIZES = tuple(size.to_bytes(4, "little") for size in (12, 40, 52, 56, 64, 108, 124))


def office_type(raw: bytes) -> str:
    """Return what the zip archive `raw` is, judged by the names in its first and last bytes."""
    ends = raw[:4096] + raw[-65536:]
    for marker, media_type in _OFFICE:
        if marker in ends:
            return media_type
    return "application/zip"
