"""Results of earlier runs, kept in ``.warplint_cache`` beside the project's pyproject.toml or .git.

An entry stands under a name made from the file's path and settings, and says what it was made from: the
file's bytes, those of the files that it imports from and the folders they were found in, and Warplint itself.
One that was made from anything else counts for nothing and is replaced, so the folder grows with the number
of files, not of runs. It can be deleted at any time, and a folder that cannot be written is no error: a cache
saves time and nothing else.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import warplint
from warplint.project.config import Config
from warplint.project.document import document
from warplint.project.files import Target
from warplint.project.notices import Notice
from warplint.project.result import FileResult
from warplint.project.root import project_root
from warplint.source.digests import DIGEST_BYTES, digest
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.finding import Applicability, Confidence, Finding, Hotness, Related, Severity

if TYPE_CHECKING:
    from warplint.project.imports import ProjectFiles

CACHE_DIRECTORY = ".warplint_cache"
RULES = "warplint_rules"
SEPARATOR = b"\0"
"""What neither paths nor JSON can hold."""
IN_IT = {
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n",
}
"""What keeps git, and backups that follow https://bford.info/cachedir/, from taking the folder along."""


def recall(target: Target, files: ProjectFiles | None = None) -> FileResult | None:
    """What checking the file gave; None when that is not known.

    With ``files``, what was read for one target need not be read again for the next.
    """
    entry = _entry(target)
    if entry is None:
        return None
    try:
        held = entry.read_bytes()
        data = target.path.read_bytes()
    except OSError:
        return None
    payload = held[2 * DIGEST_BYTES :]
    if held != _header(data, payload) + payload:
        return None
    if not payload:
        # Without findings there are no places, and the text is not needed.
        return FileResult(target.path, SourceText("", target.path))
    *rests_on, rows = payload.split(SEPARATOR)
    if rests_on and not _stands(rests_on, files):
        return None
    if not rows:
        return FileResult(target.path, SourceText("", target.path))
    import json  # It costs start-up, and most files are clean.

    return _result(target.path, data, json.loads(rows))


def remember(target: Target, data: bytes, result: FileResult, reads: Mapping[Path, str]) -> None:
    """Keep what checking ``data`` gave; ``result`` must have been made from it, the settings and what was
    read of other files alone: ``reads`` has their digests."""
    entry = _entry(target)
    if entry is None:
        return
    rests_on = (os.fsencode(path) + digest.encode() for path, digest in sorted(reads.items()))
    payload = SEPARATOR.join([*rests_on, _payload(result)])
    with suppress(OSError):
        if not entry.parent.is_dir():
            entry.parent.mkdir()
            for name, text in IN_IT.items():
                (entry.parent / name).write_text(text, encoding="utf-8")
        # Whoever reads it meanwhile, in whichever process, sees the old or the new entry.
        part = entry.with_name(f"{entry.name}.{os.getpid()}.part")
        part.write_bytes(_header(data, payload) + payload)
        part.replace(entry)


def _stands(rests_on: Sequence[bytes], files: ProjectFiles | None) -> bool:
    """Whether other files are as they were: each is given by its path and its digest."""
    if files is None:
        from warplint.project.imports import ProjectFiles  # Many files need no other one.

        files = ProjectFiles()
    length = 2 * DIGEST_BYTES
    return all(
        files.digest(Path(os.fsdecode(read[:-length]))).encode() == read[-length:] for read in rests_on
    )


def _entry(target: Target) -> Path | None:
    folder = _folder(target.path.parent)
    # What a pack finds depends on code that is not looked at here.
    if folder is None or target.config.packs:
        return None
    name = f"{target.path}\0{_settings(target.config)}"
    return folder / digest(name.encode("utf-8", "surrogateescape")).hex()


@lru_cache(maxsize=1024)
def _folder(folder: Path) -> Path | None:
    """The cache of the project that a folder belongs to; None outside any."""
    root = project_root(folder)
    return root / CACHE_DIRECTORY if root is not None else None


@lru_cache(maxsize=64)
def _settings(config: Config) -> str:
    return repr(config)


def _header(data: bytes, payload: bytes) -> bytes:
    return digest(_maker() + data) + digest(payload)


@lru_cache(maxsize=1)
def _maker() -> bytes:
    """What tells this Warplint from any other: version, Python, and the state of its own files.

    The last is for those who work on rules: sizes and times of change are read in a millisecond.
    """
    rules = importlib.util.find_spec(RULES)
    pending = [str(Path(warplint.__file__).parent), *((rules and rules.submodule_search_locations) or ())]
    parts = [warplint.__version__, sys.version]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    parts.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
                elif entry.is_dir():
                    pending.append(entry.path)
    return digest("\n".join(sorted(parts)).encode("utf-8", "surrogateescape"))


# An entry's payload: what it rests on; then nothing for a clean file, else JSON with a row for each finding
# and each notice.


def _payload(result: FileResult) -> bytes:
    if not result.findings and not result.notices:
        return b""
    import json

    findings = [
        [
            finding.code,
            finding.name,
            finding.message,
            [finding.span.start, finding.span.end],
            finding.confidence.value,
            finding.hotness.value,
            finding.fix.value,
            finding.fix_title,
            [[related.span.start, related.span.end, related.message] for related in finding.related],
            finding.severity.value,
        ]
        for finding in result.findings
    ]
    notices = [[notice.span.start, notice.span.end, notice.message] for notice in result.notices]
    return json.dumps({"findings": findings, "notices": notices}).encode()


def _result(path: Path, data: bytes, held: Mapping[str, Any]) -> FileResult:
    read = document(data, path)
    source, cells = read.shown(read.code.text)
    return FileResult(
        path,
        source,
        tuple(_finding(*row) for row in held["findings"]),
        tuple(Notice(Span(start, end), message) for start, end, message in held["notices"]),
        cells=cells,
    )


def _finding(
    code: str,
    name: str,
    message: str,
    span: tuple[int, int],
    confidence: str,
    hotness: str,
    fix: str,
    fix_title: str,
    related: list[tuple[int, int, str]],
    severity: str,
) -> Finding:
    return Finding(
        code,
        name,
        message,
        Span(*span),
        Confidence(confidence),
        Hotness(hotness),
        Applicability(fix),
        fix_title,
        tuple(Related(Span(start, end), text) for start, end, text in related),
        Severity(severity),
    )
