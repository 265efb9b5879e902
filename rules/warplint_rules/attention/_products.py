"""Products of matrices in their many spellings, and what may stand between the two of an attention."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.source.records import dataclass
from warplint.static.facts import Facts, Use, UseKind
from warplint.static.parsing.tree import dotted, last_name
from warplint_rules._calls import argument, has_unpacking

PRODUCTS = {"baddbmm", "bmm", "matmul"}
"""Functions and methods that multiply batches of matrices."""
KEEPS = {
    "bfloat16", "clone", "contiguous", "double", "float", "half", "masked_fill", "masked_fill_", "nan_to_num",
    "reshape", "squeeze", "to", "type", "type_as", "unsqueeze", "view",
}  # fmt: skip
"""What leaves scores and weights what they are: types, shapes before the last dimension, masks."""
SHIFTS = {"add", "add_", "sub", "sub_"}
SCALES = {"div", "div_", "mul", "mul_"}
SWAPS = {"T", "adjoint", "mT", "permute", "swapaxes", "swapdims", "t", "transpose"}
"""What exchanges the last two dimensions, as far as attention is written."""
NO_SCALE = ("bias", "decay", "gate", "mask", "weight")
"""Parts of names of what is no scale: to multiply scores by it is more than `softmax(q @ k * s)`."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product of two matrices; ``spelling`` are the terms of an einsum, inputs and then the result."""

    node: ast.expr
    operands: tuple[ast.expr, ast.expr]
    spelling: tuple[tuple[str, ...], ...] | None = None


def product_of(node: ast.AST) -> Product | None:
    """The product that an expression is, if it is one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return Product(node, (node.left, node.right))
    if not isinstance(node, ast.Call) or has_unpacking(node):
        return None
    name = last_name(node.func)
    if name == "einsum":
        return _einsum(node)
    if name not in PRODUCTS:
        return None
    operands = node.args[1:3] if name == "baddbmm" else node.args[:2]
    if name == "baddbmm" and len(operands) < 2:
        first, second = argument(node, 1, "batch1"), argument(node, 2, "batch2")
        operands = [first, second] if first is not None and second is not None else []
    if len(operands) == 1 and isinstance(node.func, ast.Attribute) and name != "baddbmm":
        operands = [node.func.value, *operands]
    return Product(node, (operands[0], operands[1])) if len(operands) == 2 else None


def _einsum(call: ast.Call) -> Product | None:
    """``torch.einsum("bqd,bkd->bqk", q, k)``, and that of einops, which has the equation last."""
    texts = [part for part in call.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    operands = [part for part in call.args if part not in texts]
    if len(texts) != 1 or len(operands) != 2:
        return None
    inputs, _, result = str(texts[0].value).partition("->")
    terms = [*inputs.split(","), result]
    spelling = tuple(tuple(term.split() if " " in term.strip() else term.strip()) for term in terms)
    return Product(call, (operands[0], operands[1]), spelling) if len(spelling) == 3 else None


def scores_behind(node: ast.expr, facts: Facts) -> Product | None:
    """The one product whose result an expression is, at most scaled, shifted, masked and converted.

    None where anything else was done to it, that no fused attention does.
    """
    found: dict[ast.AST, Product] = {}
    waiting, seen = [node], set[ast.AST]()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        product = product_of(current)
        if product is not None:
            found[product.node] = product
            continue
        before = _before(current, facts)
        if before is None or any(_is_put_away(use) for use in facts.uses(current)):
            return None
        waiting.extend(before)
    if len(found) != 1:
        return None
    product = next(iter(found.values()))
    return None if any(_is_put_away(use) for use in facts.uses(product.node)) else product


def _before(node: ast.expr, facts: Facts) -> list[ast.expr] | None:
    """The expressions that hold the scores one operation earlier; None for an operation that changes them."""
    if isinstance(node, ast.Name | ast.Attribute):
        parent = facts.parent(node)
        added: list[ast.expr] = []
        if isinstance(parent, ast.AugAssign) and parent.target is node:
            if not _is_shift_or_scale(parent.op, parent.value):
                return None
            added = _products_in(parent.value, facts)
        return [*facts.sources(node), *added] or None
    if isinstance(node, ast.BinOp):
        return _before_operator(node, facts)
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return _before_call(node, facts) if isinstance(node, ast.Call) else None


def _before_operator(node: ast.BinOp, facts: Facts) -> list[ast.expr] | None:
    sides = [side for side in (node.left, node.right) if leads_to_product(side, facts)]
    if len(sides) == 2:
        return sides
    if not sides:
        return None
    other = node.right if sides[0] is node.left else node.left
    return sides if _is_shift_or_scale(node.op, other) else None


def _before_call(call: ast.Call, facts: Facts) -> list[ast.expr] | None:
    name = last_name(call.func)
    is_function = facts.qualified(call.func) is not None
    if name == "where" and len(call.args) == 3:
        return [side for side in call.args[1:] if leads_to_product(side, facts)] or None
    if name not in KEEPS | SHIFTS | SCALES or not isinstance(call.func, ast.Attribute):
        return None
    subject = argument(call, 0, "input") if is_function else call.func.value
    others = call.args[1:] if is_function else call.args
    if subject is None or (name in SCALES and not all(map(_is_scale, others))):
        return None
    return [subject, *(other for other in others if name in SHIFTS and leads_to_product(other, facts))]


def _is_shift_or_scale(operator: ast.operator, other: ast.expr) -> bool:
    if isinstance(operator, ast.Add | ast.Sub):
        return True
    return isinstance(operator, ast.Mult | ast.Div) and _is_scale(other)


def _is_scale(node: ast.expr) -> bool:
    """A number, or what is named like one: no mask that the scores are multiplied by."""
    name = (dotted(node) or "").lower()
    return not isinstance(node, ast.Subscript) and not any(word in name for word in NO_SCALE)


def leads_to_product(node: ast.expr, facts: Facts) -> bool:
    """Whether a product of matrices is in an expression, or in what its names were bound to."""
    waiting, seen = [node], set[ast.AST]()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for part in ast.walk(current):
            if product_of(part) is not None:
                return True
            if isinstance(part, ast.Name):
                waiting.extend(facts.sources(part))
    return False


def _products_in(node: ast.expr, facts: Facts) -> list[ast.expr]:
    return [node] if leads_to_product(node, facts) else []


def _is_put_away(use: Use) -> bool:
    """Whether scores are wanted for themselves."""
    return use.kind in {UseKind.RETURNED, UseKind.STORED}


def weighted_sums(weights: ast.expr, facts: Facts) -> list[Product] | None:
    """The products that weights go into, over their last dimension; None where they go anywhere else."""
    found: list[Product] = []
    waiting: list[tuple[ast.expr, bool]] = [(weights, False)]
    seen = set[ast.AST]()
    while waiting:
        current, swapped = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for use in facts.uses(current):
            product = product_of(use.node)
            if product is not None:
                if not _sums_over_last(product, current, swapped, facts):
                    return None
                found.append(product)
            elif isinstance(use.node, ast.expr) and _hands_on(use.node):
                waiting.append((use.node, swapped ^ (last_name(use.node) in SWAPS)))
            else:
                return None
    return found or None


def _hands_on(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        return name in KEEPS | SWAPS or "drop" in name.lower()
    return isinstance(node, ast.Attribute) and node.attr in SWAPS


def _sums_over_last(product: Product, weights: ast.expr, swapped: bool, facts: Facts) -> bool:
    """Whether the weights' last dimension, over which they sum to one, is the one that is summed over."""
    is_left = _is(product.operands[0], weights, facts)
    if not is_left and not _is(product.operands[1], weights, facts):
        return False
    if product.spelling is not None:
        term = product.spelling[0 if is_left else 1]
        return not swapped and bool(term) and term[-1] not in product.spelling[2]
    return is_left is not swapped


def _is(operand: ast.expr, node: ast.expr, facts: Facts) -> bool:
    return operand is node or any(source is node for source in _all_sources(operand, facts))


def _all_sources(node: ast.expr, facts: Facts) -> Iterator[ast.expr]:
    waiting, seen = list(facts.sources(node)), set[ast.AST]()
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            yield current
            waiting.extend(facts.sources(current))
