"""What a file knows of the names that it imports from its project's other files."""

from __future__ import annotations

from pathlib import Path

import pytest
from others import described, look, value, write

from warplint.project.imports import ProjectFiles
from warplint.static.finding import Hotness
from warplint.static.inference.abroad import Abroad

UTILS = """\
import numpy as np
import torch
from torch import nn

DEVICE = torch.device("cuda")
ON_HOST = torch.device("cpu")
STEPS = 100


def to_device(x, device):
    return x.to(device)


def weights(n):
    return _table(n)


def _table(n):
    return torch.arange(n)


def positions(n):
    return np.arange(n)


def both(x):
    return x.cuda(), len(x)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
        self.rows = []

    def shift(self, x):
        return x + self.scale

    @property
    def size(self):
        return len(self.rows)


class Meter:
    def average(self):
        return 0.5
"""
NET = """\
import torch
from torch import nn

from models.layers import Block


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return {"out": self.block(x)}
"""
FILES = {
    "utils.py": UTILS,
    "models/__init__.py": "from .net import Net\nfrom models.net import Net as Renamed\n",
    "models/net.py": NET,
    "models/layers.py": "from utils import Base\n\n\nclass Block(Base):\n    pass\n",
    "common.py": "from torch import nn\nfrom utils import *\n",
}
HEAD = "import torch\nfrom torch import nn\n"

CASES = {
    "a helper that builds on the CPU": ("from utils import weights\n«weights(3)»", "tensor cpu"),
    "the same through its module": ("import utils\n«utils.weights(3)»", "tensor cpu"),
    "under another name": ("from utils import weights as w\n«w(3)»", "tensor cpu"),
    "a helper that moves": ("from utils import to_device\n«to_device(torch.ones(3), 'cuda')»", "tensor gpu"),
    "the same to the CPU": (
        "from utils import to_device\n«to_device(torch.ones(3).cuda(), 'cpu')»",
        "tensor cpu",
    ),
    "a helper that gives an array": ("from utils import positions\n«positions(3)»", "ndarray"),
    "a part of a tuple": ("from utils import both\na, b = both(torch.ones(3))\n«a»", "tensor gpu"),
    "another part": ("from utils import both\na, b = both(torch.ones(3))\n«b»", "number"),
    "a device": ("from utils import DEVICE\n«torch.ones(3, device=DEVICE)»", "tensor gpu"),
    "a device that is the CPU": ("from utils import ON_HOST\n«torch.ones(3).to(ON_HOST)»", "tensor cpu"),
    "a number": ("from utils import STEPS\n«STEPS»", "number"),
    "from everything": ("from utils import *\n«weights(3)»", "tensor cpu"),
    "from everything handed on": ("from common import *\n«weights(3)»", "tensor cpu"),
    "what a star does not bind": ("from utils import *\n«_table(3)»", "unknown"),
    "imported in a function": (
        "def train():\n    from utils import weights\n    return «weights(3)»",
        "tensor cpu",
    ),
    "a library through another file": ("from common import nn\n«nn.Linear(2, 3)»", "module"),
    "a module": ("from models.net import Net\n«Net()»", "module"),
    "a module handed on by its package": ("from models import Net\n«Net()»", "module"),
    "the same under another name": ("from models import Renamed\n«Renamed()»", "module"),
    "a module through its package": ("import models.net\n«models.net.Net()»", "module"),
    "what its forward gives": ("from models import Net\nnet = Net()\n«net(torch.ones(3))»", "sequence"),
    "what a method gives": (
        "from utils import Meter\nmeter = Meter()\n«meter.average()»",
        "number",
    ),
    "a property": ("from utils import Base\n«Base().size»", "number"),
    "a method of a base": (
        "from utils import Base\nclass Net(Base):\n    def forward(self, x):\n        return «self.shift(x)»",
        "tensor likely",
    ),
    "an attribute of a base": (
        "from utils import Base\nclass Net(Base):\n    def forward(self, x):\n        return «self.scale»",
        "tensor likely",
    ),
    "an attribute of a base through a star": (
        "from utils import *\nclass Net(Base):\n    def forward(self, x):\n        return «self.rows»",
        "sequence",
    ),
    "a helper that is handed a class of this file": (
        "from utils import to_device\nclass Net(nn.Module):\n    pass\n«to_device(Net(), 'cuda')»",
        "module",
    ),
    "a name that is not there": ("from utils import missing\n«missing(3)»", "unknown"),
    "a file that is not there": ("from missing import weights\n«weights(3)»", "unknown"),
    "a name that is rebound": ("from utils import weights\nweights = print\n«weights(3)»", "unknown"),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_imports_are_followed(tmp_path: Path, text: str, expected: str) -> None:
    write(tmp_path, FILES)
    assert described(value(tmp_path / "main.py", HEAD + text)) == expected


def test_the_role_of_a_class_comes_through_the_files_of_its_bases(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    marked = "import torch\nfrom models.layers import Block\nclass Net(Block):\n    def run(self, x):\n"
    facts, node = look(tmp_path / "main.py", marked + "        return «torch.zeros(3)»\n")
    function = facts.function(node)
    assert function is not None and function.class_role == "module"


def test_a_forward_is_hot_though_only_another_file_tells_that_it_is_one(tmp_path: Path) -> None:
    write(tmp_path, {"plain.py": "class Plain:\n    pass\n", **FILES})
    body = "    def forward(this, x):\n        return «torch.zeros(3)»\n"
    facts, node = look(tmp_path / "a.py", f"import torch\nfrom utils import Base\nclass Net(Base):\n{body}")
    assert facts.hotness(node) is Hotness.STEP


RELATIVE = {
    "beside": ("pkg/train.py", "from .tools import make\n"),
    "the module": ("pkg/train.py", "from . import tools\nmake = tools.make\n"),
    "above": ("pkg/deep/train.py", "from ..tools import make\n"),
    "from the root": ("pkg/deep/train.py", "from pkg.tools import make\n"),
    "from a script": ("scripts/train.py", "from pkg.tools import make\n"),
    "from a test": ("tests/unit/test_it.py", "from pkg.tools import make\n"),
}


@pytest.mark.parametrize(("place", "text"), RELATIVE.values(), ids=RELATIVE)
@pytest.mark.parametrize("source", ["", "src/"])
def test_packages_are_found(tmp_path: Path, source: str, place: str, text: str) -> None:
    tools = "import torch\ndef make():\n    return torch.zeros(3)\n"
    write(tmp_path, {f"{source}pkg/__init__.py": "", f"{source}pkg/tools.py": tools})
    path = tmp_path / (source if place.startswith("pkg") else "") / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if place.startswith("pkg/deep"):
        (path.parent / "__init__.py").touch()
    assert described(value(path, f"import torch\n{text}«make()»\n")) == "tensor cpu"


def test_answers_are_told_by_what_they_rest_on(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "other.py": "import torch\n"})
    others = Abroad(ProjectFiles())
    path = tmp_path / "main.py"
    view = others.seen_from(path)
    assert view.imported("models.Net") is not None
    read = {each.relative_to(tmp_path).as_posix() for each in view.reads}
    assert read == {".", "models", "models/__init__.py", "models/net.py"}
    again = others.seen_from(path)
    again.imported("models.Net")
    assert again.reads == view.reads


def test_what_changed_is_looked_at_anew_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    files = ProjectFiles()
    others = Abroad(files)
    marked = "import torch\nfrom utils import weights\n«weights(3)»"
    assert described(value(tmp_path / "main.py", marked, others)) == "tensor cpu"
    assert not files.changed()
    (tmp_path / "utils.py").write_text("import torch\ndef weights(n):\n    return torch.ones(n).cuda()\n")
    assert described(value(tmp_path / "main.py", marked, others)) == "tensor cpu"
    changed = files.changed()
    assert tmp_path / "utils.py" in changed
    others.forget(changed)
    assert described(value(tmp_path / "main.py", marked, others)) == "tensor gpu"


CIRCLES = {
    "two files": {
        "a.py": "import torch\nfrom b import g\ndef f(n):\n    return g(n - 1) if n else torch.ones(3)\n",
        "b.py": "from a import f\ndef g(n):\n    return f(n)\n",
    },
    "two stars": {
        "a.py": "from b import *\n",
        "b.py": "from a import *\nimport torch\ndef f(n):\n    return torch.ones(3)\n",
    },
    "a name handed round": {"a.py": "from b import f\n", "b.py": "from a import f\n"},
    "constants": {
        "a.py": "import b\nf = b.g\nclass X:\n    pass\n",
        "b.py": "import a\ng = a.f\n",
    },
    "bases": {
        "a.py": "from b import B\nclass f(B):\n    pass\n",
        "b.py": "from a import f\nclass B(f): ...\n",
    },
    "itself": {"a.py": "from a import f\n"},
}


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("files", CIRCLES.values(), ids=CIRCLES)
def test_circles_come_to_an_end_and_the_order_of_questions_does_not_matter(
    tmp_path: Path, files: dict[str, str], first: str
) -> None:
    write(tmp_path, files)
    others = Abroad(ProjectFiles())
    warm = {"a": "from a import f\n«f(3)»", "b": "from b import g\n«g(3)»"}[first]
    value(tmp_path / "warm.py", warm, others)
    fresh = value(tmp_path / "main.py", "import torch\nfrom a import f\n«f(3)»")
    assert value(tmp_path / "main.py", "import torch\nfrom a import f\n«f(3)»", others) == fresh


HARMFUL = {
    "no text": b"\xff\xfe\x00",
    "NUL bytes": b"def make():\n    return 1\0\n",
    "an unknown encoding": b"# coding: klingon\ndef make():\n    return 1\n",
    "no Python": b"def make(:\n    return 1\n",
    "nested too deeply": b"make = " + b"(" * 5000 + b")" * 5000 + b"\n",
    "huge": b"import torch\ndef make():\n    return torch.ones(3)\n" + b"#" * (1 << 20),
    "nothing": b"",
}


@pytest.mark.parametrize("data", HARMFUL.values(), ids=HARMFUL)
def test_files_that_cannot_be_used_say_nothing(tmp_path: Path, data: bytes) -> None:
    write(tmp_path, {})
    (tmp_path / "tools.py").write_bytes(data)
    assert (
        described(value(tmp_path / "main.py", "import torch\nfrom tools import make\n«make()»")) == "unknown"
    )


def test_a_broken_statement_leaves_the_others_of_its_file_alone(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"tools.py": "import torch\ndef broken(:\n    pass\ndef make():\n    return torch.ones(3)\n"},
    )
    found = value(tmp_path / "main.py", "import torch\nfrom tools import make\n«make()»")
    assert described(found) == "tensor cpu"


def test_nothing_outside_the_project_is_read(tmp_path: Path) -> None:
    tools = "import torch\ndef make():\n    return torch.ones(3)\n"
    (tmp_path / "tools.py").write_text(tools)
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "linked.py").write_text(tools)
    root = tmp_path / "project"
    root.mkdir()
    write(root, {"near/main.py": "", "near/__init__.py": "", "__init__.py": ""})
    (root / "linked.py").symlink_to(tmp_path / "away" / "linked.py")
    (root / "loop").symlink_to(root)
    for text in ("from tools import make", "from ...tools import make", "from linked import make"):
        found = value(root / "near" / "main.py", f"import torch\n{text}\n«make()»")
        assert described(found) == "unknown", text


def test_a_file_that_is_no_plain_file_is_not_opened(tmp_path: Path) -> None:
    import os

    write(tmp_path, {})
    os.mkfifo(tmp_path / "tools.py")
    assert (
        described(value(tmp_path / "main.py", "import torch\nfrom tools import make\n«make()»")) == "unknown"
    )


def test_a_file_named_like_a_library_does_not_stand_for_it_in_itself(tmp_path: Path) -> None:
    write(tmp_path, {"datasets.py": "import torch\ndef load():\n    return torch.ones(3)\n"})
    found = value(tmp_path / "datasets.py", "import torch\nfrom datasets import load\n«load()»")
    assert described(found) == "unknown"


def test_what_rules_tell_by_the_call_that_made_it_is_not_told_from_outside(tmp_path: Path) -> None:
    text = "import torch\ndef make(net):\n    return torch.optim.AdamW(net.parameters(), fused=True)\n"
    write(tmp_path, {"tools.py": text})
    found = value(tmp_path / "main.py", "import torch\nfrom tools import make\n«make(torch.nn.Linear(2, 3))»")
    assert described(found) == "optimizer" and found.qualified is None


def test_bases_are_followed_through_any_number_of_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "first.py": "import torch\nclass First:\n    def __init__(self):\n"
            "        self.table = torch.ones(3)\n    def make(self):\n        return torch.zeros(3)\n",
            "second.py": "from first import First\nclass Second(First):\n    pass\n",
            "third.py": "from second import Second\nclass Third(Second):\n    pass\n",
        },
    )
    path = tmp_path / "main.py"
    derived = "import torch\nfrom third import Third\nclass Own(Third):\n    def run(self):\n        "
    for text in (
        "import torch\nfrom third import Third\nthird = Third()\n«third.make()»",
        "import torch\nfrom third import Third\nthird = Third()\n«third.table»",
        f"{derived}return «self.make()»",
        f"{derived}return «self.table»",
    ):
        assert described(value(path, text)) == "tensor cpu", text


def test_a_package_that_hands_on_the_whole_project_is_not_searched(tmp_path: Path) -> None:
    made = {f"pkg/m{n}.py": f"import torch\ndef f{n}():\n    return torch.ones(3)\n" for n in range(20)}
    stars = "".join(f"from .m{n} import *\n" for n in range(20))
    write(tmp_path, {**made, "pkg/__init__.py": stars})
    view = Abroad(ProjectFiles()).seen_from(tmp_path / "main.py")
    assert view.imported("pkg.f0") is None
    assert len(view.reads) < 5


def test_a_module_that_gives_one_thing_or_another_is_not_taken_to_give_a_tensor(tmp_path: Path) -> None:
    text = "from torch import nn\nclass Net(nn.Module):\n    def forward(self, x, plain=False):\n"
    text += "        if plain:\n            return len(x)\n        return {'out': x}\n"
    write(tmp_path, {"net.py": text})
    path = tmp_path / "main.py"
    assert (
        described(value(path, "import torch\nfrom net import Net\nnet = Net()\n«net(**batch)»")) == "unknown"
    )
