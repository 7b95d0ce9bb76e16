#include "passes/parallel_branch.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

namespace hone::passes {
namespace {

using Kind = BranchOperand::Kind;

constexpr std::size_t kMostBranchSteps = 8;  // as many as an epilogue takes

bool is_weights_type(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

const Tensor* weights_of(const GraphBuilder& builder, const Node& node, std::size_t input) {
  const Tensor* data = node.has_input(input) ? constant_data(builder, node.inputs[input]) : nullptr;
  return data != nullptr && is_weights_type(data->dtype()) ? data : nullptr;
}

// The product's own step: its weights, and the bias that Gemm and Conv have.
std::optional<ParallelBranch> read_product(const GraphBuilder& builder, NodeId id) {
  const Node& node = builder.node(id);
  const bool convolution = node.op == "Conv";
  if (!convolution && node.op != "MatMul" && node.op != "Gemm") return std::nullopt;
  const Tensor* weights = weights_of(builder, node, 1);
  const graph::TensorType& type = builder.type(node.outputs[0]);
  if (weights == nullptr || !type.has_rank() || type.rank() < 2 || type.dtype != weights->dtype() ||
      builder.value(node.inputs[0]).is_constant())
    return std::nullopt;
  if (convolution ? node.attributes.integer("group", 1) != 1 : weights->rank() != 2) return std::nullopt;
  const bool rows = convolution || (node.op == "Gemm" && node.attributes.integer("transB", 0) != 0);
  ParallelBranch branch;
  branch.axis = convolution ? 1 : type.rank() - 1;
  branch.width = weights->shape()[rows ? 0 : 1];
  branch.result = node.outputs[0];
  branch.steps.push_back({id, {{Kind::kFlow, 0}, {Kind::kJoined, rows ? 0 : 1}}});
  if (!node.has_input(2)) return branch;
  const Tensor* bias = weights_of(builder, node, 2);
  if (bias == nullptr || bias->size() != branch.width || bias->rank() < 1 ||
      bias->shape().back() != branch.width)
    return std::nullopt;
  branch.steps[0].operands.push_back({Kind::kJoined, bias->rank() - 1});
  return branch;
}

// What a constant is to a value with `branch.width` columns along `branch.axis`.
std::optional<BranchOperand> read_constant(const Tensor& data, const ParallelBranch& branch, int64_t rank) {
  if (data.size() == 1 && data.rank() <= rank) return BranchOperand{Kind::kShared, 0};
  const int64_t axis = branch.axis - (rank - data.rank());
  if (!is_weights_type(data.dtype()) || axis < 0 || data.size() != branch.width ||
      data.shape()[static_cast<std::size_t>(axis)] != branch.width)
    return std::nullopt;
  return BranchOperand{Kind::kJoined, axis};
}

// The step that `id` is behind `branch.result`; nullopt if it cannot be one.
std::optional<BranchStep> read_step(const GraphBuilder& builder, NodeId id, const ParallelBranch& branch) {
  const Node& node = builder.node(id);
  if (node.outputs.size() != 1 || !node.bodies.empty()) return std::nullopt;
  graph::TensorType flow = builder.type(branch.result);
  if (node.op == "Cast") flow.dtype = builder.type(node.outputs[0]).dtype;  // of a narrow product to f32, say
  if (builder.type(node.outputs[0]) != flow) return std::nullopt;
  BranchStep step{id, {}};
  for (ValueId input : node.inputs) {
    if (!input.valid()) {
      step.operands.push_back({});
      continue;
    }
    if (input == branch.result) {
      step.operands.push_back({Kind::kFlow, 0});
      continue;
    }
    const Tensor* data = constant_data(builder, input);
    const auto operand =
        data != nullptr ? read_constant(*data, branch, builder.type(branch.result).rank()) : std::nullopt;
    if (!operand) return std::nullopt;
    step.operands.push_back(*operand);
  }
  return step;
}

bool same_but_for(const Shape& a, const Shape& b, int64_t axis) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && static_cast<int64_t>(i) != axis) return false;
  }
  return true;
}

bool same_step(const GraphBuilder& builder, const BranchStep& a, const BranchStep& b) {
  const Node& x = builder.node(a.node);
  const Node& y = builder.node(b.node);
  if (x.op != y.op || !(x.attributes == y.attributes) || a.operands != b.operands) return false;
  for (std::size_t i = 0; i < a.operands.size(); ++i) {
    const BranchOperand& operand = a.operands[i];
    if (operand.kind == Kind::kAbsent || operand.kind == Kind::kFlow) continue;
    const Tensor& p = *constant_data(builder, x.inputs[i]);
    const Tensor& q = *constant_data(builder, y.inputs[i]);
    const bool fits = operand.kind == Kind::kShared
                          ? same_tensor(p, q)
                          : p.dtype() == q.dtype() && same_but_for(p.shape(), q.shape(), operand.axis);
    if (!fits) return false;
  }
  return true;
}

}  // namespace

std::optional<ParallelBranch> read_branch(const GraphBuilder& builder, NodeId product) {
  auto branch = read_product(builder, product);
  while (branch && branch->steps.size() <= kMostBranchSteps) {
    const auto reader = only_reader(builder, branch->result);
    if (!reader || !is_class(builder.node(*reader), graph::OpClass::kPointwise)) break;
    auto step = read_step(builder, *reader, *branch);
    if (!step) {
      branch->bound_by = fmt::format("{} '{}'", builder.node(*reader).op, builder.node(*reader).name);
      break;
    }
    branch->steps.push_back(std::move(*step));
    branch->result = builder.node(*reader).outputs[0];
  }
  return branch;
}

bool same_form(const GraphBuilder& builder, const ParallelBranch& a, const ParallelBranch& b,
               std::size_t steps) {
  if (a.steps.size() < steps || b.steps.size() < steps) return false;
  for (std::size_t i = 0; i < steps; ++i) {
    if (!same_step(builder, a.steps[i], b.steps[i])) return false;
  }
  return true;
}

Tensor join(const std::vector<const Tensor*>& parts, int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  Shape shape = parts[0]->shape();
  shape[at] = 0;
  for (const Tensor* part : parts) shape[at] += part->shape()[at];
  Tensor whole(parts[0]->dtype(), shape);
  const auto outer = static_cast<std::size_t>(element_count(std::span(shape).first(at)));
  auto* to = static_cast<std::byte*>(whole.data());
  for (std::size_t row = 0; row < outer; ++row) {
    for (const Tensor* part : parts) {
      const std::size_t bytes = part->bytes() / outer;
      std::memcpy(to, static_cast<const std::byte*>(part->data()) + row * bytes, bytes);
      to += bytes;
    }
  }
  return whole;
}

}  // namespace hone::passes
