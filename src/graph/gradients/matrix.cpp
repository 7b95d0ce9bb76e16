// Gradients of matrix products: matrix products with the other operand transposed.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

// The last two axes swapped.
ValueId transposed(GradientContext& c, ValueId value) {
  Ints perm(c.type(value).has_rank() ? c.type(value).dims->size() : 0);
  std::iota(perm.begin(), perm.end(), 0);
  if (perm.size() >= 2) std::swap(perm[perm.size() - 2], perm.back());
  return c.add("Transpose", {value}, {{"perm", perm}});
}

// The gradient of a matrix b that all matrices of a stack a are multiplied by: one product over all rows.
ValueId shared_matrix_gradient(GradientContext& c, ValueId a, ValueId g) {
  const Attributes rows{{"axis", int64_t{-1}}};
  return c.add("MatMul", {transposed(c, c.add("Flatten", {a}, rows)), c.add("Flatten", {g}, rows)});
}

// Whether both are matrices in stacks of the same shape: nothing was broadcast.
bool stacked_alike(const TensorType& a, const TensorType& b) {
  if (a.rank() != b.rank() || a.rank() < 2) return false;
  return std::equal(a.dims->begin(), a.dims->end() - 2, b.dims->begin(),
                    [](const Dim& x, const Dim& y) { return x.same_as(y); });
}

// Vectors count as a row on the left, as a column on the right; stacks of matrices may be broadcast.
Status matmul_rule(GradientContext& c) {
  ValueId a = c.input(0), b = c.input(1), g = c.gradient();
  if (!c.type(a).has_rank() || !c.type(b).has_rank())
    return unsupported("unsupported: the gradient of MatMul of tensors whose rank is not known");
  const bool row = c.type(a).rank() == 1;
  const bool column = c.type(b).rank() == 1;
  if (column) g = c.add("Unsqueeze", {g, c.ints({-1})});
  if (row) g = c.add("Unsqueeze", {g, c.ints({-2})});
  if (row) a = c.add("Unsqueeze", {a, c.ints({0})});
  if (column) b = c.add("Unsqueeze", {b, c.ints({1})});
  HONE_CHECK(c.status());
  const bool alike = stacked_alike(c.type(a), c.type(b));
  const auto summed = [&](ValueId product, ValueId like) {
    // The matrices themselves are never broadcast, whatever is known of their extents.
    const bool kept = c.status().ok() && stacked_alike(c.type(product), c.type(like));
    return alike || kept ? product : c.summed_to(product, like);
  };
  if (c.wants(0)) {
    const ValueId da = summed(c.add("MatMul", {g, transposed(c, b)}), a);
    c.set(0, row ? c.add("Squeeze", {da, c.ints({0})}) : da);
  }
  if (c.wants(1)) {
    const bool shared =
        c.type(a).has_rank() && c.type(a).rank() > 2 && c.type(b).has_rank() && c.type(b).rank() == 2;
    const ValueId db =
        shared ? shared_matrix_gradient(c, a, g) : summed(c.add("MatMul", {transposed(c, a), g}), b);
    c.set(1, column ? c.add("Squeeze", {db, c.ints({1})}) : db);
  }
  return {};
}

// Y = α A' B' + β C, where A' and B' are transposed on request.
Status gemm_rule(GradientContext& c) {
  const int64_t trans_a = c.attributes().integer("transA", 0) != 0;
  const int64_t trans_b = c.attributes().integer("transB", 0) != 0;
  const float alpha = c.attributes().real("alpha", 1);
  const ValueId a = c.input(0), b = c.input(1), g = c.gradient();
  const auto product = [&](ValueId left, ValueId right, int64_t trans_left, int64_t trans_right) {
    return c.add("Gemm", {left, right}, {{"alpha", alpha}, {"transA", trans_left}, {"transB", trans_right}});
  };
  if (c.wants(0)) c.set(0, trans_a ? product(b, g, trans_b, 1) : product(g, b, 0, 1 - trans_b));
  if (c.wants(1)) c.set(1, trans_b ? product(g, a, 1, trans_a) : product(a, g, 1 - trans_a, 0));
  if (c.has_input(2) && c.wants(2)) {
    const float beta = c.attributes().real("beta", 1);
    c.set_summed(2, beta == 1 ? g : c.times(g, beta));
  }
  return {};
}

// The cofactors: signed determinants of what is left without a row and a column. Unlike det · inverse they exist for
// singular matrices, too; n² determinants are for matrices that are small.
constexpr int64_t kLargestDet = 16;

Status det_rule(GradientContext& c) {
  const ValueId x = c.input(0);
  const TensorType& type = c.type(x);
  if (!type.has_rank() || !type.dims->back().known() || type.dims->back().extent() > kLargestDet)
    return unsupported(
        fmt::format("unsupported: the gradient of Det of {}: only of matrices of up to {} rows, whose "
                    "number is known",
                    type.text(), kLargestDet));
  const int64_t n = type.dims->back().extent();
  const ValueId g = c.add("Unsqueeze", {c.gradient(), c.ints({-2, -1})});
  if (n == 1) {
    c.set(0, g);
    return {};
  }
  Ints left;  // for each element the others, by row
  std::vector<double> signs;
  for (int64_t at = 0; at < n * n; ++at) {
    signs.push_back((at / n + at % n) % 2 == 0 ? 1 : -1);
    for (int64_t i = 0; i < n * n; ++i)
      if (i / n != at / n && i % n != at % n) left.push_back(i);
  }
  const int64_t smaller = (n - 1) * (n - 1);
  const ValueId flat = c.add("Flatten", {x}, {{"axis", int64_t{-2}}});
  const ValueId minors =
      c.add("Gather", {flat, c.tensor(Tensor::i64({n * n, smaller}, left))}, {{"axis", int64_t{1}}});
  const ValueId dets = c.add("Det", {c.add("Reshape", {minors, c.ints({0, n * n, n - 1, n - 1})})});
  const ValueId sign = c.cast(c.tensor(Tensor::of<double>(DType::kF64, {n * n}, signs)), c.type(x).dtype);
  c.set(0, c.times(g, c.reshaped_to(c.times(dets, sign), x)));
  return {};
}

}  // namespace

void add_matrix_gradients(OpTable& table) {
  table.set_gradient("MatMul", matmul_rule);
  table.set_gradient("Gemm", gemm_rule);
  table.set_gradient("Det", det_rule);
}

}  // namespace hone::graph
