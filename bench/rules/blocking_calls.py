"""Measure which calls make the host wait for the GPU, on a machine with one.

    python bench/rules/blocking_calls.py

Work is queued, then the host is timed over one expression. It waits if that took about as long as the work.
The rules of the synchronisation family, their advice and their fixes rest on these rows; where PyTorch
changes, a row that differs from what they take for granted says so.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any, NamedTuple

ROUNDS = 5
QUEUED_PRODUCTS = 4
SHARE = 0.5
"""An expression waits if it takes at least this share of the queued work's time."""


class Row(NamedTuple):
    """An expression, and whether the rules take it to wait."""

    expression: str
    waits: bool


ROWS = (
    # Indexing
    Row("x[mask]", True),
    Row("x[rows]", True),
    Row("x[:, cols]", True),
    Row("torch.masked_select(x, mask)", True),
    Row("x.__setitem__(mask, y[mask])", True),
    Row("x.__setitem__(rows, y[0])", True),
    Row("x.__setitem__(mask, fs)", True),
    Row("x.__setitem__(mask, 0.0)", False),
    Row("x.__setitem__((rows, 0), 0.0)", False),
    Row("x.__setitem__((slice(None), cols), 0.0)", False),
    Row("x.__setitem__((rows, idx[0]), 0.0)", True),
    Row("x.__setitem__((slice(2), slice(None), None), 0.0)", False),
    Row("x.__setitem__(idx, 0.0)", True),
    Row("x.__setitem__((idx, idx), 0.0)", True),
    Row("x.__setitem__(idx, c0)", True),
    Row("x.__setitem__(idx, fs)", False),
    Row("x.__setitem__(idx, x.new_full((), 0.0))", False),
    Row("x.__setitem__((idx, idx), x.new_full((), 0.0))", False),
    Row("x.index_fill_(0, idx, 0.0)", False),
    Row("x.masked_fill(mask, fs)", True),
    Row("torch.where(mask, fs, x)", False),
    Row("torch.where(mask, 0.0, x)", False),
    Row("x[[1, 2]]", True),
    Row("x[:, [1, 2]]", True),
    Row("x.__setitem__([1, 2], 0.0)", True),
    Row("x.__setitem__([1, 2], y[:2])", True),
    Row("x[idx]", False),
    Row("x[idxc]", True),
    Row("x[c3]", False),
    Row("x.__setitem__(idxc, fs)", True),
    Row("x[s]", True),
    Row("x[s, 0]", True),
    Row("x[:s]", True),
    Row("x[s[None]]", False),
    Row("x[cmask]", False),
    # Sizes that the data decides
    Row("mask.nonzero()", True),
    Row("torch.where(mask)", True),
    Row("torch.argwhere(mask)", True),
    Row("torch.nonzero_static(mask, size=10)", False),
    Row("torch.repeat_interleave(x, rep, dim=0)", True),
    Row("x.repeat_interleave(rep, dim=0, output_size=n_rep)", False),
    Row("x.repeat_interleave(2, dim=0)", False),
    Row("torch.repeat_interleave(rep)", True),
    Row("F.one_hot(lab)", True),
    Row("F.one_hot(lab, 10)", False),
    Row("F.one_hot(lab, num_classes=-1)", True),
    Row("torch.unique(i64)", True),
    Row("torch.unique(i64, dim=0)", True),
    Row("torch.unique_consecutive(i64)", True),
    Row("torch.bincount(i64)", True),
    Row("torch.bincount(i64, minlength=50)", True),
    Row("torch.zeros(50, device=dev).scatter_add_(0, lab, ones)", False),
    Row("torch.histc(x)", True),
    Row("torch.histc(x, bins=10)", True),
    Row("torch.histc(x, bins=10, min=-1, max=1)", False),
    Row("torch.isin(i64, idx)", True),
    Row("(i64[:, None] == idx).any(1)", False),
    Row("torch.combinations(x[0, :10])", True),
    Row("torch.triu_indices(10, 10, 1, device=dev)", False),
    Row("x.to_sparse()", True),
    Row("torch.cov(x)", True),
    # What Python reads
    Row("fs.item()", True),
    Row("x.tolist()", True),
    Row("x.numpy(force=True)", True),
    Row("float(fs)", True),
    Row("int(s)", True),
    Row("bool(fs)", True),
    Row("1 if fs > 0 else 0", True),
    Row("print(fs, file=io.StringIO())", True),
    Row("f'{fs}'", True),
    Row("torch.is_nonzero(fs)", True),
    Row("list(x[:3, 0])", False),
    # What stays on the GPU
    Row("x + c0", False),
    Row("x.sort()", False),
    Row("x.argmax()", False),
    Row("x.cumsum(0)", False),
    Row("torch.clamp(x, 0, 1)", False),
    # Tensors as numbers
    Row("torch.arange(s, device=dev)", True),
    Row("torch.zeros(s, device=dev)", True),
    Row("torch.full((4,), fs, device=dev)", True),
    Row("torch.full((4, 4), s)", True),
    Row("torch.linspace(0, fs, 10, device=dev)", True),
    Row("x.split([s, 256 - 3])", True),
    Row("x.new_zeros(s)", True),
    Row("x.expand(s, 256, 64)", True),
    Row("range(s)", True),
    Row("x.clamp(min=fs)", False),
    Row("x.add_(y, alpha=fs)", True),
    Row("F.pad(x, (0, s))", True),
    Row("F.dropout(x, fs.abs().clamp(0, 1))", True),
    Row("x.pow(fs)", False),
    Row("max(x[0, 0], x[0, 1])", True),
    Row("max(x[:4, 0])", True),
    Row("min(x[0, 0], 1.0)", True),
    Row("sorted(x[:3, 0])", True),
    Row("any(mask[0, :2])", True),
    Row("abs(fs)", False),
    Row("sum(x[:4, 0])", False),
    Row("math.sqrt(fs.abs())", True),
    Row("math.exp(fs)", True),
    Row("np.exp(fs.cpu())", True),
    Row("5 in i64", True),
    Row("torch.equal(x, y)", True),
    Row("torch.allclose(x, y)", True),
    Row("x.equal(y)", True),
    Row("(x == y).all()", False),
    # Building tensors
    Row("torch.tensor(5.0, device=dev)", True),
    Row("torch.as_tensor(5.0, device=dev)", True),
    Row("torch.tensor(True, device=dev)", True),
    Row("torch.tensor([5.0], device=dev)", True),
    Row("torch.tensor([], device=dev)", False),
    Row("x.new_tensor(5.0)", True),
    Row("x.new_tensor([5.0])", True),
    Row("torch.full((), 5.0, device=dev)", False),
    Row("torch.full((1,), 5.0, device=dev)", False),
    Row("torch.scalar_tensor(5.0, device=dev)", False),
    Row("torch.tensor(fs, device=dev)", False),
    Row("torch.tensor([fs, fs])", True),
    Row("torch.tensor([fs, fs], device=dev)", True),
    Row("torch.stack([fs, fs])", False),
    Row("x.new_full((), 5.0)", False),
    # Distributions
    Row("D.Normal(x, x.abs() + 1)", True),
    Row("D.Normal(x, x.abs() + 1, validate_args=False)", False),
    Row("D.Normal(x, 1.0)", True),
    Row("D.Categorical(logits=logit)", True),
    Row("D.Categorical(logits=logit, validate_args=False)", False),
    Row("D.Bernoulli(probs=prob)", True),
    Row("D.Bernoulli(logits=logit)", True),
    Row("D.Independent(D.Normal(x, x.abs() + 1, validate_args=False), 1)", False),
    Row("D.Uniform(x, x + 1)", True),
    Row("D.Beta(prob + 1, prob + 1)", True),
    Row("D.MultivariateNormal(x[0], eye)", True),
    Row("cat.log_prob(cat.sample())", True),
    Row("quiet_cat.log_prob(quiet_cat.sample())", False),
    Row("cat.entropy()", False),
    Row("torch.normal(x, x.abs())", True),
    Row("x + x.abs() * torch.randn_like(x)", False),
    Row("torch.normal(0.0, 1.0, (4,), device=dev)", False),
    Row("torch.normal(x, 1.0)", False),
    # Linear algebra
    Row("torch.linalg.inv(spd)", True),
    Row("torch.inverse(spd)", True),
    Row("torch.linalg.inv_ex(spd)", False),
    Row("torch.linalg.solve(spd, x[:64])", True),
    Row("torch.linalg.solve_ex(spd, x[:64])", False),
    Row("torch.linalg.cholesky(spd)", True),
    Row("torch.linalg.cholesky_ex(spd)", False),
    Row("torch.linalg.eigh(spd)", True),
    Row("torch.linalg.svd(spd)", True),
    Row("torch.linalg.pinv(spd)", True),
    Row("torch.linalg.lu_factor(spd)", True),
    Row("torch.linalg.lu_factor_ex(spd)", False),
    Row("torch.linalg.matrix_exp(spd)", True),
    Row("torch.linalg.qr(spd)", False),
    Row("torch.linalg.det(spd)", False),
    # Copies to the GPU
    Row("pageable.to(dev)", True),
    Row("pinned.to(dev)", True),
    Row("pinned.to(dev, non_blocking=True)", False),
    Row("large.to(dev)", True),
    Row("large.to(dev, non_blocking=True)", True),
    Row("torch.from_numpy(array).to(dev)", True),
    Row("torch.arange(1024).to(dev)", True),
    Row("torch.arange(1024, device=dev)", False),
    Row("x.to(dev)", False),
    # Copies to the host
    Row("x.to('cpu', non_blocking=True)", False),
    Row("x.cpu()", True),
    Row("pageable.copy_(x, non_blocking=True)", True),
    Row("pinned.copy_(x, non_blocking=True)", False),
    Row("pinned.copy_(x)", True),
    Row("torch.empty_like(x, device='cpu', pin_memory=True).copy_(x, non_blocking=True)", False),
    # Training
    Row("nn.utils.clip_grad_norm_(ps, 1.0)", False),
    Row("nn.utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)", True),
    Row("torch.cuda.synchronize()", True),
    Row("torch.cuda.current_stream().synchronize()", True),
    Row("torch.save(m.state_dict(), io.BytesIO())", True),
    Row("copy.deepcopy(m.state_dict())", False),
    Row("[scaler.scale(m(x).sum()).backward(), scaler.step(adam), scaler.update()]", True),
    Row("[scaler.scale(m(x).sum()).backward(), scaler.step(fused), scaler.update()]", False),
    Row("scaler.get_scale()", True),
    Row("ema.update_parameters(m)", True),
    Row("bn_cumulative(img)", True),
)  # fmt: skip


def names(torch: Any) -> dict[str, Any]:
    """What the expressions refer to."""
    import copy
    import io
    import math

    import numpy as np
    from torch import distributions, nn
    from torch.nn import functional

    dev = torch.device("cuda")
    x = torch.randn(256, 64, device=dev)
    lab = torch.randint(0, 10, (32,), device=dev)
    square = torch.randn(64, 64, device=dev)
    model = nn.Linear(64, 64).to(dev)
    logit = torch.randn(32, 10, device=dev)
    rep = torch.randint(1, 3, (256,), device=dev)
    return {
        "torch": torch, "nn": nn, "F": functional, "D": distributions, "np": np, "math": math, "io": io,
        "copy": copy, "dev": dev, "x": x, "y": torch.randn(256, 64, device=dev),
        "mask": x > 0, "rows": x[:, 0] > 0, "cols": x[0] > 0, "cmask": (x > 0).cpu(),
        "s": torch.tensor(3, device=dev), "fs": torch.tensor(0.5, device=dev),
        "c0": torch.tensor(0.0), "c3": torch.tensor(3),
        "idx": torch.randint(0, 64, (32,), device=dev), "idxc": torch.randint(0, 64, (32,)),
        "lab": lab, "i64": torch.randint(0, 50, (256,), device=dev), "ones": torch.ones(32, device=dev),
        "rep": rep, "n_rep": int(rep.sum()), "logit": logit, "prob": logit.sigmoid(),
        "eye": torch.eye(64, device=dev), "spd": square @ square.T + 64 * torch.eye(64, device=dev),
        "pageable": torch.empty(256, 64), "pinned": torch.empty(256, 64, pin_memory=True),
        "large": torch.empty(4096, 4096), "array": np.ones((256, 64), dtype=np.float32),
        "m": model, "ps": list(model.parameters()), "img": torch.randn(4, 3, 8, 8, device=dev),
        "cat": distributions.Categorical(logits=logit),
        "quiet_cat": distributions.Categorical(logits=logit, validate_args=False),
        "scaler": torch.amp.GradScaler("cuda"), "adam": torch.optim.AdamW(model.parameters()),
        "fused": torch.optim.AdamW(model.parameters(), fused=True),
        "ema": torch.optim.swa_utils.AveragedModel(model),
        "bn_cumulative": nn.BatchNorm2d(3, momentum=None).to(dev),
    }  # fmt: skip


def seconds(torch: Any, expression: str, known: dict[str, Any], work: Any) -> float:
    """How long the host takes over the expression while the work is queued; the median of some rounds."""
    code = compile(expression, expression, "eval")
    eval(code, known)  # the first round loads libraries
    taken = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        for _ in range(QUEUED_PRODUCTS):
            torch.mm(work, work)
        start = time.perf_counter()
        eval(code, known)
        taken.append(time.perf_counter() - start)
    torch.cuda.synchronize()
    return statistics.median(taken)


def main() -> int:
    import torch

    if not torch.cuda.is_available():
        print("needs a GPU")
        return 2
    known = names(torch)
    work = torch.randn(8192, 8192, device="cuda")
    for parameter in known["ps"]:
        parameter.grad = torch.ones_like(parameter)
    torch.cuda.synchronize()
    queued = seconds(torch, "torch.cuda.synchronize()", known, work)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {queued * 1e3:.1f} ms queued")
    differing = 0
    for row in ROWS:
        try:
            taken = seconds(torch, row.expression, known, work)
        except Exception as error:
            differing += 1
            print(f"raises {row.expression}: {type(error).__name__}: {error}")
            continue
        waits = taken >= SHARE * queued
        differing += waits is not row.waits
        mark = "" if waits is row.waits else "  DIFFERS FROM THE RULES"
        print(f"{'waits' if waits else 'free':6} {taken * 1e3:8.3f} ms  {row.expression}{mark}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
