"""lsprotocol's classes are made late, and are what they would have been."""

from __future__ import annotations

import re
import subprocess
import sys

ADDRESS = re.compile(r" at 0x[0-9a-f]+")
IMPORTED = "from lsprotocol import converters, types"
LEAN = f"import warplint_server.lean_types\n{IMPORTED}"
DESCRIBED = """
import inspect
import attrs

converters.get_converter()
for name, kind in sorted(vars(types).items()):
    if isinstance(kind, type) and attrs.has(kind):
        print(name, inspect.signature(kind.__init__))
        for field in attrs.fields(kind):
            print("   ", field.name, field.type, field.default, field.validator, field.kw_only)
"""
WITHOUT_ARGUMENTS = """
import attrs

for name, kind in vars(types).items():
    if isinstance(kind, type) and attrs.has(kind):
        if all(field.default is not attrs.NOTHING for field in attrs.fields(kind)):
            print(name)
"""
MADE_AT_ONCE = """
import sys
from threading import Barrier, Thread

sys.setswitchinterval(1e-6)
names = sys.argv[1:]
together = Barrier(8)
failed = []

def make():
    together.wait()
    for name in names:
        try:
            getattr(types, name)()
        except Exception as error:
            failed.append((name, repr(error)))

threads = [Thread(target=make) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failed)
"""
UNMADE = """
from warplint_server import main
from warplint_server.server import WarplintServer

WarplintServer(1.0)
kinds = [kind for kind in vars(types).values() if isinstance(kind, type) and "__attrs_attrs__" in vars(kind)]
made = [kind for kind in kinds if isinstance(vars(kind)["__attrs_attrs__"], tuple)]
print(len(kinds) > 500, len(made) < 50)
"""


def test_a_class_is_as_attrs_would_have_made_it() -> None:
    lean = ADDRESS.sub("", printed(LEAN + DESCRIBED))
    assert len(lean.splitlines()) > 1_500
    assert lean == ADDRESS.sub("", printed(IMPORTED + DESCRIBED))
    assert lean == ADDRESS.sub("", printed(f"{IMPORTED}\n{LEAN}{DESCRIBED}"))


def test_threads_may_make_a_class_at_once() -> None:
    names = printed(IMPORTED + WITHOUT_ARGUMENTS).split()
    assert len(names) > 100
    assert printed(LEAN + MADE_AT_ONCE, *names) == "[]\n"


def test_a_plain_subclass_is_made_with_its_base() -> None:
    program = "class Mark(types.Position): pass\nprint(Mark(line=1, character=2).character, attrs.has(Mark))"
    assert printed(f"{LEAN}\nimport attrs\n{program}") == "2 True\n"


def test_a_server_starts_before_most_are_made() -> None:
    assert printed(LEAN + UNMADE) == "True True\n"


def printed(program: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    ).stdout
