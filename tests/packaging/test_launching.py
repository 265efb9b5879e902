"""Which Warplint the launcher runs, with what, and what it says when it cannot."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import REPOSITORY, Environment, launch, launch_command, probe, pythons, too_old_pythons

import warplint

OLD_LIBRARIES = (
    "attrs==21.4.0",
    "cattrs==22.1.0",
    "lsprotocol==2023.0.1",
    "pygls==1.3.1",
    "typing_extensions==4.0.1",
)
IMPORTED_EARLY = "import attr, typing_extensions\n"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Warplint, to be installed in environments."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(REPOSITORY),
    ]
    subprocess.run(build, capture_output=True, check=True)
    (file,) = folder.glob("*.whl")
    return file


def origin(report: dict[str, object]) -> object:
    found = report["warplint"]
    assert isinstance(found, dict), report
    return found["origin"]


def test_more_than_one_python_is_tried() -> None:
    assert {"3.11"} < set(pythons())


def test_everything_comes_from_the_extension(bare: Environment, for_this_platform: Path) -> None:
    report = probe(bare.python, for_this_platform)
    assert report["problem"] is None
    assert report["pygls"] == "2.1.1"
    assert report["libcst"] == "1.9.0"
    assert report["executable"] == bare.python
    assert report["warplint"] == {
        "version": warplint.__version__,
        "origin": "bundled",
        "path": str(for_this_platform / "bundled" / "warplint" / "warplint"),
        "remark": None,
    }


def test_the_universal_file_alone_has_no_libcst(bare: Environment, universal: Path) -> None:
    report = probe(bare.python, universal)
    assert (report["problem"], report["libcst"]) == (None, None)


def test_the_universal_file_uses_the_environments_libcst(environment: Environment, universal: Path) -> None:
    environment.install("libcst==1.9.0")
    assert probe(environment.python, universal)["libcst"] == "1.9.0"


def test_a_python_without_a_native_module_uses_the_environments_libcst(
    environment: Environment, for_this_platform: Path, tmp_path: Path
) -> None:
    extension = tmp_path / "extension"
    shutil.copytree(for_this_platform, extension)
    for module in (extension / "bundled" / "libcst" / "libcst").glob("native.*"):
        module.unlink()
    assert probe(environment.python, extension)["libcst"] is None
    environment.install("libcst==1.9.0")
    assert probe(environment.python, extension)["libcst"] == "1.9.0"


@pytest.mark.parametrize("early", ["", IMPORTED_EARLY], ids=["unused", "imported at start-up"])
def test_old_libraries_of_the_environment_do_not_reach_the_server(
    environment: Environment, universal: Path, early: str
) -> None:
    environment.install(*OLD_LIBRARIES)
    (environment.packages / "early.pth").write_text(early, encoding="utf-8")
    report = probe(environment.python, universal)
    assert (report["problem"], report["pygls"]) == (None, "2.1.1")


def test_an_isolated_python_runs_nothing_of_the_environment(
    environment: Environment, for_this_platform: Path, wheel: Path, tmp_path: Path
) -> None:
    """As in an untrusted workspace: packages of the environment may lie in the workspace."""
    environment.install(wheel)
    ran = tmp_path / "ran"
    (environment.packages / "early.pth").write_text(f"import pathlib; pathlib.Path({str(ran)!r}).touch()\n")
    command = launch_command(environment.python, for_this_platform, "fromEnvironment", "probe")
    done = subprocess.run([command[0], "-S", *command[1:]], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert (report["problem"], origin(report), report["libcst"]) == (None, "bundled", "1.9.0")
    assert not ran.exists()


def test_what_the_environment_prints_while_it_is_imported_stays_out_of_the_answer(
    environment: Environment, universal: Path, wheel: Path
) -> None:
    environment.install(wheel)
    with (environment.packages / "warplint_server" / "__init__.py").open("a") as module:
        module.write("import os\nprint('printed')\nos.write(1, b'written')\n")
    assert origin(probe(environment.python, universal)) == "environment"


def test_the_environments_own_warplint_is_used(
    environment: Environment, universal: Path, wheel: Path
) -> None:
    environment.install(wheel)
    report = probe(environment.python, universal)
    assert report["warplint"] == {
        "version": warplint.__version__,
        "origin": "environment",
        "path": str(environment.packages / "warplint"),
        "remark": None,
    }
    assert origin(probe(environment.python, universal, "useBundled")) == "bundled"


def test_an_editable_warplint_is_used(environment: Environment, universal: Path) -> None:
    folders = [str(REPOSITORY / folder) for folder in ("analyzers", "rules", "server")]
    (environment.packages / "_warplint.pth").write_text("\n".join(folders), encoding="utf-8")
    report = probe(environment.python, universal)
    assert origin(report) == "environment"
    assert report["warplint"]["path"] == str(REPOSITORY / "analyzers" / "warplint")


def test_an_older_warplint_than_the_extension_needs_is_passed_over(
    environment: Environment, universal: Path, wheel: Path
) -> None:
    environment.install(wheel)
    (environment.packages / "warplint" / "__init__.py").write_text(
        '__version__ = "0.0.9"\n', encoding="utf-8"
    )
    report = probe(environment.python, universal)
    assert report["problem"] is None
    assert origin(report) == "bundled"
    assert "0.0.9" in report["warplint"]["remark"]


def test_something_else_of_that_name_is_not_taken_for_warplint(
    environment: Environment, universal: Path
) -> None:
    (environment.packages / "warplint").mkdir()
    (environment.packages / "warplint" / "notes.py").write_text("raise SystemExit(1)", encoding="utf-8")
    report = probe(environment.python, universal)
    assert (report["problem"], origin(report)) == (None, "bundled")


@pytest.mark.parametrize("broken", ["import nothing_of_that_name", "raise SystemExit(3)", "def"])
def test_a_broken_warplint_of_the_environment_is_said_with_the_remedy(
    environment: Environment, universal: Path, wheel: Path, broken: str
) -> None:
    environment.install(wheel)
    (environment.packages / "warplint_server" / "main.py").write_text(broken, encoding="utf-8")
    problem = probe(environment.python, universal)["problem"]
    assert environment.python in problem
    assert "pip install --upgrade warplint" in problem
    assert '"useBundled"' in problem
    assert probe(environment.python, universal, "useBundled")["problem"] is None


def test_a_damaged_extension_is_said_with_the_remedy(
    environment: Environment, universal: Path, tmp_path: Path
) -> None:
    extension = tmp_path / "extension"
    shutil.copytree(universal, extension)
    shutil.rmtree(extension / "bundled" / "libs" / "pygls")
    problem = probe(environment.python, extension)["problem"]
    assert "pygls" in problem
    assert "install the extension again" in problem


def test_a_python_that_is_too_old_gets_a_sentence(universal: Path) -> None:
    for python in too_old_pythons():
        problem = probe(python, universal)["problem"]
        assert "needs Python 3.10 or later" in problem
        assert "warplint.server.interpreter" in problem
        refused = launch(python, universal, "fromEnvironment", "server")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert problem in refused.stderr


def test_a_python_that_says_it_is_too_old_gets_a_sentence(environment: Environment, universal: Path) -> None:
    """Where no old Python is installed, one that passes for it."""
    pretend = (
        "import runpy, sys; sys.version_info = (3, 9, 18); sys.argv = sys.argv[1:];"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    launcher = str(universal / "bundled" / "launch.py")
    done = subprocess.run(
        [environment.python, "-E", "-c", pretend, launcher, "--import-strategy", "useBundled", "probe"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "needs Python 3.10 or later" in json.loads(done.stdout)["problem"]


def test_a_program_is_run_with_its_own_python(
    environment: Environment, universal: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(sys.argv[1:], sys.executable)\nsys.exit(7)\n", encoding="utf-8")
    done = launch(
        environment.python,
        universal,
        "fromEnvironment",
        *("run", "--python", sys.executable, "program.py", "--epochs", "1"),
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (7, f"['--epochs', '1'] {sys.executable}\n")


def test_a_program_is_checked(bare: Environment, universal: Path, tmp_path: Path) -> None:
    """On every Python, with what the extension carries alone, and a configuration."""
    (tmp_path / "pyproject.toml").write_text('[tool.warplint]\nselect = ["WL301"]\n', encoding="utf-8")
    example = REPOSITORY / "examples" / "unet3d"
    shutil.copytree(example, tmp_path / "example")
    done = launch(
        bare.python, universal, "fromEnvironment", "check", "--format", "concise", "example", cwd=tmp_path
    )
    assert done.returncode == 1, done.stderr
    assert "WL301" in done.stdout
    assert "WL101" not in done.stdout


def test_the_checkout_is_launched_without_being_packaged(tmp_path: Path) -> None:
    report = probe(sys.executable, REPOSITORY / "vscode-extension", "useBundled")
    assert report["problem"] is None
    assert report["warplint"]["path"] == str(REPOSITORY / "analyzers" / "warplint")
