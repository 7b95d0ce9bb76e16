// A Conv or ConvTranspose, alone or with the epilogue of its group, as cuDNN takes it: the description, which inputs of the
// plan's node a run reads, and what is brought to the device once.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cuda/context.h"
#include "cuda/cudnn_convolution.h"
#include "cuda/kernel_cache.h"

#include "core/tensor.h"
#include "graph/capabilities.h"
#include "runtime/lower/group_view.h"

namespace hone::runtime::cuda_kernels {

struct ConvolutionForm {
  cuda::ConvolutionDesc desc;
  std::size_t x = 0;
  std::optional<std::size_t> w, added, bias;  // nullopt: there is none, or it is packed
  // Brought to the device once, of the result's type; undefined: read from an input, or there is none.
  Tensor packed_w, packed_bias;
  bool repack_w =
      false;  // its channels are to lie together first: with_channels_last(); of an input in each run
};

// A kernel that brings weights on the device from the plain layout to channels that lie together, or back: from, to.
struct FilterCopy {
  cuda::KernelSource source;
  cuda::LaunchShape shape;
};
std::optional<FilterCopy> filter_copy(const Shape& weights, DType dtype, bool to_channels_last);
// Whether both layouts are the same for such weights.
bool lies_alike(const Shape& weights);

// Bytes of workspace that an engine may want: those that want more are none, as the memory of a step is shared by all of them, and
// multiplying the unfolded image takes the most of it and is seldom the fastest. The operands once more are allowed, whatever they
// take: engines that bring them into a layout of their own are all there are for some large convolutions.
std::size_t most_workspace(const cuda::ConvolutionDesc& desc);

// K, C, spatial… as K, spatial…, C.
Tensor with_channels_last(const Tensor& weights);

// The form, or why the library does not compute the node.
std::variant<ConvolutionForm, std::string> read_convolution_form(const LowerContext& context,
                                                                 const GroupView& group);

// What may stand behind a convolution in one kernel.
std::vector<graph::EpilogueCapability> convolution_epilogues();

}  // namespace hone::runtime::cuda_kernels
