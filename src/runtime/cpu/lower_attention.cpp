// Attention, alone or as a group of kind "attention": the splits that part one matrix into its operands, and
// the attention, which reads its rows where they lie.
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "kernels/cpu/attention/attention.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/lower/group_view.h"

namespace hone::runtime::cpu {
namespace {

// One operand: [B, H, T, D], or [B, T, H·D] with the number of heads in an attribute, perhaps a part of wider
// rows.
struct Operand {
  std::size_t input = 0;   // of the plan's node
  int64_t offset = 0;      // of its first element there
  int64_t row_length = 0;  // of the rows that hold it; 0: its own
  int64_t heads = 0, rows = 0, columns = 0;
  kernels::AttentionStrides strides = {};
};

void read_shape(const Shape& shape, int64_t heads, Operand& operand) {
  if (shape.size() == 4) {
    operand.heads = shape[1];
    operand.rows = shape[2];
    operand.columns = shape[3];
    operand.strides = {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
    return;
  }
  const int64_t length = operand.row_length > 0 ? operand.row_length : shape[2];
  operand.heads = heads;
  operand.rows = shape[1];
  operand.columns = shape[2] / std::max<int64_t>(1, heads);
  operand.strides = {shape[1] * length, operand.columns, length, 1};
}

// Where `value` lies: an input of the group, or a part of one that a Split of the group takes along the last
// axis.
bool find_source(const GroupView& group, graph::ValueId value, Operand& operand) {
  if (const auto input = group.input_index(value)) {
    operand.input = *input;
    return true;
  }
  const graph::Value& part = group.graph().value(value);
  if (!group.is_group() || !part.producer.valid()) return false;
  const graph::Node& split = group.graph().node(part.producer);
  const auto input = split.op == "Split" ? group.input_index(split.inputs[0]) : std::nullopt;
  if (!input) return false;
  const Shape whole = group.type(split.inputs[0]).shape();
  auto axis = normalize_axis(split.attributes.integer("axis", 0), static_cast<int64_t>(whole.size()));
  if (!axis.ok() || whole.size() != 3 || *axis != 2) return false;
  operand.input = *input;
  operand.row_length = whole[2];
  for (uint32_t i = 0; i < part.output_index; ++i) {
    if (!split.has_output(i)) return false;
    operand.offset += group.type(split.outputs[i]).shape()[2];
  }
  return true;
}

std::optional<Operand> read_operand(const GroupView& group, graph::ValueId value, int64_t heads) {
  Operand operand;
  const graph::TensorType& type = group.type(value);
  if (type.dtype != DType::kF32 || type.layout != Layout::kPlain || !find_source(group, value, operand))
    return std::nullopt;
  read_shape(type.shape(), heads, operand);
  return operand;
}

// Strides of an additive mask [.., Tq, Tk] broadcast to [B, H, Tq, Tk]; false if its shape does not fit.
bool read_mask(const Shape& shape, const kernels::AttentionDesc& desc, kernels::AttentionStrides& strides) {
  const Shape whole{desc.batch, desc.heads, desc.queries, desc.keys};
  if (shape.size() > 4) return false;
  const std::vector<int64_t> own = row_major_strides(shape);
  std::array<int64_t, 4> result{};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t at = 4 - shape.size() + i;
    if (shape[i] != whole[at] && shape[i] != 1) return false;
    result[at] = shape[i] == 1 ? 0 : own[i];
  }
  strides = {result[0], result[1], result[2], result[3]};
  return true;
}

bool plain_form(const graph::Node& node) {
  const Attributes& a = node.attributes;
  return node.op == "Attention" && node.outputs.size() == 1 && !node.has_input(4) && !node.has_input(5) &&
         !node.has_input(6) && a.real("softcap", 0.0F) == 0.0F && a.integer("softmax_precision", 1) == 1;
}

// The sizes of the splits are known.
std::vector<std::size_t> split_sizes(const GroupView& group) {
  std::vector<std::size_t> inputs;
  for (const graph::Node& split : group.nodes().first(group.nodes().size() - 1)) {
    const auto sizes = split.has_input(1) ? group.input_index(split.inputs[1]) : std::nullopt;
    if (sizes) inputs.push_back(*sizes);
  }
  return inputs;
}

}  // namespace

void lower_attention(const LowerContext& context, std::vector<Candidate>& found) {
  const GroupView group(context);
  const graph::Node& node = group.last();
  if (!plain_form(node) || element_count(group.type(node.inputs[0]).shape()) == 0) return;
  const Attributes& a = node.attributes;
  const int64_t heads = a.integer("q_num_heads", 0);
  const int64_t kv_heads = a.integer("kv_num_heads", 0);
  const auto q = read_operand(group, node.inputs[0], heads);
  const auto k = read_operand(group, node.inputs[1], kv_heads);
  const auto v = read_operand(group, node.inputs[2], kv_heads);
  if (!q || !k || !v) return;
  Operand out;
  read_shape(group.type(node.outputs[0]).shape(), heads, out);
  kernels::AttentionDesc desc;
  desc.batch = group.type(node.inputs[0]).shape()[0];
  desc.heads = q->heads;
  desc.kv_heads = k->heads;
  desc.queries = q->rows;
  desc.keys = k->rows;
  desc.head_dim = q->columns;
  desc.value_dim = v->columns;
  desc.scale = a.real("scale", 1.0F / std::sqrt(static_cast<float>(q->columns)));
  desc.causal = a.integer("is_causal", 0) != 0;
  desc.q = q->strides;
  desc.k = k->strides;
  desc.v = v->strides;
  desc.out = out.strides;
  desc.masked = node.has_input(3);
  std::optional<std::size_t> mask;
  if (desc.masked) {
    const graph::TensorType& type = group.type(node.inputs[3]);
    mask = group.input_index(node.inputs[3]);
    if (!mask || type.dtype != DType::kF32 || !read_mask(type.shape(), desc, desc.mask)) return;
  }
  found.push_back({"hone attention",
                   [desc, q = *q, k = *k, v = *v, mask,
                    unread = split_sizes(group)]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::Attention attention, kernels::Attention::create(desc));
                     KernelTraits traits{.implementation = "hone attention",
                                         .scratch_bytes = attention.scratch_bytes(),
                                         .unread = unread};
                     return make_kernel(std::move(traits), [=](const KernelArguments& arguments) -> Status {
                       attention.execute(f32(arguments.inputs[q.input]) + q.offset,
                                         f32(arguments.inputs[k.input]) + k.offset,
                                         f32(arguments.inputs[v.input]) + v.offset,
                                         mask ? f32(arguments.inputs[*mask]) : nullptr,
                                         f32(arguments.outputs[0]), arguments.scratch);
                       return {};
                     });
                   }});
}

}  // namespace hone::runtime::cpu
