#include "trace/kernel_family.h"

#include <gtest/gtest.h>

namespace hone::trace {
namespace {

struct Known {
  std::string_view name;
  std::string_view family;
  KernelMath math;
  std::string_view brief;
};

constexpr Known kKnown[] = {
    {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "matrix product, cuBLAS", KernelMath::kBf16,
     "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"},
    {"nvjet_hsh_128x128_64x6_1x2_h_bz_NNT", "matrix product, cuBLAS", KernelMath::kF16,
     "nvjet_hsh_128x128_64x6_1x2_h_bz_NNT"},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_"
     "execute_"
     "kernel__5x_cublas",
     "matrix product, cuBLAS", KernelMath::kVectorF32, "sm80 xmma gemm f32 64x64x8"},
    {"sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_on_"
     "kernel__"
     "5x_cublas",
     "matrix product, cuBLAS", KernelMath::kTf32, "sm90 xmma gemm tf32 128x128x32"},
    {"void "
     "cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4>(cutlass_80_tensorop_s1688gemm_"
     "128x128_16x5_nt_align4::Params)",
     "matrix product, cuBLAS", KernelMath::kTf32, "cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4"},
    {"void "
     "cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(cutlass_80_simt_sgemm_128x256_8x4_nt_"
     "align1::Params)",
     "matrix product, cuBLAS", KernelMath::kVectorF32, "cutlass_80_simt_sgemm_128x256_8x4_nt_align1"},
    {"sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_warpgroupsize1x1x1_"
     "g1_"
     "execute_segment_k_off_kernel__5x_cudnn",
     "convolution, cuDNN", KernelMath::kBf16, "sm90 xmma dgrad bf16 128x64x32"},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_cga1x1x1_kernel0_0",
     "attention, cuDNN", KernelMath::k16Bit,
     "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_k…"},
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, "
     "cutlass::arch::Sm80, "
     "true, 64, 64, 64, true, true>::Params)",
     "attention, PyTorch (memory-efficient attention)", KernelMath::kTf32,
     "fmha_cutlassF_f32_aligned_64x64_rf_sm80"},
    {"void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float, false, true, "
     "(cudnnKernelDataType_t)0>(cudnn::engines_precompiled::nchw2nhwc_params_t<float>, __nv_bfloat16 const*, "
     "__nv_bfloat16*)",
     "change of layout, cuDNN", KernelMath::kUnknown, "nchwToNhwc"},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> "
     ">(int, at::native::FillFunctor<int>, std::array<char*, 1ul>)",
     "fill, PyTorch", KernelMath::kUnknown, "fill i32"},
    {"void at::native::vectorized_elementwise_kernel<8, "
     "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)"
     "::{lambda(float)#1}, std::array<char*, 2ul> >(int, "
     "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)"
     "::{lambda(float)#1}, std::array<char*, 2ul>)",
     "copy, PyTorch", KernelMath::kUnknown, "cast to bf16"},
    {"void at::native::vectorized_elementwise_kernel<8, at::native::AUnaryFunctor<c10::BFloat16, "
     "c10::BFloat16, "
     "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int)",
     "pointwise, PyTorch", KernelMath::kUnknown, "mul bf16"},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
     "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "
     "(at::native::ADAM_MODE)1, false>, float const*>(int)",
     "optimizer, PyTorch", KernelMath::kUnknown, "foreach fused adam f32"},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
     "TensorListMetadata<1>, at::native::LpNormFunctor<float, (at::native::NormType)1, float, 1, 1, 0>, "
     "float*>(int)",
     "reduction, PyTorch", KernelMath::kUnknown, "foreach lp norm f32"},
    {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "collective, NCCL",
     KernelMath::kUnknown, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
    {"triton_per_fused__to_copy_add_native_layer_norm_backward_view_10", "normalisation, Triton",
     KernelMath::kUnknown, "triton_per_fused__to_copy_add_native_layer_norm_backward_view_10"},
    {"triton_poi_fused_gelu_0", "pointwise, Triton", KernelMath::kUnknown, "triton_poi_fused_gelu_0"},
    {"triton_poi_fused__to_copy_view_14", "copy, Triton", KernelMath::kUnknown,
     "triton_poi_fused__to_copy_view_14"},
    {"Memcpy HtoD (Pageable -> Device)", "copy, CUDA", KernelMath::kUnknown,
     "Memcpy HtoD (Pageable -> Device)"},
    {"memcpy32_post", "copy, CUDA", KernelMath::kUnknown, "memcpy32_post"},
    {"at::native::detail::split_with_sizes_copy_out_contiguous_no_cast_kernel(char**, char**, long*, long*, "
     "long*, long, long)",
     "gather and scatter, PyTorch", KernelMath::kUnknown, "split_with_sizes_copy_out_contiguous_no_cast"},
    {"void at::native::detail::chunk_cat_cuda_kernel<char, char>(char**, char*, long*, long*, long*, long*, "
     "long*, long*, long, long, long)",
     "gather and scatter, PyTorch", KernelMath::kUnknown, "chunk_cat_cuda"},
    {"void at::native::(anonymous namespace)::cdist_kernel_cuda_impl<float, at::native::(anonymous "
     "namespace)::dists<float>::one>(float*, float const*, float const*, float, long, long, long, long, "
     "long)",
     "reduction, PyTorch", KernelMath::kUnknown, "cdist_kernel_cuda_impl"},
    {"my_own_kernel<float>(float*)", "other", KernelMath::kUnknown, "my_own"},
};

TEST(KernelFamily, TellsWorkLibraryAndPrecisionByTheName) {
  for (const Known& known : kKnown) {
    const KernelFamily family = kernel_family(known.name);
    EXPECT_EQ(family.text(), known.family) << known.name;
    EXPECT_EQ(kernel_math_name(family.math), kernel_math_name(known.math)) << known.name;
    EXPECT_EQ(kernel_short_name(known.name), known.brief) << known.name;
  }
}

TEST(KernelFamily, TakesAnyName) {
  for (std::string_view name : {"", "<", "(", "void ", "void <<<>>>", "::", "triton_", "nvjet", "nvjet_",
                                "nvjet_sm", "at::native::reduce_kernel<", "_xmma_", "\xff\xfe"}) {
    kernel_family(name);
    EXPECT_LE(kernel_short_name(name).size(), 64u);
  }
}

TEST(KernelFamily, EveryRowOfItsTablesCanDecide) {
  EXPECT_EQ(unreachable_kernel_rows(), std::vector<std::string_view>());
  EXPECT_EQ(unreachable_rows(kernel_math_table()), std::vector<std::string_view>());
}

TEST(KernelFamily, SaysWhatDecidesBetweenCauses) {
  EXPECT_TRUE(kernel_family("void cudnn::engines_precompiled::nchwToNhwcKernel<float>").changes_layout());
  EXPECT_FALSE(kernel_family("void cudnn::ops::nhwcAddPaddingKernel<float>").changes_layout())
      << "padding is no other order";
  EXPECT_TRUE(kernel_family("triton_poi_fused_gelu_0").generated);
  EXPECT_TRUE(kernel_family("loop_add_fusion_3").generated);
  EXPECT_TRUE(kernel_family("gemm_fusion_dot_general_1").generated);
  EXPECT_TRUE(kernel_family("nvfuser_pointwise_f0_c1_r0_g0(Tensor<float, 2, 2>)").generated);
  EXPECT_TRUE(kernel_family("void at::native::batch_norm_collect_statistics_kernel<float>").channels_first);
  EXPECT_FALSE(kernel_family("void at::native::batch_norm_collect_statistics_channels_last_kernel<float>")
                   .channels_first);
  EXPECT_EQ(kernel_family("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL").collective,
            CollectiveKind::kReduceScatter);
}

}  // namespace
}  // namespace hone::trace
