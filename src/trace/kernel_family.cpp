#include "trace/kernel_family.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "trace/name_patterns.h"

namespace hone::trace {
namespace {

using enum KernelWork;

constexpr std::array<std::string_view, kKernelWorkCount> kWorkNames = {
    "other",     "matrix product", "convolution", "attention",      "pointwise",
    "reduction", "normalisation",  "softmax",     "pooling",        "change of layout",
    "copy",      "fill",           "optimizer",   "collective",     "gather and scatter",
    "embedding", "sort",           "scan",        "random numbers", "auxiliary",
    "padding",
};

// What the name of a kernel tells besides its arithmetic.
struct KernelRow {
  KernelWork work;
  std::string_view library;
  bool channels_first = false;
  bool block_a_channel = false;
};

// Names of templates carry the names of everything that they are made of: what a kernel is stands at the
// front, what it computes anywhere.
// The first that matches decides.
constexpr NamePattern<KernelRow> kKernels[] = {
    // copies and fills by the copy engines
    {"Memcpy", {kCopy, "CUDA"}, At::kFront},
    {"Memset", {kFill, "CUDA"}, At::kFront},
    {"memcpy32", {kCopy, "CUDA"}, At::kFront},  // a small copy within a CUDA graph
    {"nccl", {kCollective, "NCCL"}, At::kFront},
    {"rccl", {kCollective, "RCCL"}, At::kFront},
    {"nvshmem", {kCollective, "NVSHMEM"}},
    {"symm_mem", {kCollective, "PyTorch"}},
    {"multimem_", {kCollective, "PyTorch"}},
    // Inductor says in the name what it fused; a kernel with a normalisation in it is bound by that
    {"triton_tem_fused_convolution", {kConvolution, "Triton"}, At::kFront},
    {"triton_tem_fused", {kMatrix, "Triton"}, At::kFront},
    {"triton_mm", {kMatrix, "Triton"}, At::kFront},
    {"triton_flex_attention", {kAttention, "Triton"}, At::kFront},
    {"triton_red_fused__log_softmax", {kSoftmax, "Triton"}, At::kFront},
    {"triton_per_fused__log_softmax", {kSoftmax, "Triton"}, At::kFront},
    {"triton_red_fused__softmax", {kSoftmax, "Triton"}, At::kFront},
    {"triton_per_fused__softmax", {kSoftmax, "Triton"}, At::kFront},
    {"triton_poi_fused_embedding_dense_backward", {kFill, "Triton"}, At::kFront},
    {"triton_per_", {kReduction, "Triton"}, At::kFront},
    {"triton_red_", {kReduction, "Triton"}, At::kFront},
    {"triton_poi_", {kPointwise, "Triton"}, At::kFront},
    {"triton_for_", {kPointwise, "Triton"}, At::kFront},
    {"nvfuser", {kPointwise, "nvFuser"}, At::kFront},
    {"gemm_fusion", {kMatrix, "XLA"}, At::kFront},
    {"input_transpose_fusion", {kLayout, "XLA"}, At::kFront},
    {"loop_transpose_fusion", {kLayout, "XLA"}, At::kFront},
    {"wrapped_transpose", {kLayout, "XLA"}, At::kFront},
    {"wrapped_copy", {kCopy, "XLA"}, At::kFront},
    {"wrapped_convert", {kCopy, "XLA"}, At::kFront},
    {"loop_convert_fusion", {kCopy, "XLA"}, At::kFront},
    {"wrapped_broadcast", {kFill, "XLA"}, At::kFront},
    {"loop_broadcast_fusion", {kFill, "XLA"}, At::kFront},
    {"wrapped_scatter", {kGather, "XLA"}, At::kFront},
    {"input_scatter_fusion", {kGather, "XLA"}, At::kFront},
    {"wrapped_gather", {kGather, "XLA"}, At::kFront},
    {"loop_gather_fusion", {kGather, "XLA"}, At::kFront},
    {"wrapped_concatenate", {kGather, "XLA"}, At::kFront},
    {"input_concatenate_fusion", {kGather, "XLA"}, At::kFront},
    {"wrapped_reduce", {kReduction, "XLA"}, At::kFront},
    {"wrapped_", {kPointwise, "XLA"}, At::kFront},
    {"input_", {kReduction, "XLA"}, At::kFront},
    {"loop_", {kPointwise, "XLA"}, At::kFront},
    // attention
    {"pytorch_flash::", {kAttention, "FlashAttention"}},
    {"flash_fwd", {kAttention, "FlashAttention"}},
    {"flash_bwd", {kAttention, "FlashAttention"}},
    {"FlashAttn", {kAttention, "FlashAttention"}},
    {"flash::", {kAttention, "FlashAttention"}},
    {"fmha_cutlass", {kAttention, "PyTorch (memory-efficient attention)"}, At::kFront},
    {"fmha", {kAttention, "cuDNN"}, At::kFront},
    {"sdpa", {kAttention, "cuDNN"}},
    {"compute_dot_do_o", {kAttention, "cuDNN"}},
    {"convert_dq_to", {kAttention, "cuDNN"}},
    {"attention_kernel", {kAttention, ""}},
    {"paged_attention", {kAttention, "vLLM"}},
    // cuDNN and what it is built on
    {"nchwToNhwc", {kLayout, "cuDNN"}},
    {"nhwcToNchw", {kLayout, "cuDNN"}},
    {"nhwcAddPadding", {kPadding, "cuDNN"}},
    {"nchw2nhwc", {kLayout, "cuDNN"}},
    {"nhwc2nchw", {kLayout, "cuDNN"}},
    {"tensorTransform", {kLayout, "cuDNN"}},
    {"nhwcToFoldedNhwc", {kPadding, "cuDNN"}},
    {"foldedNhwcToNhwc", {kPadding, "cuDNN"}},
    {"computeOffsetsKernel", {kAuxiliary, "cuDNN"}},
    {"init_device_workspace", {kAuxiliary, "cuDNN"}},
    {"5x_cudnn::reduction::kernel::ReduceSplitK", {kAuxiliary, "cuDNN"}},
    {"_1C11_kernel",
     {kNormalization, "cuDNN", false, true}},  // bn_fw_tr_1C11_kernel_NCHW, bn_bw_1C11_kernel_new
    {"cudnn::bn_", {kNormalization, "cuDNN"}},
    {"bn_fw_", {kNormalization, "cuDNN"}},
    {"bn_bw_", {kNormalization, "cuDNN"}},
    {"cudnn::norm", {kNormalization, "cuDNN"}},
    {"cudnn::ops::pooling", {kPooling, "cuDNN"}},
    {"pooling_fw", {kPooling, "cuDNN"}},
    {"pooling_bw", {kPooling, "cuDNN"}},
    {"softmax_fw", {kSoftmax, "cuDNN"}},
    {"RNN_block", {kMatrix, "cuDNN"}},
    {"persistRNN", {kMatrix, "cuDNN"}},
    {"_fprop_", {kConvolution, "cuDNN"}},
    {"_dgrad_", {kConvolution, "cuDNN"}},
    {"_wgrad_", {kConvolution, "cuDNN"}},
    {"fprop_optimized", {kConvolution, "cuDNN"}},
    {"dgrad_optimized", {kConvolution, "cuDNN"}},
    {"wgrad_optimized", {kConvolution, "cuDNN"}},
    {"fprop_", {kConvolution, "cuDNN"}},
    {"dgrad", {kConvolution, "cuDNN"}},
    {"wgrad", {kConvolution, "cuDNN"}},
    {"ImplicitGemmConvolution", {kConvolution, "cuDNN"}},
    {"implicit_gemm", {kConvolution, "cuDNN"}},
    {"implicit_convolve", {kConvolution, "cuDNN"}},
    {"convolve_", {kConvolution, "cuDNN"}},
    {"conv2d_", {kConvolution, "cuDNN"}},
    {"conv_depthwise", {kConvolution, "PyTorch"}},
    {"winograd", {kConvolution, "cuDNN"}},
    {"scudnn", {kConvolution, "cuDNN"}},
    {"cudnn::cnn", {kConvolution, "cuDNN"}},
    {"fft2d_", {kConvolution, "cuDNN"}},
    {"im2col", {kConvolution, "PyTorch"}},
    {"col2im", {kConvolution, "PyTorch"}},
    {"vol2col", {kConvolution, "PyTorch"}},
    {"5x_cudnn", {kConvolution, "cuDNN"}},
    {"cudnn_generated", {kPointwise, "cuDNN"}, At::kFront},
    {"cudnn::", {kPointwise, "cuDNN"}},
    // matrix products
    {"transpose_readWrite", {kLayout, ""}},
    {"batched_transpose", {kLayout, ""}},
    {"transposeKernel", {kLayout, ""}},
    {"splitKreduce", {kAuxiliary, "cuBLAS"}},
    {"nvjet", {kMatrix, "cuBLAS"}, At::kFront},
    {"_xmma_gemm_", {kMatrix, "cuBLAS"}},
    {"cublasLt::epilogue", {kPointwise, "cuBLAS"}},
    {"cublas", {kMatrix, "cuBLAS"}},
    {"gemmSN", {kMatrix, "cuBLAS"}},
    {"gemmk1", {kMatrix, "cuBLAS"}},
    {"gemv", {kMatrix, "cuBLAS"}},
    {"gemm_", {kMatrix, "cuBLAS"}},
    {"sgemm", {kMatrix, "cuBLAS"}},
    {"hgemm", {kMatrix, "cuBLAS"}},
    {"dgemm", {kMatrix, "cuBLAS"}},
    {"igemm", {kMatrix, "cuBLAS"}},
    {"gemm", {kMatrix, "CUTLASS"}},
    {"dot_kernel", {kReduction, "cuBLAS"}},
    {"reduce_1Block_kernel", {kReduction, "cuBLAS"}},
    {"cutlass", {kMatrix, "CUTLASS"}},
    // PyTorch's own: first what is a kernel of its own
    {"multi_tensor_apply_kernel", {kOptimizer, "PyTorch"}},
    {"lpnorm_cleanup", {kReduction, "PyTorch"}},
    {"cdist_kernel", {kReduction, "PyTorch"}},
    // over [N, C, H, W]; those over channels last say so in their names
    {"batch_norm_backward_kernel", {kNormalization, "PyTorch", true}},
    {"batch_norm_collect_statistics_kernel", {kNormalization, "PyTorch", true}},
    {"batch_norm_transform_input_kernel", {kNormalization, "PyTorch", true}},
    {"batch_norm", {kNormalization, "PyTorch"}},
    {"layer_norm", {kNormalization, "PyTorch"}},
    {"LayerNorm", {kNormalization, "PyTorch"}},
    {"GammaBetaBackward", {kNormalization, "PyTorch"}},
    {"ComputeInternalGradients", {kNormalization, "PyTorch"}},
    {"RowwiseMoments", {kNormalization, "PyTorch"}},
    {"GroupNorm", {kNormalization, "PyTorch"}},
    {"group_norm", {kNormalization, "PyTorch"}},
    {"rms_norm", {kNormalization, "PyTorch"}},
    {"RMSNorm", {kNormalization, "PyTorch"}},
    {"rmsnorm", {kNormalization, ""}},
    {"SoftMax", {kSoftmax, "PyTorch"}},
    {"softmax", {kSoftmax, "PyTorch"}},
    {"nll_loss", {kSoftmax, "PyTorch"}},
    {"cross_entropy", {kSoftmax, ""}},
    {"max_pool", {kPooling, "PyTorch"}},
    {"avg_pool", {kPooling, "PyTorch"}},
    {"adaptive_average_pool", {kPooling, "PyTorch"}},
    {"embedding", {kEmbedding, "PyTorch"}},
    {"EmbeddingBag", {kEmbedding, "PyTorch"}},
    {"compute_grad_weight", {kEmbedding, "PyTorch"}},
    {"sum_and_scatter", {kEmbedding, "PyTorch"}},
    {"krn_partial", {kEmbedding, "PyTorch"}},
    {"compute_num_of_partial_segments", {kEmbedding, "PyTorch"}},
    {"CatArrayBatchedCopy", {kGather, "PyTorch"}},
    {"chunk_cat", {kGather, "PyTorch"}},
    {"split_with_sizes_copy", {kGather, "PyTorch"}},
    {"index_elementwise", {kGather, "PyTorch"}},
    {"indexSelect", {kGather, "PyTorch"}},
    {"vectorized_gather", {kGather, "PyTorch"}},
    {"indexFunc", {kGather, "PyTorch"}},
    {"indexing_backward", {kGather, "PyTorch"}},
    {"index_put", {kGather, "PyTorch"}},
    {"scatter_gather", {kGather, "PyTorch"}},
    {"gather", {kGather, "PyTorch"}},
    {"scatter", {kGather, "PyTorch"}},
    {"upsample", {kGather, "PyTorch"}},
    {"distribution_", {kRandom, "PyTorch"}},
    {"fused_dropout", {kRandom, "PyTorch"}},
    {"philox", {kRandom, "PyTorch"}},
    {"curand", {kRandom, "cuRAND"}},
    // CUB and Thrust under sorting, selecting and scanning
    {"radix_sort", {kSort, "CUB"}},
    {"RadixSort", {kSort, "CUB"}},
    {"merge_sort", {kSort, "CUB"}},
    {"bitonicSort", {kSort, "PyTorch"}},
    {"topk", {kSort, "PyTorch"}},
    {"radixFindKthValues", {kSort, "PyTorch"}},
    {"unique_by_key", {kGather, "CUB"}},
    {"DeviceSelect", {kGather, "CUB"}},
    {"DeviceCompactInit", {kAuxiliary, "CUB"}},
    {"flag_kernel", {kGather, "PyTorch"}},
    {"DeviceScan", {kScan, "CUB"}},
    {"scan_", {kScan, "PyTorch"}},
    {"DeviceReduce", {kReduction, "CUB"}},
    {"DeviceSegmentedReduce", {kReduction, "CUB"}},
    {"cub::", {kAuxiliary, "CUB"}},
    {"thrust::", {kAuxiliary, "Thrust"}},
    {"triton_", {kUnknown, "Triton"}, At::kFront},
    // then by what is done to each element
    {"reduce_kernel", {kReduction, "PyTorch"}},
    {"copy_kernel", {kCopy, "PyTorch"}},
    {"CopyFunctor", {kCopy, "PyTorch"}},
    {"FillFunctor", {kFill, "PyTorch"}},
    {"arange", {kFill, "PyTorch"}},
    {"elementwise_kernel", {kPointwise, "PyTorch"}},
    {"lstm_cell_", {kPointwise, "PyTorch"}},
    {"gru_cell_", {kPointwise, "PyTorch"}},
    {"RNNcell", {kPointwise, "cuDNN"}},
    {"triu_tril", {kPointwise, "PyTorch"}},
    {"spin_kernel", {kAuxiliary, "PyTorch"}},
    {"at::native", {kUnknown, "PyTorch"}},
};

// A template of a library is told by its own name; only PyTorch's kernels say what they do in their
// arguments.
std::string_view without_return_type(std::string_view name) {
  constexpr std::string_view kVoid = "void ";
  return name.starts_with(kVoid) ? name.substr(kVoid.size()) : name;
}

// How libraries spell the arithmetic. The instruction's shape tells the units where types are left out:
// s1688 of cuBLAS multiplies tf32, s16816 two bytes, 884 two bytes (Volta).
constexpr NamePattern<KernelMath> kMathNames[] = {
    {"ffma", KernelMath::kVectorF32},
    {"simt_s", KernelMath::kVectorF32},
    {"simt_h", KernelMath::kVectorF16},
    {"simt_d", KernelMath::kF64},
    {"_scudnn_", KernelMath::kVectorF32},
    {"volta_sgemm", KernelMath::kVectorF32},
    {"ampere_sgemm", KernelMath::kVectorF32},
    {"maxwell_sgemm", KernelMath::kVectorF32},
    {"implicit_convolve_sgemm", KernelMath::kVectorF32},
    {"gemmSN_TN_kernel<float", KernelMath::kVectorF32},
    {"gemmSN_NN_kernel<float", KernelMath::kVectorF32},
    {"gemmk1_kernel<float", KernelMath::kVectorF32},
    {"tf32", KernelMath::kTf32},
    {"e4m3", KernelMath::kF8},
    {"e5m2", KernelMath::kF8},
    {"fp8", KernelMath::kF8},
    {"i8i8", KernelMath::kI8},
    {"_i16832", KernelMath::kI8},
    {"bf16", KernelMath::kBf16},
    {"bfloat16", KernelMath::kBf16},
    {"BFloat16", KernelMath::kBf16},
    {"wgmma_f16", KernelMath::k16Bit},  // cuDNN's attention names both types so
    {"h884", KernelMath::kF16},
    {"h1688", KernelMath::kF16},
    {"fp16", KernelMath::kF16},
    {"f16f16", KernelMath::kF16},
    {"_f16_", KernelMath::kF16},
    {"_h16816", KernelMath::kF16},
    {"__half", KernelMath::kF16},
    {"half_t", KernelMath::kF16},
    {"tensorop_s1688", KernelMath::kTf32},
    {"s1688gemm", KernelMath::kTf32},
    {"tensorop_d884", KernelMath::kF64},
    {"f64f64", KernelMath::kF64},
    {"fmha_cutlassF_f32_aligned", KernelMath::kTf32},
    {"fmha_cutlassB_f32_aligned", KernelMath::kTf32},
    {"f32f32_f32f32_f32", KernelMath::kVectorF32},
    {"sgemm", KernelMath::kVectorF32},
    {"<float", KernelMath::kVectorF32},
    {"<double", KernelMath::kF64},
    {"_grouped_direct_kernel", KernelMath::kVectorF32},
};

// cuBLAS names nvjet kernels by one letter a type, those of the factors first: "nvjet_sm90_tst_…".
KernelMath nvjet_math(std::string_view name) {
  std::size_t at = name.find('_');
  if (at == std::string_view::npos) return KernelMath::kUnknown;
  std::string_view rest = name.substr(at + 1);
  if (rest.starts_with("sm")) {
    at = rest.find('_');
    if (at == std::string_view::npos) return KernelMath::kUnknown;
    rest.remove_prefix(at + 1);
  }
  switch (rest.empty() ? ' ' : rest[0]) {
    case 't':
      return KernelMath::kBf16;
    case 'h':
      return KernelMath::kF16;
    case 's':
      return KernelMath::kTf32;
    case 'd':
      return KernelMath::kF64;
    case 'q':
    case 'r':
    case 'o':
      return KernelMath::kF8;
    default:
      return KernelMath::kUnknown;
  }
}

KernelMath math_of(std::string_view name) {
  if (name.starts_with("nvjet")) return nvjet_math(name);
  return first_match(kernel_math_table(), name).value_or(KernelMath::kUnknown);
}

// Whether all that Inductor fused moves and casts: "triton_poi_fused__to_copy_view_14".
bool only_moves(std::string_view name) {
  constexpr std::string_view kFront = "triton_poi_fused";
  if (!name.starts_with(kFront)) return false;
  name.remove_prefix(kFront.size());
  name = name.substr(0, name.find_last_not_of("0123456789"));
  while (!name.empty()) {
    bool known = false;
    for (std::string_view move :
         {"__to_copy", "__unsafe_view", "_view", "_clone", "_permute", "_transpose", "_t"})
      if (!known && name.starts_with(move) && (name.size() == move.size() || name[move.size()] == '_')) {
        name.remove_prefix(move.size());
        known = true;
      }
    if (!known) return false;
  }
  return true;
}

}  // namespace

std::span<const NamePattern<KernelMath>> kernel_math_table() { return kMathNames; }

std::vector<std::string_view> unreachable_kernel_rows() { return unreachable_rows(std::span(kKernels)); }

std::string_view kernel_work_name(KernelWork work) { return kWorkNames[static_cast<std::size_t>(work)]; }

std::string_view kernel_math_name(KernelMath math) {
  constexpr std::array<std::string_view, 10> kNames = {
      "",
      "f64",
      "f32 without tensor cores",
      "tf32 on tensor cores",
      "bf16 on tensor cores",
      "f16 on tensor cores",
      "16-bit floats on tensor cores",
      "f8 on tensor cores",
      "i8 on tensor cores",
      "f16 without tensor cores",
  };
  return kNames[static_cast<std::size_t>(math)];
}

std::string_view kernel_math_type(KernelMath math) {
  constexpr std::array<std::string_view, 10> kTypes = {"",    "f64",           "f32", "tf32", "bf16",
                                                       "f16", "16-bit floats", "f8",  "i8",   "f16"};
  return kTypes[static_cast<std::size_t>(math)];
}

bool on_tensor_cores(KernelMath math) {
  return math == KernelMath::kTf32 || math == KernelMath::kBf16 || math == KernelMath::kF16 ||
         math == KernelMath::k16Bit || math == KernelMath::kF8 || math == KernelMath::kI8;
}

std::string KernelFamily::text() const {
  const std::string_view what = kernel_work_name(work);
  return library.empty() ? std::string(what) : fmt::format("{}, {}", what, library);
}

KernelFamily kernel_family(std::string_view name) {
  name = without_return_type(name);
  KernelFamily family;
  if (const auto row = first_match(std::span(kKernels), name)) {
    family.work = row->work;
    family.library = row->library;
    family.channels_first = row->channels_first;
    family.block_a_channel = row->block_a_channel;
  }
  family.generated = family.library == "Triton" || family.library == "nvFuser" || family.library == "XLA";
  if (family.work == kCollective) family.collective = collective_kind(name);
  // Optimizers are not the only ones that work on lists of tensors: norms and fills do.
  if (family.work == kOptimizer && name.find("Norm") != std::string_view::npos) family.work = kReduction;
  if (family.library == "Triton" && (family.work == kReduction || family.work == kPointwise) &&
      name.find("_norm") != std::string_view::npos)
    family.work = kNormalization;
  if (family.library == "Triton" && family.work == kPointwise && only_moves(name)) family.work = kCopy;
  if (family.work == kMatrix || family.work == kConvolution || family.work == kAttention)
    family.math = math_of(name);
  return family;
}

}  // namespace hone::trace
