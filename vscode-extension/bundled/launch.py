"""Runs Warplint for the VS Code extension: PYTHON -E launch.py --import-strategy STRATEGY COMMAND...

COMMAND is `probe`, which prints one line of JSON saying what would run, or a verb of Warplint's command line.
This file is read by whatever Python the user has, down to 2.7, so that one too old is told so in a sentence;
everything newer is in the package beside it.
"""

import json
import platform
import sys

OLDEST = (3, 10)


def main(arguments):  # type: (list[str]) -> int
    if sys.version_info < OLDEST:
        return refuse("probe" in arguments)
    from launcher.main import main as launch

    return launch(arguments)


def refuse(probed):  # type: (bool) -> int
    problem = (
        "Warplint needs Python 3.10 or later, and {0} is Python {1}. "
        'Choose another in the setting "warplint.server.interpreter".'
    ).format(sys.executable, platform.python_version())
    if not probed:
        sys.stderr.write("warplint: " + problem + "\n")
        return 2
    answer = {
        "python": platform.python_version(),
        "executable": sys.executable,
        "warplint": None,
        "libcst": None,
        "pygls": None,
        "problem": problem,
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
