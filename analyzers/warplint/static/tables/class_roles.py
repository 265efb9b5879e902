"""What a class is for, from the classes it derives from.

Source: base classes in the documentation of PyTorch, Lightning, Transformers, Diffusers, fairseq, MMEngine,
MONAI, torchmetrics and PyG.
"""

from __future__ import annotations

BASES = {
    "torch.nn.Module": "module",
    "lightning.pytorch.LightningModule": "module",
    "transformers.PreTrainedModel": "module",
    "diffusers.ModelMixin": "module",
    "diffusers.models.modeling_utils.ModelMixin": "module",
    "mmengine.model.BaseModule": "module",
    "mmcv.runner.BaseModule": "module",
    "torchmetrics.Metric": "metric",
    "torchmetrics.metric.Metric": "metric",
    "torch.autograd.Function": "autograd function",
    "torch.optim.Optimizer": "optimizer",
    "torch.optim.optimizer.Optimizer": "optimizer",
    "torch.utils.data.DataLoader": "loader",
    "torch.utils.data.Dataset": "dataset",
    "torch.utils.data.IterableDataset": "dataset",
    "torch.utils.data.TensorDataset": "dataset",
    "torch.utils.data.Subset": "dataset",
    "torch.utils.data.Sampler": "sampler",
    "torch.utils.data.sampler.Sampler": "sampler",
    "lightning.pytorch.LightningDataModule": "data module",
    "diffusers.DiffusionPipeline": "pipeline",
    "torch.distributions.Distribution": "distribution",
}
"""Full names."""

PREFIXES = {"torch.nn.": "module", "torchvision.models.": "module", "torch.utils.data.": "dataset"}
"""Packages whose classes all have one role, where BASES says nothing else."""

SUFFIXES = (
    ("Dataset", "dataset"),
    ("DataModule", "data module"),
    ("Sampler", "sampler"),
    ("Tokenizer", "tokenizer"),
    ("TokenizerFast", "tokenizer"),
    ("Processor", "processor"),
    ("FeatureExtractor", "processor"),
    ("Transform", "transform"),
    ("Collator", "collator"),
    ("Metric", "metric"),
    ("Optimizer", "optimizer"),
    ("Pipeline", "pipeline"),
    ("Module", "module"),
    ("PreTrainedModel", "module"),
    ("ForCausalLM", "module"),
    ("Model", "module"),
    ("Encoder", "module"),
    ("Decoder", "module"),
    ("Backbone", "module"),
    ("Layer", "module"),
    ("Block", "module"),
    ("Attention", "module"),
    ("Head", "module"),
    ("Loss", "module"),
)
"""How bases that the file does not define are named; the first fit counts. Modules need a ``forward``."""

SAMPLING = frozenset({"__iter__", "__len__", "set_epoch"})
"""Methods by which a sampler gives a loader the indices of a data set."""

OWN_NAME_SUFFIXES = (
    ("Dataset", "dataset"),
    ("Collator", "collator"),
    ("Tokenizer", "tokenizer"),
    ("Processor", "processor"),
    ("ImageProcessor", "processor"),
    ("Transform", "transform"),
    ("DataModule", "data module"),
    ("Visualizer", "visualiser"),
    ("Plotter", "visualiser"),
    ("Metric", "metric"),
    ("Metrics", "metric"),
    ("Evaluator", "metric"),
    ("Loss", "loss"),
    ("Criterion", "loss"),
)
"""How classes whose bases say nothing are named."""

HOST_ROLES = frozenset(
    {"dataset", "sampler", "tokenizer", "processor", "transform", "collator", "data module", "visualiser"}
)
"""Classes whose methods prepare or show data on the host."""
