"""What commands refuse, and how: each case is made to happen, and its message held to docs/language.md."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from warplint.__main__ import main
from warplint.capture.layout import CAPTURES_DIRECTORY
from wording import unwritten

RECORDED = Path(__file__).parents[1] / "profile" / "data" / "h200-unet3d.tar.xz"
CAPTURE = f"{CAPTURES_DIRECTORY}/h200-unet3d"
NO_CAPTURE = "make one with `warplint run -- python train.py`"
PROJECT = "pyproject.toml: [tool.warplint]"

Setup = Callable[[], object]


def nothing() -> None:
    """The folder as it is."""


def captured() -> None:
    with tarfile.open(RECORDED) as archive:
        archive.extractall(CAPTURES_DIRECTORY, filter="data")


def without(pattern: str) -> Setup:
    """A capture that lacks files."""

    def make() -> None:
        captured()
        for path in Path(CAPTURE).glob(pattern):
            path.unlink()

    return make


def damaged(pattern: str) -> Setup:
    def make() -> None:
        captured()
        for path in Path(CAPTURE).glob(pattern):
            path.write_bytes(b"{")

    return make


def file(name: str, content: bytes | str) -> Setup:
    return lambda: Path(name).write_bytes(content.encode() if isinstance(content, str) else content)


def settings(line: str) -> Setup:
    return file("pyproject.toml", f"[tool.warplint]\n{line}\n")


def folder(name: str) -> Setup:
    return lambda: Path(name).mkdir()


REFUSED: list[tuple[str, Setup, str]] = [
    # Names that are not there, or are of something else.
    ("chekc", nothing, "'chekc' is no command; did you mean 'check'?"),
    ("train.py", nothing, "did you mean `warplint check train.py`?"),
    ("check gone.py", nothing, "no such file or folder: gone.py"),
    ("score gone.py", nothing, "no such file or folder: gone.py"),
    ("check --with-profile gone", nothing, "no such file or folder: gone"),
    ("check --config gone.toml", nothing, "gone.toml cannot be read: No such file or directory"),
    (
        "check --baseline gone.json",
        nothing,
        "gone.json cannot be read: No such file or directory; write it with",
    ),
    (
        "check --baseline b.json",
        file("b.json", "{}"),
        "b.json is no baseline: write one with --write-baseline",
    ),
    ("check -o gone/out.txt", nothing, "gone/out.txt cannot be written: No such file or directory"),
    ("check -o out", folder("out"), "out cannot be written: Is a directory"),
    ("rule WL999", nothing, "there is no rule 'WL999'; did you mean"),
    ("rule host-tensr", nothing, "did you mean 'host-tensor-in-hot-code'?"),
    ("config excldue", nothing, "there is no key 'excldue'; did you mean 'exclude'?"),
    ("doctor --python /no/python", nothing, "/no/python cannot be run: No such file or directory"),
    ("import gone.json", nothing, "gone.json: No such file or directory"),
    ("import out", folder("out"), "out is a folder: name the traces in it"),
    ("import train.py", nothing, "train.py: it is not JSON"),
    ("import x.json", file("x.json", '{"a": 1}'), "x.json: it has no traceEvents"),
    ("import x.json", file("x.json", ""), "x.json: it is empty"),
    # Captures.
    ("show", nothing, NO_CAPTURE),
    ("diagnose", nothing, NO_CAPTURE),
    ("export --format json", nothing, NO_CAPTURE),
    ("check --with-profile", nothing, NO_CAPTURE),
    ("score --with-profile", nothing, NO_CAPTURE),
    ("show --capture gone", nothing, "no such folder: gone"),
    ("diagnose gone", nothing, "no such folder: gone"),
    ("export --format json gone", nothing, "no such folder: gone"),
    ("diagnose out", folder("out"), "out is not a capture: it has no run.json"),
    (
        "diagnose train.py",
        nothing,
        "train.py is a file, and a capture is a folder; `warplint import` makes one",
    ),
    ("show other.py", captured, "other.py ran no line in capture h200-unet3d; it has train.py"),
    (f"show {CAPTURE}", captured, f"{CAPTURE} is a capture: show it with --capture {CAPTURE}"),
    ("show --layers train.py", captured, "--layers lists what ran in all files: leave out train.py"),
    ("show --kernels --format json", captured, "leave out --kernels"),
    ("show --top 0", captured, "'0' is not a number of lines from 1"),
    (f"diagnose {CAPTURE}", damaged("run.json"), "run.json cannot be read: "),
    (f"diagnose {CAPTURE}", damaged("*.wlraw"), "rank0.1.wlraw is cut off before its header ends"),
    (f"diagnose {CAPTURE}", without("*.wlraw"), "holds no captured process: the command ran no Python"),
    ("export --format json -o gone/x.json", captured, "gone/x.json cannot be written: No such file"),
    # Options.
    ("check --unknown", nothing, "unrecognized arguments: --unknown"),
    ("check --format xml", nothing, "invalid choice: 'xml' (choose from"),
    ("check --select WL999", nothing, "--select: there is no rule 'WL999'"),
    ("check --select ,", nothing, "--select: it names no rule"),
    ("check --jobs 0", nothing, "--jobs: '0' is not a number from 1"),
    ("check --write-baseline", nothing, "--write-baseline needs --baseline FILE, the file to write"),
    ("check --fix --diff", nothing, "--fix writes and --diff does not: give one of them"),
    ("check --baseline b.json --fix", nothing, "--baseline is for checking: leave out --fix"),
    ("check --with-profile --fix", captured, "--with-profile is for checking: leave out --fix"),
    ("check --watch -", nothing, "--watch checks files time and again: leave out -"),
    ("check --stdin-filename x.py", nothing, "give - as the path"),
    ("run", nothing, "a command is missing: warplint run train.py, or warplint run -- COMMAND"),
    ("run --steps 0 train.py", nothing, "--steps: '0' is not a number of steps from 1"),
    ("run --steps few train.py", nothing, "--steps: 'few' is not a number of steps from 1"),
    ("run --seconds nan train.py", nothing, "--seconds: 'nan' is not a number of seconds above 0"),
    ("run --budget 200 train.py", nothing, "'200' is not a percentage from 0 to 100"),
    ("completion tcsh", nothing, "invalid choice: 'tcsh'"),
    ("export", nothing, "the following arguments are required: --format"),
    # Settings.
    ("check --config foo=1", nothing, "--config has no key 'foo' (accepted: "),
    ("check --config exclude=3", nothing, "--config: exclude must be a list of file patterns, such as"),
    ("check --config exclude=[3", nothing, "--config exclude=[3 is not valid TOML: "),
    ("check --config w.toml", file("w.toml", "x = 1\n"), "w.toml has no key 'x' (accepted: "),
    ("check", file("pyproject.toml", "[tool.warplint\n"), "pyproject.toml is not valid TOML: "),
    (
        "check",
        file("pyproject.toml", "[tool]\nwarplint = 3\n"),
        "tool.warplint must be a table, not an integer",
    ),
    ("check", settings("excldue = []"), f"{PROJECT} has no key 'excldue'; did you mean 'exclude'?"),
    ("check", settings("exclude = 3"), f"{PROJECT} exclude must be a list of file patterns, such as"),
    ("check", settings("ignore = ['WL999']"), f"{PROJECT} ignore: there is no rule 'WL999'"),
    (
        "check",
        settings("severity = {WL101 = 'loud'}"),
        'must be a table from rule codes to "error", "warning"',
    ),
    ("check", settings("torch-version = 'two'"), "must be a release of torch, such as \"2.4\", not 'two'"),
    ("check", settings("packs = ['nopack']"), f"{PROJECT} packs: nopack cannot be imported: "),
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("")
    Path("train.py").write_text("import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n")
    return tmp_path


@pytest.mark.parametrize(("command", "setup", "said"), REFUSED, ids=[f"{c} {s[:24]}" for c, _, s in REFUSED])
def test_wrong_usage_is_said_in_one_line_and_exits_with_2(
    command: str, setup: Setup, said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setup()
    try:
        status: object = main(command.split())
    except SystemExit as left:
        status = left.code
    out, errors = capsys.readouterr()
    assert (status, out) == (2, "")
    assert errors.count("\n") == 1 and errors.startswith("warplint: error: ")
    text = errors.removeprefix("warplint: error: ").rstrip("\n")
    assert said in text
    # What a value has to be is said so, and no order.
    assert not text.endswith(".") and unwritten(text.replace(" must be ", " is ")) == []
    assert text[:1].islower() or not text[:1].isalpha() or text.startswith(str(project))


BROKEN = {
    "binary.py": (b"\x7fELF\x00", "the file holds a NUL byte"),
    "latin.py": (b"name = '\xff'\n", "it is not UTF-8: save it so, or name its encoding in the first line"),
    "coded.py": (b"# coding: klingon\n", "unknown encoding: klingon"),
    "broken.ipynb": (b"{", "the notebook is not valid JSON: "),
    "old.ipynb": (b'{"worksheets": []}', "the notebook has no cells (only format 4 is read)"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(
    name: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, reason = BROKEN[name]
    Path(name).write_bytes(content)
    assert main(["check", "--format", "concise", "--no-cache", name]) == 1
    found = capsys.readouterr().out
    assert re.match(rf"{re.escape(name)}:(cell \d+:)?\d+:\d+: WL001 ", found) and reason in found
    assert main(["score", name]) == 1
    told = capsys.readouterr()
    assert told.out == "No file that was read has GPU code, so there is no score.\n"
    assert told.err.startswith(f"warplint: {name} has no score: {reason}")


def test_a_file_of_which_nothing_parses_is_told_from_one_without_gpu_code(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("half.py").write_text("def f(:\n")
    assert main(["score", "half.py"]) == 0
    told = capsys.readouterr()
    assert told.err == "warplint: half.py:1:7 does not parse, and the rest has no GPU code: invalid syntax\n"


@pytest.mark.parametrize("verb", ["check", "score"])
def test_a_folder_without_python_is_named(
    verb: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    assert main([verb, "empty"]) == 0
    assert capsys.readouterr().err == "warplint: warning: no Python files under empty\n"
