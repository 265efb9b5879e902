"""What is read off Inductor's generated code: the code here is cut down from real ones."""

from __future__ import annotations

from warplint.capture.compiled.generated import launches, stacks_of_definitions
from warplint.capture.compiled.inductor import CompiledGraph

CODE = """
# kernel path: /tmp/torchinductor/ab/cab.py
# Topologically Sorted Source Nodes: [], Original ATen: [aten.mul]
# Source node to ATen node mapping:
# Graph fragment:
#   %tangents : Tensor "f32[8, 4][4, 1]cuda:0" = PlaceHolder[target=tangents]
#   %mul_1 : Tensor "f32[8, 4][4, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%tangents, %x), kwargs = {})
#   %sum_2 : Tensor "f32[4][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_1, [0]), kwargs = {})
#   return %sum_2,%mul_1
triton_per_fused_mul_sum_0 = async_compile.triton('triton_per_fused_mul_sum_0', '''
''', device_str='cuda')


# kernel path: /tmp/torchinductor/cd/ccd.py
# Graph fragment:
#   %neg : Tensor "f32[8, 4][4, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.neg.default](args = (%y,), kwargs = {})
triton_poi_fused_neg_1 = async_compile.triton('triton_poi_fused_neg_1', '''
''', device_str='cuda')

def call(self, args):
        # [Provenance debug handles] extern_kernels.mm:1
        extern_kernels.mm(a, b, out=buf0)
        triton_per_fused_mul_sum_0.run(buf0, workspace_0, 8, 4, stream=stream0)
        buf3 = workspace_0[0 * 2 * 4 : (0 + 1) * 2 * 4].view(2, 4).sum(dim=0)
        # [Provenance debug handles] triton_poi_fused_neg_1:2
        triton_poi_fused_neg_1.run(buf0, 32, stream=stream0)
        triton_poi_fused_neg_1.run(buf1, 32, stream=stream0)
"""  # noqa: E501
LISTING = """
        # File: /app/train.py:7 in forward, code: y = x * 2
        mul_1: "f32[8, 4][4, 1]cuda:0" = torch.ops.aten.mul.Tensor(tangents, x)

        # File: /app/train.py:9 in forward, code: z = norm(y)
        sum_2: "f32[4][1]cuda:0" = torch.ops.aten.sum.dim_IntList(mul_1, [0])
        neg: "f32[8, 4][4, 1]cuda:0" = torch.ops.aten.neg.default(y)

        # No stacktrace found for following nodes
        other = torch.ops.aten.neg.default(y)
"""
SEVEN = '  File "/app/train.py", line 7, in forward\n'
NINE = '  File "/app/train.py", line 9, in forward\n'


def test_launches_come_in_order_with_or_without_provenance() -> None:
    assert launches(CODE) == [
        ("extern_kernels.mm", "extern_kernels.mm:1"),
        ("triton_per_fused_mul_sum_0", None),
        ("aten.sum", None),
        ("triton_poi_fused_neg_1", "triton_poi_fused_neg_1:2"),
        ("triton_poi_fused_neg_1", None),
    ]


def test_a_kernel_that_is_launched_once_is_made_of_the_nodes_in_its_comment() -> None:
    assert stacks_of_definitions(CODE, LISTING) == {"triton_per_fused_mul_sum_0": [SEVEN, NINE]}


def test_the_operators_that_finish_a_kernel_have_its_lines() -> None:
    graph = CompiledGraph("fkey", '{"extern_kernels.mm:1": ["mm"], "foreign:9": ["x"]}', CODE, LISTING)
    assert graph.kernels() == [
        ("extern_kernels.mm", ["mm"]),
        ("triton_per_fused_mul_sum_0", [SEVEN, NINE]),
        ("aten.sum", [SEVEN, NINE]),
        ("triton_poi_fused_neg_1", []),
    ]
