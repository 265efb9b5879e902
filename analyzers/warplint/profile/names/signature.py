"""A kernel's name in a form that people read: its own name, and what it was made for.

``void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>
>(int, …)`` becomes ``vectorized_elementwise_kernel<4, add>``. Names without template arguments that carry a
tile size are cut there, so that a library's variants of one product stand together:
``ampere_bf16_s16816gemm_bf16…``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

MORE = "…"
LONGEST = 96
"""Characters of a signature."""
LONGEST_READ = 4096
"""Characters of a name that are looked at. Those of CUTLASS's kernels have a thousand or two."""
MOST_ARGUMENTS = 3
"""Template arguments that are shown."""
MOST_DEPTH = 8
"""Wrappers that are looked through for what they wrap."""

_VARIANT = re.compile(r"_([A-Za-z]{0,3}\d+x\d+|tilesize\d|[nt][nt]_|stages_\d|align\d)")
"""Where the name of a library's kernel stops to say what it computes, and says how."""
_NUMBERED = re.compile(r"_\d+$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STRUCTURE = re.compile(r"[()<> ]")
"""What a name is split at. Names of some kilobytes are common, and most of them is none of these."""
_BETWEEN = re.compile(r"[<({>)},]")
_ENDS = re.compile(r"(?![: ])|::operator\(\)|::\{lambda")
"""What stands behind the last template arguments: nothing more of the name, or of a functor its call, which
its name says already."""
_INTEGER = re.compile(r"\d+")
_MANGLED = re.compile(r"_ZN?K?")
_LENGTH = re.compile(r"(\d+)")
_FUNCTOR = re.compile(
    r"^(CUDAFunctor(OnSelf|OnOther)?_|launch_)|(_?(Functor|functor|cudakernel|kernel|Kernel|cuda|CUDA|impl|Impl))+$"
)
"""What the name of a functor has besides the operation."""

WRAPPERS = frozenset(
    {
        "AUnaryFunctor",
        "BUnaryFunctor",
        "BinaryFunctor",
        "Kernel",
        "Kernel2",
        "ReduceOp",
        "device_kernel",
        "func_wrapper_t",
        "gpu_kernel_impl",
        "gpu_kernel_impl_nocast",
    }
)
"""Templates that are named after what they wrap."""

UNTOLD = frozenset(
    {
        "Array",
        "FusedOptimizerTensorListMetadata",
        "LoadWithCast",
        "LoadWithoutCast",
        "OffsetCalculator",
        "StoreWithCast",
        "StoreWithoutCast",
        "TensorListMetadata",
        "TensorListScalarListMetadata",
        "TrivialOffsetCalculator",
        "array",
        "false",
        "true",
    }
)
"""Template arguments that say how, not what."""

DTYPES = (
    (r"[Bb][Ff](loat)?16|_BBS_|nvjet_(sm\d+_)?tst_", "bf16"),
    (r"nvjet_(sm\d+_)?hsh_|Half|(?<![a-z])half|fp16|(?<![a-z0-9])f16|_HHS_", "fp16"),
    (r"float8|e4m3|e5m2|fp8", "fp8"),
    (r"(?<![a-z])float(?![a-z0-9])|fp32|f32|(?<![a-z])sgemm|scudnn", "fp32"),
    (r"(?<![a-z])double(?![a-z0-9])|fp64|f64|(?<![a-z])dgemm", "fp64"),
    (r"hgemm", "fp16"),
)
"""What in a name shows a type: the first in the text counts, which is that of the data. Accumulators come
later."""
_DTYPE = re.compile("|".join(f"(?P<d{number}>{pattern})" for number, (pattern, _) in enumerate(DTYPES)))
_INTEGERS = {"long": "int64", "int": "int32", "unsigned char": "uint8", "signed char": "int8", "bool": "bool"}
_LAMBDA_ARGUMENT = re.compile(r"\{lambda\((?!int[,)])(\w[\w ]*)[,)]|Functor\w*<(\w[\w ]*)[,>]")
"""A lambda of an ``int`` takes an index."""


@functools.lru_cache(maxsize=4096)
def signature(name: str) -> str:
    """The short form of a kernel's, a copy's or a fill's name as Kineto writes it."""
    if name.startswith(("Memcpy", "Memset")):
        return name
    name = name[:LONGEST_READ]
    if _MANGLED.match(name):
        return _cut("::".join(_mangled_parts(name)) + MORE)
    return _cut(_short(name.removeprefix("void "), 0))


@functools.lru_cache(maxsize=4096)
def dtype(name: str) -> str:
    """The type that a kernel works on, where its name shows it; else empty."""
    # What follows the template arguments are parameters: scalars among them have types of their own.
    called, arguments = _split(name[:LONGEST_READ].removeprefix("void "))
    if "tf32" in called:
        return "tf32"
    found = _DTYPE.search(f"{called}<{arguments}")
    if found is not None:
        return next(text for number, (_, text) in enumerate(DTYPES) if found[f"d{number}"])
    for match in _LAMBDA_ARGUMENT.finditer(arguments):
        kind = match[1] or match[2]
        if kind in _INTEGERS:
            return _INTEGERS[kind]
    return ""


def _short(name: str, depth: int) -> str:
    called, arguments = _split(name)
    base = _last(called)
    if depth < MOST_DEPTH and base in WRAPPERS:
        wrapped = _wrapped(arguments)
        if wrapped:
            return _short(wrapped, depth + (depth > 0))
    if depth:
        return _operation(base)
    if not arguments:
        return _plain(base)
    shown = [_short(each, depth + 1) for each in _arguments(arguments) if _tells(each)]
    kept = list(dict.fromkeys(each for each in shown if each))[:MOST_ARGUMENTS]
    return f"{base}<{', '.join(kept)}>" if kept else base


def _wrapped(arguments: str) -> str:
    """The template argument that a wrapper is named after: the first that is something of its own."""
    parts = list(_arguments(arguments))
    telling = [part for part in parts if _tells(part) and not _INTEGER.fullmatch(part)]
    return next(iter(telling or [part for part in parts if _VARIANT.search(part)]), "")


def _plain(base: str) -> str:
    variant = _VARIANT.search(base)
    if variant is not None and variant.start() > 0:
        return base[: variant.start()] + MORE
    return _NUMBERED.sub("", base) if base.startswith("triton_") else base


def _operation(base: str) -> str:
    """``CUDAFunctor_add``, ``AddFunctor``, ``add_kernel_cuda``: add."""
    bare = _FUNCTOR.sub("", base) or base
    return _CAMEL.sub("_", _plain(bare)).lower()


def _tells(argument: str) -> bool:
    base = _last(_split(argument)[0])
    return base not in UNTOLD and (bool(_INTEGER.fullmatch(argument)) or not _is_type(argument))


def _is_type(argument: str) -> bool:
    """Whether an argument is a plain type or a value, which ``dtype`` tells of or nobody needs."""
    if "<" in argument or "{lambda" in argument:
        return False
    base = _last(argument)
    known = base in {"Half", "BFloat16", "Float8_e4m3fn", "Float8_e5m2"} or argument.startswith("(")
    return known or "*" in argument or bool(re.fullmatch(r"[a-z_0-9 ]+?(\d+)?|\w*_t|-?\d+\w*", base))


def _split(name: str) -> tuple[str, str]:
    """What a name has before its template arguments, and those; its parameters and return type are left
    out."""
    name = name.replace("(anonymous namespace)::", "")
    templates = parentheses = start = begin = 0
    for found in _STRUCTURE.finditer(name):
        character, index = found[0], found.start()
        if character in "()":
            if not templates and not parentheses:
                return name[begin:index].lstrip(": "), ""
            # What is compared inside an argument is no bracket.
            parentheses += 1 if character == "(" else -1
        elif parentheses:
            continue
        elif character == " ":
            begin = begin if templates else index + 1
        elif character == "<":
            start = start if templates else index
            templates += 1
        else:
            templates -= 1
            if not templates and _ENDS.match(name, index + 1):
                return name[begin:start].lstrip(": "), name[start + 1 : index].strip()
    if templates > 0:
        # It was cut off.
        return name[begin:start].lstrip(": "), name[start + 1 :].strip()
    return name[begin:].lstrip(": "), ""


def _arguments(text: str) -> Iterator[str]:
    """Template arguments, split at the commas between them."""
    depth, start = 0, 0
    for found in _BETWEEN.finditer(text):
        character = found[0]
        if character in "<({":
            depth += 1
        elif character != ",":
            depth -= 1
        elif depth == 0:
            yield text[start : found.start()].strip()
            start = found.end()
    if text[start:].strip():
        yield text[start:].strip()


def _last(name: str) -> str:
    return name.rpartition("::")[2].strip()


def _mangled_parts(name: str) -> Iterator[str]:
    """The names at the front of a mangled one, which Itanium's rules write with their lengths."""
    position = _MANGLED.match(name).end()  # type: ignore[union-attr]
    while (length := _LENGTH.match(name, position)) is not None:
        end = length.end() + int(length[1])
        yield name[length.end() : end]
        position = end


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + MORE
