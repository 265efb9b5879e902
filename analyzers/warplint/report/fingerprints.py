"""What tells a finding from others also after the lines above it have moved."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator

from warplint.project.result import FileResult
from warplint.static.finding import Finding


def fingerprinted(result: FileResult) -> Iterator[tuple[Finding, str]]:
    """Each finding of a file with a hash of its path, code and line; repeats on equal lines are counted."""
    seen: Counter[tuple[str, str]] = Counter()
    for finding in result.findings:
        line = result.source.line(result.source.position(finding.span.start).line).strip()
        repeat = seen[finding.code, line]
        seen[finding.code, line] += 1
        key = "\0".join([result.shown_path, finding.code, line, str(repeat)])
        yield finding, hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
