"""Good practice behind a setting counts where the setting is on by default, as far as the file says."""

from __future__ import annotations

import ast
from itertools import product

import pytest
from scoring import checked
from test_practices import labels

from warplint.advice.score.settings import Settings
from warplint.source.statements import parsed
from warplint.static.facts import Facts
from warplint.static.inference.knowledge import Knowledge
from warplint.static.structure.index import Index

ON = [
    (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('-j','--workers', default=4)\nargs = p.parse_args()\n"
        "l = DataLoader(data, num_workers=args.workers)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--data-workers', type=int, default=2)\ndef main():\n    a=p.parse_args()\n"
        "    l = DataLoader(data, num_workers=a.data_workers)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--w', dest='workers', default=3)\nargs = p.parse_args()\n"
        "l = DataLoader(data, num_workers=args.workers)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--workers', default=0)\n"
        "p.set_defaults(workers=3)\nargs = p.parse_args()\n"
        "l = DataLoader(data, num_workers=args.workers)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--workers', default=os.cpu_count())\nimport os\nargs = p.parse_args()\n"
        "l = DataLoader(data, num_workers=args.workers)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--workers', default=8)\n"
        "args = p.parse_args()\ndef f(args):\n    n = min(args.workers, 4)\n"
        "    l = DataLoader(data, num_workers=n)"
    ),
    "workers = 4\nl = DataLoader(data, num_workers=workers)",
    "workers = 4\ndef f(d):\n    l = DataLoader(data, num_workers=workers)",
    "def f(d, workers=4):\n    l = DataLoader(data, num_workers=workers)",
    "def f(d, workers=0):\n    l = DataLoader(data, num_workers=workers)\nf(d, workers=4)",
    "def f(d, workers=0):\n    l = DataLoader(data, num_workers=workers)\nf(d, 4)",
    (
        "class M:\n    def __init__(self, workers=2):\n        self.workers = workers\n"
        "    def f(self):\n        l = DataLoader(data, num_workers=self.workers)"
    ),
    (
        "class M:\n    def __init__(self, workers=0):\n        self.workers = workers\n"
        "    def f(self):\n        l = DataLoader(data, num_workers=self.workers)\nM(workers=3)"
    ),
    (
        "from dataclasses import dataclass, field\n@dataclass\nclass C:\n"
        "    workers: int = field(default=4)\ndef f(c: C):\n"
        "    l = DataLoader(data, num_workers=c.workers)"
    ),
    (
        "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    workers: int = 0\n"
        "c = C(workers=4)\nl = DataLoader(data, num_workers=c.workers)"
    ),
    (
        "import click\n@click.command()\n@click.option('-w', '--workers', default=4)\n"
        "def f(workers):\n    l = DataLoader(data, num_workers=workers)"
    ),
    ("import typer\ndef f(workers: int = typer.Option(4)):\n    l = DataLoader(data, num_workers=workers)"),
    (
        "from absl import flags\nflags.DEFINE_integer('workers', 4, 'how many')\n"
        "l = DataLoader(data, num_workers=flags.FLAGS.workers)"
    ),
    "c = {'workers': 4}\nl = DataLoader(data, num_workers=c['workers'])",
    "l = DataLoader(data, num_workers=getattr(args, 'workers', 4))",
    "l = DataLoader(data, pin_memory=torch.cuda.is_available())",
    "import os\nl = DataLoader(data, num_workers=min([os.cpu_count(), 4]))",
    "import os\nl = DataLoader(data, num_workers=max((0, 2)))",
    "import os\nl = DataLoader(data, num_workers=len(os.sched_getaffinity(0)))",
    (
        "import os\ndef f(batch_size=16, workers=8):\n"
        "    nw = min([os.cpu_count(), batch_size if batch_size > 1 else 0, workers])\n"
        "    l = DataLoader(data, num_workers=nw)"
    ),
    "l = DataLoader(data, pin_memory=device.type == 'cuda')",
    "l = DataLoader(data, pin_memory=device != 'cpu')",
    "l = DataLoader(data, pin_memory=True if torch.cuda.is_available() else False)",
    (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--no-cuda', action='store_true')\nargs = p.parse_args()\n"
        "use_cuda = not args.no_cuda and torch.cuda.is_available()\n"
        "l = DataLoader(data, pin_memory=use_cuda)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--device', default='cuda')\nargs = p.parse_args()\n"
        "x = torch.zeros(3, device=args.device)"
    ),
    "def f(device=None):\n    return torch.zeros(3, device=device)",
    (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--bench', default=True)\n"
        "args = p.parse_args()\ntorch.backends.cudnn.benchmark = args.bench"
    ),
    "import lightning as L\nprecision = '16-mixed'\nt = L.Trainer(precision=precision)",
    "def f(d, **more):\n    def g(workers=3):\n        return DataLoader(d, num_workers=workers)",
    (
        "def f(d):\n    workers = 4\n    def g():\n"
        "        return DataLoader(d, num_workers=workers)\n    return g"
    ),
]
"""Programs with one practice that is on unless the program's user says otherwise."""

NOT_KNOWN_TO_BE_ON = [
    (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--workers', default=0)\n"
        "args = p.parse_args()\nl = DataLoader(data, num_workers=args.workers)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('-j','--workers', type=int)\nargs = p.parse_args()\n"
        "l = DataLoader(data, num_workers=args.workers)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('workers', type=int)\n"
        "args = p.parse_args()\nl = DataLoader(data, num_workers=args.workers)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--workers', required=True)\nargs = p.parse_args()\n"
        "l = DataLoader(data, num_workers=args.workers)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--workers', default='0')\n"
        "args = p.parse_args()\nl = DataLoader(data, num_workers=int(args.workers))"
    ),
    "l = DataLoader(data, num_workers=args.workers)",
    "l = DataLoader(data, num_workers=workers)",
    "workers = 0\nl = DataLoader(data, num_workers=workers)",
    "def f(d, workers=0):\n    l = DataLoader(data, num_workers=workers)",
    "def f(d, workers):\n    l = DataLoader(data, num_workers=workers)",
    (
        "class M:\n    def __init__(self, workers=0):\n        self.workers = workers\n"
        "    def f(self):\n        l = DataLoader(data, num_workers=self.workers)"
    ),
    (
        "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    workers: int = 0\n"
        "def f(c: C):\n    l = DataLoader(data, num_workers=c.workers)"
    ),
    (
        "import click\n@click.command()\n@click.option('--workers', default=0)\ndef f(workers):\n"
        "    l = DataLoader(data, num_workers=workers)"
    ),
    (
        "import typer\ndef f(workers: int = typer.Option(0, '--workers')):\n"
        "    l = DataLoader(data, num_workers=workers)"
    ),
    (
        "from pydantic import BaseModel, Field\nclass C(BaseModel):\n    workers: int = Field(...)\n"
        "def f(c: C):\n    l = DataLoader(data, num_workers=c.workers)"
    ),
    (
        "import typer\ndef f(amp: bool = typer.Option(...)):\n"
        "    with torch.autocast('cuda', enabled=amp):\n        pass"
    ),
    "def f(d, workers: int = ...):\n    l = DataLoader(data, num_workers=workers)",
    "l = DataLoader(data, num_workers=min([]))",
    "l = DataLoader(data, num_workers=min([0]))",
    "l = DataLoader(data, num_workers=min([*workers]))",
    "with torch.autocast('cuda', enabled=device > 'cpu'):\n    pass",
    (
        "from absl import flags\nflags.DEFINE_integer('workers', 0, 'how many')\n"
        "l = DataLoader(data, num_workers=flags.FLAGS.workers)"
    ),
    "c = {'workers': 0}\nl = DataLoader(data, num_workers=c['workers'])",
    "c = {'workers': 0}\nl = DataLoader(data, num_workers=c.get('workers', 4))",
    "import os\nl = DataLoader(data, num_workers=int(os.environ.get('W', 0)))",
    "l = DataLoader(data, pin_memory=device == 'cpu')",
    (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--workers', default=0)\n"
        "args = p.parse_args()\nl = DataLoader(data, persistent_workers=args.workers > 0)"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--amp', action='store_true')\nargs = p.parse_args()\n"
        "with torch.autocast('cuda', enabled=args.amp):\n    pass"
    ),
    (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--device', default='cpu')\n"
        "args = p.parse_args()\nx = torch.zeros(3, device=args.device)"
    ),
    "workers = workers\nl = DataLoader(data, num_workers=workers)",
    (
        "class M:\n    def f(self):\n        self.workers = self.workers\n"
        "        l = DataLoader(data, num_workers=self.workers)"
    ),
    "l = DataLoader(data, num_workers=not (a and b))",
    "l = DataLoader(data, num_workers=2 // 0)",
    "l = DataLoader(data, num_workers='a' * 'b')",
]
"""The same where it is off by default, or where nothing says what it is."""


@pytest.mark.parametrize("program", ON)
def test_a_setting_that_is_on_by_default_counts(program: str) -> None:
    assert len(labels(program)) == 1


@pytest.mark.parametrize("program", NOT_KNOWN_TO_BE_ON)
def test_a_setting_that_is_off_or_unknown_does_not(program: str) -> None:
    assert labels(program) == set()


@pytest.mark.parametrize("huge", ["'a' * 9_000_000_000_000", "0x1" + "0" * 5000, "b'1' * 3", "1e308 * 10"])
def test_values_that_no_setting_has_do_no_harm(huge: str) -> None:
    assert labels(f"l = DataLoader(data, num_workers=0)\nx = x.to({huge}, non_blocking=False)") == set()
    assert labels(f"x = torch.zeros(3, device={huge})") == {"tensors made on their device"}
    labels(f"l = DataLoader(data, num_workers={huge})")
    labels(f"import lightning as L\nt = L.Trainer(precision={huge})")


def test_a_name_that_is_made_of_itself_again_and_again_is_given_up_soon() -> None:
    counted = "workers = count(workers) or workers + workers\n" * 40
    assert labels(counted + "l = DataLoader(data, num_workers=workers)") == set()


OPERANDS = [
    "0", "2.5", "1j", "''", "'cpu'", "'cuda:0'", "b'1'", "...", "None", "True", "()", "[]", "[8, 'cpu']",
    "{}", "{1}", "*n", "n", "n.n", "n['n']", "self.n", "os.cpu_count()", "os.sched_getaffinity(0)",
]  # fmt: skip
AROUND = [
    "not ({})", "-({})", "~({})", "min({})", "max({})", "len({})", "int({})", "float({})", "str({})",
    "bool({})", "min([{}])", "min(({},))", "n.get({})", "get({})", "getattr({})", "pop({})", "getenv({})",
    "n[{}]", "({})()", "({}).n", "n.option('--n', dest={})", "flags.DEFINE_n({}, 1)", "n.option({}, '--n')",
]  # fmt: skip
BETWEEN = [
    "+", "-", "*", "/", "//", "%", "**", "@", "<<", "&", "|", "and", "or", "==", "!=", "<", "<=", ">", ">=",
    "is", "is not", "in", "not in", "< 1 <", "if 1 else", ",",
]  # fmt: skip


def expressions() -> list[str]:
    pairs = product(OPERANDS, BETWEEN, OPERANDS[::2])
    plain = [*OPERANDS, *(f"{one} {between} {other}" for one, between, other in pairs)]
    several = ["n, 'n'", "'n', 0", "'n', n, n", "0, 'cpu', b''"]
    inner = [*OPERANDS, *several, "n > 'cpu'", "2 // 0", "0x1" + "0" * 5000]
    return [*plain, *(around.format(each) for around in AROUND for each in inner)]


def follow(found: list[str]) -> None:
    lines = "\n".join(f"s{number} = {each}" for number, each in enumerate(found))
    text = checked(
        f"import os, torch\nn = [1, 'n', b'', 2.5, os.cpu_count()][0]\nn = 3\nn = 'cpu'\n{lines}\n"
    )
    index = Index([*text.analysis.readable])
    facts = Facts(text.source, Knowledge(index))
    settings = Settings(index, facts)
    for placed in index.chunks:
        facts.begin(placed, placed.chunk.tree)
        for statement in placed.chunk.tree.body:
            if isinstance(statement, ast.Assign):
                settings.values(statement.value)


def test_no_expression_is_too_odd_to_be_followed() -> None:
    found = [each for each in expressions() if parsed(f"n = {each}") is not None]
    assert len(found) > 4_000
    for first in range(0, len(found), 100):
        follow(found[first : first + 100])
