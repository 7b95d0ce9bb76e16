#include "runtime/lower/attention_of_node.h"

#include <algorithm>
#include <cmath>

namespace hone::runtime {
namespace {

void read_shape(const Shape& shape, int64_t heads, AttentionOperand& operand) {
  if (shape.size() == 4) {
    operand.heads = shape[1];
    operand.rows = shape[2];
    operand.columns = shape[3];
    operand.strides = {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]};
    return;
  }
  const int64_t length = operand.row_length > 0 ? operand.row_length : shape[2];
  operand.heads = heads;
  operand.rows = shape[1];
  operand.columns = shape[2] / std::max<int64_t>(1, heads);
  operand.strides = {shape[1] * length, operand.columns, length};
}

// Where `value` lies: an input of the group, or a part of one that a Split of the group takes along the last
// axis.
bool find_source(const GroupView& group, graph::ValueId value, AttentionOperand& operand) {
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

// Where gradient `i` of `node` is put: an output of its own, or a part of one that a Concat of the group makes.
bool find_target(const GroupView& group, const graph::Node& node, std::size_t i, AttentionOperand& operand) {
  if (!node.has_output(i)) return false;
  operand.input = i;
  if (!group.is_group()) return true;
  const graph::Node& last = group.last();
  if (&last == &node) {
    const std::vector<graph::ValueId>& outputs = group.graph().outputs();
    const auto own = std::find(outputs.begin(), outputs.end(), node.outputs[i]);
    operand.input = static_cast<std::size_t>(own - outputs.begin());
    return own != outputs.end();
  }
  if (last.op != "Concat" || group.type(last.outputs[0]).rank() != 3) return false;
  operand.input = 0;
  operand.row_length = group.type(last.outputs[0]).shape()[2];
  for (const graph::ValueId joined : last.inputs) {
    if (joined == node.outputs[i]) return true;
    operand.offset += group.type(joined).shape()[2];
  }
  return false;
}

bool is_plain_attention(const graph::Node& node) {
  const Attributes& a = node.attributes;
  if (node.op == "hone.AttentionWithSums") return true;
  return node.op == "Attention" && node.outputs.size() == 1 && !node.has_input(4) && !node.has_input(5) &&
         !node.has_input(6) && a.real("softcap", 0.0F) == 0.0F && a.integer("softmax_precision", 1) == 1;
}

std::optional<AttentionMask> mask_of(const GroupView& group, graph::ValueId value, const Shape& whole) {
  const auto input = group.input_index(value);
  const Shape shape = group.type(value).shape();
  if (!input || shape.size() > whole.size()) return std::nullopt;
  const std::vector<int64_t> own = row_major_strides(shape);
  AttentionMask mask{*input, {}};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t at = whole.size() - shape.size() + i;
    if (shape[i] != whole[at] && shape[i] != 1) return std::nullopt;
    mask.strides[at] = shape[i] == 1 ? 0 : own[i];
  }
  return mask;
}

// The sizes of the splits are known.
std::vector<std::size_t> split_sizes(const GroupView& group) {
  std::vector<std::size_t> inputs;
  for (const graph::Node& split : group.nodes()) {
    if (split.op != "Split") continue;
    const auto sizes = split.has_input(1) ? group.input_index(split.inputs[1]) : std::nullopt;
    if (sizes) inputs.push_back(*sizes);
  }
  return inputs;
}

}  // namespace

std::optional<NodeAttention> attention_of_node(const GroupView& group) {
  const graph::Node& node = group.last();
  if (!is_plain_attention(node) || element_count(group.type(node.inputs[0]).shape()) == 0)
    return std::nullopt;
  const Attributes& a = node.attributes;
  const int64_t heads = a.integer("q_num_heads", 0), kv_heads = a.integer("kv_num_heads", 0);
  NodeAttention known;
  const auto read = [&](std::size_t input, int64_t given_heads, AttentionOperand& operand) {
    if (!find_source(group, node.inputs[input], operand)) return false;
    read_shape(group.type(node.inputs[input]).shape(), given_heads, operand);
    return true;
  };
  if (!read(0, heads, known.q) || !read(1, kv_heads, known.k) || !read(2, kv_heads, known.v))
    return std::nullopt;
  read_shape(group.type(node.outputs[0]).shape(), heads, known.out);
  known.batch = group.type(node.inputs[0]).shape()[0];
  known.scale = a.real("scale", 1.0F / std::sqrt(static_cast<float>(known.q.columns)));
  known.causal = a.integer("is_causal", 0) != 0;
  known.masked = node.has_input(3);
  if (known.masked)
    known.mask = mask_of(group, node.inputs[3], {known.batch, known.q.heads, known.q.rows, known.k.rows});
  known.unread = split_sizes(group);
  known.gives_sums = node.op == "hone.AttentionWithSums";
  return known;
}

const graph::Node* find_attention_gradient(const GroupView& group) {
  for (const graph::Node& node : group.nodes())
    if (node.op == "hone.AttentionGradient") return &node;
  return nullptr;
}

std::optional<NodeAttention> attention_gradient_of_node(const GroupView& group) {
  const graph::Node* const found = find_attention_gradient(group);
  if (found == nullptr || element_count(group.type(found->inputs[0]).shape()) == 0) return std::nullopt;
  const graph::Node& node = *found;
  const Attributes& a = node.attributes;
  const int64_t heads = a.integer("q_num_heads", 0), kv_heads = a.integer("kv_num_heads", 0);
  NodeAttention known;
  const std::array<int64_t, 3> heads_of = {heads, kv_heads, kv_heads};
  const std::array<AttentionOperand*, 3> operands = {&known.q, &known.k, &known.v};
  for (std::size_t i = 0; i < 3; ++i) {
    const Shape shape = group.type(node.inputs[i]).shape();
    if (!find_source(group, node.inputs[i], *operands[i]) || !find_target(group, node, i, known.gradients[i]))
      return std::nullopt;
    read_shape(shape, heads_of[i], *operands[i]);
    read_shape(shape, heads_of[i], known.gradients[i]);
  }
  const auto d_out = group.input_index(node.inputs[4]);
  if (!d_out) return std::nullopt;
  known.out.input = *d_out;
  read_shape(group.type(node.inputs[4]).shape(), heads, known.out);
  known.batch = group.type(node.inputs[0]).shape()[0];
  known.scale = a.real("scale", 1.0F / std::sqrt(static_cast<float>(known.q.columns)));
  known.causal = a.integer("is_causal", 0) != 0;
  known.masked = node.has_input(3);
  if (known.masked)
    known.mask = mask_of(group, node.inputs[3], {known.batch, known.q.heads, known.q.rows, known.k.rows});
  if (node.has_input(5))
    known.kept = {.result = *group.input_index(node.inputs[5]), .sums = *group.input_index(node.inputs[6])};
  known.unread = split_sizes(group);
  return known;
}

}  // namespace hone::runtime
