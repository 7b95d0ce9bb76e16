#include "model/onnx/target_opset.h"

#include <algorithm>
#include <span>

#include <fmt/core.h>

#include "graph/custom_operator.h"
#include "model/onnx/proto.h"

namespace hone::model::onnx {
namespace {

// Runtimes of the last years load this one, and every canonical operator that is not newer has the same form.
constexpr int64_t kUsualOpset = 21;

struct Since {
  std::string_view name;
  int64_t opset;
};

// Operators, attributes and element types that are newer than that.
constexpr Since kOperators[] = {
    {"Attention", 23}, {"RMSNormalization", 23},    {"RotaryEmbedding", 23},
    {"Swish", 24},     {"TensorScatter", 24},       {"BitCast", 26},
    {"CumProd", 26},   {"CausalConvWithState", 27}, {"LinearAttention", 27},
};
constexpr Since kAttributes[] = {
    {"Cast.round_mode", 24},          {"CastLike.round_mode", 24}, {"DequantizeLinear.output_dtype", 23},
    {"QuantizeLinear.precision", 23}, {"Range.stash_type", 27},    {"SpaceToDepth.mode", 28},
};

int64_t since_of(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return 22;  // convolution, pooling and others took it then
    case DType::kF4E2M1:
      return 23;
    case DType::kF8E8M0:
      return 24;
    case DType::kI2:
    case DType::kU2:
      return 25;
    default:
      return kUsualOpset;
  }
}

int64_t lookup(std::span<const Since> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Since& s) { return s.name == name; });
  return found == table.end() ? kUsualOpset : found->opset;
}

bool is_narrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

int64_t since_of(const graph::Graph& graph, const graph::Node& node) {
  int64_t since = lookup(kOperators, node.op);
  if (node.op == "Attention" && node.has_input(6)) since = 24;
  const bool narrow_range =
      node.op == "Range" && node.has_output(0) && is_narrow(graph.type(node.outputs[0]).dtype);
  if (narrow_range) since = 27;
  // Until 21 ONNX's own shape rule counted a last pooling window that lies in the padding alone.
  if (node.attributes.integer("ceil_mode", 0) != 0) since = std::max<int64_t>(since, 22);
  for (const auto& [name, attribute] : node.attributes)
    since = std::max(since, lookup(kAttributes, fmt::format("{}.{}", node.op, name)));
  return since;
}

int64_t domain_version(std::string_view domain) { return domain == "ai.onnx.ml" ? 5 : 1; }

struct Needed {
  int64_t opset = kUsualOpset;
  std::string by;  // what needs it
  std::map<std::string, int64_t> domains;

  // Nodes of one model were read with one version of the domain: each means the same at the greatest of those that they need.
  void raise_domain(std::string_view domain, int64_t version) {
    int64_t& there = domains[std::string(domain)];
    there = std::max(there, version);
  }
  void raise(int64_t since, const std::string& what) {
    if (since <= opset) return;
    opset = since;
    by = what;
  }
};

Status collect(const graph::Graph& graph, bool own_operators, Needed& needed) {
  for (const graph::Value& value : graph.values())
    needed.raise(since_of(value.type.dtype),
                 fmt::format("value '{}' ({})", value.name, dtype_name(value.type.dtype)));
  for (const graph::Node& node : graph.nodes()) {
    const OperatorName name = split_operator(node.op);
    const std::string where = fmt::format("node '{}' ({})", node.name, node.op);
    if (name.domain == "hone" && !own_operators)
      return unsupported(where + ": ONNX has no such operator; write the graph before lowering");
    if (name.domain.empty())
      needed.raise(since_of(graph, node), where);
    else
      needed.raise_domain(name.domain,
                          node.custom != nullptr ? node.custom->since_version : domain_version(name.domain));
    for (const auto& body : node.bodies) HONE_CHECK(collect(*body, own_operators, needed));
  }
  return {};
}

// The file format that came with each operator set (onnx/helper.py, VERSION_TABLE).
int64_t ir_version_for(int64_t opset) {
  if (opset <= 22) return 10;
  if (opset == 23) return 11;
  if (opset == 24) return 12;
  if (opset <= 27) return 13;
  return 14;
}

}  // namespace

OperatorName split_operator(std::string_view op) {
  const std::size_t dot = op.rfind('.');
  if (dot == std::string_view::npos) return {"", op};
  return {op.substr(0, dot), op.substr(dot + 1)};
}

Result<Target> choose_target(const graph::Graph& graph, int64_t wanted, bool own_operators) {
  Needed needed;
  HONE_CHECK(collect(graph, own_operators, needed));
  if (wanted != 0 && (wanted < needed.opset || wanted > kNewestOpset))
    return invalid(
        fmt::format("opset {} cannot express the graph: {}{}; choose {} to {}", wanted,
                    needed.by.empty() ? "the canonical operators" : needed.by,
                    wanted > kNewestOpset ? " would fit, but it is not known" : " needs a newer one",
                    needed.opset, kNewestOpset));
  const int64_t opset = wanted != 0 ? wanted : needed.opset;
  return Target{opset, ir_version_for(opset), std::move(needed.domains)};
}

}  // namespace hone::model::onnx
