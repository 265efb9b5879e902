"""What is found without a rule: files that cannot be parsed or read."""

from __future__ import annotations

from warplint.project.entries import BuiltIn
from warplint.project.measured_codes import MEASURED
from warplint.static.finding import Severity

UNPARSABLE = BuiltIn(
    "WL001",
    "unparsable-source",
    """A file, or a statement in it, is not Python that this interpreter can parse.

## Why it is reported
What cannot be parsed cannot be checked. Only the broken statements are left out: the rest of the file is
checked as usual. Bytes that are no source at all (a NUL, an encoding that is unknown or does not fit) leave
out the whole file.

## What to do
Mend it, or leave the file out with `exclude` in `[tool.warplint]`. `select` does not turn WL001 off; `ignore`
does. A comment cannot: there is no telling what it would belong to.
""",
)

UNREADABLE = BuiltIn(
    "WL002",
    "unreadable-file",
    """The operating system refuses to give a file or list a folder.

## Why it is reported
What cannot be read is not checked, and a run that skipped it in silence would look clean.

## What to do
Mend the permissions or the dangling link, or leave it out with `exclude` in `[tool.warplint]`. `select` does
not turn WL002 off; `ignore` does.
""",
)

UNUSED_SUPPRESSION = BuiltIn(
    "WL003",
    "unused-suppression",
    """A `# warplint: ignore` comment silences nothing.

## Why it is reported
The code under it was mended, or the rule has become wiser. A comment that stays would hide the next finding.
It counts as used when any rule finds something there, also one that is not selected or still on trial.

## What to do
`warplint check --fix` removes it, or the codes in it that silence nothing. In a file that does not parse
throughout no comment is called unused.
""",
    Severity.WARNING,
)

BUILT_IN = (UNPARSABLE, UNREADABLE, UNUSED_SUPPRESSION, *MEASURED)

__all__ = ["BUILT_IN", "UNPARSABLE", "UNREADABLE", "UNUSED_SUPPRESSION", "BuiltIn"]
