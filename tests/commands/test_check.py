"""``warplint check`` as a user meets it: output, exit status, and what happens to files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandLine
from samples import CLEAN, SAFE, SAFE_FIXED, UNSAFE, UNSAFE_FIXED


def test_findings_are_shown_with_their_source_and_give_status_1(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    done = warplint("check", "net.py")
    assert done.returncode == 1
    assert done.stdout.startswith("WL101 ")
    assert "\n --> net.py:7:17\n" in done.stdout
    assert "\n7 |         steps = torch.arange(x.shape[1]).to(x.device)\n" in done.stdout
    assert done.stdout.endswith("\nFound 1 finding.\n[*] 1 fixable with `--fix`.\n")
    assert done.stderr == ""


def test_no_findings_give_status_0(warplint: CommandLine) -> None:
    warplint.write("a.py", CLEAN)
    warplint.write("b.py", "")
    done = warplint("check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "No findings in 2 files.\n", "")


def test_concise_output_is_exactly_its_lines(warplint: CommandLine) -> None:
    warplint.write("b/net.py", SAFE)
    warplint.write("a.py", UNSAFE)
    done = warplint("check", "--format", "concise", ".")
    lines = done.stdout.splitlines()
    assert [line.split(" ")[:2] for line in lines] == [["a.py:7:17:", "WL101"], ["b/net.py:7:17:", "WL101"]]
    assert "Found 2 findings." in done.stderr


def test_json_output_is_exactly_one_list(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    (finding,) = json.loads(warplint("check", "--format", "json").stdout)
    assert (finding["path"], finding["line"], finding["column"]) == ("net.py", 7, 17)
    assert (finding["end_line"], finding["end_column"]) == (7, 54)
    assert (finding["code"], finding["fix"], finding["hotness"]) == ("WL101", "safe", "step")
    warplint.write("net.py", CLEAN)
    assert json.loads(warplint("check", "--format", "json").stdout) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "--select", "WL101,WL999"], "there is no rule 'WL999'"),
        (["check", "--ignore", "E501"], "there is no rule 'E501'"),
        (["check", "--select", ","], "it names no rule"),
        (["check", "--format", "xml"], "invalid choice: 'xml'"),
        (["check", "nowhere.py", "net.py"], "no such file or folder: nowhere.py"),
        (["check", "--fix", "--diff"], "--fix writes and --diff does not"),
        (["check", "--nope"], "unrecognized arguments: --nope"),
        (["chek"], "'chek' is no command; did you mean 'check'?"),
        (["net.py"], "did you mean `warplint check net.py`?"),
    ],
)
def test_wrong_usage_gives_status_2(warplint: CommandLine, arguments: list[str], said: str) -> None:
    warplint.write("net.py", SAFE)
    done = warplint(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("selct = ['WL1']", "has no key 'selct'; did you mean 'select'? (accepted: select, extend-select, "),
        ("select = 'WL1'", "select must be a list of rule codes, prefixes or names"),
        ("ignore = ['WL999']", "ignore: there is no rule 'WL999'"),
    ],
)
def test_a_wrong_configuration_gives_status_2(warplint: CommandLine, table: str, said: str) -> None:
    warplint.write("net.py", SAFE)
    file = warplint.write("pyproject.toml", f"[tool.warplint]\n{table}\n")
    done = warplint("check")
    assert (done.returncode, done.stdout) == (2, "")
    assert str(file) in done.stderr and said in done.stderr
    assert "Traceback" not in done.stderr


def test_configuration_and_command_line_choose_rules(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    warplint.write("pyproject.toml", "[tool.warplint]\nignore = ['WL1']\n")
    assert warplint("check").returncode == 0
    assert warplint("check", "--select", "WL1").returncode == 1
    assert warplint("check", "--select", "WL").returncode == 1
    assert warplint("check", "--select", "WL1", "--ignore", "WL101").returncode == 0
    assert warplint("check", "--select", "WL2").returncode == 0


def test_each_project_is_checked_as_it_is_configured(warplint: CommandLine) -> None:
    warplint.write("a/net.py", SAFE)
    warplint.write("b/net.py", SAFE)
    warplint.write("b/pyproject.toml", "[tool.warplint]\nignore = ['WL101']\n")
    warplint.write("c/net.py", SAFE)
    warplint.write("c/pyproject.toml", "[tool.warplint.per-file-ignores]\n'net.py' = ['WL1']\n")
    done = warplint("check", "--format", "concise")
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["a/net.py"]


def test_a_comment_silences_and_a_wrong_one_is_said(warplint: CommandLine) -> None:
    line = "        steps = torch.arange(x.shape[1]).to(x.device)"
    warplint.write("net.py", SAFE.replace(line, f"{line}  # warplint: ignore[WL101]"))
    done = warplint("check")
    assert (done.returncode, done.stderr) == (0, "")
    warplint.write("net.py", SAFE.replace(line, f"{line}  # warplint: ignore[WL999]"))
    done = warplint("check")
    assert done.returncode == 1
    assert "warplint: warning: net.py:7:56: there is no rule 'WL999'" in done.stderr


def test_a_comment_at_the_end_of_a_long_call_silences_its_start(warplint: CommandLine) -> None:
    line = "        steps = torch.arange(\n            x.shape[1],\n        ).to(x.device)"
    source = SAFE.replace("        steps = torch.arange(x.shape[1]).to(x.device)", line)
    warplint.write("net.py", source)
    assert warplint("check").returncode == 1
    warplint.write("net.py", source.replace(line, f"{line}  # warplint: ignore[WL101]"))
    assert warplint("check").returncode == 0


# Files that cannot be checked


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        (b"import torch\nprint 'a'\n", "2:1", "print"),
        (b"import torch\nx = (1\n", "2:5", "'(' was never closed"),
        (b"import torch\nx = '\0'\n", "2:6", "NUL byte"),
        (b"import torch\nx = '\xff'\n", "2:6", "0xff is not utf-8"),
        (b"# coding: future_fstrings\nx = 1\n", "1:1", "unknown encoding: future_fstrings"),
        (b"\xff\xfei\0m\0", "1:4", "NUL byte"),
    ],
)
def test_a_file_that_does_not_parse_is_a_finding(
    warplint: CommandLine, content: bytes, place: str, reason: str
) -> None:
    warplint.write("a.py", content)
    warplint.write("b.py", SAFE)
    done = warplint("check", "--format", "concise", "--select", "WL1")
    first, second = done.stdout.splitlines()
    assert first.startswith(f"a.py:{place}: WL001 ") and reason in first
    assert second.startswith("b.py:7:17: WL101 ")
    assert done.returncode == 1


def test_a_file_that_may_not_be_read_is_named_and_the_run_goes_on(warplint: CommandLine) -> None:
    warplint.write("a.py", CLEAN).chmod(0)
    warplint.write("b.py", SAFE)
    warplint.write("c/x.py", CLEAN).parent.chmod(0)
    try:
        done = warplint("check", "--format", "concise", privileged=False)
    finally:
        (warplint.folder / "c").chmod(0o755)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "a.py:1:1: WL002 Permission denied"
    assert lines[1].startswith("b.py:7:17: WL101 ")
    assert lines[2:] == ["c:1:1: WL002 Permission denied"]


def test_what_cannot_be_parsed_may_be_ignored_or_excluded(warplint: CommandLine) -> None:
    warplint.write("old/a.py", "print 'a'\n")
    assert warplint("check").returncode == 1
    assert warplint("check", "--ignore", "WL001").returncode == 0
    warplint.write("pyproject.toml", "[tool.warplint]\nextend-exclude = ['old']\n")
    assert warplint("check").returncode == 0


def test_no_python_files_is_said(warplint: CommandLine) -> None:
    done = warplint("check")
    assert done.returncode == 0
    assert "no Python files" in done.stderr


def test_many_kinds_of_files_in_one_run(warplint: CommandLine) -> None:
    """More files than one process takes; the order of the output is that of the names."""
    for number in range(60):
        warplint.write(f"ok{number:02}.py", SAFE if number % 10 == 0 else CLEAN)
    warplint.write("bad.py", "def f(:\n")
    warplint.write("empty.py", "")
    warplint.write("comments.py", "# a\n# b")
    warplint.write("deep.py", "x = " + "(" * 150 + "1" + ")" * 150 + "\n")
    warplint.write("deeper.py", "x = " + "-" * 50_000 + "1\n")
    warplint.write("long.py", "".join(f"x{number} = {number}\n" for number in range(25_000)))
    warplint.write("bom.py", "\ufeff" + SAFE)
    warplint.write("crlf.py", SAFE.replace("\n", "\r\n"))
    warplint.write("tabs.py", SAFE.replace("    ", "\t"))
    (warplint.folder / "loop").symlink_to(".")
    (warplint.folder / "gone.py").symlink_to("nowhere")
    done = warplint("check", "--format", "concise")
    assert done.returncode == 1
    assert [":".join(line.split(":")[:2]) + line.split(":")[3][:6] for line in done.stdout.splitlines()] == [
        "bad.py:1 WL001",
        "bom.py:7 WL101",
        "crlf.py:7 WL101",
        "deeper.py:1 WL001",
        "gone.py:1 WL002",
        *(f"ok{number:02}.py:7 WL101" for number in range(0, 60, 10)),
        "tabs.py:7 WL101",
    ]
    assert warplint("check", "--format", "concise").stdout == done.stdout


# Fixes


def test_fix_writes_safe_fixes_only(warplint: CommandLine) -> None:
    safe, unsafe = warplint.write("a.py", SAFE), warplint.write("b.py", UNSAFE)
    done = warplint("check", "--fix")
    assert (safe.read_text(), unsafe.read_text()) == (SAFE_FIXED, UNSAFE)
    assert done.returncode == 1
    assert done.stdout.endswith(
        "\nFound 2 findings (1 fixed).\n1 unsafe fix hidden; see them with `--unsafe-fixes`.\n"
    )


def test_fix_with_unsafe_fixes_leaves_nothing(warplint: CommandLine) -> None:
    safe, unsafe = warplint.write("a.py", SAFE), warplint.write("b.py", UNSAFE)
    done = warplint("check", "--fix", "--unsafe-fixes")
    assert (safe.read_text(), unsafe.read_text()) == (SAFE_FIXED, UNSAFE_FIXED)
    assert (done.returncode, done.stdout) == (0, "Found 2 findings (2 fixed).\n")
    assert warplint("check", "--fix", "--unsafe-fixes").stdout == "No findings in 2 files.\n"


def test_unsafe_fixes_alone_writes_nothing(warplint: CommandLine) -> None:
    file = warplint.write("a.py", UNSAFE)
    done = warplint("check", "--unsafe-fixes")
    assert file.read_text() == UNSAFE
    assert done.stdout.endswith("\nFound 1 finding.\n[*] 1 fixable with `--fix --unsafe-fixes`.\n")


@pytest.mark.parametrize(
    ("encode", "name"),
    [
        (lambda text: text.encode(), "utf-8"),
        (lambda text: b"\xef\xbb\xbf" + text.encode(), "byte order mark"),
        (lambda text: text.replace("\n", "\r\n").encode(), "CRLF"),
        (lambda text: text.replace("\n", "\r").encode(), "CR"),
        (lambda text: text.rstrip("\n").encode(), "no newline at the end"),
        (lambda text: f"# coding: latin-1\n# café\n{text}".encode("latin-1"), "latin-1"),
        (lambda text: f"# -*- coding: gbk -*-\n# 中文\n{text}".encode("gbk"), "gbk"),
        (lambda text: text.replace("    ", "\t").encode(), "tabs"),
        (
            lambda text: text.replace("import torch\n", "import torch  # \N{GRINNING FACE}\n").encode(),
            "astral",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fix_changes_nothing_else_in_the_file(warplint: CommandLine, encode, name: str) -> None:  # type: ignore[no-untyped-def]
    file = warplint.write("net.py", encode(SAFE))
    file.chmod(0o750)
    done = warplint("check", "--fix")
    assert file.read_bytes() == encode(SAFE_FIXED)
    assert file.stat().st_mode & 0o7777 == 0o750
    assert (done.returncode, done.stdout) == (0, "Found 1 finding (1 fixed).\n")


def test_a_silenced_finding_is_not_fixed(warplint: CommandLine) -> None:
    silenced = SAFE.replace("(x.device)", "(x.device)  # warplint: ignore[WL101]")
    file = warplint.write("net.py", silenced)
    assert warplint("check", "--fix").returncode == 0
    assert file.read_text() == silenced


def test_a_read_only_file_is_not_fixed_and_said(warplint: CommandLine) -> None:
    file = warplint.write("net.py", SAFE)
    file.chmod(0o444)
    done = warplint("check", "--fix", privileged=False)
    assert file.read_text() == SAFE
    assert done.returncode == 2
    assert "warplint: net.py: not fixed: it is read-only\n" in done.stderr
    assert "Found 1 finding (0 fixed)." in done.stdout


def test_diff_prints_a_patch_and_writes_nothing(warplint: CommandLine) -> None:
    files = [warplint.write("a.py", SAFE), warplint.write("sub/b.py", UNSAFE), warplint.write("c.py", CLEAN)]
    done = warplint("check", "--diff", "--unsafe-fixes")
    assert [file.read_text() for file in files] == [SAFE, UNSAFE, CLEAN]
    assert done.returncode == 1
    assert done.stderr == "Would fix 2 findings.\n"
    subprocess.run(["patch", "-p0"], input=done.stdout, text=True, cwd=warplint.folder, check=True)
    assert [file.read_text() for file in files] == [SAFE_FIXED, UNSAFE_FIXED, CLEAN]


def test_diff_of_a_file_without_a_last_newline_applies(warplint: CommandLine) -> None:
    content = (
        SAFE.replace("        return x * steps[None, :, None]\n", "")
        .rstrip("\n")
        .replace("steps = ", "return ")
    )
    file = warplint.write("a.py", content)
    done = warplint("check", "--diff")
    assert "\\ No newline at end of file\n" in done.stdout
    subprocess.run(["patch", "-p0"], input=done.stdout, text=True, cwd=warplint.folder, check=True)
    assert file.read_text() == content.replace("x.shape[1]).to(x.device)", "x.shape[1], device=x.device)")


def test_diff_without_changes_gives_status_0(warplint: CommandLine) -> None:
    warplint.write("a.py", UNSAFE)
    done = warplint("check", "--diff")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "No fixes to make (1 more fix with `--unsafe-fixes`).\n"


# The terminal, and what goes wrong


def test_no_colour_in_a_pipe(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    assert "\033" not in warplint("check").stdout


@pytest.mark.parametrize(
    ("env", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_on_a_terminal_unless_told_otherwise(
    warplint: CommandLine, env: dict[str, str], colored: bool
) -> None:
    warplint.write("net.py", SAFE)
    assert ("\033[" in on_a_terminal(warplint.folder, env)) is colored


def on_a_terminal(folder: Path, env: dict[str, str]) -> str:
    import pty

    parent, child = pty.openpty()
    base = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "warplint", "check"],
        cwd=folder,
        env={**base, "TERM": "xterm", **env},
        stdout=child,
    )
    os.close(child)
    chunks = []
    # Linux answers the end of a pseudo-terminal with an error, other systems with nothing.
    try:
        while chunk := os.read(parent, 4096):
            chunks.append(chunk)
    except OSError:
        pass
    os.close(parent)
    assert process.wait(timeout=60) == 1
    return b"".join(chunks).decode()


def test_a_file_name_that_is_not_utf8_goes_out_as_it_is(warplint: CommandLine) -> None:
    name = os.fsdecode(b"n\xe9t.py")
    warplint.write(name, SAFE)
    assert warplint("check", "--format", "concise").stdout.startswith(f"{name}:7:17: ")
    assert json.loads(warplint("check", "--format", "json").stdout)[0]["path"] == name


def test_a_terminal_without_utf8_is_no_reason_to_fail(warplint: CommandLine) -> None:
    warplint.write(
        "net.py", SAFE.replace("import torch\n", "import torch  # 中\n").replace("nn\n", "nn  # é\n")
    )
    done = warplint("check", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_error(warplint: CommandLine) -> None:
    for number in range(200):
        warplint.write(f"n{number}.py", SAFE)
    command = f"{sys.executable} -m warplint check | head -1"
    done = subprocess.run(
        command, shell=True, cwd=warplint.folder, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("WL101") and done.stderr == ""


BREAK = """
import warplint.static.analyze as analyze
whole = analyze.Analyzer.analyze
def broken(self, source, previous=None):
    if source.path.name == "bad.py":
        raise RuntimeError("boom\\nin two lines")
    return whole(self, source, previous)
analyze.Analyzer.analyze = broken
from warplint.__main__ import main
raise SystemExit(main(["check", "--format", "concise"]))
"""


@pytest.mark.parametrize("files", [1, 60])
def test_an_internal_error_is_one_sentence_and_the_other_files_are_checked(
    warplint: CommandLine, files: int
) -> None:
    warplint.write("bad.py", CLEAN)
    for number in range(files):
        warplint.write(f"net{number}.py", SAFE)
    done = python(warplint, BREAK)
    assert done.returncode == 2
    assert done.stdout.count("WL101") == files
    assert "warplint: bad.py: internal error: RuntimeError: boom in two lines\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in python(warplint, BREAK, WARPLINT_TRACEBACK="1").stderr


def python(warplint: CommandLine, code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=warplint.folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


# What it costs to start


CHECK_AND_LIST = """
import sys
from warplint.__main__ import main
try:
    main(sys.argv[1:])
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""
HEAVY = {"torch", "numpy", "pygls", "lsprotocol", "rich", "asyncio", "sqlite3", "watchdog"}


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["check", "net.py"], HEAVY | {"libcst", "multiprocessing", "difflib", "tomllib"}),
        (["check", "--fix", "net.py"], HEAVY),
        (["rule", "WL101"], HEAVY | {"libcst"}),
        (["--help"], {"torch", "numpy", "pygls", "rich"}),
    ],
)
def test_a_command_imports_only_what_it_needs(
    warplint: CommandLine, arguments: list[str], absent: set[str]
) -> None:
    warplint.write("net.py", SAFE)
    code = CHECK_AND_LIST
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=warplint.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "warplint" in loaded
    assert absent & loaded == set()


def test_the_installed_script_is_the_same_program(warplint: CommandLine) -> None:
    script = shutil.which("warplint", path=str(Path(sys.executable).parent))
    assert script is not None
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == warplint("--version").stdout
    assert warplint().stdout == warplint("--help").stdout
