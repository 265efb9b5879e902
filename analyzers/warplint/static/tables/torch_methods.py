"""What tensor methods give: which are a tensor's alone, which leave its device, which read it.

Source: torch.Tensor and torch.nn.Module in the PyTorch 2.x documentation.
"""

from __future__ import annotations

from warplint.static.tables.words import words
from warplint.static.values import Kind

READS = {
    "item": Kind.NUMBER,
    "tolist": Kind.SEQUENCE,
    "numpy": Kind.NDARRAY,
    "__array__": Kind.NDARRAY,
    "__bool__": Kind.NUMBER,
    "__float__": Kind.NUMBER,
    "__int__": Kind.NUMBER,
}
"""Methods that hand the content to Python, with what they give."""

DTYPES = {
    "float": "torch.float32",
    "double": "torch.float64",
    "half": "torch.float16",
    "bfloat16": "torch.bfloat16",
    "long": "torch.int64",
    "int": "torch.int32",
    "short": "torch.int16",
    "char": "torch.int8",
    "byte": "torch.uint8",
    "bool": "torch.bool",
}
"""Methods that convert the element type."""

NUMBERS = words(
    """
    allclose data_ptr dim element_size equal get_device is_complex is_contiguous is_floating_point
    is_nonzero is_pinned is_set_to is_shared is_signed ndimension nelement numel storage_offset
    """
)
"""Methods that give a number. All but ``allclose``, ``equal`` and ``is_nonzero`` leave the data alone."""

SIZES = words("size stride")
"""Give a tuple of numbers, or with an argument one number."""

METADATA = words(
    """
    _version device dtype grad_fn is_cpu is_cuda is_leaf is_meta is_sparse itemsize layout names nbytes
    ndim requires_grad shape
    """
)
"""Attributes that are no tensors."""

VIEWS = words(
    """
    H T data grad imag indices mH mT real values
    """
)
"""Attributes that are tensors on the same device."""

MOVES = words(
    """
    cpu cuda hpu mps npu pin_memory to type type_as xpu
    """
)
"""Methods that can change the device."""

PREDICATES = words(
    """
    all any eq ge gt isfinite isinf isnan isneginf isposinf isreal le logical_and logical_not logical_or
    logical_xor lt ne signbit
    """
)
"""Give boolean tensors."""

REDUCTIONS = words(
    """
    all amax amin any argmax argmin count_nonzero logsumexp max mean median min mode nanmean nanmedian
    nansum norm prod std sum var
    """
)
"""Without a dimension they give a tensor of no dimensions."""

PAIRS_WITH_DIM = words("aminmax max median min mode nanmedian")
"""With a dimension they give values and indices."""

TUPLES = words(
    """
    broadcast_tensors chunk cummax cummin dsplit eig eigh frexp hsplit kthvalue linalg_qr lstsq lu_factor
    max_pool2d_with_indices meshgrid qr slogdet sort split split_with_sizes std_mean svd symeig
    tensor_split topk triangular_solve unbind unsafe_chunk unsafe_split var_mean vsplit
    """
)
"""Methods and functions that give several tensors."""

INTEGER_RESULTS = words(
    """
    argmax argmin argsort argwhere bincount count_nonzero nonzero
    """
)
"""Give 64-bit integers."""

TENSOR_ONLY = words(
    """
    abs_ add_ addcmul addmm amax amin baddbmm bernoulli_ bmm byte chunk clamp clamp_ clamp_max clamp_min
    contiguous cumsum_ detach detach_ dim div_ erf exp_ expand expand_as fill_ flatten_ grad_fn index_add
    index_add_ index_copy_ index_fill index_select is_cuda is_floating_point log_softmax logical_and
    logical_not logical_or logsumexp long masked_fill masked_fill_ masked_scatter masked_select matmul
    mul_ narrow ndimension new_empty new_full new_ones new_tensor new_zeros normal_ numel permute pin_memory
    pow_ record_stream repeat_interleave scatter scatter_ scatter_add scatter_add_ softmax sqrt_ sub_ topk
    transpose_ tril triu type_as unbind uniform_ unsqueeze unsqueeze_ view_as zero_
    """
)
"""Attributes that tensors have, and NumPy arrays, numbers, containers, modules and trainers have not."""

SAME_DEVICE = words(
    """
    abs acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint all amax amin aminmax angle any
    argmax argmin argsort argwhere as_strided asin asinh atan atan2 atanh baddbmm bernoulli bfloat16
    bincount bitwise_and bitwise_not bitwise_or bitwise_xor bmm bool broadcast_to bucketize byte cauchy
    ceil char cholesky chunk clamp clamp_max clamp_min clip clone coalesce conj contiguous copysign
    corrcoef cos cosh count_nonzero cov cross cummax cummin cumprod cumsum deg2rad detach diag diag_embed
    diagonal diff digamma dist div divide dot double eq erf erfc erfinv exp exp2 expand expand_as expm1
    exponential fix flatten flip fliplr flipud float floor floor_divide fmax fmin fmod frac gather gcd ge
    geometric ger greater greater_equal gt half hardshrink histc hsplit hypot i0 igamma index_add
    index_copy index_fill index_put index_reduce index_select inner int inverse isclose isfinite isinf
    isnan kron kthvalue lcm ldexp le lerp less less_equal lgamma log log10 log1p log2 log_softmax
    logaddexp logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logsumexp long lt
    masked_fill masked_scatter masked_select matmul matrix_exp matrix_power max maximum mean median min
    minimum mm mode moveaxis movedim msort mul multinomial multiply mv mvlgamma nan_to_num nanmean
    nanmedian nanquantile nansum narrow ne neg negative new new_empty new_full new_ones new_tensor
    new_zeros nextafter nonzero norm not_equal outer permute pinverse polygamma positive pow prelu prod
    put quantile rad2deg ravel reciprocal relu remainder rename renorm repeat repeat_interleave
    requires_grad_ reshape reshape_as resize resize_as retain_grad roll rot90 round rsqrt scatter
    scatter_add scatter_reduce select sgn share_memory_ short sigmoid sign signbit sin sinc sinh
    slice_scatter softmax sort split split_with_sizes sqrt square squeeze std sub subtract sum swapaxes
    swapdims t take take_along_dim tan tanh tensor_split tile to_dense to_sparse topk trace transpose tril
    triu true_divide trunc unbind unflatten unfold unique unique_consecutive unsqueeze values var vdot
    view view_as view_as_complex view_as_real vsplit where xlogy zero
    """
)
"""Methods whose result lives where the tensor lives. Their in-place forms end in an underscore."""

NEW = words("new new_empty new_full new_ones new_tensor new_zeros")
"""Methods that build beside the tensor, unless told otherwise."""

UNCHANGED = words("clone contiguous detach requires_grad_ retain_grad share_memory_")
"""Give the tensor as it is, or a copy of it."""

SHAPED_LIKE = words("expand_as reshape_as resize_as view_as")
"""Take the shape of the tensor they are handed, and nothing else of it: it may be on another device."""

KEEPS_DTYPE = words(
    """
    cat cumsum expand expand_as flatten flip gather index_select masked_select movedim narrow permute
    ravel repeat reshape roll select squeeze stack t take tile transpose tril triu unflatten unfold
    unsqueeze view
    """
)
"""Give elements of the tensor's own type."""

OF_DATA = words("abs add clone cpu cuda double float half item mul norm pow sub")
"""Methods that show ``x.data`` to be a tensor's content: buffers, arrays and texts have none of them."""

CONTAINER_METHODS = words("get items pop values")
"""Methods of the containers that models return."""

SAME_MODULE = words(
    """
    apply bfloat16 compile double eval float half requires_grad_ share_memory to_empty train type
    """
)
"""Methods of a module that give the module back, where it is."""

PARAMETER_LISTS = words("buffers parameters")
"""Methods of a module that iterate over tensors."""

NAMED_PARAMETER_LISTS = words("named_buffers named_parameters")
"""Methods of a module that iterate over pairs of a name and a tensor."""

MODULE_LISTS = words("children modules")
"""Methods of a module that iterate over modules."""
