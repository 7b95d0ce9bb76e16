// What the graph knows of each step of a plan, as columns of a trace.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "graph/group_kind.h"
#include "graph/op_table.h"
#include "graph/product_math.h"
#include "graph/training/step_part.h"
#include "lab/experiment/profile.h"
#include "trace/import/kernel_symbol.h"
#include "trace/kernel_family.h"

namespace hone::lab {
namespace {

using graph::Graph;
using graph::GroupKind;
using graph::Node;
using graph::OpClass;
using graph::ValueId;
using trace::OperatorClass;

OperatorClass class_of(const Node& node) {
  if (node.op == "Transpose" || node.op == "hone.Reorder") return OperatorClass::kLayout;
  if (const auto kind = graph::group_kind(node)) {
    switch (*kind) {
      case GroupKind::kConvolution:
        return OperatorClass::kConvolution;
      case GroupKind::kMatmul:
      case GroupKind::kAttention:
      case GroupKind::kBiasGradient:
        return OperatorClass::kMatrix;
      case GroupKind::kPointwise:
        return OperatorClass::kPointwise;
      case GroupKind::kNormalization:
        return OperatorClass::kNormalization;
    }
  }
  const graph::OpEntry* entry = graph::find_entry(node);
  switch (entry != nullptr ? entry->op_class : OpClass::kOther) {
    case OpClass::kPointwise:
      return OperatorClass::kPointwise;
    case OpClass::kReduction:
      return OperatorClass::kReduction;
    case OpClass::kNormalization:
      return OperatorClass::kNormalization;
    case OpClass::kMatrix:
      return OperatorClass::kMatrix;
    case OpClass::kConvolution:
      return OperatorClass::kConvolution;
    case OpClass::kPooling:
      return OperatorClass::kPooling;
    case OpClass::kMovement:
    case OpClass::kView:
      return OperatorClass::kMovement;
    default:
      return OperatorClass::kOther;
  }
}

std::string extents_text(const Shape& shape, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < shape.size(); ++i)
    text += fmt::format("{}{}", i > first ? "×" : "", shape[i]);
  return text;
}

// The convolution or product of a node: itself, or the one in a group's body.
const Node* heavy_part(const Graph& graph, const Node& node, const Graph*& where) {
  where = &graph;
  if (!graph::is_group(node)) return &node;
  where = node.bodies[0].get();
  return where->nodes().empty() ? nullptr : &where->nodes()[0];
}

std::string geometry_of(const Graph& outer, const Node& node) {
  const Graph* graph = nullptr;
  const Node* part = heavy_part(outer, node, graph);
  if (part == nullptr || !part->has_output(0)) return {};
  const Shape out = graph->type(part->outputs[0]).shape();
  if (part->op == "Conv" || part->op == "ConvTranspose") {
    const Shape in = graph->type(part->inputs[0]).shape();
    const Shape weights = graph->type(part->inputs[1]).shape();
    const int64_t groups = part->attributes.integer("group", 1);
    const bool depthwise = groups > 1 && groups == in[1] && groups == out[1];
    return fmt::format(
        "{} {}{}, {} → {} channels, {} positions", extents_text(weights, 2), depthwise ? "depthwise " : "",
        part->op == "Conv" ? "convolution" : "transposed convolution", in[1], out[1], extents_text(out, 2));
  }
  if ((part->op == "MatMul" || part->op == "Gemm") && part->has_input(0)) {
    const Shape a = graph->type(part->inputs[0]).shape();
    const int64_t k = part->op == "Gemm" && part->attributes.integer("transA", 0) != 0 ? a[0] : a.back();
    // A vector is a matrix of one column on the right, and of one row on the left: its axis is not there.
    const bool by_vector = graph->type(part->inputs[1]).rank() == 1;
    const int64_t columns = by_vector ? 1 : out.back();
    return fmt::format("matrix product, {} × {} from an inner extent of {}",
                       element_count(out) / std::max<int64_t>(1, columns), columns, k);
  }
  return fmt::format("{} elements", extents_text(out, 0));
}

// Whether fusing `node` with what computes its input would spare the tensor between them: the producer's name
// if so.
std::string fusable_producer(const Graph& graph, const Node& node) {
  const OperatorClass op_class = class_of(node);
  if (op_class != OperatorClass::kPointwise && node.op != "BatchNormalization") return {};
  for (ValueId input : node.inputs) {
    if (!input.valid() || graph.is_output(input) || graph.users(input).size() != 1) continue;
    const graph::Value& value = graph.value(input);
    if (!value.producer.valid() || value.type.dims != graph.type(node.outputs[0]).dims) continue;
    const Node& producer = graph.node(value.producer);
    const OperatorClass from = class_of(producer);
    if (from == OperatorClass::kConvolution || from == OperatorClass::kMatrix ||
        from == OperatorClass::kPointwise || from == OperatorClass::kNormalization) {
      return producer.name;
    }
  }
  return {};
}

// The traffic that such a fusion spares: the input is neither written nor read (its producer writes the
// result instead).
double avoidable_bytes(const Graph& graph, const Node& node, const std::string& producer) {
  for (ValueId input : node.inputs) {
    if (!input.valid() || !graph.value(input).producer.valid()) continue;
    if (graph.node(graph.value(input).producer).name == producer) return 2 * graph.type(input).bytes();
  }
  return 0;
}

bool all_static(const Graph& graph, const Node& node) {
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    for (ValueId id : *ids) {
      if (id.valid() && !graph.type(id).is_static()) return false;
    }
  }
  return true;
}

trace::Phase phase_of(graph::StepPart part) {
  switch (part) {
    case graph::StepPart::kForward:
      return trace::Phase::kForward;
    case graph::StepPart::kLoss:
      return trace::Phase::kLoss;
    case graph::StepPart::kBackward:
    case graph::StepPart::kAccumulation:
      return trace::Phase::kBackward;
    case graph::StepPart::kOptimizer:
      return trace::Phase::kOptimizer;
    case graph::StepPart::kNone:
      break;
  }
  return trace::Phase::kUnknown;
}

// Exporters name nodes by the modules around them: "/encoder/layer.3/fc/MatMul", "encoder.layer.3.fc/MatMul".
std::string module_of(const std::vector<std::string>& provenance) {
  if (provenance.empty()) return {};
  const std::string& name = provenance.front();
  const std::size_t first = name.find_first_not_of('/'), last = name.rfind('/');
  return last == std::string::npos || last <= first ? "" : name.substr(first, last - first);
}

}  // namespace

trace::Operator describe_operator(const Graph& graph, const Node& node) {
  const graph::Cost cost = graph::node_cost(graph, node);
  trace::Operator row;
  row.name = node.name;
  const auto kind = graph::group_kind(node);
  row.kind = kind ? fmt::format("Fused {}", graph::group_kind_name(*kind)) : node.op;
  row.op_class = class_of(node);
  row.provenance = graph::model_provenance(node);
  row.phase = phase_of(graph::part_of_step(node));
  row.module = module_of(row.provenance);
  row.dtype = node.has_output(0) ? graph.type(node.outputs[0]).dtype : DType::kUndefined;
  row.may_use_tf32 = row.dtype == DType::kF32 && graph::may_use_tf32(node);
  if (!all_static(graph, node)) return row;
  row.flops = cost.flops;
  row.least_flops = cost.least_flops;
  row.bytes_read = cost.bytes_read;
  row.bytes_written = cost.bytes_written;
  for (ValueId input : node.inputs) {
    if (input.valid() && graph.value(input).is_constant()) row.constant_bytes += graph.type(input).bytes();
  }
  row.constant_bytes = std::min(row.constant_bytes, row.bytes_read);
  row.fuses_with = fusable_producer(graph, node);
  if (!row.fuses_with.empty())
    row.avoidable_bytes = std::min(row.bytes(), avoidable_bytes(graph, node, row.fuses_with));
  row.geometry = geometry_of(graph, node);
  return row;
}

namespace {

// "hone_attention: 11.6 µs (8×12×1 blocks of 128×1×1 threads, 80 registers)": the median of the recorded runs.
std::string device_kernel_text(const runtime::MarkedKernel& kernel) {
  std::vector<int64_t> ns = kernel.ns;
  std::ranges::sort(ns);
  const double ms = ns.empty() ? 0 : static_cast<double>(ns[ns.size() / 2]) * 1e-6;
  const auto extent = [](const std::array<uint32_t, 3>& of) { return fmt::format("{}", fmt::join(of, "×")); };
  const std::string readable = trace::demangled(kernel.name);  // empty: it is as it is
  return fmt::format("{}: {} ({} blocks of {} threads, {} registers)",
                     trace::kernel_short_name(readable.empty() ? kernel.name : readable, 160), format_ms(ms),
                     extent(kernel.grid), extent(kernel.block), kernel.registers);
}

}  // namespace

std::vector<trace::Operator> operator_table(const runtime::Plan& plan, const std::string& device) {
  std::vector<trace::Operator> table;
  for (const runtime::PlanStep& step : plan.steps()) {
    trace::Operator row = describe_operator(plan.graph(), plan.graph().node(step.node));
    row.name = step.name;
    row.implementation = step.implementation;
    if (step.lanes > 1) row.implementation += fmt::format(" (lane {} of {})", step.lane + 1, step.lanes);
    row.algorithm = step.algorithm.name;
    if (step.algorithm.flops_saved != 0) row.executed_flops = row.flops - step.algorithm.flops_saved;
    row.device = device;
    table.push_back(std::move(row));
  }
  for (const runtime::MarkedKernel& kernel : plan.marked_kernels())
    if (kernel.op < table.size()) table[kernel.op].device_kernels.push_back(device_kernel_text(kernel));
  return table;
}

}  // namespace hone::lab
