"""Says what would run, by importing it: what cannot be imported is found here and not by a dying server."""

from __future__ import annotations

import importlib
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict

from launcher.search_path import Origin, Strategy, enter
from launcher.server import import_server

REMEDIES: dict[Origin, str] = {
    "bundled": 'Choose another Python in the setting "warplint.server.interpreter", '
    "or install the extension again.",
    "environment": "Update it with: {python} -m pip install --upgrade warplint. "
    'Or set "warplint.importStrategy" to "useBundled".',
}


class Warplint(TypedDict):
    version: str
    origin: Origin
    path: str
    remark: str | None


class Report(TypedDict):
    """``warplint`` and ``pygls`` are None where there is a ``problem``, a sentence with its remedy."""

    python: str
    executable: str
    warplint: Warplint | None
    libcst: str | None
    pygls: str | None
    problem: str | None


def probe(strategy: Strategy) -> Report:
    report = Report(
        python=platform.python_version(),
        executable=sys.executable,
        warplint=None,
        libcst=None,
        pygls=None,
        problem=None,
    )
    origin: Origin = "bundled"
    # A broken environment can raise anything, SystemExit too; all of it has to reach the user as a sentence.
    try:
        choice = enter(strategy)
        origin = choice.origin
        import_server()
        report["warplint"] = _warplint(origin, choice.remark)
        report["pygls"] = version("pygls")
    except BaseException as error:
        report["problem"] = _problem(origin, error)
        return report
    report["libcst"] = _libcst()
    return report


def _warplint(origin: Origin, remark: str | None) -> Warplint:
    package = importlib.import_module("warplint")
    return Warplint(
        version=package.__version__,
        origin=origin,
        path=str(Path(str(package.__file__)).parent),
        remark=remark,
    )


def _libcst() -> str | None:
    """Its version. Without it findings are shown, and fixes are not offered."""
    try:
        importlib.import_module("libcst.matchers")
        return version("libcst")
    except Exception as error:
        print(f"warplint: fixes need libcst: {_one_line(error)}", file=sys.stderr)
        return None


def _problem(origin: Origin, error: BaseException) -> str:
    which = {"bundled": "Warplint", "environment": "The environment's own Warplint"}[origin]
    remedy = REMEDIES[origin].format(python=sys.executable)
    return f"{which} cannot start on {sys.executable}: {_one_line(error)}. {remedy}"


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
