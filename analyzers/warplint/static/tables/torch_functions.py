"""Which functions under ``torch`` give no tensor, and which give several.

Source: the PyTorch 2.x documentation. Everything else under these namespaces that is handed a tensor gives one.
"""

from __future__ import annotations

TENSOR_NAMESPACES = (
    "torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.", "torch.nn.utils.rnn.pad_sequence",
    "torch.ops.", "torchvision.ops.", "einops.", "torch_scatter.", "torch.nn.attention.",
)  # fmt: skip
"""Functions that give tensors, whatever they are handed."""

NUMBERS = frozenset(
    {
        "torch.is_tensor",
        "torch.is_floating_point",
        "torch.is_complex",
        "torch.numel",
        "torch.equal",
        "torch.allclose",
        "torch.is_nonzero",
        "torch.is_grad_enabled",
        "torch.get_num_threads",
        "torch.initial_seed",
        "torch.seed",
    }
)

NOT_TENSORS = (
    "torch.cuda.", "torch.distributed.", "torch.backends.", "torch.utils.", "torch.jit.", "torch.onnx.",
    "torch.autograd.", "torch.optim.", "torch.multiprocessing.", "torch.profiler.", "torch.amp.", "torch.hub.",
    "torch.nn.init.", "torch.nn.utils.", "torch.distributions.", "torch.compiler.", "torch._dynamo.", "torch.fx.",
    "torch.manual_seed", "torch.save", "torch.load", "torch.no_grad", "torch.enable_grad", "torch.inference_mode",
    "torch.set_", "torch.get_", "torch.Generator", "torch.Size", "torch.finfo", "torch.iinfo", "torch.compile",
    "torch.autocast", "torch.use_deterministic_algorithms", "torch.are_deterministic_algorithms_enabled",
    "torch.is_", "torch.promote_types", "torch.result_type", "torch.can_cast", "torch.broadcast_shapes",
)  # fmt: skip
"""Beginnings of names whose results are no tensors, or not known to be."""

CAST_FUNCTIONS = frozenset({"torch.device", "torch.Size"})

DEVICE_SETTERS = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})

PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.Buffer", "torch.nn.UninitializedParameter"})
"""Tensors that move with their module."""

CONTAINERS = frozenset({"torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential"})
"""Modules whose elements are modules."""

PARAMETER_CONTAINERS = frozenset({"torch.nn.ParameterList", "torch.nn.ParameterDict"})

WRAPPERS = frozenset(
    {
        "torch.compile",
        "torch.nn.DataParallel",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.DataParallel",
        "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
        "torch.jit.script",
        "torch.nn.utils.weight_norm",
        "torch.nn.utils.spectral_norm",
        "torch.nn.utils.parametrizations.weight_norm",
        "torch.nn.utils.parametrizations.spectral_norm",
    }
)
"""Calls that give back the module they are handed, or one around it."""

LOSSES = ("torch.nn.functional.cross_entropy", "torch.nn.functional.nll_loss", "torch.nn.functional.mse_loss",
    "torch.nn.functional.l1_loss", "torch.nn.functional.smooth_l1_loss", "torch.nn.functional.binary_cross_entropy",
    "torch.nn.functional.binary_cross_entropy_with_logits", "torch.nn.functional.kl_div",
    "torch.nn.functional.huber_loss", "torch.nn.functional.cosine_embedding_loss",
    "torch.nn.functional.triplet_margin_loss", "torch.nn.functional.ctc_loss",
)  # fmt: skip
"""Give a tensor of no dimensions unless ``reduction="none"``."""

LOADERS = frozenset({"torch.utils.data.DataLoader", "torch_geometric.loader.DataLoader"})

HOST_NAMESPACES = (
    "numpy.", "scipy.", "cv2.", "pandas.", "sklearn.", "skimage.", "PIL.", "math.", "random.", "os.", "time.",
    "json.", "re.", "sys.", "itertools.", "collections.", "matplotlib.", "pycocotools.", "librosa.", "soundfile.",
)  # fmt: skip
"""Libraries that never give a tensor."""

ARRAY_NAMESPACES = ("numpy.", "scipy.", "cv2.", "skimage.", "librosa.", "pycocotools.", "sklearn.")
"""Libraries whose results are NumPy arrays or numbers."""

NUMBER_NAMESPACES = ("math.", "random.", "time.", "os.cpu_count", "os.path.getsize")

HOST_BUILTINS = frozenset(
    [
        "abs",
        "bool",
        "bytes",
        "complex",
        "dict",
        "enumerate",
        "filter",
        "float",
        "format",
        "frozenset",
        "getattr",
        "int",
        "isinstance",
        "len",
        "list",
        "map",
        "max",
        "min",
        "open",
        "ord",
        "pow",
        "print",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    ]
)
