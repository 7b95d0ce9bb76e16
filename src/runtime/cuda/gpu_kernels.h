// What the CUDA provider's kernels are made with, and its lowerings, one an operator family.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/blas_lt.h"
#include "cuda/kernel_cache.h"

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/judged_graphs.h"
#include "runtime/lower/lower.h"

namespace hone::runtime::cuda_kernels {

// Candidates keep what they need of it.
struct GpuKernels {
  std::shared_ptr<CudaDevice> device;
  std::shared_ptr<cuda::KernelCache> cache;      // null: no kernels of hone's own
  std::shared_ptr<const cuda::BlasLt> products;  // null: none
  std::shared_ptr<JudgedGraphs> cudnn = {};      // convolutions, attention; null: none, because of
  std::string no_cudnn = "there is no cuDNN";
};

// A kernel of hone's own, compiled or taken from the cache, in the device's context.
struct LoadedKernel {
  cuda::Module module;
  cuda::FunctionHandle function = nullptr;
};
// Its kernels wait for what runs before them (kernels/cuda/dependent_launch.h).
Result<LoadedKernel> load_kernel(const GpuKernels& kernels, const cuda::KernelSource& source,
                                 const char* entry);
// A kernel as somebody else wrote it, which knows nothing of that.
Result<LoadedKernel> load_foreign_kernel(const GpuKernels& kernels, const cuda::KernelSource& source,
                                         const char* entry);

void lower_pointwise(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_rows(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_copies(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_gather(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
// Scatters that add, multiply or compare.
void lower_scatter_reduce(const LowerContext& context, const GpuKernels& kernels,
                          std::vector<Candidate>& found);
void lower_reduction(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_order(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
// Trilu, OneHot, TensorScatter, ReverseSequence.
void lower_choice(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_sampling(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_einsum(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
// Where no pointwise program has been found; products and convolutions of 8-bit integers.
void lower_quantize(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_integer_product(const LowerContext& context, const GpuKernels& kernels,
                           std::vector<Candidate>& found);
void lower_suppression(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
// Pad, and softmax along an axis that is not the innermost.
void lower_pad(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_pooling(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_resize(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_product(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
// A product and the sum of an operand's rows.
void lower_bias_gradient(const LowerContext& context, const GpuKernels& kernels,
                         std::vector<Candidate>& found);
// What only training steps hold: each of the families that follow.
void lower_of_training(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_optimizer(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_square_sum(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_loss(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_batch_norm(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_layer_norm_gradient(const LowerContext& context, const GpuKernels& kernels,
                               std::vector<Candidate>& found);
void lower_pooling_gradient(const LowerContext& context, const GpuKernels& kernels,
                            std::vector<Candidate>& found);
void lower_random(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
void lower_recurrent(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);
// All that a node of a plugin's operator may run by; an error where the plugin has no kernel for it.
Result<std::vector<Candidate>> plugin_candidates(const LowerContext& context, const GpuKernels& kernels);
// Why there is no candidate for a convolution; empty where there is one, or the node is none.
std::string lower_convolution(const LowerContext& context, const GpuKernels& kernels,
                              std::vector<Candidate>& found);
// The same for hone.ConvWeightGradient.
std::string lower_weight_gradient(const LowerContext& context, const GpuKernels& kernels,
                                  std::vector<Candidate>& found);
// Adds our own kernel for convolutions of each channel alone.
void lower_own_depthwise(const LowerContext& context, const GpuKernels& kernels,
                         std::vector<Candidate>& found);
// Why cuDNN has no candidate for attention, as for a convolution; one of our own may be there.
std::string lower_attention(const LowerContext& context, const GpuKernels& kernels,
                            std::vector<Candidate>& found);
// The same for hone.AttentionGradient.
std::string lower_attention_gradient(const LowerContext& context, const GpuKernels& kernels,
                                     std::vector<Candidate>& found);
// Adds our own kernel for attention, where it is short enough.
void lower_own_attention(const LowerContext& context, const GpuKernels& kernels,
                         std::vector<Candidate>& found);
// What may stand behind a product in one kernel; the combination is lower_product's to judge.
std::vector<graph::EpilogueCapability> product_epilogues();
inline constexpr std::size_t kMostEpilogue =
    4;  // a Cast to f32, a row or a number a channel, a tensor, a function

}  // namespace hone::runtime::cuda_kernels
