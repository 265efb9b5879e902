"""The GPU multiplies fp32 on the units for single numbers, while its Tensor Cores idle."""

from __future__ import annotations

from collections.abc import Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure
from warplint.advice.products import is_fp32_product
from warplint.report.figures import count


def _find(steps: CapturedSteps) -> list[Charge]:
    """Divided over the phases as the line's GPU time is; none on a device without known limits."""
    limits = steps.limits
    if limits is None:
        return []
    return [
        charge(us * part, cost.file, cost.line, phase, limits.fp32_excess)
        for cost in steps.lines
        if (us := steps.gpu_us(cost, is_fp32_product)) > 0.0
        for phase, part in steps.gpu_phases(cost).items()
    ]


def _say(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    limits = steps.limits
    assert limits is not None, "found by its limits"
    products = [group for group in steps.profile.kernel_groups if is_fp32_product(group.example)]
    ratio = limits.tensor_tflops / limits.fp32_tflops
    remedy = (
        'Let them use TF32 (`torch.set_float32_matmul_precision("high")`), or use bf16 (`torch.autocast`)'
        if limits.tensor_dtype == "tf32"
        else "Use fp16 (`torch.autocast` with a `GradScaler`)"
    )
    return Said(
        f"products in fp32 while the Tensor Cores idle, which take {limits.tensor_dtype} at up to "
        f"{count(round(ratio, 1))} times the rate, most of them from {{place}}",
        remedy,
        (
            Figure("fp32_product_us", sum(each.us for each in charges) / steps.steps),
            Figure("kernel", products[0].example if products else ""),
            Figure("device", limits.name),
            Figure("fp32_tflops", limits.fp32_tflops),
            Figure("tensor_core_tflops", limits.tensor_tflops),
        ),
    )


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.gain


CAUSES = (Cause("fp32 products", Bottleneck.COMPUTE, False, _find, _say, _threshold),)
