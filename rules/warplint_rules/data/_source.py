"""What it takes to fetch one sample of a data set."""

from __future__ import annotations

import ast
import enum
import re

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.values import Kind
from warplint_rules.data._words import words_of


class Source(enum.Enum):
    """Where samples come from, as far as the file shows."""

    WORK = "work"
    """Read from files, decoded, transformed or tokenised, one by one."""
    MEMORY = "memory"
    """Indexed out of what is in memory already, or made up: workers would cost more than they save."""
    UNKNOWN = "unknown"


WORK = Pattern(
    "(im)?read|load|open|(im)?decod|decompress|memmap|from(file|buffer)|file"
    "|transform|augment|token|encod|preprocess|crop|resiz|normali[sz]"
)
"""How words begin that say a call reads a file or prepares a sample: ``Image.open``, ``self.transform``."""

FETCHERS = ("__getitem__", "__getitems__", "__iter__")
IN_MEMORY = {"torch.utils.data.TensorDataset", "torchvision.datasets.FakeData"}
WRAPPERS = {"torch.utils.data.Subset", "torch.utils.data.ConcatDataset", "torch.utils.data.random_split"}
LIBRARY_DATASETS = ("torchvision.datasets.", "torchaudio.datasets.")
INDICES = Pattern(r"(?:\w*_)?(?:idx|index|indexes|indices|ids|nodes)", re.IGNORECASE)
BUFFERS = Pattern(r"(?:\w*_)?(?:experience|replay|rollout)_?(?:buffer|memory|storage)", re.IGNORECASE)
"""Where reinforcement learning keeps what it has collected, to train on it at once."""
MADE_UP = Pattern(r"dummy|fake|mock|synthetic|random|toy|prompt", re.IGNORECASE)


def source_of(dataset: ast.expr, facts: Facts) -> Source:
    """What stands behind the first argument of a loader."""
    value = facts.value(dataset)
    made = value.origin if isinstance(value.origin, ast.Call) else dataset
    if value.kind in (Kind.SEQUENCE, Kind.TENSOR, Kind.NDARRAY) or _is_held(dataset):
        return Source.MEMORY
    if not isinstance(made, ast.Call):
        return Source.UNKNOWN
    name = facts.qualified(made.func) or ""
    if name in WRAPPERS and made.args:
        return source_of(made.args[0], facts)
    if name in IN_MEMORY or MADE_UP.search(ast.unparse(made.func)):
        return Source.MEMORY
    if name.startswith(LIBRARY_DATASETS):
        return Source.WORK
    definition = facts.class_of(made)
    return Source.UNKNOWN if definition is None else _of_class(definition)


def _is_held(dataset: ast.expr) -> bool:
    """Whether only indices are loaded, as of nodes of a graph (``train_idx``), or what a buffer holds."""
    name = dataset.attr if isinstance(dataset, ast.Attribute) else getattr(dataset, "id", "")
    return INDICES.fullmatch(name) is not None or BUFFERS.fullmatch(name) is not None


def _of_class(definition: ast.ClassDef) -> Source:
    """By what fetching a sample calls; a class that does not define that inherits it from elsewhere."""
    methods = {item.name: item for item in definition.body if isinstance(item, ast.FunctionDef)}
    waiting = [name for name in FETCHERS if name in methods]
    if not waiting:
        return Source.UNKNOWN
    seen = set(waiting)
    while waiting:
        for node in ast.walk(methods[waiting.pop()]):
            name = _called(node)
            if any(map(WORK.match, words_of(name))):
                return Source.WORK
            if name in methods and name not in seen:
                seen.add(name)
                waiting.append(name)
    return Source.MEMORY


def _called(node: ast.AST) -> str:
    """The last name of what a call calls; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
