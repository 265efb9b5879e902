"""What the project's other files say of what a file imports from them.

Every answer follows from the files alone: it is found as if nothing had been asked before, no other way than
from the file that asks, and only so many files deep. So it is the same in every run, in whatever order files
are looked at; it is kept with the files that were read for it, and holds as long as those stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from warplint.source.records import dataclass
from warplint.static import domain
from warplint.static.files import PACKAGE, Files, Found
from warplint.static.inference.knowledge import Handed, Knowledge
from warplint.static.inference.modules import Defines, Module
from warplint.static.parsing.blocks import FunctionOutline
from warplint.static.structure.index import Index
from warplint.static.structure.names import canonical
from warplint.static.values import UNKNOWN, Kind, Value

FILES_DEEP = 1
"""How many files are evaluated one through the other. Names and bases are followed further."""
FUNCTIONS_DEEP = 3
"""How many functions of one of them are followed into each other."""
LONGEST_LINES = 150
"""A longer function is a program, and no helper whose result tells of its arguments."""
MOST_STARS = 16
"""A package with more ``from … import *`` lists all there is: to look a name up would read the project."""
LONGEST_CHAIN = 8
"""How often a name may be handed on from file to file until it is defined."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a name is defined: a file and the name in it, none for the file itself; a name alone is that of
    another library."""

    path: Path | None
    name: str
    what: Defines | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """``reads`` are the files that the roles of its classes rest on, as far as they were asked for."""

    index: Index
    reads: set[Path]


@dataclass(frozen=True, slots=True)
class _Held:
    answer: object
    reads: frozenset[Path]


class Abroad:
    """Answers about the files of one project, for any number of files that ask."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._modules: dict[Path, Module | None] = {}
        self._parts: dict[tuple[Path, str], _Part] = {}
        self._held: dict[tuple[Hashable, ...], _Held] = {}
        self.forgotten = 0
        """How often something was dropped: until then, all that was told before holds."""

    def seen_from(self, path: Path) -> View:
        """What the file at ``path`` may ask."""
        return View(self, path, FILES_DEEP)

    def forget(self, changed: Iterable[Path]) -> None:
        """Drop all that rests on these files and folders."""
        gone = set(changed)
        self.forgotten += bool(gone)
        for path in gone:
            self._modules.pop(path, None)
        for place in [each for each, part in self._parts.items() if not gone.isdisjoint(part.reads)]:
            del self._parts[place]
        for question in [each for each, held in self._held.items() if not gone.isdisjoint(held.reads)]:
            del self._held[question]

    def ask(
        self,
        question: tuple[Hashable, ...],
        reads: set[Path],
        find: Callable[[set[Path]], Answer],
        circular: Answer,
    ) -> Answer:
        """The answer to a question; ``circular`` where finding it leads back to it.

        What the answer rests on is added to ``reads``.
        """
        held = self._held.get(question)
        if held is None:
            rests_on: set[Path] = set()
            self._held[question] = _Held(circular, frozenset())
            try:
                held = self._held[question] = _Held(find(rests_on), frozenset(rests_on))
            except BaseException:
                del self._held[question]
                raise
        reads |= held.reads
        answer: Answer = held.answer  # type: ignore[assignment]
        return answer

    def module(self, path: Path, reads: set[Path]) -> Module | None:
        reads.add(path)
        if path not in self._modules:
            text = self._files.text(path)
            self._modules[path] = None if text is None else Module(text)
        return self._modules[path]

    def part(self, path: Path, name: str, reads: set[Path]) -> _Part | None:
        """What a module defines under a name, with all of the module that this refers to."""
        module = self.module(path, reads)
        if module is None:
            return None
        part = self._parts.get((path, name))
        if part is None:
            rests_on = {path}
            index = Index(
                module.part(name, FUNCTIONS_DEEP), lambda base: self._role_named(path, base, rests_on)
            )
            part = self._parts[path, name] = _Part(index, rests_on)
        return part

    # Where names lead

    def definition(self, importer: Path, target: str, reads: set[Path]) -> Definition | None:
        """Where an import leads, through files that only hand it on."""

        def find(rests_on: set[Path]) -> Definition | None:
            found = self._files.find(importer, target)
            rests_on |= found.looked_at
            return self._follow(found, rests_on)

        return self.ask(("definition", importer, target), reads, find, None)

    def member(self, path: Path, name: str, reads: set[Path]) -> Definition | None:
        """What a module or package has under a name."""
        if path.name == PACKAGE or path.suffix != ".py":
            inside = path if path.name == PACKAGE else path / PACKAGE
            return self.definition(inside, f".{name}", reads)
        return self._follow(Found(path, (name,), frozenset()), reads)

    def _follow(self, found: Found, reads: set[Path]) -> Definition | None:
        library = None
        for _ in range(LONGEST_CHAIN):
            if found.path is None:
                # Out of the project, from one of its files: the library's own name is worth knowing.
                return library
            if not found.rest:
                return Definition(found.path, "")
            name, *further = found.rest
            module = self.module(found.path, reads)
            what = module.defines(name) if module is not None else None
            if module is None or (what is not None and what is not Defines.IMPORT):
                return None if module is None or further else Definition(found.path, name, what)
            target = module.imported(name) if what is Defines.IMPORT else self._starred(module, found, reads)
            if target is None:
                return None
            target = ".".join([target, *further])
            library = None if target.startswith(".") else Definition(None, target)
            found = self._files.find(found.path, target)
            reads |= found.looked_at
        return None

    def _starred(self, module: Module, found: Found, reads: set[Path]) -> str | None:
        """What ``from … import *`` binds the looked-up name to."""
        assert found.path is not None, "a module was found there"
        name = found.rest[0]
        if name.startswith("_") or len(module.stars) > MOST_STARS:
            return None
        for star in module.stars:
            leads = self.definition(found.path, star + name, reads)
            if leads is not None and leads.path is not None:
                return star + name
        return None

    # Classes

    def class_role(self, path: Path, name: str, reads: set[Path]) -> str | None:
        """What the class is for that a file defines, through its bases in any file."""

        def find(rests_on: set[Path]) -> str | None:
            module = self.module(path, rests_on)
            if module is None:
                return None
            index = Index(module.head(name), lambda base: self._role_named(path, base, rests_on))
            outline = index.classes.get(name)
            return index.class_roles.role(outline) if outline is not None else None

        # A class that derives from itself, through an edit half done, has no role.
        return self.ask(("role", path, name), reads, find, None)

    def lineage(self, path: Path, name: str, reads: set[Path]) -> tuple[str, ...]:
        """The qualified names of the classes that a class derives from, nearest first, in any file."""

        def find(rests_on: set[Path]) -> tuple[str, ...]:
            module = self.module(path, rests_on)
            if module is None:
                return ()
            index = Index(module.head(name))
            outline = index.classes.get(name)
            found: dict[str, None] = {}
            for base in outline.node.bases if outline is not None else ():
                for target in index.imports_of(base):
                    leads = self._class(path, target, rests_on)
                    if leads is not None:
                        found[leads] = None
                        found.update(dict.fromkeys(self.lineage(*_split(leads)[:2], rests_on)))
            return tuple(found)

        return self.ask(("lineage", path, name), reads, find, ())

    def _class(self, path: Path, name: str, reads: set[Path]) -> str | None:
        """The qualified name of a class by the name that a file has for it: its own, or an import."""
        is_own = "." not in name
        found = self.member(path, name, reads) if is_own else self.definition(path, name, reads)
        if found is None or found.path is None or found.what is not Defines.CLASS:
            return None
        return f"<{found.path}>.{found.name}"

    def _role_named(self, path: Path, name: str, reads: set[Path]) -> str | None:
        """The role of a class by the name that a file has for it."""
        found = self._class(path, name, reads)
        return self.class_role(*_split(found)[:2], reads) if found is not None else None


class View:
    """The project's other files as one file sees them. ``reads`` are those that its answers rest on.

    What they define has qualified names that start with their path: ``<…/models/unet.py>.UNet``.
    """

    def __init__(self, abroad: Abroad, path: Path, files_left: int) -> None:
        self.reads: set[Path] = set()
        self._abroad = abroad
        self._path = path
        self._files_left = files_left
        self._forgotten = abroad.forgotten

    def still_holds(self, abroad: Abroad) -> bool:
        """Whether what was seen is what would be seen now."""
        return self._abroad is abroad and self._forgotten == abroad.forgotten

    def imported(self, target: str) -> Value | None:
        """What an import binds a name to; None where it leads nowhere in the project."""
        return self._value(self._abroad.definition(self._path, target, self.reads))

    def member(self, module: str, name: str) -> Value | None:
        """What a module of the project has under a name."""
        return self._value(self._abroad.member(_split(module)[0], name, self.reads))

    def _value(self, found: Definition | None) -> Value | None:
        if found is None:
            return None
        if found.path is None:
            return domain.imported(canonical(found.name))
        qualified = f"<{found.path}>.{found.name}" if found.name else f"<{found.path}>"
        if found.what is Defines.FUNCTION:
            return Value(Kind.CALLABLE, qualified=qualified)
        if found.what is Defines.CLASS:
            return Value(qualified=qualified, constant=domain.CLASS)
        if found.what is None:
            return Value(qualified=qualified)
        name = found.name
        return self._told("global", qualified, (), lambda knowledge, _: knowledge.global_value(name))

    def class_role(self, name: str) -> str | None:
        """The role of a class by the name that it is imported under."""
        found = self._abroad.definition(self._path, name, self.reads)
        if found is None or found.path is None or found.what is not Defines.CLASS:
            return None
        return self._abroad.class_role(found.path, found.name, self.reads)

    def classes(self, target: str) -> tuple[str, ...]:
        """The qualified names of an imported class and of those that it derives from."""
        found = self._abroad.definition(self._path, target, self.reads)
        if found is None or found.path is None or found.what is not Defines.CLASS:
            return ()
        return self._with_bases(f"<{found.path}>.{found.name}")

    def _with_bases(self, qualified: str) -> tuple[str, ...]:
        """A class and those that it derives from, but for those that its own file tells about."""
        path, name, _ = _split(qualified)
        found = [qualified]
        for base in self._abroad.lineage(path, name, self.reads):
            if _split(base)[0] != _split(found[-1])[0]:
                found.append(base)
        return tuple(found)

    def role_of(self, qualified: str) -> str | None:
        """The role of a class by its qualified name."""
        path, name, _ = _split(qualified)
        return self._abroad.class_role(path, name, self.reads)

    def function(self, qualified: str) -> FunctionOutline | None:
        """A function, or a method with those that its class inherits."""
        found = self._function(qualified)
        return found[1] if found is not None else None

    def _function(self, qualified: str) -> tuple[str, FunctionOutline] | None:
        """The same, with the qualified name it has where it is defined."""
        owner, _, method = qualified.rpartition(".")
        is_method = bool(_split(qualified)[2])
        names = [f"{each}.{method}" for each in self._with_bases(owner)] if is_method else [qualified]
        for name in names:
            outline = self._asked("function", name, (), lambda knowledge, known: knowledge.function(known))
            if outline is not None:
                return name, outline
        return None

    def class_node(self, qualified: str) -> ast.ClassDef | None:
        """The statement of a class."""
        return self._asked("class", qualified, (), lambda knowledge, name: knowledge.class_node(name))

    def attribute(self, owner: str, name: str) -> Value:
        """An attribute of an instance."""
        for each in self._with_bases(owner):
            stored = self._attributes(each)
            if stored is not None and name in stored:
                return _seen_outside(stored[name], _split(each)[0])
            found = self._told(
                "attribute", each, (name,), lambda it, known: it.defined_attribute(known, name)
            )
            if found is not None and found != UNKNOWN:
                return found
        return UNKNOWN

    def _attributes(self, owner: str) -> Mapping[str, Value] | None:
        """What instances of a class are given, as its own file sees it."""
        return self._asked("attributes", owner, (), lambda knowledge, known: knowledge.attributes(known))

    def returned(self, function: str, given: Handed) -> Value:
        """What a function gives for arguments like these."""
        found = self._function(function)
        if found is None:
            return UNKNOWN
        value = self._told("returned", found[0], given, lambda it, name: it.returned_for(name, given))
        return value or UNKNOWN

    def _told(
        self,
        kind: str,
        qualified: str,
        arguments: tuple[Hashable, ...],
        find: Callable[[Knowledge, str], Value | None],
    ) -> Value | None:
        """A value that another file is evaluated for, with names that mean something here."""
        value = self._asked(kind, qualified, arguments, find)
        return _seen_outside(value, _split(qualified)[0]) if value is not None else None

    def _asked(
        self,
        kind: str,
        qualified: str,
        arguments: tuple[Hashable, ...],
        find: Callable[[Knowledge, str], Answer | None],
    ) -> Answer | None:
        """Ask what is known of another file, as if it had never been asked before."""
        if not self._files_left:
            return None
        path, name, attribute = _split(qualified)
        seen = View(self._abroad, path, self._files_left)

        def attributes(owner: str) -> Mapping[str, Value] | None:
            # Found once for all questions about a class, and not from each of them.
            if kind == "attributes":
                return None
            return seen._attributes(f"<{path}>.{owner.removeprefix(domain.THIS_FILE)}")

        def ask(rests_on: set[Path]) -> Answer | None:
            part = self._abroad.part(path, name, rests_on)
            if part is None:
                return None
            view = View(self._abroad, path, self._files_left - 1)
            knowledge = Knowledge(part.index, view, FUNCTIONS_DEEP, LONGEST_LINES, attributes, notes=False)
            answer = find(knowledge, domain.THIS_FILE + ".".join(filter(None, [name, attribute])))
            rests_on |= view.reads | part.reads | seen.reads
            return answer

        question = (kind, qualified, arguments, self._files_left)
        try:
            return self._abroad.ask(question, self.reads, ask, None)
        except RecursionError:
            return None


@lru_cache(maxsize=4096)
def _split(qualified: str) -> tuple[Path, str, str]:
    """The file of a qualified name, what stands in it, and what of that."""
    end = qualified.rindex(">")
    name, _, attribute = qualified[end + 2 :].partition(".")
    return Path(qualified[1:end]), name, attribute


_MADE_BY_CALLS = frozenset({Kind.TENSOR, Kind.OPTIMIZER, Kind.LOADER, Kind.DATASET})
"""What is told from others of its kind by the call that made it, which is not to be seen from outside."""


def _seen_outside(value: Value, path: Path) -> Value:
    """A value as other files see it: by no name and no place in the text of its own."""
    qualified = value.qualified
    if qualified is not None and qualified.startswith(domain.THIS_FILE):
        qualified = f"<{path}>.{qualified.removeprefix(domain.THIS_FILE)}"
    elif value.kind in _MADE_BY_CALLS:
        qualified = None
    return value.with_(
        like=None,
        device=None,
        origin=None,
        qualified=qualified,
        element=_seen_outside(value.element, path) if value.element is not None else None,
        elements=tuple(_seen_outside(part, path) for part in value.elements)
        if value.elements is not None
        else None,
    )
