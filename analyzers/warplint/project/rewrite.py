"""Putting fixed text back into its file."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


class RewriteError(Exception):
    """A file that was not rewritten, and why; it is as it was."""


def rewrite(path: Path, before: bytes, after: bytes) -> None:
    """Replace a file's bytes in one step, so that it holds the old or the new ones; mode and owner stay.

    A link stays a link: what it points to is replaced. Raises RewriteError, also when the file no longer
    holds ``before`` or is read-only.
    """
    target = path.resolve()
    try:
        if not os.access(target, os.W_OK):
            raise RewriteError("it is read-only")
        if target.read_bytes() != before:
            raise RewriteError("it changed while it was being checked")
        _replace(target, after)
    except OSError as error:
        raise RewriteError(error.strerror or str(error)) from None


def _replace(target: Path, data: bytes) -> None:
    import tempfile  # It costs start-up, and only fixes need it.

    status = target.stat()
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
        if hasattr(os, "chown"):
            # Only root may give a file away; anyone else's new file is theirs, as their old one was.
            with suppress(PermissionError):
                os.chown(temporary, status.st_uid, status.st_gid)
        temporary.chmod(status.st_mode & 0o7777)
        temporary.replace(target)
    except BaseException:
        temporary.unlink()
        raise
