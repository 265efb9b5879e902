from __future__ import annotations

import fcntl
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from making import UNIVERSAL, VERSION, make
from places import HOST, OWN, Environment, pythons


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all the processes of one test run use."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def vsix(shared: Path) -> Callable[[str], Path]:
    """The extension file for a target: of the folder EXTENSION_PACKAGES, or else made once."""
    packages = os.environ.get("EXTENSION_PACKAGES")

    def made(target: str) -> Path:
        if packages:
            return Path(packages) / f"warplint-{VERSION}-{target}.vsix"
        folder = shared / "vsix" / target
        folder.mkdir(parents=True, exist_ok=True)
        with (folder.parent / f"{target}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return next(folder.glob("*.vsix"), None) or make(target, folder)

    return made


@pytest.fixture(scope="session")
def installed(vsix: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of an extension as an editor unpacks it; tests may not change it."""
    folders: dict[str, Path] = {}

    def unpacked(target: str) -> Path:
        if target not in folders:
            folders[target] = tmp_path_factory.mktemp(target)
            with zipfile.ZipFile(vsix(target)) as archive:
                archive.extractall(folders[target])
        return folders[target] / "extension"

    return unpacked


@pytest.fixture(scope="session")
def universal(installed: Callable[[str], Path]) -> Path:
    return installed(UNIVERSAL)


@pytest.fixture(scope="session")
def for_this_platform(installed: Callable[[str], Path]) -> Path:
    return installed(HOST)


@pytest.fixture(params=sorted(pythons()))
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> Environment:
    """An environment without packages, of each supported Python that is here."""
    return Environment(tmp_path / "environment", request.param)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment without packages, of the Python that runs the tests."""
    return Environment(tmp_path / "environment", OWN)
