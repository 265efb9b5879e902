"""Checking many files, on all cores where that pays."""

from __future__ import annotations

import atexit
import enum
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.project.builtin import UNPARSABLE, UNREADABLE, BuiltIn
from warplint.project.config import Config
from warplint.project.document import Document, document, presented
from warplint.project.files import Target, Unreadable
from warplint.project.result import FileResult
from warplint.project.rewrite import RewriteError, rewrite
from warplint.project.suppressions import may_have_pragma
from warplint.source.records import dataclass, replace
from warplint.source.span import Span
from warplint.source.statements import parsed
from warplint.source.text import SourceError, SourceText
from warplint.static.finding import Applicability, Finding
from warplint.static.tables.frameworks import shows_pytorch

if TYPE_CHECKING:
    from warplint.project.engine import Checked, Engine

PARALLEL_FROM_FILES = 24
"""Below this many files, starting workers costs more than they save."""

COLLECT_AFTER_OBJECTS = 300_000
"""New objects between two garbage collections, about those of 15,000 lines."""

CHUNKS_PER_WORKER = 8
"""Enough pieces that one of large files does not leave the other workers idle at the end."""


class Mode(enum.Enum):
    """What is done about findings that have a fix."""

    CHECK = "check"
    FIX = "fix"
    DIFF = "diff"
    """Fixes are made, and nothing is written."""
    SILENCE = "silence"
    """Findings are silenced by comments instead, whether they have a fix or not."""


@dataclass(frozen=True, slots=True)
class Work:
    """How each file is treated; with ``unsafe``, fixes that may change behaviour count too.

    With ``cache``, what an earlier run found in an unchanged file is not looked for again. With ``timed``,
    results say how long each rule took. Without ``packs``, rule packs are not imported. ``measuring`` gives
    what is reported in place of a file's findings, once a capture has been asked; nothing is kept then.
    """

    mode: Mode = Mode.CHECK
    unsafe: bool = False
    cache: bool = False
    timed: bool = False
    packs: bool = True
    measuring: Callable[[Engine, Checked], tuple[Finding, ...]] | None = None

    @property
    def fixes(self) -> frozenset[Applicability]:
        return frozenset({Applicability.SAFE} | ({Applicability.UNSAFE} if self.unsafe else set()))


def check_files(
    items: Sequence[Target | Unreadable], work: Work, jobs: int | None = None
) -> Iterator[FileResult]:
    """Check every file; results come in the order given, whatever order they were worked in.

    ``jobs`` is how many processes may work; None is one for each core. Raises ConfigError, before the first
    result, when the settings of a file name a rule that does not exist.
    """
    # Engines remember files that may have changed since the last run.
    _engine.cache_clear()
    known = _recalled(items, work)
    left = [item for item, result in zip(items, known, strict=True) if result is None]
    _require_usable(left)
    return _merged(known, _check_all(left, work, jobs))


def _recalled(items: Sequence[Target | Unreadable], work: Work) -> list[FileResult | None]:
    """What the cache knows of each item."""
    if not work.cache:
        return [None] * len(items)
    # Imported here because without a cache nothing of it is needed.
    from warplint.project import cache as results
    from warplint.project.imports import ProjectFiles

    files = ProjectFiles()
    return [results.recall(item, files) if isinstance(item, Target) else None for item in items]


def _require_usable(items: Iterable[Target | Unreadable]) -> None:
    configs = {item.config for item in items if item.config.names_rules}
    if configs:
        # Imported here because the rules cost start-up, and most configurations name none.
        from warplint.project.catalogue import catalogue_of

        for config in configs:
            catalogue_of(config).understood(config)


def _merged(known: Iterable[FileResult | None], found: Iterator[FileResult]) -> Iterator[FileResult]:
    for result in known:
        yield result if result is not None else next(found)


def _check_all(items: Sequence[Target | Unreadable], work: Work, jobs: int | None) -> Iterator[FileResult]:
    _collect_seldom()
    workers = min(jobs or _cores(), len(items))
    if workers < 2 or len(items) < PARALLEL_FROM_FILES:
        return (check_item(item, work) for item in items)
    results = _by_workers(items, work, workers)
    # Forked at once: a thread that is started before the first result may hold a lock by then.
    next(results)
    return (result for result in results if result is not None)


def _by_workers(
    items: Sequence[Target | Unreadable], work: Work, workers: int
) -> Iterator[FileResult | None]:
    """None when the workers are started, and then the results."""
    # Imported here because it takes longer than checking a few files does.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # A forked worker has the rules loaded already; elsewhere than on Linux forking is not safe.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    chunk = max(1, len(items) // (workers * CHUNKS_PER_WORKER))
    executor = ProcessPoolExecutor(workers, context, initializer=_start_worker)
    try:
        results = executor.map(check_item, items, [work] * len(items), chunksize=chunk)
        yield None
        yield from results
    finally:
        executor.shutdown(cancel_futures=True)


def check_item(item: Target | Unreadable, work: Work) -> FileResult:
    """Check one file. What goes wrong in Warplint itself is in the result: the run goes on."""
    if isinstance(item, Unreadable):
        return _refused(UNREADABLE, item.reason, SourceText("", item.path), 0, item.config, work)
    try:
        return _check_file(item, work)
    except Exception as error:
        import traceback

        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return FileResult(
            item.path,
            SourceText("", item.path),
            error=f"internal error: {' '.join(reason.split())}",
            traceback=traceback.format_exc(),
        )


def _check_file(target: Target, work: Work) -> FileResult:
    if target.data is None:
        try:
            return _check_bytes(target, target.path.read_bytes(), work)
        except OSError as error:
            source = SourceText("", target.path)
            return _refused(UNREADABLE, error.strerror or str(error), source, 0, target.config, work)
    result = _check_bytes(target, target.data, work)
    return result if result.bytes is not None else replace(result, bytes=target.data)


def _check_bytes(target: Target, data: bytes, work: Work) -> FileResult:
    path = target.path
    try:
        read = document(data, path)
    except SourceError as error:
        salvaged = SourceText.salvage(data, path)
        place = len(data[: error.offset].decode("utf-8", "replace"))
        return _refused(UNPARSABLE, str(error), salvaged, place, target.config, work)
    if work.measuring is None and _needs_no_engine(read):
        return _kept(presented(read, FileResult(path, read.code)), target, data, work, {})
    engine = _engine(target.config, work.timed, work.packs)
    if work.mode is not Mode.CHECK:
        return _changed(engine, read, target, data, work)
    engine.rule_seconds.clear()
    checked = engine.report(read.code)
    if work.measuring is not None:
        return _result(engine, read, replace(checked, findings=work.measuring(engine, checked)))
    result = _result(engine, read, checked)
    if work.timed:
        spent = tuple(item for item in engine.rule_seconds.items() if engine.is_on(item[0]))
        return replace(result, rule_seconds=spent)
    return _kept(result, target, data, work, engine.digests(checked) if work.cache else {})


def _kept(
    result: FileResult, target: Target, data: bytes, work: Work, reads: Mapping[Path, str]
) -> FileResult:
    """The result, which is put into the cache if one is used.

    ``reads`` has the digests of the other files that it rests on.
    """
    if work.cache and work.mode is Mode.CHECK and target.data is None:
        from warplint.project import cache as results

        results.remember(target, data, result, reads)
    return result


def _needs_no_engine(read: Document) -> bool:
    """Whether it is plain that there is nothing to say: no framework, no comment for us, and it parses."""
    text = read.code.text
    return (
        not (shows_pytorch(text) or may_have_pragma(text) or read.faults(text)) and parsed(text) is not None
    )


def _result(engine: Engine, read: Document, checked: Checked) -> FileResult:
    """What was found in a document's code, or in a changed version of it."""
    findings = [*_faults(engine, read, checked.source.text), *checked.findings]
    findings.sort(key=lambda finding: (finding.span, finding.code))
    result = FileResult(checked.source.path, checked.source, tuple(findings), checked.notices)
    return presented(read, result)


def _faults(engine: Engine, read: Document, text: str) -> list[Finding]:
    """One WL001 for a document with parts that cannot be parsed, by a version of its code."""
    faults = read.faults(text)
    if not faults or engine.config.selection_for(read.code.path).ignores(UNPARSABLE.code):
        return []
    span, message = faults[0]
    message += f" ({len(faults) - 1} more such in this file)" if len(faults) > 1 else ""
    severity = engine.config.severity_of(UNPARSABLE.code, UNPARSABLE.severity)
    return [Finding(UNPARSABLE.code, UNPARSABLE.name, message, span, severity=severity)]


def _changed(engine: Engine, read: Document, target: Target, data: bytes, work: Work) -> FileResult:
    """The result of fixing or silencing, and the file written where that is wanted."""
    before = engine.check(read.code)
    unchanged = _result(engine, read, before)
    change = _silenced if work.mode is Mode.SILENCE else _mended
    text, count = change(engine, before, work)
    if text == read.code.text:
        return unchanged
    after = engine.check(SourceText(text, read.code.path, read.code.encoding))
    try:
        if work.mode is Mode.SILENCE and not _only_silenced(before, after):
            raise RewriteError("a comment would not silence what is found in it")
        encoded = read.encode(text)
        if read.encode(read.code.text) != data:
            # Some codecs have several byte forms for one text, so that a rewrite would touch every line.
            raise RewriteError(f"its encoding, {read.code.encoding}, does not give the same bytes back")
        if work.mode is not Mode.DIFF and target.data is None:
            rewrite(target.path, data, encoded)
    except (RewriteError, SourceError) as error:
        verb = "silenced" if work.mode is Mode.SILENCE else "fixed"
        return replace(unchanged, error=f"not {verb}: {error}")
    return replace(
        _result(engine, read, after),
        fixed=count,
        original=unchanged.source,
        bytes=encoded if target.data is not None else None,
    )


def _mended(engine: Engine, checked: Checked, work: Work) -> tuple[str, int]:
    """The text with its fixes, and how many there are."""
    if not any(finding.fix in work.fixes for finding in checked.findings):
        return checked.source.text, 0
    result = engine.fix(checked.source, work.unsafe)
    return result.text, len(result.applied)


def _silenced(engine: Engine, checked: Checked, work: Work) -> tuple[str, int]:
    """The text with comments that silence what rules found in it."""
    from warplint.project.suppressions import silencing_edits
    from warplint.static.fixing import apply_edits

    found = [finding for finding in checked.findings if finding in checked.analysis.sites]
    return apply_edits(checked.source.text, silencing_edits(checked.source, found)), len(found)


def _only_silenced(before: Checked, after: Checked) -> bool:
    """Whether comments were added and nothing else: what the rules find is the same, and none is reported."""
    return len(after.analysis.findings) == len(before.analysis.findings) and not any(
        finding in after.analysis.sites for finding in after.findings
    )


def _refused(
    built_in: BuiltIn, reason: str, source: SourceText, place: int, config: Config, work: Work
) -> FileResult:
    """The result for a file that could not be had as source text."""
    config = _engine(config, packs=work.packs).config
    if config.selection_for(source.path).ignores(built_in.code):
        return FileResult(source.path, source)
    place = min(place, len(source.text))
    span = Span(place, min(place + 1, len(source.text)))
    severity = config.severity_of(built_in.code, built_in.severity)
    finding = Finding(built_in.code, built_in.name, reason, span, severity=severity)
    return FileResult(source.path, source, (finding,))


@cache
def _engine(config: Config, timed: bool = False, packs: bool = True) -> Engine:
    # Imported here because what is in the cache is told without it.
    from warplint.project.engine import Engine

    return Engine(config.root, config, unused=True, timed=timed, packs=packs, once=True)


def forget() -> None:
    """Take every file as new from now on, also those that others import: for who goes on after a run."""
    _engine.cache_clear()


def _start_worker() -> None:
    import signal  # It costs start-up, and only workers need it.

    # An interrupt is the parent's to handle; workers end when it closes the pool.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _collect_seldom() -> None:
    """Walk through what is alive every few files, not many times in each: syntax trees are many objects."""
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER_OBJECTS)
    # What is alive when the process ends goes with it, and need not be walked through once more.
    atexit.register(gc.freeze)


def _cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
