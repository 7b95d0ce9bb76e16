#include "runtime/lower/program_of_node.h"

#include <algorithm>
#include <array>

#include "runtime/lower/pointwise_table.h"

namespace hone::runtime {

using graph::Node;
using graph::TensorType;
using graph::ValueId;

namespace {

Storage storage_of(const Shape& shape, Layout layout) {
  Storage storage;
  auto add = [&](std::size_t axis, int64_t extent, int64_t stride) {
    storage.axis.push_back(axis);
    storage.extents.push_back(extent);
    storage.axis_stride.push_back(stride);
  };
  const int64_t channels = channel_block(layout);
  const int64_t block = channels > 1 ? channels : 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == 1 && layout == Layout::kChannelsLast) continue;
    if (i == 1 && block > 0)
      add(1, (shape[1] + block - 1) / block, block);
    else
      add(i, shape[i], 1);
  }
  if (layout == Layout::kChannelsLast) add(1, shape[1], 1);
  if (block > 0) add(1, block, 1);
  return storage;
}

// Strides of an operand along the storage axes of the result; nullopt if its memory cannot be walked that
// way.
std::optional<std::vector<int64_t>> operand_strides(const TensorType& operand, const TensorType& result,
                                                    const Storage& storage) {
  const Shape shape = operand.shape();
  const Shape out = result.shape();
  const std::size_t offset = out.size() - shape.size();
  std::vector<int64_t> strides(storage.extents.size(), 0);
  if (operand.layout != Layout::kPlain) {
    if (operand.layout != result.layout || shape.size() != out.size()) return std::nullopt;
    const std::vector<int64_t> own = row_major_strides(storage_of(shape, operand.layout).extents);
    for (std::size_t i = 0; i < strides.size(); ++i) {
      const std::size_t axis = storage.axis[i];
      if (shape[axis] == 1 && out[axis] != 1 && axis == 1)
        return std::nullopt;  // one channel, padded to a block
      strides[i] = shape[axis] == out[axis] ? own[i] : 0;
    }
    return strides;
  }
  const std::vector<int64_t> own = row_major_strides(shape);
  const int64_t block = channel_block(result.layout);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::size_t axis = storage.axis[i];
    if (axis < offset || shape[axis - offset] == 1) continue;
    strides[i] = own[axis - offset] * storage.axis_stride[i];
    if (block > 1 && axis == 1 && out[1] % block != 0) return std::nullopt;  // would read past its channels
  }
  return strides;
}

bool is_half(DType type) { return type == DType::kF16 || type == DType::kBF16; }

// `shape` with as many axes as the result has, those that it lacks of extent 1.
Shape with_rank(Shape shape, std::size_t rank) {
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

}  // namespace

bool ProgramOfNode::build() {
  const TensorType& result = context_.out();
  for (std::size_t i = 0; i < context_.node.outputs.size(); ++i) {
    if (context_.out(i).shape() != result.shape() || context_.out(i).layout != result.layout) return false;
  }
  if (element_count(result.shape()) == 0) return false;
  storage_ = storage_of(result.shape(), result.layout);
  program_.shape = storage_.extents;
  for (const Node& node : group_.nodes()) {
    if (!add_node(node)) return false;
  }
  for (std::size_t i = 0; i < context_.node.outputs.size(); ++i) {
    const ValueId value = !group_.is_group() ? group_.anchor().outputs[i] : group_.graph().outputs()[i];
    program_.output(values_.at(value), group_.type(value).dtype);
  }
  return program_.verify().ok();
}

std::vector<std::size_t> ProgramOfNode::unread() const {
  std::vector<std::size_t> unread = folded_;
  for (const ProgramInput& known : inputs_) {
    if (known.is_packed()) unread.push_back(known.input);
  }
  std::erase_if(unread, [&](std::size_t input) {
    return std::any_of(inputs_.begin(), inputs_.end(),
                       [&](const ProgramInput& other) { return other.input == input && !other.is_packed(); });
  });
  return unread;
}

std::optional<std::size_t> ProgramOfNode::overwritable() const {
  for (const ProgramInput& known : inputs_) {
    const TensorType& type = context_.in(known.input);
    const TensorType& result = context_.out();
    const bool same = type.dims == result.dims && type.layout == result.layout &&
                      dtype_size(type.dtype) == dtype_size(result.dtype);
    if (same && context_.constant(known.input) == nullptr) return known.input;
  }
  return std::nullopt;
}

// The instruction that makes `value`; −1 if it cannot be had.
int ProgramOfNode::operand(ValueId value) {
  if (const auto known = values_.find(value); known != values_.end()) return known->second;
  const TensorType& type = group_.type(value);
  if (kernels::compute_type(type.dtype) == DType::kUndefined) return -1;
  int index = -1;
  const Tensor* constant = group_.constant(value);
  const auto input = group_.input_index(value);
  if (constant != nullptr && constant->size() == 1) {
    index = is_float(type.dtype) ? program_.constant(type.dtype, constant->at(0))
                                 : program_.constant_integer(type.dtype, constant->int_at(0));
    if (input) folded_.push_back(*input);
  } else {
    if (!input) return -1;
    index = memory(type, *input, constant);
  }
  values_[value] = index;
  return index;
}

// The instruction that reads `type` from input number `input`; −1 if its memory cannot be walked as the
// result's is. A `constant` (null for what is computed) is laid out so that it can.
int ProgramOfNode::memory(const TensorType& type, std::size_t input, const Tensor* constant) {
  if (auto strides = operand_strides(type, context_.out(), storage_)) {
    inputs_.push_back({input});
    return program_.input(type.dtype, std::move(*strides));
  }
  const TensorType& result = context_.out();
  if (constant == nullptr || type.layout != Layout::kPlain || channel_block(result.layout) == 1) return -1;
  const Shape shape = with_rank(type.shape(), result.shape().size());
  TensorType blocked = graph::tensor_type(type.dtype, shape);
  blocked.layout = result.layout;
  auto strides = operand_strides(blocked, result, storage_);
  if (!strides) return -1;
  inputs_.push_back({input, *constant, shape});
  return program_.input(type.dtype, std::move(*strides));
}

bool ProgramOfNode::is_vector(ValueId value) const {
  const TensorType& type = group_.type(value);
  return type.rank() == 1 && type.shape()[0] != 1;
}

// One number for each place along attribute "axis" (1 without it) of the node's first input.
int ProgramOfNode::operand_along_axis(const Node& node, ValueId value) {
  const TensorType& type = group_.type(value);
  const Shape shape = context_.out_shape();
  auto axis = normalize_axis(node.attributes.integer("axis", 1), static_cast<int64_t>(shape.size()));
  const auto input = group_.input_index(value);
  if (!axis.ok() || !input || group_.type(node.inputs[0]).shape() != shape) return -1;
  Shape extended(shape.size(), 1);
  extended[static_cast<std::size_t>(*axis)] = type.shape()[0];
  return memory(graph::tensor_type(type.dtype, extended), *input, group_.constant(value));
}

// By given statistics: (x − mean) / √(variance + ε) · scale + bias, each number of a channel's.
bool ProgramOfNode::add_batch_normalization(const Node& node) {
  if (node.attributes.integer("training_mode", 0) != 0) return false;
  enum { kX, kScale, kBias, kMean, kVariance, kInputs };
  std::array<int, kInputs> values{};
  for (std::size_t i = 0; i < kInputs; ++i) {
    const ValueId input = node.inputs[i];
    values[i] = i > 0 && is_vector(input) ? operand_along_axis(node, input) : operand(input);
    if (values[i] < 0) return false;
  }
  using enum kernels::PointwiseOp;
  const int epsilon = program_.constant(DType::kF32, node.attributes.real("epsilon", 1e-5F));
  const int deviation = program_.apply(kSqrt, program_.apply(kAdd, values[kVariance], epsilon));
  const int normal = program_.apply(kDiv, program_.apply(kSub, values[kX], values[kMean]), deviation);
  values_[node.outputs[0]] =
      program_.apply(kAdd, program_.apply(kMul, normal, values[kScale]), values[kBias]);
  return true;
}

bool ProgramOfNode::add_node(const Node& node) {
  if (node.outputs.size() != 1) return false;
  if (node.op == "BatchNormalization") return add_batch_normalization(node);
  const PointwiseRow* row = find_pointwise(node.op);
  if (row == nullptr) return false;
  std::vector<int> operands;  // -1 where an optional one (a bound of Clip) is absent
  std::vector<const Tensor*> scalars;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    const bool along_axis = row->per_axis && i > 0 && input.valid() && is_vector(input);
    operands.push_back(!input.valid() ? -1 : along_axis ? operand_along_axis(node, input) : operand(input));
    if (input.valid() ? operands.back() < 0 : !row->optional_operands) return false;
    const Tensor* constant = group_.constant(input);
    scalars.push_back(constant != nullptr && constant->size() == 1 ? constant : nullptr);
  }
  const DType type = group_.type(node.outputs[0]).dtype;
  int result = add_instructions(*row, {program_, node, operands, scalars, type});
  if (result < 0) return false;
  // f16 and bf16 are held as f32: within a group, what the operator alone would have stored is rounded as it would be.
  if (group_.is_group() && is_half(type) && node.op != "Cast") result = program_.cast(result, type);
  values_[node.outputs[0]] = result;
  return true;
}

}  // namespace hone::runtime
