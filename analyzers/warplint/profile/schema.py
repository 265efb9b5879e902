"""The tables of ``costs.sqlite``.

``user_version`` is SCHEMA_VERSION and ``application_id`` says that the file is ours. Columns of figures are
named as the fields of the result types. The file is a cache of the raw capture: one of an older version is
made anew, never migrated.
"""

from __future__ import annotations

from dataclasses import fields

from warplint.profile.model import LineCost

SCHEMA_VERSION = 11
APPLICATION_ID = 0x574C5052
"""``WLPR``."""

LINE_FIGURES = tuple(
    each.name for each in fields(LineCost) if each.name not in {"file", "line", "idle_us", "kernels"}
)

TABLES: dict[str, tuple[str, ...]] = {
    "meta": ("key TEXT PRIMARY KEY", "value TEXT NOT NULL"),
    "total": ("name TEXT PRIMARY KEY", "value NOT NULL"),
    "source": ("file TEXT PRIMARY KEY", "digest TEXT NOT NULL", "text BLOB NOT NULL"),
    "line": (
        "id INTEGER PRIMARY KEY",
        "file TEXT NOT NULL",
        "line INTEGER NOT NULL",
        *(f"{name} NOT NULL" for name in LINE_FIGURES),
    ),
    "idle": ("line_id INTEGER NOT NULL", "cause TEXT NOT NULL", "us REAL NOT NULL"),
    "kernel": (
        "line_id INTEGER NOT NULL",
        "name TEXT NOT NULL",
        "us REAL NOT NULL",
        "count INTEGER NOT NULL",
    ),
    "note": ("position INTEGER PRIMARY KEY", "text TEXT NOT NULL"),
    "section": ("position INTEGER PRIMARY KEY", "name TEXT NOT NULL", "record TEXT NOT NULL"),
}
"""Table to its columns, in order. ``source.text`` is zlib of UTF-8; ``line.id`` counts by falling share; a
section's ``record`` is JSON (sections/table.py)."""


def insert(table: str) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * len(TABLES[table]))})"
