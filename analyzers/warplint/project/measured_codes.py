"""What is found by measuring alone: lines whose waste a capture shows and no rule has reported."""

from __future__ import annotations

from warplint.project.entries import BuiltIn
from warplint.static.finding import Severity


def _found(code: str, name: str, what: str, why: str, remedy: str) -> BuiltIn:
    return BuiltIn(
        code,
        name,
        f"""{what}

## Why is this slow?
{why}

## When it is reported
With `warplint check --with-profile`, and in an editor, once a capture of the same text from a GPU shows it,
from a share of the step on that `docs/measured.md` gives. No rule reports it already.

## What to do
{remedy}
""",
        Severity.WARNING,
    )


WAIT = _found(
    "WL051",
    "measured-wait",
    "The GPU has nothing to do while the host waits for it on this line.",
    """The host stops until the GPU has done all work queued so far, and only then goes on to queue more. The
cost is the time in which the GPU idled on the line itself; that it is fed late afterwards is not in it.""",
    """Read the value every N steps, keep it on the device, or move what waits out of the step.""",
)
PAGEABLE_COPY = _found(
    "WL052",
    "measured-pageable-copy",
    "The line copies between the GPU and pageable memory in each step, and the GPU has nothing else to do.",
    """CUDA copies pageable memory by way of a buffer of its own: the host waits, and the copy cannot overlap
with computing.""",
    """Make the tensor on the GPU (`device=`), keep it there as a buffer, or copy from pinned memory with
`non_blocking=True`.""",
)
EXPOSED_COPY = _found(
    "WL053",
    "measured-exposed-copy",
    "The line's copies run while no kernel does.",
    """A copy from pinned memory can run beside kernels. Here none ran meanwhile, so its time is added to the
step.""",
    """Start the copy earlier, on a stream of its own: fetch the next batch while this one is computed. Or
copy less: smaller types, and only what is used.""",
)
TINY_KERNELS = _found(
    "WL054",
    "measured-tiny-kernels",
    "The line launches many kernels that are shorter than launching them.",
    """A launch takes the host 5 to 10 µs. Where kernels take less, the GPU waits for the host between any two
of them.""",
    """Compute all of it in one operation, or let `torch.compile` or a CUDA graph launch it at once.""",
)
DATA_WAIT = _found(
    "WL055",
    "measured-data-wait",
    "The GPU has no batch to work on while the host loads data on this line.",
    """The step cannot begin before its batch is there. Without workers, all that loading does is on the
program's own thread; with too few of them, the loop waits for them.""",
    """Load in more worker processes (`num_workers`), make this line cheaper, or do the work on the GPU or
once, ahead of the training.""",
)
ALLOCATION = _found(
    "WL056",
    "measured-allocation",
    "The GPU has nothing to do while this line fetches memory from the driver, or gives it back.",
    """`cudaMalloc` and `cudaFree` take long, and wait for the GPU. In a settled step PyTorch's allocator has
all it needs.""",
    """Do not empty the cache within the step, keep shapes alike from step to step, or set
`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.""",
)
FLOAT32_PRODUCTS = _found(
    "WL057",
    "measured-float32-products",
    "The line multiplies matrices in float32 on a GPU whose Tensor Cores are left idle by that.",
    """Tensor Cores multiply in TF32, bfloat16 and float16, several times as fast as the other units do in
float32.""",
    """`torch.set_float32_matmul_precision("high")`, or `torch.autocast("cuda", torch.bfloat16)` around the
forward pass. Both change numbers a little: compare the loss.""",
)
HOST_TIME = _found(
    "WL058",
    "measured-host-time",
    "The GPU has nothing to do while other code of the host runs on this line.",
    """It is neither loading data, nor waiting, nor merely launching: Python, NumPy, or a library keeps the
step waiting. A launch takes the host 5 to 10 µs, and a few times that with the operator around it; where the
GPU idles longer before each, something else takes the time. Libraries such as cuDNN plan anew for each new
shape, which takes milliseconds.""",
    """On a line that launches nothing: do it every N steps, on another thread, or on the GPU. On one that
launches: keep shapes alike from step to step (pad to a few), or have `torch.compile` or a CUDA graph do the
line's work.""",
)

MEASURED = (
    WAIT,
    PAGEABLE_COPY,
    EXPOSED_COPY,
    TINY_KERNELS,
    DATA_WAIT,
    ALLOCATION,
    FLOAT32_PRODUCTS,
    HOST_TIME,
)
MEASURED_CODES = frozenset(entry.code for entry in MEASURED)
