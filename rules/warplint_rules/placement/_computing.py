"""Functions of the project that work out their result from what they are handed, and from nothing else."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from warplint.static.parsing.tree import FunctionNode, children, dotted, last_name
from warplint.static.tables import waits
from warplint.static.tables.words import words
from warplint_rules.placement._content import NAMES

_LIBRARIES = frozenset({"F", "functional", "math", "np", "numpy", "t", "th", "torch"})
"""How the modules are called whose functions build and compute."""
_READS = words("cpu from_file frombuffer fromfile genfromtxt item load loadtxt memmap numpy open tolist")
"""What brings in content from elsewhere, or reads what the GPU holds."""
COMPUTING = words(
    """
    abs add append arange argsort astype bool clamp clone contiguous copy cos cumsum dim div div_ double exp
    expand extend eye fill_ fill_diagonal_ flatten flip float format gather ge gt half int le log long lt
    masked_fill masked_fill_ matmul mean mul mul_ ndim new_full new_ones new_tensor new_zeros numel permute
    pow range repeat reshape roll round scatter scatter_ sin size sqrt squeeze stack sub sub_ sum t
    to transpose tril tril_ triu triu_ type type_as unbind unsqueeze view zero_
    """
)
"""Methods of tensors, arrays and lists that add nothing from elsewhere."""
_BUILDING = frozenset(name for names in NAMES.values() for name in names.split())
"""What builds a tensor of its own."""
_DECIDING = (ast.If, ast.IfExp, ast.While, ast.For, ast.comprehension, ast.Assert, ast.BoolOp, ast.Compare)
"""What may look at the content of a tensor."""


def computes_alone(helper: FunctionNode) -> bool:
    """Whether a helper makes its tensor of its arguments alone: no state, no file, no other function."""
    nodes = list(_computation(helper))
    bound = {argument.arg for argument in ast.walk(helper.args) if isinstance(argument, ast.arg)}
    bound.update(
        node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    )
    for node in nodes:
        if isinstance(node, ast.Call) and not _computes(node.func, bound):
            return False
        if isinstance(node, ast.Name) and not (node.id in bound or node.id.isupper() or _is_public(node.id)):
            return False
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return False
        if isinstance(node, ast.For | ast.comprehension) and last_name(node.iter) != "range":
            return False
    return True


def _computation(helper: FunctionNode) -> Iterator[ast.AST]:
    """The nodes of a function that run when it is called: no defaults, decorators and annotations."""
    stack: list[ast.AST] = [*helper.body]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(
            child
            for child in children(node)
            if not isinstance(node, ast.AnnAssign) or child is not node.annotation
        )


def _is_public(name: str) -> bool:
    return name in _LIBRARIES or hasattr(builtins, name)


def _computes(called: ast.expr, bound: set[str]) -> bool:
    """Whether a call works out its result from what it is handed."""
    name = last_name(called)
    if isinstance(called, ast.Name):
        return hasattr(builtins, name) and name not in _READS
    if name in _READS or not isinstance(called, ast.Attribute):
        return False
    root = (dotted(called) or "").partition(".")[0]
    return root in _LIBRARIES - bound or name in COMPUTING


def only_works_on(helper: FunctionNode) -> bool:
    """Whether a function only computes with the tensors it is handed: builds none, looks at none.

    Its result is then where they are, and moving them to the GPU moves all of it there.
    """
    if not computes_alone(helper):
        return False
    nodes = list(_computation(helper))
    called = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    looks = any(isinstance(node, _DECIDING) for node in nodes)
    waiting = called & (waits.METHODS | waits.BUILTINS | waits.ITERATING | waits.COUNTED.keys())
    return not (looks or waiting or called & _BUILDING)
