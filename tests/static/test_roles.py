"""What functions and classes are for."""

from __future__ import annotations

import pytest
from marks import look

HERE = "\n        «here()»\n"

CLASSES = {
    "nn.Module": (f"class A(nn.Module):\n    def f(self):{HERE}", "module"),
    "by another import": (f"from torch.nn import Module as M\nclass A(M):\n    def f(self):{HERE}", "module"),
    "a container": (f"class A(nn.Sequential):\n    def f(self):{HERE}", "module"),
    "through a base": (f"class B(nn.Module):\n    pass\nclass A(B):\n    def f(self):{HERE}", "module"),
    "through two bases": (
        f"class C(nn.Module):\n    pass\nclass B(C):\n    pass\nclass A(object, B):\n    def f(self):{HERE}",
        "module",
    ),
    "Lightning": (
        f"import pytorch_lightning as pl\nclass A(pl.LightningModule):\n    def f(self):{HERE}",
        "module",
    ),
    "Lightning's newer name": (
        f"import lightning as L\nclass A(L.LightningModule):\n    def f(self):{HERE}",
        "module",
    ),
    "Transformers": (
        f"from transformers import PreTrainedModel\nclass A(PreTrainedModel):\n    def f(self):{HERE}",
        "module",
    ),
    "an unknown base with forward": (
        f"from .x import Base\nclass A(Base):\n    def forward(self, x):\n        pass\n"
        f"    def f(self):{HERE}",
        "module",
    ),
    "an unknown base without forward": (f"from .x import Base\nclass A(Base):\n    def f(self):{HERE}", None),
    "no base": (f"class A:\n    def forward(self, x):\n        pass\n    def f(self):{HERE}", None),
    "a data set": (f"class A(Dataset):\n    def f(self):{HERE}", "dataset"),
    "a data set by name": (
        f"from .x import FolderDataset\nclass A(FolderDataset):\n    def f(self):{HERE}",
        "dataset",
    ),
    "a sampler by name": (
        f"from .x import BalancedSampler\nclass A(BalancedSampler):\n    def __iter__(self):{HERE}",
        "sampler",
    ),
    "a sampler of something else": (
        f"from .x import PixelSampler\nclass A(PixelSampler):\n    def sample(self, logits):{HERE}",
        None,
    ),
    "a data set by its methods": (
        f"class A:\n    def __len__(self):\n        return 3\n    def __getitem__(self, i):{HERE}",
        "dataset",
    ),
    "an autograd function": (
        f"class A(torch.autograd.Function):\n    def f(self):{HERE}",
        "autograd function",
    ),
    "a metric": (f"from torchmetrics import Metric\nclass A(Metric):\n    def f(self):{HERE}", "metric"),
    "an optimizer": (f"class A(torch.optim.Optimizer):\n    def f(self):{HERE}", "optimizer"),
    "a tokenizer": (f"class FastTokenizer:\n    def f(self):{HERE}", "tokenizer"),
    "derived from itself": (f"class A(A):\n    def f(self):{HERE}", None),
    "in a circle": (f"class B(A):\n    pass\nclass A(B):\n    def f(self):{HERE}", None),
}


@pytest.mark.parametrize(("marked", "role"), CLASSES.values(), ids=CLASSES)
def test_the_role_of_a_class(marked: str, role: str | None) -> None:
    facts, node = look(marked)
    function = facts.function(node)
    assert function is not None and function.class_role == role


def method(name: str, base: str = "nn.Module") -> str:
    return f"class A({base}):\n    def {name}(self, x):{HERE}"


FUNCTIONS = {
    "forward": (method("forward"), "forward"),
    "a part of forward": (method("forward_features"), "forward"),
    "the loss of a head": (method("loss"), "forward"),
    "construction": (method("__init__"), "set-up"),
    "resetting": (method("reset_parameters"), "set-up"),
    "a schedule": (method("register_schedule"), "set-up"),
    "loading": (method("from_pretrained"), "set-up"),
    "generation": (method("generate"), "generate"),
    "a diffusion sampler": (method("p_sample_loop"), "generate"),
    "a training step": (method("training_step"), "train step"),
    "a validation step": (method("validation_step"), "evaluate"),
    "something else": (method("position_ids"), "other"),
    "a data set cut in parts": ("def generate_partition(x):" + HERE, "other"),
    "a sample": (method("__getitem__", "Dataset"), "data"),
    "a data set's other methods": (method("pick", "Dataset"), "data"),
    "a data set's construction": (method("__init__", "Dataset"), "set-up"),
    "the update of a metric": ("from torchmetrics import Metric\n" + method("update", "Metric"), "evaluate"),
    "train": ("def train_one_epoch(m):\n    «here()»", "train step"),
    "evaluate": ("def evaluate(m):\n    «here()»", "evaluate"),
    "main": ("def main():\n    «here()»", "script"),
    "main that trains": (
        "def main():\n    for x in range(9):\n        model(x).backward()\n        optimizer.step()\n"
        "    «here()»",
        "train step",
    ),
    "a step by what it does": (
        "def one(x):\n    model(x).backward()\n    optimizer.step()\n    «here()»",
        "train step",
    ),
    "collate": ("def collate_fn(batch):\n    «here()»", "data"),
    "collate by use": ("def pack(batch):\n    «here()»\nDataLoader(d, collate_fn=pack)", "data"),
    "a plot": ("def plot_curves(x):\n    «here()»", "data"),
    "a closure in forward": (
        "class A(nn.Module):\n    def forward(self, x):\n        def inner(y):\n            «here()»\n"
        "        return inner(x)",
        "forward",
    ),
    "a lambda in forward": (
        "class A(nn.Module):\n    def forward(self, x):\n        f = lambda: «here()»",
        "forward",
    ),
}


@pytest.mark.parametrize(("marked", "role"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_role_of_a_function(marked: str, role: str) -> None:
    facts, node = look(marked)
    function = facts.function(node)
    assert function is not None and function.role.value == role


def test_the_function_around_a_place() -> None:
    facts, node = look("class A(nn.Module):\n    def f(self, x):\n        return «x»")
    function = facts.function(node)
    assert function is not None
    assert (function.name, function.class_name, function.node.args.args[1].arg) == ("f", "A", "x")
    facts, node = look("class A:\n    x = «1»")
    assert facts.function(node) is None
    facts, node = look("def f(x=«1»):\n    pass")
    assert facts.function(node) is None
    facts, node = look("def f():\n    return lambda: «x»")
    function = facts.function(node)
    assert function is not None and function.name == "<lambda>"
