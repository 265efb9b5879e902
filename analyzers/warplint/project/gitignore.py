"""What git ignores, read from its files as gitignore(5) has them; git itself is not run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from warplint.source.records import dataclass

GITIGNORE = ".gitignore"

# A class may hold a ] as its first character, and names of kinds of characters; an unclosed [ fits nothing.
WILDCARD = re.compile(
    rb"\\(?P<escaped>.)|\[(?P<not>[!^]?)(?P<class>\]?(?:\[:[a-z]+:\]|\\.|[^\]])*)\]|[*?[]", re.DOTALL
)
MEMBER = re.compile(rb"\[:(?P<kind>[a-z]+):\]|(?P<first>\\?.)(?:-(?P<last>\\?[^\]]))?", re.DOTALL)
SECTION = re.compile(r"\s*\[(?P<name>[^\]]*)\]")
EXCLUDES_FILE = re.compile(r"\s*excludesfile\s*=\s*(?P<path>.+?)\s*", re.IGNORECASE)
KINDS = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": " \t".__contains__,
    "digit": str.isdigit,
    "lower": str.islower,
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": "0123456789abcdefABCDEF".__contains__,
}


@dataclass(frozen=True)
class Pattern:
    """One line: what fits, whether that is ignored or kept, and whether only folders count.

    ``by_name`` says that it fits a name in any folder, else a path. As git does, it counts bytes: ``?`` is
    one of them.
    """

    source: bytes
    by_name: bool
    ignores: bool
    folders_only: bool

    @cached_property
    def regex(self) -> re.Pattern[bytes]:
        return re.compile(self.source, re.DOTALL)


class Layer:
    """The patterns of one file, which count from the folder ``base``."""

    def __init__(self, base: bytes, patterns: Sequence[Pattern]) -> None:
        self._base = base.rstrip(b"/") + b"/"
        self._patterns = patterns
        # Most entries fit no pattern, and a search for all at once says so.
        self._name = _any_of(pattern.source for pattern in patterns if pattern.by_name)
        self._path = _any_of(pattern.source for pattern in patterns if not pattern.by_name)

    def verdict(self, path: bytes, is_folder: bool) -> bool | None:
        """Whether the last pattern that fits ignores the path; None when none does."""
        relative = path[len(self._base) :]
        name = relative.rpartition(b"/")[2]
        if not self._name.fullmatch(name) and not self._path.fullmatch(relative):
            return None
        fitting = (
            pattern.ignores
            for pattern in reversed(self._patterns)
            if is_folder or not pattern.folders_only
            if pattern.regex.fullmatch(name if pattern.by_name else relative)
        )
        return next(fitting, None)


class Gitignore:
    """What is ignored in one folder: the patterns of its work tree from the root down to it."""

    def __init__(self, layers: tuple[Layer, ...] | None) -> None:
        """``layers`` from the weakest; None outside any work tree."""
        self._layers = layers

    def ignores(self, path: Path, is_folder: bool) -> bool:
        """Whether git leaves an entry of this folder out. Folders above it are not looked at."""
        if not self._layers:
            return False
        posix = _posix(path)
        verdicts = (layer.verdict(posix, is_folder) for layer in reversed(self._layers))
        return next((verdict for verdict in verdicts if verdict is not None), False)

    def below(self, folder: Path) -> Gitignore:
        """The patterns for a folder in this one. A work tree inside another starts anew."""
        own = _layer(folder / GITIGNORE, folder)
        if (folder / ".git").exists():
            repository = _git_folder(folder / ".git")
            users_own = _layer(_users_list(repository), folder)
            return Gitignore((*users_own, *_layer(repository / "info" / "exclude", folder), *own))
        return Gitignore((*self._layers, *own)) if own and self._layers is not None else self


NOTHING_IGNORED = Gitignore(None)


class Gitignores:
    """What is ignored in each folder, read once."""

    def __init__(self) -> None:
        self._by_folder: dict[Path, Gitignore] = {}

    def of(self, folder: Path) -> Gitignore:
        """``folder`` is absolute."""
        known = self._by_folder.get(folder)
        if known is None:
            above = self.of(folder.parent) if folder.parent != folder else NOTHING_IGNORED
            known = self._by_folder[folder] = above.below(folder)
        return known

    def leaves_out(self, path: Path, is_folder: bool) -> bool:
        """Whether git ignores a path, or a folder above it."""
        folders = [folder for folder in path.parents if folder.parent != folder]
        return self.of(path.parent).ignores(path, is_folder) or any(
            self.of(folder.parent).ignores(folder, True) for folder in folders
        )


def _git_folder(marker: Path) -> Path:
    """Where a work tree's repository is: ``.git`` itself, or what the file of that name leads to."""
    try:
        text = marker.read_text(encoding="utf-8")
        folder = marker.parent / text.removeprefix("gitdir:").strip()
        # A linked work tree shares the lists of the main one.
        return folder / (folder / "commondir").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return marker


def _users_list(repository: Path) -> Path:
    """The list of the user's own, for all repositories: what ``core.excludesFile`` names, else git's default.

    The repository's configuration comes before the user's, as git has it; files that these include are not
    read.
    """
    user = Path(os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()) / "git"
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    of_user = [Path(named)] if named is not None else [Path("~/.gitconfig").expanduser(), user / "config"]
    for configuration in (repository / "config", *of_user):
        if (listed := _excludes_file(configuration)) is not None:
            return listed
    return user / "ignore"


def _excludes_file(configuration: Path) -> Path | None:
    try:
        text = configuration.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    found = None
    section = ""
    for line in text.splitlines():
        if head := SECTION.match(line):
            section = head["name"].lower()
        elif section == "core" and (setting := EXCLUDES_FILE.fullmatch(line)):
            found = Path(setting["path"].strip('"')).expanduser()
    return found


def _layer(file: Path, base: Path) -> tuple[Layer, ...]:
    try:
        data = file.read_bytes()
    except OSError:
        return ()
    patterns = tuple(pattern for line in data.split(b"\n") if (pattern := _pattern(line)))
    return (Layer(_posix(base), patterns),) if patterns else ()


def _posix(path: Path) -> bytes:
    return path.as_posix().encode("utf-8", "surrogateescape")


def _pattern(line: bytes) -> Pattern | None:
    line = line.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r")
    if line.startswith(b"#"):
        return None
    ignores = not line.startswith(b"!")
    line = re.sub(rb"(?<!\\) +\Z", b"", line.removeprefix(b"!"))
    folders_only = line.endswith(b"/")
    line = line.removesuffix(b"/")
    if not line:
        return None
    return Pattern(_regex(line.removeprefix(b"/")), b"/" not in line, ignores, folders_only)


def _regex(pattern: bytes) -> bytes:
    """A pattern with slashes as the source of a regular expression."""
    parts = pattern.split(b"/")
    pieces = []
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == b"**":
            pieces.append(b".+" if last else b"(?:.*/)?")
        else:
            pieces.append(_name_regex(part) + (b"" if last else b"/"))
    return b"".join(pieces)


def _name_regex(name: bytes) -> bytes:
    pieces: list[bytes] = []
    end = 0
    for match in WILDCARD.finditer(name):
        pieces += re.escape(name[end : match.start()]), _wildcard(match)
        end = match.end()
    return b"".join([*pieces, re.escape(name[end:])])


def _wildcard(match: re.Match[bytes]) -> bytes:
    if match["escaped"] is not None:
        return re.escape(match["escaped"])
    if match["class"] is not None:
        return _class(_members(match["class"]), negated=bool(match["not"]))
    return {b"*": b"[^/]*", b"?": b"[^/]", b"[": b"(?!)"}[match.group()]


def _members(text: bytes) -> set[int]:
    """The bytes that a class lists. A range that goes down is its first byte alone."""
    members: set[int] = set()
    for match in MEMBER.finditer(text):
        if match["kind"] is not None:
            kind = KINDS.get(match["kind"].decode())
            members.update(byte for byte in range(128) if kind is not None and kind(chr(byte)))
        else:
            first = match["first"][-1]
            members.update(range(first, (match["last"] or match["first"])[-1] + 1), [first])
    return members


def _class(members: set[int], negated: bool) -> bytes:
    fitting = (set(range(256)) - members if negated else members) - {ord("/")}
    escaped = b"".join(b"\\x%02x" % byte for byte in sorted(fitting))
    return b"[%s]" % escaped if escaped else b"(?!)"


def _any_of(sources: Iterable[bytes]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(b"(?:%s)" % source for source in sources) or b"(?!)", re.DOTALL)
