"""The process that checks files which are not open, so that typing in open ones stays fast.

It answers one request after another on its standard input, and ends with that. Both are sent as frames: the
length of a pickled value, and the value.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from warplint.project.result import FileResult
    from warplint_server.measured_files import MeasuredFiles

LENGTH_BYTES = 8
ID_BYTES = 12
LOWEST_PRIORITY = 19


@dataclass(frozen=True, slots=True)
class Request:
    """The folders to check, each with the interpreter of its programs; ``known`` are ids by path.

    ``trusted`` allows to import rule packs.
    """

    folders: tuple[tuple[Path, Path | None], ...]
    known: dict[Path, str] = field(default_factory=dict)
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What there is to say of one file, for which ``id`` stands; nothing new without a ``result``."""

    path: Path
    id: str
    result: FileResult | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something was not checked."""

    message: str


def framed(value: object) -> bytes:
    data = pickle.dumps(value)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def answers(request: Request, measured: MeasuredFiles) -> Iterator[Answer | Problem]:
    """An answer for each file, in the order of their names."""
    from warplint.project.batch import Work, check_item, forget
    from warplint.project.config import ConfigError
    from warplint.project.document import NOTEBOOK
    from warplint.project.files import Configs, Target, find_files
    from warplint.project.torch_target import TorchTargets, installed_for

    forget()
    found: set[Path] = set()
    for folder, interpreter in request.folders:
        targets = TorchTargets(None if interpreter is None else installed_for(interpreter))
        try:
            for item in find_files([folder], Configs(targets=targets)):
                if item.path.suffix == NOTEBOOK:
                    continue
                found.add(item.path)
                result = check_item(item, Work(cache=True, packs=request.trusted))
                if result.error is None and isinstance(item, Target):
                    result = measured.told(item, folder, result, request.trusted)
                if result.error is not None:
                    yield Problem(f"{item.path}: {result.error}")
                    continue
                identifier = _identifier(result)
                known = request.known.get(item.path) == identifier
                yield Answer(item.path, identifier, None if known else result)
        except ConfigError as error:
            yield Problem(str(error))
    measured.keep(found)


def _identifier(result: FileResult) -> str:
    said = repr((result.findings, result.notices, result.source.text if result.findings else ""))
    return hashlib.blake2b(said.encode("utf-8", "surrogateescape"), digest_size=ID_BYTES).hexdigest()


def serve(stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Answer requests until there are no more, each with a None at its end."""
    from warplint_server.measured_files import MeasuredFiles  # Nothing is imported before it is needed.

    measured = MeasuredFiles()
    while len(head := stdin.read(LENGTH_BYTES)) == LENGTH_BYTES:
        request: Any = pickle.loads(stdin.read(int.from_bytes(head, "big")))
        for answer in answers(request, measured):
            stdout.write(framed(answer))
            stdout.flush()
        stdout.write(framed(None))
        stdout.flush()


def main() -> None:
    # Rule packs may print: that is no answer.
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    if hasattr(os, "nice"):
        os.nice(LOWEST_PRIORITY)
    with suppress(BrokenPipeError, KeyboardInterrupt):
        serve(sys.stdin.buffer, stdout)
