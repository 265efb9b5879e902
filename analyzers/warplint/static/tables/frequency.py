"""Names by which loops and conditions show how often they run.

Source: how the training and inference programs of public PyTorch repositories name these things.
"""

from __future__ import annotations

from warplint.source.pattern import Pattern
from warplint.static.tables.words import words

BACKWARD = frozenset({"backward", "manual_backward"})
"""Methods that run the backward pass: of a loss, of Accelerate, Fabric, DeepSpeed and Lightning."""

OPTIMIZER = Pattern(r"(\w*_)?(opt|optim|optimi[sz]er|scaler|grad_scaler|engine|model_engine)(s|_\w+|\d+)?")
"""What ``.step`` is called on when it is an optimizer or a gradient scaler."""

LOADER = Pattern(
    r"(\w*_)?(data_?)?loaders?(_\w+)?|(\w+_)?(dl|dataloader|dataiter|data_iter|batch_iter)(_\w+)?"
    r"|(train|val|valid|test|eval|data)_(iter|iterator|gen|generator|batches)"
)
"""What a loop over batches iterates."""

MINIBATCH = Pattern(r"(mini|micro)_?batch(_\w+)?")
"""What a loop over parts of what was collected calls one of them."""

PROGRESS = Pattern(r"pbar|(\w+_)?(progress(_?bar)?|tepoch|tbar|prog_bar)")
"""Names of progress bars, which go over batches unless they count."""

WRAPPERS = words(
    """
    MpDeviceLoader auto_tqdm chain cycle enumerate islice iter log_every notebook_tqdm per_device_loader
    prepare_data_loader progress_bar tqdm track trange zip
    """
)
"""Functions whose result is iterated instead of their argument."""

COUNTING = frozenset({"range", "trange", "count", "arange", "itertools"})
"""Iterables that count: a loop over them can be the step loop; a loop over a collection of losses is not."""

MODEL = Pattern(
    r"(\w*_)?(model|net|network|unet|transformer|generator|discriminator|actor|critic|agent|policy|backbone"
    r"|encoder|decoder|classifier|predictor|vae|gan|netG|netD|netg|netd|llm|lm)(_\w+|\d+)?"
)
"""What is called when a model runs."""

COUNTER = Pattern(
    r"(\w*_)?(i|j|it|iter|iters|iteration|step|steps|epoch|epochs|batch_idx|batch_id|batch_index|idx|n_iter|niter"
    r"|global_step|cur_iter|iter_num|num_updates|update|count|counter|t)"
)
"""What counts steps."""

SPARSE_WORDS = words(
    """
    checkpoint ckpt debug disp display dry dump eval evaluate freq frequency interval is_first is_main
    is_main_process is_master leader log logger logging logs main_process master plot plots print profile
    profiling rank report sanity save saving summary tb tensorboard validate verbose vis visualise visualize
    wandb writer
    """
)
"""Parts of the names of flags behind which code runs rarely, or on one rank only."""

RANKS = words("rank")
"""The part of a name that numbers the processes of a job."""

PLACES = ("_dir", "_file", "_folder", "_path")
"""Ends of the names of options that hold a place in the file system."""

MEASURES = frozenset({"nelement", "numel", "shape", "size"})
"""What tells that a tensor has no elements."""

TRACING = frozenset({"is_tracing", "is_scripting", "is_in_onnx_export", "is_exporting", "onnx", "export"})
"""Tests that hold only while a model is converted."""

LATER = Pattern(r"\w*(hook|callback|partial|register|compile|signal|Thread|submit|schedule|lambda)\w*")
"""Calls that keep a function for later: where they stand says nothing of how often it runs."""
