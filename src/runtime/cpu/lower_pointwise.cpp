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

namespace hone::runtime::cpu {
namespace {

using graph::Node;
using graph::TensorType;
using graph::ValueId;
using kernels::PointwiseOp;
using kernels::PointwiseProgram;

struct Parameter {
  std::string_view attribute;
  float otherwise = 0;
};

// An operator that is one instruction; alpha and beta come from attributes.
struct Direct {
  std::string_view op;
  PointwiseOp instruction;
  Parameter alpha = {};
  Parameter beta = {};
};

using P = PointwiseOp;
constexpr std::array kDirect = {Direct{"Add", P::kAdd},
                                Direct{"Sub", P::kSub},
                                Direct{"Mul", P::kMul},
                                Direct{"Div", P::kDiv},
                                Direct{"Pow", P::kPow},
                                Direct{"Sum", P::kAdd},
                                Direct{"Max", P::kMax},
                                Direct{"Min", P::kMin},
                                Direct{"Neg", P::kNeg},
                                Direct{"Abs", P::kAbs},
                                Direct{"Sign", P::kSign},
                                Direct{"Sqrt", P::kSqrt},
                                Direct{"Reciprocal", P::kReciprocal},
                                Direct{"Exp", P::kExp},
                                Direct{"Log", P::kLog},
                                Direct{"Sin", P::kSin},
                                Direct{"Cos", P::kCos},
                                Direct{"Tan", P::kTan},
                                Direct{"Asin", P::kAsin},
                                Direct{"Acos", P::kAcos},
                                Direct{"Atan", P::kAtan},
                                Direct{"Sinh", P::kSinh},
                                Direct{"Cosh", P::kCosh},
                                Direct{"Tanh", P::kTanh},
                                Direct{"Asinh", P::kAsinh},
                                Direct{"Acosh", P::kAcosh},
                                Direct{"Atanh", P::kAtanh},
                                Direct{"Erf", P::kErf},
                                Direct{"Floor", P::kFloor},
                                Direct{"Ceil", P::kCeil},
                                Direct{"Round", P::kRound},
                                Direct{"Relu", P::kRelu},
                                Direct{"LeakyRelu", P::kLeakyRelu, {"alpha", 0.01F}},
                                Direct{"PRelu", P::kPRelu},
                                Direct{"Sigmoid", P::kSigmoid},
                                Direct{"HardSigmoid", P::kHardSigmoid, {"alpha", 0.2F}, {"beta", 0.5F}},
                                Direct{"Swish", P::kSwish, {"alpha", 1.0F}},
                                Direct{"HardSwish", P::kHardSwish},
                                Direct{"Mish", P::kMish},
                                Direct{"Elu", P::kElu, {"alpha", 1.0F}},
                                Direct{"Celu", P::kCelu, {"alpha", 1.0F}},
                                Direct{"Selu", P::kSelu, {"alpha", 1.67326319F}, {"gamma", 1.05070102F}},
                                Direct{"Softplus", P::kSoftplus},
                                Direct{"Softsign", P::kSoftsign},
                                Direct{"ThresholdedRelu", P::kThresholdedRelu, {"alpha", 1.0F}},
                                Direct{"Shrink", P::kShrink, {"lambd", 0.5F}, {"bias", 0.0F}},
                                Direct{"Equal", P::kEqual},
                                Direct{"Less", P::kLess},
                                Direct{"LessOrEqual", P::kLessEqual},
                                Direct{"Greater", P::kGreater},
                                Direct{"GreaterOrEqual", P::kGreaterEqual},
                                Direct{"IsNaN", P::kIsNaN},
                                Direct{"BitwiseAnd", P::kBitAnd},
                                Direct{"BitwiseOr", P::kBitOr},
                                Direct{"BitwiseXor", P::kBitXor},
                                Direct{"BitwiseNot", P::kBitNot},
                                Direct{"And", P::kAnd},
                                Direct{"Or", P::kOr},
                                Direct{"Xor", P::kXor},
                                Direct{"Not", P::kNot},
                                Direct{"Where", P::kWhere}};

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
  const int64_t block = layout == Layout::kBlocked16 ? 16 : layout == Layout::kBlocked8 ? 8 : 0;
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
  const bool blocked = result.layout == Layout::kBlocked16 || result.layout == Layout::kBlocked8;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::size_t axis = storage.axis[i];
    if (axis < offset || shape[axis - offset] == 1) continue;
    strides[i] = own[axis - offset] * storage.axis_stride[i];
    const int64_t block = result.layout == Layout::kBlocked16 ? 16 : 8;
    if (blocked && axis == 1 && out[1] % block != 0) return std::nullopt;  // would read past its channels
  }
  return strides;
}

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
    for (std::size_t i = group_.first(); i <= group_.last(); ++i) {
      if (!add_node(group_.nodes()[i])) return false;
    }
    for (std::size_t i = 0; i < context_.node.outputs.size(); ++i) {
      const ValueId value = group_.kind().empty() ? group_.anchor().outputs[i] : group_.graph().outputs()[i];
      program_.output(values_.at(value), group_.type(value).dtype);
    }
    return program_.verify().ok();
  }

  const PointwiseProgram& program() const { return program_; }
  const std::vector<std::size_t>& inputs() const { return inputs_; }
  const std::vector<std::size_t>& folded() const { return folded_; }

  // An input that lies exactly as the result does, of the same element size: the result may overwrite it.
  std::optional<std::size_t> overwritable() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const TensorType& type = context_.in(inputs_[i]);
      const TensorType& result = context_.out();
      const bool same = type.dims == result.dims && type.layout == result.layout &&
                        dtype_size(type.dtype) == dtype_size(result.dtype);
      if (same && context_.constant(inputs_[i]) == nullptr) return inputs_[i];
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
      auto strides = operand_strides(type, context_.out(), storage_);
      if (!strides) return -1;
      index = program_.input(type.dtype, std::move(*strides));
      inputs_.push_back(*input);
    }
    values_[value] = index;
    return index;
  }

  bool add_node(const Node& node) {
    if (node.outputs.size() != 1) return false;
    std::vector<int> operands;  // -1 where an optional one (a bound of Clip) is absent
    for (ValueId input : node.inputs) {
      operands.push_back(input.valid() ? operand(input) : -1);
      if (input.valid() ? operands.back() < 0 : node.op != "Clip") return false;
    }
    const int result = instruction(node, operands);
    if (result < 0) return false;
    values_[node.outputs[0]] = result;
    return true;
  }

  int instruction(const Node& node, const std::vector<int>& operands) {
    if (node.op == "Cast") return program_.cast(operands[0], group_.type(node.outputs[0]).dtype);
    if (node.op == "Gelu") {
      return program_.apply(
          node.attributes.text("approximate", "none") == "tanh" ? P::kGeluTanh : P::kGeluErf, operands[0]);
    }
    if (node.op == "Clip") return clip(operands);
    if (node.op == "Mean") return mean(node, operands);
    if (node.op == "Mod")
      return program_.apply(node.attributes.integer("fmod", 0) != 0 ? P::kFmod : P::kMod, operands[0],
                            operands[1]);
    if (node.op == "BitShift") {
      const bool left = node.attributes.text("direction", "LEFT") == "LEFT";
      return program_.apply(left ? P::kShiftLeft : P::kShiftRight, operands[0], operands[1]);
    }
    if (node.op == "IsInf") {
      auto counts = [&](const char* sign) { return node.attributes.integer(sign, 1) != 0 ? 1.0F : 0.0F; };
      return program_.apply(P::kIsInf, operands[0], -1, -1, counts("detect_negative"),
                            counts("detect_positive"));
    }
    const auto entry =
        std::find_if(kDirect.begin(), kDirect.end(), [&](const Direct& d) { return d.op == node.op; });
    if (entry == kDirect.end()) return -1;
    auto parameter = [&](const Parameter& p) {
      return p.attribute.empty() ? 0.0F : node.attributes.real(p.attribute, p.otherwise);
    };
    const int arity = kernels::pointwise_arity(entry->instruction);
    const bool variadic = node.op == "Sum" || node.op == "Max" || node.op == "Min";
    if (variadic) {
      int result = operands[0];
      for (std::size_t i = 1; i < operands.size(); ++i)
        result = program_.apply(entry->instruction, result, operands[i]);
      return result;
    }
    if (static_cast<int>(operands.size()) != arity) return -1;
    auto at = [&](std::size_t i) { return i < operands.size() ? operands[i] : -1; };
    return program_.apply(entry->instruction, at(0), at(1), at(2), parameter(entry->alpha),
                          parameter(entry->beta));
  }

  int clip(const std::vector<int>& operands) {
    int result = operands[0];
    if (operands.size() > 1 && operands[1] >= 0) result = program_.apply(P::kMax, result, operands[1]);
    if (operands.size() > 2 && operands[2] >= 0) result = program_.apply(P::kMin, result, operands[2]);
    return result;
  }

  int mean(const Node& node, const std::vector<int>& operands) {
    int sum = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i) sum = program_.apply(P::kAdd, sum, operands[i]);
    const DType dtype = group_.type(node.outputs[0]).dtype;
    return program_.apply(P::kDiv, sum, program_.constant(dtype, static_cast<double>(operands.size())));
  }

  const LowerContext& context_;
  const GroupView& group_;
  Storage storage_;
  PointwiseProgram program_;
  std::vector<std::size_t> inputs_;  // of the plan's node, one for each input of the program
  std::vector<std::size_t> folded_;  // inputs that became constants of the program
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
  const int64_t block = type.layout == Layout::kBlocked16 ? 16 : type.layout == Layout::kBlocked8 ? 8 : 0;
  if (block == 0 || type.shape()[1] % block == 0) return padding;
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
  const bool single =
      group.kind().empty() && entry != nullptr && entry->op_class == graph::OpClass::kPointwise;
  if (!single && group.kind() != "pointwise") return;
  Lowering lowering(context, group);
  if (!lowering.build() || lowering.inputs().size() > kMaxInputs) return;
  KernelTraits traits;
  traits.implementation =
      single ? "hone pointwise" : fmt::format("hone pointwise ({} operators)", group.nodes().size());
  traits.in_place = lowering.overwritable();
  // An input folded to a number in one place may still be read as memory in another.
  for (std::size_t input : lowering.folded()) {
    if (std::find(lowering.inputs().begin(), lowering.inputs().end(), input) == lowering.inputs().end())
      traits.unread.push_back(input);
  }
  std::vector<ChannelPadding> paddings;  // one an output
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i)
    paddings.push_back(channel_padding(context.out(i)));
  found.push_back(
      {"hone pointwise",
       [program = lowering.program(), inputs = lowering.inputs(), traits,
        paddings]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(kernels::Pointwise made, kernels::Pointwise::create(program));
         KernelTraits with_scratch = traits;
         with_scratch.scratch_bytes = made.scratch_bytes();
         return make_kernel(
             std::move(with_scratch),
             [made = std::move(made), inputs, paddings](const KernelArguments& arguments) -> Status {
               std::array<const void*, kMaxInputs> pointers{};
               for (std::size_t i = 0; i < inputs.size(); ++i) pointers[i] = arguments.inputs[inputs[i]];
               made.execute(std::span(pointers).first(inputs.size()), arguments.outputs, arguments.scratch);
               for (std::size_t i = 0; i < paddings.size(); ++i) {
                 if (paddings[i].images > 0) paddings[i].clear(arguments.outputs[i]);
               }
               return {};
             });
       }});
}

}  // namespace hone::runtime::cpu
