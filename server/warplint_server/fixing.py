"""Whether fixes can be made here: they need libcst, which is compiled for one Python version at a time."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import PathFinder

PARSER = "native"
"""libcst's compiled part."""


def missing() -> str | None:
    """Why no fix can be made, with the remedy; None when one can.

    Looked up anew each time, without importing it: the package may be installed while the server runs.
    """
    try:
        spec = importlib.util.find_spec("libcst")
    except ValueError:
        # What is imported without a spec stands in the way of the package.
        spec = None
    if spec is None:
        problem = "is not installed"
    elif PathFinder.find_spec(PARSER, spec.submodule_search_locations) is None:
        version = ".".join(map(str, sys.version_info[:2]))
        problem = f"at {spec.origin} is not made for Python {version} on this machine"
    else:
        return None
    return f"Fixes need libcst, which {problem}. Install it with: {sys.executable} -m pip install libcst"
