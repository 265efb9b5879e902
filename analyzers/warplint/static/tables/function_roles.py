"""What a function is for, from its name.

Source: the method names of nn.Module, LightningModule, Transformers, Diffusers, MMEngine and torchmetrics
documentation, and the names that public training programs use.
"""

from __future__ import annotations

from warplint.source.pattern import Pattern
from warplint.static.role import Role

MODULE_METHODS = {
    Role.FORWARD: Pattern(
        r"_*forward(_\w+)?|\w+_forward(_\w+)?|__call__|loss(_\w+)?|\w+_loss|compute_loss\w*|get_loss\w*"
        r"|loss_and_\w+|encode\w*|extract_feat\w*|embed\w*|attention|message|aggregate|apply_rotary\w*"
    ),
    Role.TRAIN_STEP: Pattern(r"training_step|train_step|optimizer_step|backward"),
    Role.EVALUATE: Pattern(r"validation_step|test_step|val_step|predict_step"),
    Role.GENERATE: Pattern(
        r"_*(generate|decode|sample|predict|beam_search|greedy\w*|inference|p_sample\w*|ddim_sample\w*)(_\w+)?"
        r"|\w+_(generate|decode|decoding|sample|search|inference)"
    ),
}
"""Methods of modules that run every step."""

METRIC_METHODS = {Role.EVALUATE: Pattern(r"forward|\w*update\w*")}
LOSS_METHODS = {Role.FORWARD: Pattern(r"__call__|forward|(\w+_)?loss(es)?(_\w+)?")}
PIPELINE_METHODS = {Role.GENERATE: Pattern(r"__call__")}
AUTOGRAD_METHODS = {Role.FORWARD: Pattern(r"forward|backward|vjp|jvp|setup_context")}
OPTIMIZER_METHODS = {Role.TRAIN_STEP: Pattern(r"step")}

SETUP = Pattern(
    r"__init__|__new__|__post_init__|__repr__|__str__|__getstate__|__setstate__|__reduce__"
    r"|_*(init|reset_parameters|reset_buffers|setup|configure|register|build|make|create|load|from|convert|save"
    r"|export|add_argument|add_args|get_parser|parse_args|download|tie_weights|post_init|extra_repr)(_\w+)?"
    r"|_*get_(config|model|parser|args|dataset|dataloader|loader|optimizer|scheduler)\w*"
    r"|\w+_(from_pretrained|state_dict|checkpoint|pretrained)"
)
"""Set-up: construction, loading, saving, conversion. Callers in the file count for more."""

DATA = Pattern(
    r"_*(collate\w*|tokenize\w*|preprocess\w*|pre_process\w*|augment\w*|transform\w*|plot\w*|visuali[sz]e\w*"
    r"|draw\w*|show\w*|worker_init\w*|seed_worker)|\w+_(collate|collate_fn|transform|transforms|to_image|plot)"
)
"""Preparing or showing data on the host."""

_PASS = (
    r"(_(one|single))?(_(epoch|step|batch|loop|model|iter|iteration|network|net|fn|func|process|worker|all))?"
)
TRAIN = Pattern(rf"_*(train|fit|finetune|pretrain){_PASS}|(run|do)_train(ing)?|training_(loop|step)")
ONE_STEP = Pattern(r"_*(train(ing)?_step|train_(one_)?(batch|iter|iteration)|forward_backward\w*)")
"""Functions that are one training step, whatever loops over parts of the batch they hold."""
OF_ONE = Pattern(r"\w+_(step|batch|iter|iteration|one)")
"""Methods that take one batch, if they train: ``fit_batch``."""

EVALUATE = Pattern(
    rf"_*(eval|evaluate|validate|validation|val|test|evaluation){_PASS}|eval(uate)?_\w+|(run|do)_(eval|valid|test)\w*"
)
GENERATE = Pattern(
    r"_*(generate(?!_partition)|beam_search|greedy|p_sample|ddim|denoise|translate)(_\w+)?"
    r"|\w+_(generate|decoding|search)"
)
"""Plain functions, and methods of classes of which no more is known."""

LOSS = Pattern(r"(\w+_)?loss(es)?(_\w+)?|criterion|\w*_loss_fn|loss_fn")
"""Plain functions that compute a loss run every step."""

SCRIPT = Pattern(r"main(_\w+)?|run|cli|worker|demo|main_worker")
