// Pointwise operators, alone or as a group of kind "pointwise": one pointwise program over the memory as it
// lies, whatever its layout.
#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include <fmt/core.h>

#include "graph/op_table.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/pointwise/pointwise.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/group_view.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/cpu/pointwise_table.h"

namespace hone::runtime::cpu {
namespace {

using graph::Node;
using graph::TensorType;
using graph::ValueId;
using kernels::PointwiseProgram;

// How a tensor lies in memory: the extents of its storage, outermost first, and which logical axis each
// walks.
struct Storage {
  Shape extents;
  std::vector<std::size_t> axis;  // logical axis
  std::vector<int64_t>
      axis_stride;  // what one step means along the logical axis (16 for a block of channels)
};

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

// `shape` with as many axes as the result has, those that it lacks of extent 1.
Shape with_rank(Shape shape, std::size_t rank) {
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

// A constant as `layout` has it, blocks of channels filled up with zeros. `data` is plain, `shape` N, C,
// spatial…; one copy for all runs.
Tensor in_blocks(const Tensor& data, const Shape& shape, Layout layout) {
  const int64_t block = channel_block(layout);
  const int64_t blocks = (shape[1] + block - 1) / block;
  const int64_t positions = element_count(std::span(shape).subspan(2));
  const std::size_t size = dtype_size(data.dtype());
  Tensor packed = Tensor::zeros(data.dtype(), {shape[0], blocks, positions, block});
  const auto* from = static_cast<const std::byte*>(data.data());
  auto* const to = static_cast<std::byte*>(packed.data());
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < shape[1]; ++c) {
      for (int64_t p = 0; p < positions; ++p, from += size) {
        const int64_t at = ((n * blocks + c / block) * positions + p) * block + c % block;
        std::memcpy(to + static_cast<std::size_t>(at) * size, from, size);
      }
    }
  }
  return packed;
}

// Memory that a program reads.
struct ProgramInput {
  std::size_t input = 0;  // of the plan's node
  // A constant whose channels do not fill the blocks of the result: the kernel keeps a copy that does.
  Tensor constant = {};
  Shape shape = {};  // the constant's, with the result's rank

  bool is_packed() const { return constant.defined(); }
};

// Builds the program of a group.
class Lowering {
 public:
  Lowering(const LowerContext& context, const GroupView& group) : context_(context), group_(group) {}

  bool build() {
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

  const PointwiseProgram& program() const { return program_; }
  const std::vector<ProgramInput>& inputs() const { return inputs_; }

  // Inputs of the plan's node that the kernel does not read: numbers of its program, and what it has packed.
  // One that is such a number in one place may still be read as memory in another.
  std::vector<std::size_t> unread() const {
    std::vector<std::size_t> unread = folded_;
    for (const ProgramInput& known : inputs_) {
      if (known.is_packed()) unread.push_back(known.input);
    }
    std::erase_if(unread, [&](std::size_t input) {
      return std::any_of(inputs_.begin(), inputs_.end(), [&](const ProgramInput& other) {
        return other.input == input && !other.is_packed();
      });
    });
    return unread;
  }

  // An input that lies exactly as the result does, of the same element size: the result may overwrite it.
  std::optional<std::size_t> overwritable() const {
    for (const ProgramInput& known : inputs_) {
      const TensorType& type = context_.in(known.input);
      const TensorType& result = context_.out();
      const bool same = type.dims == result.dims && type.layout == result.layout &&
                        dtype_size(type.dtype) == dtype_size(result.dtype);
      if (same && context_.constant(known.input) == nullptr) return known.input;
    }
    return std::nullopt;
  }

 private:
  // The instruction that makes `value`; −1 if it cannot be had.
  int operand(ValueId value) {
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
  int memory(const TensorType& type, std::size_t input, const Tensor* constant) {
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

  bool is_vector(ValueId value) const {
    const TensorType& type = group_.type(value);
    return type.rank() == 1 && type.shape()[0] != 1;
  }

  // One number for each place along attribute "axis" (1 without it) of the node's first input.
  int operand_along_axis(const Node& node, ValueId value) {
    const TensorType& type = group_.type(value);
    const Shape shape = context_.out_shape();
    auto axis = normalize_axis(node.attributes.integer("axis", 1), static_cast<int64_t>(shape.size()));
    const auto input = group_.input_index(value);
    if (!axis.ok() || !input || group_.type(node.inputs[0]).shape() != shape) return -1;
    Shape extended(shape.size(), 1);
    extended[static_cast<std::size_t>(*axis)] = type.shape()[0];
    return memory(graph::tensor_type(type.dtype, extended), *input, group_.constant(value));
  }

  bool add_node(const Node& node) {
    if (node.outputs.size() != 1) return false;
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
    const int result =
        add_instructions(*row, {program_, node, operands, scalars, group_.type(node.outputs[0]).dtype});
    if (result < 0) return false;
    values_[node.outputs[0]] = result;
    return true;
  }

  const LowerContext& context_;
  const GroupView& group_;
  Storage storage_;
  PointwiseProgram program_;
  std::vector<ProgramInput> inputs_;  // one for each of the program's
  std::vector<std::size_t> folded_;   // inputs that became constants of the program
  std::unordered_map<ValueId, int> values_;
};

constexpr std::size_t kMaxInputs = 32;

// Where a blocked result has channels that are none: the end of the last block at every position of every
// image. They must hold zeros (the kernels of convolutions read them), whatever the program makes of zeros.
struct ChannelPadding {
  int64_t images = 0, image_bytes = 0, last_block = 0;  // bytes from an image's start to its last block
  int64_t positions = 0, position_bytes = 0;
  int64_t first = 0, bytes = 0;  // the padding within a position

  void clear(void* output) const noexcept {
    kernels::parallel_for(images * positions, 4096, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        std::byte* position = static_cast<std::byte*>(output) + i / positions * image_bytes + last_block +
                              i % positions * position_bytes;
        std::memset(position + first, 0, static_cast<std::size_t>(bytes));
      }
    });
  }
};

ChannelPadding channel_padding(const TensorType& type) {
  ChannelPadding padding;
  const int64_t block = channel_block(type.layout);
  if (block == 1 || type.shape()[1] % block == 0) return padding;
  const Shape shape = type.shape();
  const auto size = static_cast<int64_t>(dtype_size(type.dtype));
  padding.images = shape[0];
  padding.positions = element_count(std::span(shape).subspan(2));
  padding.position_bytes = block * size;
  padding.last_block = shape[1] / block * padding.positions * padding.position_bytes;
  padding.image_bytes = padding.last_block + padding.positions * padding.position_bytes;
  padding.first = shape[1] % block * size;
  padding.bytes = padding.position_bytes - padding.first;
  return padding;
}

}  // namespace

void lower_pointwise(const LowerContext& context, std::vector<Candidate>& found) {
  const GroupView group(context);
  const graph::OpEntry* entry = graph::op_table().find(context.node.op);
  const bool single = !group.is_group() && entry != nullptr && entry->op_class == graph::OpClass::kPointwise;
  if (!single && group.kind() != graph::GroupKind::kPointwise) return;
  Lowering lowering(context, group);
  if (!lowering.build() || lowering.inputs().size() > kMaxInputs) return;
  KernelTraits traits;
  traits.implementation =
      single ? "hone pointwise" : fmt::format("hone pointwise ({} operators)", group.nodes().size());
  traits.in_place = lowering.overwritable();
  traits.unread = lowering.unread();
  std::vector<ChannelPadding> paddings;  // one an output
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i)
    paddings.push_back(channel_padding(context.out(i)));
  found.push_back({"hone pointwise",
                   [program = lowering.program(), inputs = lowering.inputs(), layout = context.out().layout,
                    traits, paddings]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::Pointwise made, kernels::Pointwise::create(program));
                     KernelTraits complete = traits;
                     complete.scratch_bytes = made.scratch_bytes();
                     std::vector<ProgramInput> sources = inputs;
                     for (ProgramInput& source : sources) {
                       if (!source.is_packed()) continue;
                       source.constant = in_blocks(source.constant, source.shape, layout);
                       complete.packed_bytes += source.constant.bytes();
                     }
                     return make_kernel(std::move(complete),
                                        [made = std::move(made), inputs = std::move(sources),
                                         paddings](const KernelArguments& arguments) -> Status {
                                          std::array<const void*, kMaxInputs> pointers{};
                                          for (std::size_t i = 0; i < inputs.size(); ++i)
                                            pointers[i] = inputs[i].is_packed()
                                                              ? inputs[i].constant.data()
                                                              : arguments.inputs[inputs[i].input];
                                          made.execute(std::span(pointers).first(inputs.size()),
                                                       arguments.outputs, arguments.scratch);
                                          for (std::size_t i = 0; i < paddings.size(); ++i) {
                                            if (paddings[i].images > 0)
                                              paddings[i].clear(arguments.outputs[i]);
                                          }
                                          return {};
                                        });
                   }});
}

}  // namespace hone::runtime::cpu
