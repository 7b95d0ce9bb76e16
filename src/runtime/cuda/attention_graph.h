// What cuDNN is told of an attention and of its gradient.
#pragma once

#include <string>
#include <variant>

#include "cuda/cudnn_attention.h"

#include "runtime/lower/attention_of_node.h"

namespace hone::runtime::cuda_kernels {

cuda::AttentionDesc::Strides library_strides(const AttentionOperand& operand);

// A description, or why the library is not asked. `node` was read of `attention`, an operator of the group; what it gives
// beside the result is the caller's to say.
std::variant<cuda::AttentionDesc, std::string> library_attention(const GroupView& of,
                                                                 const graph::Node& attention,
                                                                 const NodeAttention& node);

// Where an operand begins.
const std::byte* address_of(const AttentionOperand& operand, std::span<const void* const> inputs);
std::byte* place_of(const AttentionOperand& result, std::span<void* const> outputs);

}  // namespace hone::runtime::cuda_kernels
