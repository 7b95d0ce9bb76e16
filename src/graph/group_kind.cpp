#include "graph/group_kind.h"

#include <array>

#include <fmt/core.h>

#include "graph/op_table.h"

namespace hone::graph {
namespace {

struct KindName {
  GroupKind kind;
  std::string_view name;
};
constexpr std::array kKindNames = {KindName{GroupKind::kPointwise, "pointwise"},
                                   KindName{GroupKind::kConvolution, "convolution"},
                                   KindName{GroupKind::kMatmul, "matmul"},
                                   KindName{GroupKind::kAttention, "attention"},
                                   KindName{GroupKind::kBiasGradient, "bias_gradient"},
                                   KindName{GroupKind::kNormalization, "normalization"}};

bool is_pointwise_operator(const Node& node) {
  const OpEntry* entry = find_entry(node);
  return entry != nullptr && entry->op_class == OpClass::kPointwise;
}

bool is_sum(const Node& node) { return node.op == "ReduceSum" || node.op == "hone.ReduceSum"; }

// Splits, the attention or its gradient, and what joins the gradients again.
bool fits_attention(const Node& node, bool last) {
  if (node.op == "hone.AttentionGradient") return true;
  return last ? node.op == "Attention" || node.op == "hone.AttentionWithSums" || node.op == "Concat"
              : node.op == "Split";
}

// The normalisation, then an Add, then a Cast; either may be absent.
bool fits_normalization(const Node& node, std::size_t i, std::size_t count) {
  if (i == 0) return is_row_normalization(node);
  return node.op == "Cast" ? i + 1 == count : node.op == "Add" && i == 1;
}

// Whether the body of a group of this kind may hold `node` at place `i` of `count`.
bool fits_group(GroupKind kind, const Node& node, std::size_t i, std::size_t count) {
  switch (kind) {
    case GroupKind::kPointwise:
      return is_pointwise_operator(node);
    case GroupKind::kConvolution:
    case GroupKind::kMatmul:
      return i == 0 ? product_kind(node) == kind : is_pointwise_operator(node);
    case GroupKind::kAttention:
      return fits_attention(node, i + 1 == count);
    case GroupKind::kBiasGradient:
      if (i == 0) return product_kind(node) == GroupKind::kMatmul;
      return is_pointwise_operator(node) || (i + 1 == count && is_sum(node));
    case GroupKind::kNormalization:
      return fits_normalization(node, i, count);
  }
  return false;
}

// Of a body whose operators fit: the sum reads what the product sums over, too.
Status check_bias_gradient(const Graph& body) {
  const Node &product = body.nodes().front(), &sum = body.nodes().back();
  if (!is_sum(sum)) return invalid("a group of kind bias_gradient ends with a sum, and this one does not");
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    if (sum.has_input(0) && product.inputs[i] == sum.inputs[0] && sums_over_rows(product, i)) return {};
  return invalid(
      fmt::format("a group of kind bias_gradient: '{}' ({}) reads no operand whose rows '{}' ({}) sums over",
                  sum.name, sum.op, product.name, product.op));
}

}  // namespace

std::string_view group_kind_name(GroupKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)].name;  // in the order of the enumeration
}

std::optional<GroupKind> group_kind_from_name(std::string_view name) {
  for (const KindName& known : kKindNames) {
    if (known.name == name) return known.kind;
  }
  return std::nullopt;
}

std::string group_kind_names() {
  std::string names;
  for (const KindName& known : kKindNames) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

std::optional<GroupKind> product_kind(const Node& node) {
  if (node.op == "Conv" || node.op == "ConvTranspose") return GroupKind::kConvolution;
  if (node.op == "MatMul" || node.op == "Gemm") return GroupKind::kMatmul;
  return std::nullopt;
}

bool sums_over_rows(const Node& product, std::size_t i) {
  if (i == 0) return product.op == "Gemm" && product.attributes.integer("transA", 0) != 0;
  return product.op == "MatMul" || product.attributes.integer("transB", 0) == 0;
}

bool is_row_normalization(const Node& node) {
  return node.op == "LayerNormalization" || node.op == "RMSNormalization" ||
         node.op == "hone.LayerNormalizationGradient";
}

bool is_group(const Node& node) { return node.op == "hone.Fused"; }

std::optional<GroupKind> group_kind(const Node& node) {
  return is_group(node) ? group_kind_from_name(node.attributes.text("kind", "")) : std::nullopt;
}

bool is_group(const Node& node, GroupKind kind) { return group_kind(node) == kind; }

Status check_group(GroupKind kind, const Graph& body) {
  const std::size_t count = body.nodes().size();
  if (count == 0) return invalid(fmt::format("a group of kind {} holds no operator", group_kind_name(kind)));
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = body.nodes()[i];
    if (!fits_group(kind, node, i, count))
      return invalid(fmt::format("a group of kind {} cannot hold '{}' ({}) as operator {} of {}",
                                 group_kind_name(kind), node.name, node.op, i + 1, count));
  }
  return kind == GroupKind::kBiasGradient ? check_bias_gradient(body) : Status();
}

}  // namespace hone::graph
