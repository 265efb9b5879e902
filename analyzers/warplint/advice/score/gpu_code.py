"""Whether a file has code that works on the GPU at all: without any, a score would say nothing."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.static.annotations import annotated
from warplint.static.facts import Facts
from warplint.static.parsing.blocks import CallSite, FunctionOutline
from warplint.static.structure.index import Index
from warplint.static.tables import frequency, torch_functions
from warplint.static.tables.class_roles import HOST_ROLES
from warplint.static.tables.frameworks import FRAMEWORKS
from warplint.static.tables.words import words
from warplint.static.values import Kind

CLASS_ROLES = frozenset({"module", "metric", "pipeline", "optimizer", "autograd function"})
"""Classes that hold parameters or compute with tensors."""

STEPS = words(
    """
    torch.no_grad torch.inference_mode torch.autocast torch.amp.autocast torch.cuda.amp.autocast torch.compile
    torch.cuda.graph torch.autograd.grad torch.autograd.backward transformers.Trainer
    transformers.Seq2SeqTrainer transformers.pipeline trl.SFTTrainer trl.DPOTrainer accelerate.Accelerator
    lightning.pytorch.Trainer lightning.Trainer lightning.Fabric lightning.fabric.Fabric deepspeed.initialize
    ultralytics.YOLO
    """
)
"""What runs steps, or surrounds them. Source: the documentation of PyTorch and of these libraries."""

DESCRIPTIONS = tuple(
    words("torch.device torch.dtype torch.version. torch.xpu. torch.mps. torch.accelerator.")
)
"""Beginnings of names under ``torch`` whose calls name or look up things, and compute nothing."""


def works_on_gpu(index: Index, facts: Facts) -> bool:
    """Whether the file imports a framework, and defines or makes models, runs steps, makes loaders, or
    computes with tensors outside data sets, samplers, transforms and the like."""
    return _imports_framework(index) and (
        any(index.class_roles.role(owner) in CLASS_ROLES for owner in index.classes.values())
        or any(_takes_tensors(function) for function in _own_functions(index))
        or any(_works(site, facts) for site in _sites(index, facts))
    )


def _imports_framework(index: Index) -> bool:
    packages = {item.target.partition(".")[0] for item in index.imports}
    return any("torch" in package or package in FRAMEWORKS for package in packages)


def _own_functions(index: Index) -> Iterator[FunctionOutline]:
    return (function for function in index.all_functions if not _serves_host(function, index))


def _sites(index: Index, facts: Facts) -> Iterator[CallSite]:
    for placed in index.chunks:
        facts.begin(placed, placed.chunk.tree)
        for site in placed.chunk.outline.calls:
            if not site.handed_over and not _serves_host(site.block.function, index):
                yield site


def _serves_host(function: FunctionOutline | None, index: Index) -> bool:
    owner = index.owner(function)
    return owner is not None and index.class_roles.role(owner) in HOST_ROLES


def _takes_tensors(function: FunctionOutline) -> bool:
    arguments = function.node.args
    return any(
        annotated(argument.annotation).kind is Kind.TENSOR
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    )


def _works(site: CallSite, facts: Facts) -> bool:
    if site.name in frequency.BACKWARD:
        return True
    name = facts.qualified(site.node.func)
    return name is not None and (
        name in STEPS
        or name in torch_functions.LOADERS
        or name.startswith((*torch_functions.TENSOR_NAMESPACES, *torch_functions.MODEL_NAMESPACES))
        or _loads_model(name)
        or _gives_tensors_or_modules(name)
    )


def _loads_model(name: str) -> bool:
    return name.endswith(".from_pretrained") and not any(
        word in name for word in torch_functions.HOST_CLASSES
    )


def _gives_tensors_or_modules(name: str) -> bool:
    return (
        name.startswith("torch.")
        and not name.startswith((*torch_functions.NOT_TENSORS, *DESCRIPTIONS))
        and name not in torch_functions.NUMBERS
    )
