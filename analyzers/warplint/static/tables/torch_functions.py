"""Which functions under ``torch`` give no tensor, which give several, and what other libraries give.

Source: the PyTorch 2.x documentation. Whatever else stands under these namespaces gives a tensor when it is
handed one.
"""

from __future__ import annotations

from warplint.static.tables.words import words

TENSOR_NAMESPACES = (
    "torch.nn.functional.",
    "torch.linalg.",
    "torch.fft.",
    "torch.special.",
    "torch.nn.utils.rnn.pad_sequence",
    "torch.ops.",
    "torchvision.ops.",
    "einops.",
    "torch_scatter.",
)
"""Functions that give tensors, whatever they are handed."""

NUMBERS = words(
    """
    torch.is_tensor torch.is_floating_point torch.is_complex torch.numel torch.equal torch.allclose
    torch.is_nonzero torch.is_grad_enabled torch.get_num_threads torch.initial_seed torch.seed
    """
)
"""Functions that give Python numbers."""

NOT_TENSORS = tuple(
    words(
        """
        torch.cuda. torch.distributed. torch.backends. torch.utils. torch.jit. torch.onnx. torch.autograd.
        torch.optim. torch.multiprocessing. torch.profiler. torch.amp. torch.hub. torch.nn.init.
        torch.nn.utils. torch.distributions. torch.compiler. torch._dynamo. torch.fx. torch.manual_seed
        torch.save torch.load torch.no_grad torch.enable_grad torch.inference_mode torch.set_ torch.get_
        torch.Generator torch.Size torch.finfo torch.iinfo torch.compile torch.autocast
        torch.use_deterministic_algorithms torch.is_ torch.are_deterministic_algorithms_enabled
        torch.promote_types torch.result_type torch.can_cast torch.broadcast_shapes
        """
    )
)
"""Beginnings of names whose results are no tensors, or not known to be."""

TAKING_SPACES = words("torch torch.nn.functional")
TAKES_TENSOR = words(
    """
    abs addmm amax amin argmax argmin argsort baddbmm bincount bmm clamp clone cos cosine_similarity
    count_nonzero cross_entropy cumsum diag dropout embedding empty_like erf exp flatten flip floor full_like
    gather gelu grid_sample group_norm index_select interpolate isfinite isinf isnan l1_loss layer_norm
    leaky_relu linear log log_softmax logsumexp masked_select matmul max_pool2d mean median mse_loss
    multinomial nll_loss nonzero norm ones_like one_hot permute rand_like randn_like relu repeat_interleave
    reshape round rsqrt scatter sigmoid silu sin smooth_l1_loss softmax softplus sort sqrt square squeeze std
    sum tanh topk transpose tril triu unbind unique unsqueeze var where zeros_like
    """
)
"""Functions of ``torch`` and ``torch.nn.functional`` whose first argument can only be a tensor."""

DEVICE_SETTERS = words("torch.set_default_device torch.set_default_tensor_type")

PARAMETERS = words("torch.nn.Parameter torch.nn.Buffer torch.nn.UninitializedParameter")
"""Tensors that move with their module."""

CONTAINERS = words("torch.nn.ModuleList torch.nn.ModuleDict torch.nn.Sequential")
"""Modules whose elements are modules."""

PARAMETER_CONTAINERS = words("torch.nn.ParameterList torch.nn.ParameterDict")

WRAPPERS = words(
    """
    torch.compile torch.nn.DataParallel torch.nn.parallel.DistributedDataParallel
    torch.nn.parallel.DataParallel torch.nn.SyncBatchNorm.convert_sync_batchnorm torch.jit.script
    torch.nn.utils.weight_norm torch.nn.utils.spectral_norm torch.nn.utils.parametrizations.weight_norm
    torch.nn.utils.parametrizations.spectral_norm
    """
)
"""Calls that give back the module they are handed, or one around it."""

_LOSSES = """
cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss binary_cross_entropy binary_cross_entropy_with_logits
kl_div huber_loss cosine_embedding_loss triplet_margin_loss ctc_loss
"""
LOSSES = frozenset(f"torch.nn.functional.{name}" for name in words(_LOSSES))
"""Give a tensor of no dimensions unless ``reduction`` is given."""

LOADERS = words("torch.utils.data.DataLoader torch_geometric.loader.DataLoader")

MODEL_NAMESPACES = ("torchvision.models.", "timm.create_model", "segmentation_models_pytorch.")
"""Functions and classes whose results are modules."""

HOST_CLASSES = ("Token", "Processor", "FeatureExtractor", "Config", "Scheduler", "Pipeline")
"""Parts of the names of classes whose ``from_pretrained`` gives no module."""

ARRAY_NAMESPACES = ("numpy.", "scipy.", "cv2.", "skimage.", "librosa.", "pycocotools.", "sklearn.")
"""Libraries whose results are NumPy arrays or numbers."""

NUMBER_NAMESPACES = (
    "math.",
    "random.random",
    "random.randint",
    "random.randrange",
    "random.uniform",
    "random.gauss",
    "random.getrandbits",
    "time.time",
    "time.perf_counter",
    "time.monotonic",
    "time.process_time",
    "os.cpu_count",
    "os.path.getsize",
)
"""What gives one number: `random.sample` gives a list and `random.choice` whatever it is handed."""

HOST_NAMESPACES = (
    *ARRAY_NAMESPACES,
    *NUMBER_NAMESPACES,
    *(
        "random.",
        "time.",
        "pandas.",
        "PIL.",
        "os.",
        "json.",
        "re.",
        "sys.",
        "itertools.",
        "collections.",
        "matplotlib.",
        "soundfile.",
    ),
)
"""Libraries that read what they are handed on the host."""
