"""What extension files hold: what is needed, all of it, and nothing else."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
from making import UNIVERSAL, make
from places import EXTENSION, HOST, REPOSITORY, SUPPORTED

import warplint

AROUND_THE_EXTENSION = {"extension.vsixmanifest", "[Content_Types].xml"}
OUR_OWN = {
    "package.json",
    "readme.md",
    "changelog.md",
    "LICENSE.txt",
    "ThirdPartyNotices.txt",
    "docs/score.md",
    "images/icon.png",
    "dist/extension.js",
    "bundled/launch.py",
    "bundled/launcher/__init__.py",
    "bundled/launcher/main.py",
    "bundled/launcher/output.py",
    "bundled/launcher/probe.py",
    "bundled/launcher/search_path.py",
    "bundled/launcher/server.py",
}
LIBRARIES = {
    "attr",
    "attrs",
    "cattr",
    "cattrs",
    "exceptiongroup",
    "lsprotocol",
    "pygls",
    "tomli",
    "typing_extensions.py",
}
WARPLINT = ("analyzers/warplint", "rules/warplint_rules", "server/warplint_server")
REGISTRIES = re.compile(rb"registry\.npmjs|pypi\.org|pythonhosted", re.IGNORECASE)

BOTH = pytest.mark.parametrize("target", [UNIVERSAL, HOST])
Files = dict[str, bytes]


@pytest.fixture
def files(target: str, vsix: Callable[[str], Path]) -> Files:
    """The files of the extension, by their name in it."""
    with zipfile.ZipFile(vsix(target)) as archive:
        names = set(archive.namelist())
        assert names >= AROUND_THE_EXTENSION
        inside = sorted(names - AROUND_THE_EXTENSION)
        assert all(name.startswith("extension/") for name in inside)
        return {name.removeprefix("extension/"): archive.read(name) for name in inside}


@BOTH
def test_holds_nothing_but_ours_warplint_and_libraries(target: str, files: Files) -> None:
    ours = {
        f"bundled/warplint/{Path(package).name}/{file.relative_to(REPOSITORY / package).as_posix()}": file
        for package in WARPLINT
        for file in (REPOSITORY / package).rglob("*.py")
    }
    assert all(files[name] == file.read_bytes() for name, file in ours.items())
    others = set(files) - OUR_OWN - set(ours)
    assert set(files) >= OUR_OWN
    assert {name.split("/")[1] for name in others} == (
        {"libs"} if target == UNIVERSAL else {"libs", "libcst"}
    )


@BOTH
def test_libraries_are_python_alone_with_their_licences(target: str, files: Files) -> None:
    libraries = [PurePosixPath(name).relative_to("bundled/libs") for name in files if "/libs/" in name]
    projects = {path.parts[0] for path in libraries if path.parts[0].endswith(".dist-info")}
    assert {path.parts[0] for path in libraries} - projects == LIBRARIES
    assert {path.suffix for path in libraries if path.parts[0] not in projects} == {".py"}
    for project in projects:
        assert any(path.parts[0] == project and "LICEN" in path.name.upper() for path in libraries), project


def test_a_platform_file_has_a_native_module_for_each_python(vsix: Callable[[str], Path]) -> None:
    with zipfile.ZipFile(vsix(HOST)) as archive:
        compiled = [Path(name).name for name in archive.namelist() if name.endswith((".so", ".pyd"))]
    versions = {f"{match[1]}.{match[2]}" for name in compiled if (match := re.search(r"-(3)(\d+)-", name))}
    assert versions == set(SUPPORTED)
    assert len(compiled) == len(SUPPORTED)


@BOTH
def test_no_tests_maps_or_caches(target: str, files: Files) -> None:
    paths = [PurePosixPath(name) for name in files]
    assert not [
        path for path in paths if {"tests", "test", "src", "node_modules", "__pycache__"} & {*path.parts}
    ]
    assert not [path for path in paths if path.suffix in {".ts", ".map", ".pyc", ".pyi", ".vsix", ".lock"}]
    assert b"sourceMappingURL" not in files["dist/extension.js"]


@BOTH
def test_says_nothing_of_the_machine_it_was_made_on(target: str, files: Files) -> None:
    checkout = str(REPOSITORY).encode()
    assert not [name for name, content in files.items() if checkout in content]


@BOTH
def test_names_no_package_registry(target: str, files: Files) -> None:
    assert not [name for name, content in files.items() if REGISTRIES.search(content)]


@BOTH
def test_notices_name_every_component(target: str, files: Files) -> None:
    notices = files["ThirdPartyNotices.txt"].decode()
    projects = {name.split("/")[2].removesuffix(".dist-info") for name in files if ".dist-info/" in name}
    for project in projects:
        assert "\n" + project.replace("-", " ") + "\n" in notices
    assert "\nvscode-languageclient " in notices
    assert "\nvscode-jsonrpc " in notices


@BOTH
def test_has_the_version_of_warplint(target: str, files: Files) -> None:
    assert json.loads(files["package.json"])["version"] == warplint.__version__


def test_names_its_target(vsix: Callable[[str], Path]) -> None:
    def target_platform(target: str) -> str | None:
        with zipfile.ZipFile(vsix(target)) as archive:
            found = re.search(rb'TargetPlatform="([^"]*)"', archive.read("extension.vsixmanifest"))
        return found[1].decode() if found else None

    assert (target_platform(UNIVERSAL), target_platform(HOST)) == (None, HOST)


def test_is_made_the_same_again(vsix: Callable[[str], Path], tmp_path: Path) -> None:
    assert make(UNIVERSAL, tmp_path).read_bytes() == vsix(UNIVERSAL).read_bytes()


def test_the_page_documents_every_setting_with_its_default() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (EXTENSION / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `warplint.")
    ]
    documented = {row[0].strip("`"): row[1].strip("`") for row in rows}
    settings = manifest["contributes"]["configuration"]["properties"]
    assert documented == {name: as_documented(each["default"]) for name, each in settings.items()}


def as_documented(default: object) -> str:
    return default if isinstance(default, str) else json.dumps(default)


@pytest.mark.parametrize(("target", "megabytes"), [(UNIVERSAL, 3), (HOST, 15)])
def test_stays_small(target: str, megabytes: int, vsix: Callable[[str], Path]) -> None:
    assert vsix(target).stat().st_size < megabytes * 1_000_000
