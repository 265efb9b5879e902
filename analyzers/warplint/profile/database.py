"""Writes a profile into an SQLite file and reads it back."""

from __future__ import annotations

import enum
import json
import re
import sqlite3
import zlib
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from urllib.parse import quote

from warplint.profile.model import CapturedSource, IdleCause, KernelCost, LineCost, Profile, Totals
from warplint.profile.schema import APPLICATION_ID, LINE_FIGURES, SCHEMA_VERSION, TABLES, insert
from warplint.profile.sections.table import SECTIONS, from_plain, to_plain

_SURROGATE = re.compile("[\ud800-\udfff]")
_HEADER_LENGTH = 100
_MAGIC = b"SQLite format 3\0"
# Offsets of the two numbers in SQLite's file header: https://www.sqlite.org/fileformat.html#the_database_header
_USER_VERSION, _APPLICATION_ID = slice(60, 64), slice(68, 72)


class DatabaseError(Exception):
    """The file is damaged: it is ours by its header, but does not hold what it must."""


class Owner(enum.Enum):
    """Whose a file at the store's path is."""

    NOBODY = "absent"
    OURS = "ours"
    OURS_OTHER_VERSION = "ours, older"
    OURS_NEWER = "ours, newer"
    FOREIGN = "foreign"


def owner_of(path: Path) -> Owner:
    """Judge by the file's header alone. An unreadable file is foreign."""
    try:
        with path.open("rb") as stream:
            header = stream.read(_HEADER_LENGTH)
    except FileNotFoundError:
        return Owner.NOBODY
    except OSError:
        return Owner.FOREIGN
    application = int.from_bytes(header[_APPLICATION_ID], "big")
    if not header.startswith(_MAGIC) or application != APPLICATION_ID:
        return Owner.FOREIGN
    version = int.from_bytes(header[_USER_VERSION], "big")
    if version == SCHEMA_VERSION:
        return Owner.OURS
    return Owner.OURS_NEWER if version > SCHEMA_VERSION else Owner.OURS_OTHER_VERSION


def write_database(path: Path, profile: Profile, captured: dict[str, int]) -> None:
    """Write a new file. ``captured`` is what it was made from: raw file name to bytes.

    Raises OSError or sqlite3.Error.
    """
    with closing(sqlite3.connect(path)) as connection, connection:
        # The file is renamed into place when it is whole, so it needs no journal of its own.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        for table, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        _insert(connection, profile, captured)


def _insert(connection: sqlite3.Connection, profile: Profile, captured: dict[str, int]) -> None:
    meta = {
        "schema": SCHEMA_VERSION,
        "command": profile.command,
        "captured": captured,
    }
    connection.executemany(insert("meta"), [(key, json.dumps(value)) for key, value in meta.items()])
    connection.executemany(insert("total"), list(asdict(profile.totals).items()))
    connection.executemany(
        insert("source"),
        [
            (_bound(source.file), source.digest, zlib.compress(source.text.encode("utf-8", "surrogatepass")))
            for source in profile.sources.values()
        ],
    )
    for number, cost in enumerate(profile.lines):
        figures = [getattr(cost, name) for name in LINE_FIGURES]
        connection.execute(insert("line"), [number, _bound(cost.file), cost.line, *figures])
        connection.executemany(
            insert("idle"), [(number, cause.value, us) for cause, us in cost.idle_us.items()]
        )
        connection.executemany(
            insert("kernel"), [(number, each.name, each.us, each.count) for each in cost.kernels]
        )
    connection.executemany(
        insert("note"), [(number, _bound(note)) for number, note in enumerate(profile.notes)]
    )
    records = ((name, json.dumps(to_plain(each))) for name in SECTIONS for each in getattr(profile, name))
    connection.executemany(insert("section"), ((number, *row) for number, row in enumerate(records)))


def _bound(text: str) -> str | bytes:
    """A text as SQLite takes it: names of files that are not UTF-8 hold surrogates, and go in as bytes."""
    return text.encode("utf-8", "surrogatepass") if _SURROGATE.search(text) else text


def _text(stored: str | bytes) -> str:
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")


def read_database(path: Path) -> tuple[Profile, dict[str, int]]:
    """The profile (named after its folder) and what it was made from. Raises DatabaseError."""
    # Finished files never change, so no lock is needed: read-only mounts and network file systems work.
    address = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return _read(connection, path.absolute().parent.name)
    except (sqlite3.Error, KeyError, AttributeError, ValueError, TypeError, zlib.error) as error:
        raise DatabaseError(f"{path} is damaged: {error}") from None


def _read(connection: sqlite3.Connection, name: str) -> tuple[Profile, dict[str, int]]:
    meta = {row["key"]: json.loads(row["value"]) for row in connection.execute("SELECT * FROM meta")}
    totals = {row["name"]: row["value"] for row in connection.execute("SELECT * FROM total")}
    if set(totals) != {each.name for each in fields(Totals)}:
        raise ValueError("its totals are incomplete")
    profile = Profile(
        name=name,
        command=[str(word) for word in meta["command"]],
        totals=Totals(**totals),
        lines=_read_lines(connection),
        sources={source.file: source for source in _read_sources(connection)},
        notes=[_text(row["text"]) for row in connection.execute("SELECT text FROM note ORDER BY position")],
    )
    for row in connection.execute("SELECT name, record FROM section ORDER BY position"):
        getattr(profile, row["name"]).append(from_plain(row["name"], json.loads(row["record"])))
    return profile, {str(file): int(size) for file, size in meta["captured"].items()}


def _read_lines(connection: sqlite3.Connection) -> list[LineCost]:
    lines = {}
    for row in connection.execute("SELECT * FROM line ORDER BY id"):
        figures = {name: row[name] for name in LINE_FIGURES}
        lines[row["id"]] = LineCost(file=_text(row["file"]), line=row["line"], **figures)
    for row in connection.execute("SELECT * FROM idle ORDER BY rowid"):
        lines[row["line_id"]].idle_us[IdleCause(row["cause"])] = row["us"]
    for row in connection.execute("SELECT * FROM kernel ORDER BY rowid"):
        lines[row["line_id"]].kernels.append(KernelCost(row["name"], row["us"], row["count"]))
    return list(lines.values())


def _read_sources(connection: sqlite3.Connection) -> list[CapturedSource]:
    return [
        CapturedSource(
            _text(row["file"]), row["digest"], zlib.decompress(row["text"]).decode("utf-8", "surrogatepass")
        )
        for row in connection.execute("SELECT * FROM source ORDER BY file")
    ]
