#include "runtime/cpu/epilogue.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "kernels/cpu/gemm/fused_epilogue.h"
#include "kernels/cpu/parallel.h"

namespace hone::runtime::cpu {
namespace {

using graph::Node;
using graph::ValueId;
using kernels::PostOp;
using Kind = PostOp::Kind;

// Channels of a block where steps are a channel's: of blocked16, the layout that these are for.
constexpr int64_t kStepChannels = 16;

// An operator as a step of an epilogue: binary with a second tensor, otherwise a function of its first input.
struct EpilogueStep {
  std::string_view op;
  Kind kind;
  std::string_view alpha = {};  // the attribute that gives the step's parameter
  float alpha_otherwise = 0;
  std::string_view beta = {};
  float beta_otherwise = 0;
};

constexpr std::array kEpilogueSteps = {
    EpilogueStep{"Relu", Kind::kRelu},
    EpilogueStep{"LeakyRelu", Kind::kLeakyRelu, "alpha", 0.01F},
    EpilogueStep{"Clip", Kind::kClip},  // bounds are inputs
    EpilogueStep{"Sigmoid", Kind::kSigmoid},
    EpilogueStep{"Tanh", Kind::kTanh},
    EpilogueStep{"Gelu", Kind::kGeluErf},  // or kGeluTanh: attribute "approximate"
    EpilogueStep{"Swish", Kind::kSwish, "alpha", 1.0F},
    EpilogueStep{"HardSwish", Kind::kHardSwish},
    EpilogueStep{"HardSigmoid", Kind::kHardSigmoid, "alpha", 0.2F, "beta", 0.5F},
    EpilogueStep{"Elu", Kind::kElu, "alpha", 1.0F},
    EpilogueStep{"Mish", Kind::kMish},
    EpilogueStep{"Softplus", Kind::kSoftplus},
    EpilogueStep{"Exp", Kind::kExp},
    EpilogueStep{"Abs", Kind::kAbs},
    EpilogueStep{"Sqrt", Kind::kSqrt},
    EpilogueStep{"QuantizeLinear", Kind::kQuantize},  // and the DequantizeLinear behind it
    EpilogueStep{"Add", Kind::kBinaryAdd},
    EpilogueStep{"Mul", Kind::kBinaryMul},
    EpilogueStep{"Sub", Kind::kBinarySub},
    EpilogueStep{"Div", Kind::kBinaryDiv},
};

const EpilogueStep* find_step(const Node& node) {
  const auto found = std::find_if(kEpilogueSteps.begin(), kEpilogueSteps.end(),
                                  [&](const EpilogueStep& step) { return step.op == node.op; });
  return found != kEpilogueSteps.end() ? &*found : nullptr;
}

float scalar(const GroupView& group, const Node& node, std::size_t input, float otherwise) {
  const Tensor* data = node.has_input(input) ? group.constant(node.inputs[input]) : nullptr;
  return data != nullptr ? static_cast<float>(data->at(0)) : otherwise;
}

PostOp function(const GroupView& group, const Node& node, const EpilogueStep& step) {
  constexpr float kMost = std::numeric_limits<float>::max();
  if (step.kind == Kind::kClip)
    return PostOp::clip(scalar(group, node, 1, -kMost), scalar(group, node, 2, kMost));
  if (step.kind == Kind::kGeluErf && node.attributes.text("approximate", "none") == "tanh")
    return PostOp::of(Kind::kGeluTanh);
  const auto parameter = [&](std::string_view name, float otherwise) {
    return name.empty() ? 0.0F : node.attributes.real(name, otherwise);
  };
  return PostOp::of(step.kind, parameter(step.alpha, step.alpha_otherwise),
                    parameter(step.beta, step.beta_otherwise));
}

// `quantize` and the node behind it as one step; nullopt unless both go by the same constants, one for all
// elements.
std::optional<PostOp> quantize_and_back(const GroupView& group, const Node& quantize, const Node& back) {
  if (back.op != "DequantizeLinear" || back.inputs[0] != quantize.outputs[0]) return std::nullopt;
  const Tensor* scale = group.constant(quantize.inputs[1]);
  const Tensor* other = group.constant(back.inputs[1]);
  const bool numbers = scale != nullptr && other != nullptr && scale->size() == 1 && other->size() == 1;
  const DType stored = group.type(quantize.outputs[0]).dtype;
  const int bits = dtype_bits(stored);
  if (!numbers || scale->at(0) != other->at(0) || scale->dtype() != DType::kF32 ||
      (bits != 8 && bits != 16) || quantize.attributes.has("precision"))
    return std::nullopt;
  const auto zero_point = [&](const Node& node) -> std::optional<float> {
    if (!node.has_input(2)) return 0.0F;
    const Tensor* data = group.constant(node.inputs[2]);
    return data != nullptr && data->size() == 1 ? std::optional(static_cast<float>(data->at(0)))
                                                : std::nullopt;
  };
  const auto zero = zero_point(quantize);
  if (!zero || zero != zero_point(back)) return std::nullopt;
  const float low = is_signed(stored) ? -static_cast<float>(1 << (bits - 1)) : 0.0F;
  const float high = low + static_cast<float>((1 << bits) - 1);
  return PostOp::quantize(static_cast<float>(scale->at(0)), low - *zero, high - *zero);
}

}  // namespace

std::vector<PostOp> take_own_tail(std::vector<PostOp>& post_ops) {
  const auto first = std::find_if(post_ops.begin(), post_ops.end(),
                                  [](const PostOp& op) { return op.kind == Kind::kQuantize; });
  if (!std::all_of(first, post_ops.end(), kernels::is_activation)) return {};
  const std::vector<PostOp> tail(first, post_ops.end());
  post_ops.erase(first, post_ops.end());
  return tail;
}

ResultRuns runs_of(const Shape& shape, Layout layout) {
  if (layout != Layout::kBlocked16) return {1, storage_elements(shape, layout), 1};
  const int64_t block = channel_block(layout);
  const int64_t blocks = (shape[1] + block - 1) / block;
  return {shape[0] * blocks, element_count(std::span(shape).subspan(2)) * block, blocks};
}

void apply_to_result(std::span<const PostOp> tail, float* values, const ResultRuns& runs) noexcept {
  constexpr int64_t kGrain = 16384;  // floats worth a thread
  if (runs.count == 1) {
    kernels::parallel_for(
        runs.floats / kStepChannels, kGrain / kStepChannels, [&](int64_t begin, int64_t end, int) {
          const int64_t last = end == runs.floats / kStepChannels ? runs.floats : end * kStepChannels;
          kernels::activate(tail, values + begin * kStepChannels, last - begin * kStepChannels);
        });
    if (runs.floats < kStepChannels) kernels::activate(tail, values, runs.floats);
    return;
  }
  kernels::parallel_for(runs.count, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, runs.floats)),
                        [&](int64_t begin, int64_t end, int) {
                          for (int64_t run = begin; run < end; ++run)
                            kernels::activate(tail, values + run * runs.floats, runs.floats,
                                              run % runs.blocks * kStepChannels);
                        });
}

namespace {

// The numbers of a constant operand that is one number, or one a channel of the group's result, with zeros up to
// whole blocks of 16; null for any other.
std::shared_ptr<const std::vector<float>> channel_numbers(const GroupView& group, std::size_t input,
                                                          const Shape& shape) {
  const Tensor* data = group.constant(group.graph().inputs()[input]);
  const Shape result = group.type(group.anchor().outputs[0]).shape();
  if (data == nullptr || data->dtype() != DType::kF32 || shape.size() > result.size()) return nullptr;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && (i + result.size() - shape.size() != 1 || shape[i] != result[1])) return nullptr;
  }
  const int64_t channels = result[1];
  const int64_t blocks = (channels + kStepChannels - 1) / kStepChannels;
  std::vector<float> numbers(static_cast<std::size_t>(blocks * kStepChannels), 0.0F);
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c)
    numbers[c] = data->as<float>()[data->size() == 1 ? 0 : c];
  return std::make_shared<const std::vector<float>>(std::move(numbers));
}

}  // namespace

bool take_channel_steps(const GroupView& group, Layout layout, Epilogue& epilogue,
                        std::vector<std::size_t>& unread) {
  std::vector<PostOp>& ops = epilogue.post_ops;
  const auto first =
      std::find_if(ops.begin(), ops.end(), [](const PostOp& op) { return op.kind == Kind::kQuantize; });
  auto operand = epilogue.operand_inputs.begin() +
                 std::count_if(ops.begin(), first, [](const PostOp& op) { return op.is_binary(); });
  for (auto op = first; op != ops.end(); ++op) {
    if (!op->is_binary()) continue;
    const auto numbers = channel_numbers(group, *operand, op->operand_shape);
    const bool product = op->kind == Kind::kBinaryMul, sum = op->kind == Kind::kBinaryAdd;
    if (layout != Layout::kBlocked16 || numbers == nullptr || (!product && !sum)) return false;
    *op = {.kind = product ? Kind::kChannelMul : Kind::kChannelAdd, .channels = numbers};
    unread.push_back(*operand);
    operand = epilogue.operand_inputs.erase(operand);
  }
  std::erase_if(unread, [&](std::size_t input) {
    const auto& read = epilogue.operand_inputs;
    return std::find(read.begin(), read.end(), input) != read.end();
  });
  return true;
}

bool is_widened(const GroupView& group) {
  if (group.nodes().size() < 2) return false;
  const Node& cast = group.nodes()[1];
  const ValueId sums = group.anchor().outputs[0];
  return cast.op == "Cast" && cast.inputs[0] == sums && group.type(sums).dtype == DType::kBF16 &&
         group.type(cast.outputs[0]).dtype == DType::kF32;
}

std::optional<Epilogue> read_epilogue(const GroupView& group) {
  Epilogue epilogue;
  ValueId value = group.anchor().outputs[0];
  std::size_t first_step = 1;
  if (is_widened(group)) value = group.nodes()[first_step++].outputs[0];
  // The last step may round to the product's own type again.
  const bool narrows = first_step == 2 && group.last().op == "Cast" && group.nodes().size() > 2 &&
                       group.type(group.last().outputs[0]).dtype == DType::kBF16;
  const std::size_t end = group.nodes().size() - (narrows ? 1 : 0);
  for (std::size_t i = first_step; i < end; ++i) {
    const Node& node = group.nodes()[i];
    const EpilogueStep* step = find_step(node);
    if (step == nullptr) return std::nullopt;
    if (step->kind == Kind::kQuantize) {
      if (node.inputs[0] != value || ++i == end) return std::nullopt;
      const auto op = quantize_and_back(group, node, group.nodes()[i]);
      if (!op) return std::nullopt;
      epilogue.post_ops.push_back(*op);
      value = group.nodes()[i].outputs[0];
      continue;
    }
    PostOp op = function(group, node, *step);
    if (!op.is_binary()) {
      if (node.inputs[0] != value) return std::nullopt;
      epilogue.post_ops.push_back(op);
    } else {
      const bool first = node.inputs[0] == value;
      if (!first && (op.kind == Kind::kBinarySub || op.kind == Kind::kBinaryDiv)) return std::nullopt;
      const ValueId operand = node.inputs[first ? 1 : 0];
      const auto index = group.input_index(operand);
      if (!index) return std::nullopt;
      epilogue.post_ops.push_back(PostOp::binary(op.kind, group.type(operand).shape(),
                                                 group.type(operand).layout, group.type(operand).dtype));
      epilogue.operand_inputs.push_back(*index);
    }
    value = node.outputs[0];
  }
  if (narrows && group.last().inputs[0] != value) return std::nullopt;
  return epilogue;
}

std::vector<graph::EpilogueCapability> epilogue_capabilities() {
  std::vector<graph::EpilogueCapability> rows;
  for (const EpilogueStep& step : kEpilogueSteps)
    rows.push_back({step.op, PostOp::of(step.kind).is_binary(), step.kind == Kind::kQuantize});
  return rows;
}

}  // namespace hone::runtime::cpu
