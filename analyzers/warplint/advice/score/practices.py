"""Good practice that a score counts: what it is worth, how it is seen, and who says that it pays.

A sign is seen by the engine's names (``from torch import autocast as cast`` is seen, a comment is not), a
variable counts by what it is known to be (``settings``), and each practice counts once a file. What is the
default since PyTorch 2.0 (``zero_grad`` dropping gradients, multi-tensor optimizers) earns nothing: everyone
has it.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from warplint.advice.score.settings import Settings
from warplint.static.facts import Facts
from warplint.static.parsing.blocks import CallSite
from warplint.static.parsing.chunks import Placed
from warplint.static.parsing.outline import Outline
from warplint.static.structure.index import Index
from warplint.static.tables.torch_factories import FACTORIES
from warplint.static.tables.torch_functions import LOADERS
from warplint.static.tables.words import words


class Given(enum.Enum):
    """What an argument or an assigned value must be for the practice to be there."""

    ON = "known to be on where the program's user says nothing else"
    TRUE = "True"
    FALSE = "False"
    HALF = "16 bits or less"
    TF32 = "TF32 allowed"
    FUSED_ATTENTION = "an attention that does not build the matrix of weights"
    FUSED_OPTIMIZER = "an optimizer that updates all parameters in few kernels"
    CHANNELS_LAST = "a channels-last memory format"
    GRAPHS = "a compilation mode that records CUDA graphs"
    ACCELERATOR = "a device other than the CPU"


WORDS = {
    Given.HALF: words(
        "bf16 fp16 fp8 16 bf16-mixed 16-mixed bf16-true 16-true transformer-engine bfloat16 float16 half"
    ),
    Given.TF32: words("high medium tf32"),
    Given.FUSED_ATTENTION: words(
        "sdpa flash_attention_2 flash_attention_3 flex_attention kernels-community/flash-attn"
    ),
    Given.FUSED_OPTIMIZER: words("adamw_torch_fused adamw_apex_fused"),
    Given.CHANNELS_LAST: words("channels_last channels_last_3d"),
    Given.GRAPHS: words("reduce-overhead max-autotune"),
}
"""Literals, and last names under ``torch``, that say so."""

OFF = words("0 false no none off") | {""}
"""Texts that a command line takes for off."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One way to see a practice: a call, a decorator or an assignment.

    ``names`` are qualified names of what is called, decorates or is assigned to; ``methods`` are attributes
    called on anything. With ``argument`` that keyword must be as ``given`` says (without one, any argument);
    ``switch`` is a keyword that must be on where it is written.
    """

    names: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    argument: str | None = None
    given: Given | None = None
    switch: str | None = None


@dataclass(frozen=True, slots=True)
class Practice:
    """``label`` is what users read; ``source`` says who measured or recommends it."""

    label: str
    points: int
    signs: tuple[Sign, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Found:
    """A practice, and the chunk and the expression that first show it."""

    practice: Practice
    placed: Placed
    node: ast.expr

    @property
    def line(self) -> int:
        """The line in the whole text, from 1."""
        return self.placed.line + self.node.lineno - 1


def _call(*names: str, argument: str | None = None, given: Given | None = None) -> Sign:
    return Sign(names=frozenset(names), argument=argument, given=given)


def _method(*names: str, argument: str | None = None, given: Given | None = None) -> Sign:
    return Sign(methods=frozenset(names), argument=argument, given=given)


HF_ARGUMENTS = (
    "transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments", "trl.SFTConfig",
    "trl.DPOConfig",
)  # fmt: skip
WRAPPERS = (
    "lightning.pytorch.Trainer", "lightning.Trainer", "lightning.Fabric", "lightning.fabric.Fabric",
)  # fmt: skip
TUNING_GUIDE = "PyTorch performance tuning guide"

PRACTICES = (
    Practice(
        "half precision",
        6,
        (
            Sign(
                names=words("torch.autocast torch.amp.autocast torch.cuda.amp.autocast"), switch="enabled"
            ),
            _call("accelerate.Accelerator", argument="mixed_precision", given=Given.HALF),
            _call(*HF_ARGUMENTS, argument="bf16", given=Given.ON),
            _call(*HF_ARGUMENTS, argument="fp16", given=Given.ON),
            _call(*WRAPPERS, argument="precision", given=Given.HALF),
            _method("from_pretrained", argument="torch_dtype", given=Given.HALF),
            _method("from_pretrained", argument="dtype", given=Given.HALF),
            _method("bfloat16", "half"),
            _method("to", given=Given.HALF),
        ),
        f"{TUNING_GUIDE}, 'Use mixed precision and AMP'",
    ),
    Practice(
        "compiled",
        5,
        (
            _call("torch.compile"),
            _call(*HF_ARGUMENTS, argument="torch_compile", given=Given.ON),
        ),
        f"{TUNING_GUIDE}, 'Fuse operations'",
    ),
    Practice(
        "fused attention",
        5,
        (
            _call(
                "torch.nn.functional.scaled_dot_product_attention",
                "torch.nn.attention.flex_attention.flex_attention",
                "xformers.ops.memory_efficient_attention",
                "flash_attn.flash_attn_func",
                "flash_attn.flash_attn_varlen_func",
                "flash_attn.flash_attn_interface.flash_attn_func",
                "flash_attn.flash_attn_interface.flash_attn_varlen_func",
            ),
            _method("from_pretrained", argument="attn_implementation", given=Given.FUSED_ATTENTION),
        ),
        "torch.nn.functional.scaled_dot_product_attention",
    ),
    Practice(
        "loader with workers",
        4,
        (
            _call(*LOADERS, argument="num_workers", given=Given.ON),
            _call(*HF_ARGUMENTS, argument="dataloader_num_workers", given=Given.ON),
        ),
        f"{TUNING_GUIDE}, 'Enable asynchronous data loading and augmentation'",
    ),
    Practice(
        "CUDA graphs",
        4,
        (
            _call("torch.cuda.graph", "torch.cuda.make_graphed_callables"),
            _call("torch.compile", argument="mode", given=Given.GRAPHS),
        ),
        "CUDA semantics, 'CUDA Graphs'",
    ),
    Practice(
        "TF32 matrix products",
        3,
        (
            _call("torch.set_float32_matmul_precision", given=Given.TF32),
            _call("torch.backends.cuda.matmul.allow_tf32", given=Given.TRUE),
            _call("torch.backends.cuda.matmul.fp32_precision", given=Given.TF32),
            _call("torch.backends.fp32_precision", given=Given.TF32),
            _call(*HF_ARGUMENTS, argument="tf32", given=Given.ON),
        ),
        f"{TUNING_GUIDE}, 'Enable Tensor cores'",
    ),
    Practice(
        "no autograd where nothing is trained",
        3,
        (
            _call("torch.no_grad", "torch.inference_mode"),
            _call("torch.set_grad_enabled", given=Given.FALSE),
        ),
        f"{TUNING_GUIDE}, 'Disable gradient calculation for validation or inference'",
    ),
    Practice(
        "fused optimizer",
        3,
        (
            *(
                _call(f"torch.optim.{name}", argument="fused", given=Given.ON)
                for name in ("Adam", "AdamW", "SGD", "Adagrad")
            ),
            _call(*HF_ARGUMENTS, argument="optim", given=Given.FUSED_OPTIMIZER),
            _call("apex.optimizers.FusedAdam", "deepspeed.ops.adam.FusedAdam"),
        ),
        "torch.optim, 'Algorithms': the fused implementations",
    ),
    Practice(
        "channels-last convolutions",
        3,
        (
            _method("to", "contiguous", argument="memory_format", given=Given.CHANNELS_LAST),
        ),
        f"{TUNING_GUIDE}, 'Use channels_last memory format'",
    ),
    Practice(
        "gradients exchanged once an update",
        3,
        (_method("no_sync", "set_requires_gradient_sync"),),
        f"{TUNING_GUIDE}, 'Skip unnecessary all-reduce if training with DDP and gradient accumulation'",
    ),
    Practice(
        "pinned batches",
        2,
        (_call(*LOADERS, argument="pin_memory", given=Given.ON), _method("pin_memory")),
        "torch.utils.data, 'Memory Pinning'",
    ),
    Practice(
        "copies that do not wait",
        2,
        (_method("to", "cuda", argument="non_blocking", given=Given.ON),),
        "CUDA semantics, 'Use pinned memory buffers'",
    ),
    Practice(
        "tensors made on their device",
        2,
        (_call(*FACTORIES, argument="device", given=Given.ACCELERATOR),),
        f"{TUNING_GUIDE}, 'Create tensors directly on the target device'",
    ),
    Practice(
        "constants kept as buffers",
        2,
        (_method("register_buffer"),),
        "torch.nn.Module.register_buffer",
    ),
    Practice(
        "fastest convolutions chosen",
        2,
        (
            _call("torch.backends.cudnn.benchmark", given=Given.TRUE),
            _call(*WRAPPERS, argument="benchmark", given=Given.TRUE),
        ),
        f"{TUNING_GUIDE}, 'Enable cuDNN auto-tuner'",
    ),
    Practice(
        "workers kept between epochs",
        1,
        (_call(*LOADERS, argument="persistent_workers", given=Given.ON),),
        "torch.utils.data.DataLoader",
    ),
)  # fmt: skip


class Practices:
    """The table above, by the names it looks for."""

    def __init__(self, practices: Sequence[Practice]) -> None:
        self._practices = practices
        self._named: dict[str, list[tuple[Practice, Sign]]] = {}
        self._methods: dict[str, list[tuple[Practice, Sign]]] = {}
        for practice in practices:
            for sign in practice.signs:
                for name in sign.names:
                    self._named.setdefault(name, []).append((practice, sign))
                for name in sign.methods:
                    self._methods.setdefault(name, []).append((practice, sign))
        self._last_names = {name.rpartition(".")[2] for name in self._named} | self._methods.keys()

    def found(self, index: Index, facts: Facts) -> list[Found]:
        """The practices that a module shows, in the table's order, each where it is first seen."""
        wanted = self._last_names | {
            alias
            for alias, targets in index.aliases.items()
            if any(target.rpartition(".")[2] in self._last_names for target in targets)
        }
        seen: dict[Practice, Found] = {}
        shown = _Shown(facts, Settings(index, facts))
        for placed in index.chunks:
            facts.begin(placed, placed.chunk.tree)
            for practice, node in self._in_chunk(placed.chunk.outline, wanted, shown, seen):
                seen.setdefault(practice, Found(practice, placed, node))
        return [seen[practice] for practice in self._practices if practice in seen]

    def _in_chunk(
        self, outline: Outline, wanted: set[str], shown: _Shown, seen: Collection[Practice]
    ) -> Iterator[tuple[Practice, ast.expr]]:
        for site in outline.calls:
            if site.name in wanted and not site.handed_over:
                yield from self._in_call(site, shown, seen)
        for function in outline.functions:
            for decorator in function.node.decorator_list:
                yield from self._named_by(decorator, None, shown)
        for statement in outline.blocks:
            if type(statement) is ast.Assign and type(statement.targets[0]) is ast.Attribute:
                yield from self._named_by(statement.targets[0], statement.value, shown)

    def _in_call(
        self, site: CallSite, shown: _Shown, seen: Collection[Practice]
    ) -> Iterator[tuple[Practice, ast.expr]]:
        signs = self._methods.get(site.name, []) if isinstance(site.node.func, ast.Attribute) else []
        name = shown.facts.qualified(site.node.func)
        for practice, sign in [*signs, *(self._named.get(name, []) if name is not None else [])]:
            if practice not in seen and shown.by_call(site.node, sign):
                yield practice, site.node

    def _named_by(
        self, node: ast.expr, assigned: ast.expr | None, shown: _Shown
    ) -> Iterator[tuple[Practice, ast.expr]]:
        """A decorator without arguments, or an attribute that is assigned to."""
        if not isinstance(node, ast.Attribute | ast.Name):
            return
        name = shown.facts.qualified(node)
        for practice, sign in self._named.get(name, []) if name is not None else []:
            is_shown = (
                sign.given is None
                if assigned is None
                else sign.given is not None and shown.by_value(assigned, sign.given)
            )
            if sign.argument is None and is_shown:
                yield practice, node


class _Shown:
    """Whether calls and values of one file are what a sign asks for."""

    def __init__(self, facts: Facts, settings: Settings) -> None:
        self.facts = facts
        self._settings = settings

    def by_call(self, call: ast.Call, sign: Sign) -> bool:
        keywords = {word.arg: word.value for word in call.keywords if word.arg is not None}
        switch = keywords.get(sign.switch) if sign.switch is not None else None
        if switch is not None and not self.by_value(switch, Given.ON):
            return False
        if sign.given is None:
            return True
        if sign.argument is None:
            return any(self._is_literally(value, sign.given) for value in [*call.args, *keywords.values()])
        argument = keywords.get(sign.argument)
        return argument is not None and self.by_value(argument, sign.given)

    def by_value(self, node: ast.expr, given: Given) -> bool:
        """Whether an argument is what a sign asks for, where the program's user says nothing else."""
        if given is Given.ACCELERATOR:
            # A device in a variable is mostly that of the data.
            is_none = isinstance(node, ast.Constant) and node.value is None
            values = self._settings.values(node)
            return not is_none and (not values or any(value != "cpu" for value in values))
        if self._is_literally(node, given):
            return True
        return any(_is(value, given) for value in self._settings.values(node))

    def _is_literally(self, node: ast.expr, given: Given) -> bool:
        if isinstance(node, ast.Constant):
            return _is(node.value, given)
        name = self.facts.qualified(node)
        return (
            name is not None and name.startswith("torch.") and name[len("torch.") :] in WORDS.get(given, ())
        )


def _is(value: object, given: Given) -> bool:
    if given is Given.ON:
        return value.lower() not in OFF if isinstance(value, str) else bool(value)
    if given in (Given.TRUE, Given.FALSE):
        return value is (given is Given.TRUE)
    return value in WORDS[given] or (value == 16 and "16" in WORDS[given])
