"""Which torch a program is checked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.project.config import Config
from warplint.project.files import Configs
from warplint.project.torch_bounds import bound_in, lowest
from warplint.project.torch_target import TorchTarget, TorchTargets, installed_for
from warplint.static.torch_version import NEWEST, TorchVersion

INSTALLED = TorchTarget(TorchVersion(2, 13), "installed in here")


def written(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def bound(folder: Path) -> str | None:
    found = bound_in(folder)
    return None if found is None else f"{found[0]} in {found[1]}"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.4", TorchVersion(2, 4)),
        ("2.4.1+cu121", TorchVersion(2, 4)),
        ("2.10.0a0", TorchVersion(2, 10)),
        ("v2.1-rc1", TorchVersion(2, 1)),
        ("2", TorchVersion(2)),
        ("latest", None),
    ],
)
def test_versions(text: str, version: TorchVersion | None) -> None:
    assert TorchVersion.parse(text) == version


def test_versions_are_ordered_and_the_newest_is_last() -> None:
    assert TorchVersion(1, 13) < TorchVersion(2) < TorchVersion(2, 9) < TorchVersion(2, 10) < NEWEST
    assert (str(TorchVersion(2, 10)), str(NEWEST)) == ("2.10", "newest")


@pytest.mark.parametrize(
    ("requirement", "version"),
    [
        ("torch>=2.1", "2.1"),
        ("torch >= 2.1, < 3", "2.1"),
        ("torch<3,>=2.1", "2.1"),
        ("torch==2.3.1+cu121", "2.3"),
        ("torch===2.3.1", "2.3"),
        ("torch==2.2.*", "2.2"),
        ("torch~=2.0", "2.0"),
        ("torch>2.0", "2.0"),
        ("torch[opt-einsum]>=2.1", "2.1"),
        ("torch (>=1.13)", "1.13"),
        ("torch>=2.1; python_version >= '3.12'", "2.1"),
        ("torch>=2.1  # as tested", "2.1"),
        ("pytorch::pytorch=2.1=py3.11_cuda12.1_0", "2.1"),
        ("torch @ https://example.com/cu118/torch-2.0.1%2Bcu118-cp311-cp311-linux_x86_64.whl", "2.0"),
        ("torch ^1.13 || ^2.0", "1.13"),
        ("torch<2.4", "2.3"),
        ("torch<=2.4", "2.4"),
        ("torch<2.4.1", "2.4"),
        ("torch<2", "1.13"),
        ("torch<2.0.0", "1.13"),
        ("torch!=2.0.1,<2.2", "2.1"),
        ("torch<3", None),
        ("torch!=2.0.1", None),
        ("torch", None),
        ("torchvision>=0.15", None),
        ("torch-geometric>=2.3", None),
        ("torch_scatter==2.1.1", None),
        ("torch @ git+https://github.com/pytorch/pytorch", None),
    ],
)
def test_one_requirement(requirement: str, version: str | None) -> None:
    found = lowest([requirement])
    assert (found and str(found)) == version


def test_the_lowest_bound_counts_and_an_upper_one_only_without_any() -> None:
    assert lowest(["torch>=2.4", "torch>=1.13", "torch<2"]) == TorchVersion(1, 13)
    assert lowest(["torch<2.4", "torch<2.2"]) == TorchVersion(2, 1)


FILES = [
    ("pyproject.toml", '[project]\ndependencies = ["numpy", "torch>=2.1,<3"]\n', "2.1"),
    ("pyproject.toml", "[project]\ndependencies = ['torch>=2.1; python_version<\"3.13\"']\n", "2.1"),
    ("pyproject.toml", '[project.optional-dependencies]\ntrain = ["torch>=2.2"]\n', "2.2"),
    ("pyproject.toml", '[dependency-groups]\ndev = ["torch==2.5.1", {include-group = "x"}]\n', "2.5"),
    ("pyproject.toml", '[tool.uv]\ndev-dependencies = [\n  "torch>=2.4",\n]\n', "2.4"),
    ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.11"\ntorch = "^2.1"\n', "2.1"),
    ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "2.1.0"\n', "2.1"),
    ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = {version = "~2.3", source = "cpu"}\n', "2.3"),
    (
        "pyproject.toml",
        '[tool.poetry.dependencies]\ntorch = [\n  {version = "^2.2", platform = "linux"},\n'
        '  {version = "^2.0", platform = "darwin"},\n]\n',
        "2.0",
    ),
    ("pyproject.toml", '[tool.pixi.dependencies]\npytorch = ">=2.1,<3"\n', "2.1"),
    ("pyproject.toml", '[project]\ndependencies = ["torch>=2.1", "half', "2.1"),
    ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    torch>=1.10\n", "1.10"),
    ("setup.cfg", "[options]\ninstall_requires = torch>=1.10\n", "1.10"),
    ("setup.py", "setup(install_requires=['numpy', 'torch>=1.8.0'])\n", "1.8"),
    ("requirements.txt", "--extra-index-url https://x\n# torch==1.0\ntorch==2.0.1 --hash=sha256:0\n", "2.0"),
    ("requirements.txt", "Torch>=2.1\n", "2.1"),
    ("requirements-gpu.txt", "numpy\ntorch~=2.4.0\n", "2.4"),
    ("environment.yml", "dependencies:\n  - python=3.11\n  - pytorch=2.1\n", "2.1"),
    ("environment.yml", "dependencies:\n  - pytorch 2.1.*\n", "2.1"),
    ("environment.yml", "dependencies:\n  - pip:\n    - torch==2.2.0\n", "2.2"),
]


@pytest.mark.parametrize(("name", "text", "version"), FILES)
def test_the_files_that_name_a_bound(tmp_path: Path, name: str, text: str, version: str) -> None:
    written(tmp_path, name, text)
    assert bound(tmp_path) == f"{version} in {name}"


NO_BOUND = [
    ("pyproject.toml", '[project]\nkeywords = ["torch"]\ndependencies = ["torch", "torchaudio>=2.1"]\n'),
    ("pyproject.toml", '[tool.uv.sources]\ntorch = { index = "pytorch-2.1" }\n'),
    ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "*"\ntorchvision = "0.15"\n'),
    ("pyproject.toml", '# torch = "1.0"\n[[tool.mypy.overrides]]\nmodule = ["torch.*"]\n'),
    ("requirements.txt", "torch\ntorchvision==0.15\n"),
    ("environment.yml", "dependencies:\n  - pytorch\n  - pytorch-cuda=12.1\n"),
]


@pytest.mark.parametrize(("name", "text"), NO_BOUND)
def test_what_only_looks_like_a_bound(tmp_path: Path, name: str, text: str) -> None:
    written(tmp_path, name, text)
    assert bound(tmp_path) is None


def test_the_first_file_with_a_bound_decides(tmp_path: Path) -> None:
    written(tmp_path, "pyproject.toml", '[project]\ndependencies = ["torch"]\n')
    written(tmp_path, "requirements-old.txt", "torch==1.13\n")
    written(tmp_path, "requirements.txt", "torch==2.1\n")
    assert bound(tmp_path) == "2.1 in requirements.txt"


def test_a_part_of_a_repository_asks_for_its_own_or_for_what_the_whole_does(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    written(tmp_path, "requirements.txt", "torch>=2.0\n")
    written(tmp_path / "own", "pyproject.toml", '[project]\ndependencies = ["torch>=2.4"]\n')
    written(tmp_path / "tools", "pyproject.toml", '[project]\nname = "tools"\n')
    written(tmp_path / "docs", "requirements.txt", "torch==1.0\n")
    targets = TorchTargets(INSTALLED)
    folders = ["own/pkg", "own", "tools", "docs", "."]
    found = [str(targets.of(tmp_path / folder).version) for folder in folders]
    assert found == ["2.4", "2.4", "2.0", "2.0", "2.0"]
    assert targets.of(tmp_path).origin == f"required in {tmp_path / 'requirements.txt'}"


def test_what_another_repository_around_it_asks_for_does_not_count(tmp_path: Path) -> None:
    written(tmp_path, "pyproject.toml", '[project]\ndependencies = ["torch>=1.0"]\n')
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    assert TorchTargets(INSTALLED).of(tmp_path / "inner") == INSTALLED
    assert TorchTargets(INSTALLED, isolated=True).of(tmp_path) == INSTALLED


@pytest.mark.parametrize(
    ("place", "name", "version"),
    [
        ("lib/python3.11/site-packages", "torch-2.6.0+cu124.dist-info", "2.6"),
        ("lib/python3.9/site-packages", "torch-1.13.1-py3.9.egg-info", "1.13"),
        ("Lib/site-packages", "torch-2.7.1.dist-info", "2.7"),
    ],
)
def test_the_torch_of_an_environment(tmp_path: Path, place: str, name: str, version: str) -> None:
    for installed in (name, "torch_geometric-2.3.0.dist-info", "torch-summary-1.4.dist-info", "torch"):
        (tmp_path / place / installed).mkdir(parents=True)
    found = installed_for(tmp_path / "bin" / "python")
    assert found is not None
    assert (str(found.version), found.origin) == (version, f"installed in {tmp_path / place}")


def test_an_environment_without_torch_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    assert installed_for(tmp_path / "bin" / "python") is None


def test_the_configuration_is_over_all(tmp_path: Path) -> None:
    written(
        tmp_path,
        "pyproject.toml",
        '[project]\ndependencies = ["torch>=2.0"]\n[tool.warplint]\nselect = ["WL"]\n',
    )
    (tmp_path / "a").mkdir()
    configs = Configs()
    assert configs.of(tmp_path / "a").torch.version == TorchVersion(2, 0)
    assert configs.of(tmp_path / "a") is configs.of(tmp_path)
    written(
        tmp_path,
        "pyproject.toml",
        '[project]\ndependencies = ["torch>=2.0"]\n[tool.warplint]\ntorch-version = "2.7.1"\n',
    )
    assert Configs().of(tmp_path / "a").torch == TorchTarget(TorchVersion(2, 7), "configured")
    assert Config(tmp_path).torch.version == NEWEST
