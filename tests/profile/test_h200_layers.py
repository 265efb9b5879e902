"""A capture from an H200 of a small model under autocast: what is known of it must be found by name."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from warplint.profile.join import join
from warplint.profile.model import Profile
from warplint.profile.sections.named_costs import LayerCost

ARCHIVE = Path(__file__).parent / "data" / "h200-layers.tar.xz"
STEPS = 4


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    unpacked = tmp_path_factory.mktemp("h200")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(unpacked, filter="data")
    return join(unpacked / "h200-layers")


@pytest.fixture(scope="module")
def layers(profile: Profile) -> dict[str, LayerCost]:
    return {layer.path: layer for layer in profile.layers}


def line_of(profile: Profile, statement: str) -> int:
    lines = profile.sources["train.py"].text.splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.strip() == statement]
    return number


@pytest.mark.parametrize("block", range(3))
def test_autocast_shows_in_what_layers_give(block: int, layers: dict[str, LayerCost]) -> None:
    path = f"encoder.{block}"
    batch = "batch=4096"
    assert layers[f"{path}.linear1"].description == f"Linear[1024x4096] bias {batch} bf16 (weights fp32)"
    assert layers[f"{path}.linear2"].description == f"Linear[4096x1024] {batch} bf16 (weights fp32)"
    # Autocast leaves norms alone, and the sum with them.
    assert layers[f"{path}.norm"].description == f"LayerNorm[1024] bias {batch} fp32"
    assert layers[path].description == f"Block {batch} fp32"
    assert {layers[f"{path}.{name}"].calls for name in ("linear1", "linear2", "norm")} == {STEPS}


def test_what_layers_cost_is_what_the_lines_of_their_forward_cost(
    profile: Profile, layers: dict[str, LayerCost]
) -> None:
    """Two joins of the same work: by the module round a launch, and by the user's line."""
    costs = {cost.line: cost for cost in profile.lines}
    block = costs[line_of(profile, "return x + self.linear2(torch.relu(self.linear1(self.norm(x))))")]
    inside = [layer for path, layer in layers.items() if path.startswith("encoder.")]
    assert sum(layer.gpu_forward_us for layer in inside) == pytest.approx(block.gpu_forward_us)
    assert sum(layer.gpu_backward_us for layer in inside) == pytest.approx(block.gpu_backward_us)
    head = costs[line_of(profile, "return self.head(x)")]
    assert layers["head"].gpu_forward_us == pytest.approx(head.gpu_forward_us)
    assert layers["head"].gpu_backward_us == pytest.approx(head.gpu_backward_us)


def test_backward_of_a_product_is_two_products(layers: dict[str, LayerCost]) -> None:
    for block in range(3):
        layer = layers[f"encoder.{block}.linear2"]
        assert 1.5 < layer.gpu_backward_us / layer.gpu_forward_us < 3


def test_equal_layers_cost_alike(layers: dict[str, LayerCost]) -> None:
    costs = [layers[f"encoder.{block}.linear1"].gpu_forward_us for block in range(3)]
    assert max(costs) < 1.3 * min(costs)


def test_groups_have_every_kernel_and_its_type(profile: Profile) -> None:
    groups = {(group.signature, group.dtype): group for group in profile.kernel_groups}
    assert sum(group.count for group in groups.values()) == profile.totals.kernels
    assert sum(group.us for group in groups.values()) == pytest.approx(profile.totals.kernel_us)
    # Three blocks with two linear layers, a forward and two backward products each; the fp16 product alone.
    assert groups["nvjet_sm90_tst…", "bf16"].count == STEPS * 3 * 2 * 3
    assert groups["nvjet_sm90_hsh…", "fp16"].count == STEPS
    # The product in fp32, and the same where TF32 is allowed.
    assert groups["cutlass_80_simt_sgemm…", "fp32"].count == STEPS
    assert groups["sm90_xmma_gemm_f32f32_tf32f32_f32…", "tf32"].count == STEPS


def test_six_reads_a_step_are_a_cluster(profile: Profile) -> None:
    (copies,) = profile.tiny_copies
    assert copies.line == line_of(profile, "seen = [part.item() for part in parts]")
    assert (copies.direction, copies.count, copies.bytes) == ("DtoH", 6 * STEPS, 6 * STEPS * 4)
    (cost,) = [cost for cost in profile.lines if cost.line == copies.line]
    assert 0 < copies.wait_us <= cost.wait_us
