#include "runtime/cuda/attention_graph.h"

#include <fmt/format.h>

namespace hone::runtime::cuda_kernels {
namespace {

constexpr int64_t kWholeBytes = 16;  // that the library reads at once
constexpr int64_t kHalfBytes = 2;

std::string why_no_operands(const GroupView& of, const graph::Node& attention, const NodeAttention& node) {
  for (std::size_t i = 0; i < 3; ++i) {
    const graph::TensorType& type = of.type(attention.inputs[i]);
    if (type.dtype != DType::kF16 && type.dtype != DType::kBF16)
      return fmt::format("cuDNN's attention is of f16 and bf16, not of {}", dtype_name(type.dtype));
    if (type.layout != Layout::kPlain || type.dtype != of.type(attention.inputs[0]).dtype)
      return "its operands differ in type or layout";
  }
  for (const AttentionOperand& operand :
       {node.q, node.k, node.v, node.gradients[0], node.gradients[1], node.gradients[2]}) {
    if (operand.offset % (kWholeBytes / kHalfBytes) != 0)
      return "an operand begins within 16 bytes of another";
  }
  if (node.k.rows == 0) return "cuDNN has no attention over nothing";
  return {};
}

// Numbers that are added to the score of each query and key; for batches and heads they may be the same.
std::variant<cuda::AttentionDesc::Mask, std::string> library_mask(const GroupView& of,
                                                                  const graph::Node& attention,
                                                                  const NodeAttention& node) {
  if (!node.mask) return "cuDNN's attention takes no mask of fewer keys than there are";
  const graph::TensorType& type = of.type(attention.inputs[3]);
  if (type.dtype != DType::kF32 && type.dtype != of.type(attention.inputs[0]).dtype)
    return fmt::format("cuDNN's attention takes no mask of {}", dtype_name(type.dtype));
  const auto& [batch, head, query, key] = node.mask->strides;
  if (key != 1 || query == 0) return "cuDNN's attention takes masks of each query and key alone";
  const auto bytes = static_cast<int64_t>(dtype_size(type.dtype));
  if ((query | head | batch) * bytes % kWholeBytes != 0)
    return "cuDNN's attention reads masks whose rows begin at multiples of 16 bytes";
  const Shape extents = {batch == 0 ? 1 : node.batch, head == 0 ? 1 : node.q.heads, node.q.rows, node.k.rows};
  const int64_t plane = query * node.q.rows;
  return cuda::AttentionDesc::Mask{
      type.dtype, extents, {batch == 0 ? plane * extents[1] : batch, head == 0 ? plane : head, query, 1}};
}

}  // namespace

cuda::AttentionDesc::Strides library_strides(const AttentionOperand& operand) {
  return {operand.strides[0], operand.strides[1], operand.strides[2]};
}

const std::byte* address_of(const AttentionOperand& operand, std::span<const void* const> inputs) {
  return static_cast<const std::byte*>(inputs[operand.input]) +
         static_cast<std::size_t>(operand.offset * kHalfBytes);
}

std::byte* place_of(const AttentionOperand& result, std::span<void* const> outputs) {
  return static_cast<std::byte*>(outputs[result.input]) +
         static_cast<std::size_t>(result.offset * kHalfBytes);
}

std::variant<cuda::AttentionDesc, std::string> library_attention(const GroupView& of,
                                                                 const graph::Node& attention,
                                                                 const NodeAttention& node) {
  if (std::string why = why_no_operands(of, attention, node); !why.empty()) return why;
  cuda::AttentionDesc desc{.dtype = of.type(attention.inputs[0]).dtype,
                           .batch = node.batch,
                           .heads = node.q.heads,
                           .kv_heads = node.k.heads,
                           .queries = node.q.rows,
                           .keys = node.k.rows,
                           .head_dim = node.q.columns,
                           .value_dim = node.v.columns,
                           .q = library_strides(node.q),
                           .k = library_strides(node.k),
                           .v = library_strides(node.v),
                           .o = library_strides(node.out),
                           .causal = node.causal};
  if (node.masked) {
    const auto mask = library_mask(of, attention, node);
    if (const auto* const why = std::get_if<std::string>(&mask)) return *why;
    desc.mask = std::get<cuda::AttentionDesc::Mask>(mask);
  }
  return desc;
}

}  // namespace hone::runtime::cuda_kernels
