"""Names by which parameters and results show that they are tensors.

Source: parameter names of ``forward`` in PyTorch, Transformers, Diffusers, timm and fairseq, and the fields
of the output objects of Transformers and Diffusers.
"""

from __future__ import annotations

from warplint.source.pattern import Pattern
from warplint.static.tables.words import words

TENSOR_PARAMETER = Pattern(
    r"x\d*|xs|y|z|input|inputs|inp|hidden|hidden_states?|hiddens|q|k|v|query|queries|key|keys|value|values|qkv"
    r"|feat|feats|features?|feature_map|imgs?|images?|pixel_values|logits?|labels?|targets?|mask|masks|tokens?|emb"
    r"|embeds?|embeddings?|pred|preds|predictions?|outputs?|src|tgt|memory|residual|weights?|scores?|noise|latents?"
    r"|timesteps?|\w+_(ids|mask|masks|embeds|embeddings|states|feats|features|logits|tokens|scores|labels|latents"
    r"|values|tensor|weights)|\w*tensors?|audio|waveform|spectrogram|anchors|boxes|points|coords|attn\w*"
)
"""Parameters of a module's ``forward`` that are tensors when nothing speaks against it."""

OTHER_PARAMETER = Pattern(
    r"self|cls|ctx|n|h|w|c|b|i|j|idx|index|indices|height|width|size|step|steps|epoch|layer|layers|name|names|mode|dim"
    r"|dims|axis|batch|data|config|cfg|args|opts?|options|kwargs|sample|samples|info|lengths|text|texts|strings?"
    r"|prompts?|graphs?|g|device|dtype|shape|fn|func|function|method|key|item|items|optimizer|model|net|module|state"
    r"|cache|callback|level|stage|training|(n|num|use|is|return|with|do|max|min|has|should|enable|output)_\w+"
    r"|\w+_(size|sizes|shape|shapes|len|length|lengths|dim|idx|index|id|name|names|type|mode|list|dict|metas?|fn|func"
    r"|cfg|config|args|kwargs|ratio|rate|prob|step|steps|epoch|info|path|cache)"
)
"""Parameters of a module's ``forward`` that are mostly no tensors."""

SETTINGS = Pattern(r"(\w*_)?(args|cfg|config|configs|conf|hparams|opts?|options|settings|flags|params)")
"""Objects that hold a program's settings."""

NUMBER = Pattern(r"(\w+_)?(base|dim|eps|height|max_period|size|theta|width)")
"""What a tensor is computed with that is most likely a Python number."""

SIZE = Pattern(r"[A-Z]")
"""Single capitals, by which sizes are named."""

FLAG = Pattern(r"(use|is|has|do|with|return|should|need|needs|enable|want)_\w+|\w+_(mode|type)|training")
"""Parameters and module variables that are flags."""

LOSS = Pattern(r"(\w+_)?loss(es)?(_\w+|\d+)?")
"""Results of unknown calls that are tensors when a tensor's method is called on them."""

FIGURE = Pattern(r"(\w+_)?loss(es)?(_\w+|\d+)?|(\w+_)?norm")
"""The same, and what else is worked out from a model's tensors and then read."""

OUTPUT_FIELDS = words(
    """
    attentions encoder_last_hidden_state end_logits hidden_states image_embeds last_hidden_state
    latent_dist logits logits_per_image logits_per_text loss past_key_values pooler_output pred_boxes
    pred_logits pred_original_sample prediction_logits prev_sample sample scores sequences start_logits
    text_embeds
    """
)
"""Fields of what a model returns that hold tensors."""

INPUT_FIELDS = words(
    """
    attention_mask decoder_input_ids input_features input_ids input_values labels pixel_attention_mask
    pixel_values pixel_values_videos token_type_ids
    """
)
"""Fields of what tokenizers and processors return that hold tensors."""

DEVICE_NAME = Pattern(
    r"(\w*_)?(device|devices|dev|gpu|gpus|gpu_id|cuda|rank|local_rank|device_id)(_\w+|\d+)?"
)
DTYPE_NAME = Pattern(r"(\w*_)?(dtype|type|precision)(_\w+)?")
"""What ``.to`` is handed when the engine knows no more than the name."""

ACCELERATORS = ("cuda", "xpu", "mps", "npu", "hpu", "xla", "mlu", "musa")
"""Beginnings of device strings that are not the CPU."""

TENSOR_ANNOTATIONS = words(
    """
    Tensor FloatTensor LongTensor BoolTensor IntTensor HalfTensor ByteTensor BFloat16Tensor DoubleTensor
    OptTensor TensorType
    """
)

SHAPED_ANNOTATIONS = words("Float Int Bool Integer Num Shaped Inexact Annotated")
"""Generics of jaxtyping and typing whose first argument is the tensor type."""

NUMBER_ANNOTATIONS = words("int float bool complex Number SupportsFloat")

SEQUENCE_ANNOTATIONS = words(
    """
    list List tuple Tuple dict Dict set Set Sequence Iterable Mapping Iterator OrderedDict MutableMapping
    Collection
    """
)
"""Generic containers; the last argument is what they hold."""
