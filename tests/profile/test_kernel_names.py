"""Signatures and types of kernels, from names as real traces have them."""

from __future__ import annotations

import pytest

from warplint.profile.names.signature import LONGEST, dtype, signature

ADD = "at::native::CUDAFunctor_add<float>"
SUM = (
    "at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, "
    "at::native::sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)"
    "::{lambda(float, float)#1}>, unsigned int, c10::BFloat16, 4, 4>"
)
COPY = (
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const"
    "::{lambda()#4}::operator()() const::{lambda(long)#1}"
)
MUL = "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >"

NAMES = [
    (
        f"void at::native::vectorized_elementwise_kernel<4, {ADD}, std::array<char*, 3ul> >"
        f"(int, {ADD}, std::array<char*, 3ul>)",
        "vectorized_elementwise_kernel<4, add>",
        "fp32",
    ),
    (
        f"void at::native::vectorized_elementwise_kernel<2, {MUL}, at::detail::Array<char*, 3> >(int, {MUL})",
        "vectorized_elementwise_kernel<2, mul>",
        "fp32",
    ),
    (
        f"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<{COPY}>"
        "(at::TensorIteratorBase&, int const&)::{lambda(int)#1}>(int, int)",
        "elementwise_kernel<128, 4, direct_copy>",
        "int64",
    ),
    (
        f"void at::native::reduce_kernel<512, 1, {SUM} >({SUM})",
        "reduce_kernel<512, 1, sum>",
        "bf16",
    ),
    (
        "void at::native::vectorized_elementwise_kernel<4, "
        "at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar)"
        "::{lambda()#1}::operator()() const::{lambda(double)#1}, "
        "std::array<char*, 2ul> >(int, char)",
        "vectorized_elementwise_kernel<4, clamp_scalar>",
        "fp64",
    ),
    (
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)"
        "::FusedOptimizerTensorListMetadata<4>, "
        "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "
        "(at::native::ADAM_MODE)1, false>, float const*, double, bool>(int, double)",
        "multi_tensor_apply_kernel<fused_adam_math>",
        "fp32",
    ),
    ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", "ampere_bf16_s16816gemm_bf16…", "bf16"),
    ("volta_sgemm_32x32_sliced1x4_tn", "volta_sgemm…", "fp32"),
    (
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_kernel__5x_cublas",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32…",
        "bf16",
    ),
    (
        "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_cudnn",
        "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc…",
        "tf32",
    ),
    (
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>"
        "(cutlass_80_simt_sgemm_128x256_8x4_nt_align1::Params)",
        "cutlass_80_simt_sgemm…",
        "fp32",
    ),
    (
        "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x192x64_MI16x16x1",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs…",
        "bf16",
    ),
    ("nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "nvjet_sm90_tst…", "bf16"),
    ("nvjet_sm90_hsh_128x256_64x4_2x1_v_bz_coopA_NNT", "nvjet_sm90_hsh…", "fp16"),
    ("triton_poi_fused_add_cos_sin_3", "triton_poi_fused_add_cos_sin", ""),
    (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        "fp32",
    ),
    (
        "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
        "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, float, int)",
        "fused_add_rms_norm_kernel<8>",
        "bf16",
    ),
    ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassE", "ck_tile::kentry…", ""),
    ("void spin_kernel(long)", "spin_kernel", ""),
    ("spin_kernel", "spin_kernel", ""),
    ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)", ""),
    (
        "void softmax_warp_forward<c10::Half, c10::Half, float, 10, false>(int)",
        "softmax_warp_forward<10>",
        "fp16",
    ),
]


@pytest.mark.parametrize(("name", "short", "kind"), NAMES)
def test_a_kernel_is_called_by_what_it_does(name: str, short: str, kind: str) -> None:
    assert (signature(name), dtype(name)) == (short, kind)


@pytest.mark.parametrize(
    "name", ["", "<", "a<b", "a>b<", "f(((", "void ", "a<" * 400, "_Z", "_ZN9", "x" * 5000, "<<>>(){lambda"]
)
def test_any_text_has_a_signature(name: str) -> None:
    assert len(signature(name)) <= LONGEST
    assert isinstance(dtype(name), str)


def test_of_a_very_long_name_only_the_beginning_is_looked_at() -> None:
    name = "void at::native::elementwise_kernel<4, at::native::AddFunctor<float, " + "functor<" * 200_000
    assert (signature(name), dtype(name)) == ("elementwise_kernel<4, add>", "fp32")
    assert signature(name + "x") == signature(name)
