"""Makes `bundled/`, the Python half of an extension file: bundle.py INTO --wheels CACHE [--target TARGET].

INTO gets the launcher, Warplint, the libraries of the server and, for a target, libcst with the native
modules of every supported Python. pip takes the wheels, checked by hash, and CACHE keeps them for others.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

EXTENSION = Path(__file__).resolve().parents[1]
REPOSITORY = EXTENSION.parent
SOURCE = EXTENSION / "bundled"
PACKAGES = ("analyzers/warplint", "rules/warplint_rules", "server/warplint_server")
LAUNCHER = ("launch.py", "launcher")
TARGETS = json.loads((EXTENSION / "scripts" / "targets.json").read_text(encoding="utf-8"))

PURE = ("--platform", "any", "--implementation", "py", "--abi", "none", "--python-version", "3.10")

NOT_SHIPPED_FOLDERS = frozenset({"__pycache__", "tests", "testing"})
NOT_SHIPPED_SUFFIXES = frozenset({".pyc", ".pyi", ".typed", ".pxd", ".c"})
SHIPPED_OF_METADATA = re.compile(
    r"[^/]+\.dist-info/(METADATA|(.+/)?(LICEN[CS]E|COPYING|NOTICE)[^/]*)", re.IGNORECASE
)
KEPT_FIELDS = ("Metadata-Version", "Name", "Version", "License-Expression", "License")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("into", type=Path)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--target", choices=TARGETS["targets"])
    asked = parser.parse_args(arguments)
    bundle(asked.into, asked.wheels, asked.target)
    return 0


def bundle(into: Path, cache: Path, target: str | None) -> None:
    shutil.rmtree(into, ignore_errors=True)
    for name in LAUNCHER:
        copy(SOURCE / name, into / name)
    for package in PACKAGES:
        copy(REPOSITORY / package, into / "warplint" / Path(package).name)
    for wheel in wheels("requirements.txt", PURE, cache / "pure"):
        unpack(wheel, into / "libs")
    if target is None:
        return
    libcst = TARGETS["targets"][target]

    def libcst_for(python: str) -> list[Path]:
        chosen = ("--platform", libcst["wheels"], "--implementation", "cp", "--python-version", python)
        return wheels(libcst["libcst"], chosen, cache / target / python)

    # pip takes one Python at a time, and most of it is waiting for the network.
    with ThreadPoolExecutor() as pool:
        for found in pool.map(libcst_for, TARGETS["pythons"]):
            for wheel in found:
                unpack(wheel, into / "libcst")


def wheels(requirements: str, chosen: Sequence[str], folder: Path) -> list[Path]:
    """The wheels of a file of pinned requirements, downloaded if they are not there yet."""
    pins = SOURCE / requirements
    made_from = folder / "made-from"
    if not made_from.is_file() or made_from.read_bytes() != pins.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        pip = [sys.executable, "-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check", "download"]
        what = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement", str(pins)]
        subprocess.run([*pip, *what, *chosen, "--dest", str(folder)], check=True)
        shutil.copyfile(pins, made_from)
    return sorted(folder.glob("*.whl"))


def copy(source: Path, into: Path) -> None:
    for file in [source] if source.is_file() else sorted(source.rglob("*")):
        inside = PurePosixPath(file.relative_to(source).as_posix())
        if file.is_file() and is_shipped(inside):
            write(into / inside, file.read_bytes())


def unpack(wheel: Path, into: Path) -> None:
    """Add a wheel's modules to a folder. Those for several Pythons may differ in native modules alone."""
    with zipfile.ZipFile(wheel) as archive:
        for name, content in shipped(archive):
            file = into / name
            if file.is_file() and file.read_bytes() != content:
                raise SystemExit(f"bundle: {wheel.name} has another {name} than the wheels before it")
            write(file, content)


def shipped(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    for name in sorted(archive.namelist()):
        path = PurePosixPath(name)
        if path.parts[0].endswith(".dist-info"):
            if SHIPPED_OF_METADATA.fullmatch(name):
                content = archive.read(name)
                yield name, short_metadata(content) if path.name == "METADATA" else content
        elif not name.endswith("/") and is_shipped(path):
            yield name, archive.read(name)


def is_shipped(path: PurePosixPath) -> bool:
    return path.suffix not in NOT_SHIPPED_SUFFIXES and NOT_SHIPPED_FOLDERS.isdisjoint(path.parts[:-1])


def short_metadata(content: bytes) -> bytes:
    """What says which version this is, without the project's page."""
    headers = HeaderParser().parsestr(content.decode("utf-8"))
    return "".join(f"{field}: {headers[field]}\n" for field in KEPT_FIELDS if headers[field]).encode()


def write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())
