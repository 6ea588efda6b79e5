"""The tables of the index, as migrations: ordered, named functions that are never edited once released."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils.db import Database

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "migrate"]

APPLICATION_ID = 0x6D66_7301
"""Stands in the header of every index of ours ("mfs", 1): a file without it is another program's."""

SCHEMA_VERSION = 3
"""Stands in `user_version`; raised when tables or the folding of texts change: the index is then made anew."""

_TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the database behind `connection` to the newest schema. Loads sqlite_utils, which reading never needs."""
    from sqlite_utils import Database, Migrations

    migrations = Migrations("manusfs")
    for step in (m001_tables, m002_full_text):
        migrations(name=step.__name__)(step)
    migrations.apply(Database(connection, execute_plugins=False))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def m001_tables(db: Database) -> None:
    """Observations, chunks, notes, sessions, messages, refs, and the counters."""
    whole, text = int, str
    observation = dict.fromkeys(
        ("id", "source", "kind", "host", "url", "title", "media_type", "path"), text
    ) | dict.fromkeys(("bytes", "text_bytes", "tokens"), whole)
    observation |= {"sha256": text, "created": text, "session": text}
    observation |= dict.fromkeys(("latest_order", "complete", "status", "latest_allowed", "first_order", "crc"), whole)
    db.table("observations").create(observation, pk="id")
    db.table("observations").create_index(["source"])
    db.table("notes").create({"path": text, "mtime_ns": whole, "size": whole, "sha256": text, "crc": whole}, pk="path")
    session = {"session": text, "purpose": text, "created": text, "title": text}
    db.table("sessions").create(session | {"indexed_bytes": whole, "indexed_seq": whole, "crc": whole}, pk="session")
    message = {"ref": text, "session": text, "seq": whole, "role": text, "time": text, "crc": whole}
    db.table("messages").create(message, pk="ref")
    db.table("refs").create({"target": text, "place": text, "crc": whole}, pk=("target", "place"))
    db.table("counters").create({"name": text, "value": whole, "crc": whole}, pk="name")
    # One row holds many consecutive chunks, so that offsets cost 2 bytes a chunk and not a row each.
    chunk = {"first": whole, "count": whole, "owner": text, "view": text, "start": whole, "lengths": bytes}
    chunk |= {"marks": bytes}
    db.table("chunks").create(chunk | {"crc": whole}, pk="first")
    db.table("chunks").create_index(["owner"])


def m002_full_text(db: Database) -> None:
    """The full-text tables; contentless, because the tree has the text."""
    # No sizes of columns: chunks are of one size by design, and bm25 over all matches is what search does without.
    db.execute(f'CREATE VIRTUAL TABLE chunks_fts USING fts5(body, content="", columnsize=0, tokenize="{_TOKENIZER}")')
    db.execute("CREATE VIRTUAL TABLE chunks_vocab USING fts5vocab(chunks_fts, 'row')")
    # A heading once for its section and not with each of its chunks; the sizes tell where the next section begins.
    db.execute(f'CREATE VIRTUAL TABLE heads_fts USING fts5(head, content="", tokenize="{_TOKENIZER}")')
    db.execute(f'CREATE VIRTUAL TABLE titles_fts USING fts5(title, content="", columnsize=0, tokenize="{_TOKENIZER}")')
