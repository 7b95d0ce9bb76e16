// The kinds of groups (hone.Fused): what a group's body may hold, and so which lowering of a provider serves
// it. The attribute "kind" of the text form and of ONNX carries a kind's name; everything else speaks of
// GroupKind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::graph {

enum class GroupKind : uint8_t {
  kPointwise,    // pointwise operators
  kConvolution,  // one Conv or ConvTranspose, then pointwise operators: its epilogue
  kMatmul,       // one MatMul or Gemm, then pointwise operators: its epilogue
  kAttention,    // Splits that part matrices into operands, then the one Attention that reads the parts
  // A matmul group's operators, or the product alone, then the sum of the rows of one of its operands, which the product
  // sums over as well: the gradients of a linear layer's weights and bias.
  kBiasGradient,
  kNormalization,  // one normalisation of rows or its gradient, then what is added to its first result, and a Cast of that
};

std::string_view group_kind_name(GroupKind kind);  // "pointwise", "bias_gradient", …
std::optional<GroupKind> group_kind_from_name(std::string_view name);
std::string group_kind_names();  // all of them, for an error: "pointwise, convolution, …"

// The kind of group that `node` may begin as its product: kConvolution or kMatmul. nullopt for an operator
// that is no product with a bias and an epilogue.
std::optional<GroupKind> product_kind(const Node& node);

// Whether a MatMul or Gemm sums over the rows of its operand `i` (0 or 1) as it lies in memory, where that is one matrix.
bool sums_over_rows(const Node& product, std::size_t i);

// Whether `node` may begin a group of kind kNormalization.
bool is_row_normalization(const Node& node);

bool is_group(const Node& node);
// The kind of a group; nullopt for any other node, and for a group whose kind is not known (which the
// verifier refuses).
std::optional<GroupKind> group_kind(const Node& node);
bool is_group(const Node& node, GroupKind kind);

// An error names the operator that a group of this kind may not hold, or says what is missing.
Status check_group(GroupKind kind, const Graph& body);

}  // namespace hone::graph
