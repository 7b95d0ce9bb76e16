// Matrix products: MatMul, Gemm, their quantized forms, and Det. Einsum is in einsum.cpp, attention in
// attention.cpp.
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "kernels/ref/matmul.h"
#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

// How a batched product with NumPy's rules runs: matrices m×k and k×n, and which of them each batch reads.
struct BatchedProduct {
  int64_t m = 1, k = 1, n = 1;
  Shape output;                     // as NumPy has it: a vector's axis of 1 dropped again
  std::vector<int64_t> a_of, b_of;  // for each batch, the index of its matrix
};

Result<BatchedProduct> plan_product(const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) return invalid("a matrix product needs inputs of rank 1 or more");
  Shape left = a;
  Shape right = b;
  if (a.size() == 1) left.insert(left.begin(), 1);
  if (b.size() == 1) right.push_back(1);
  BatchedProduct plan;
  plan.m = left[left.size() - 2];
  plan.k = left.back();
  plan.n = right.back();
  if (plan.k != right[right.size() - 2]) {
    return invalid(
        fmt::format("inputs {} and {} do not fit as a matrix product", shape_text(a), shape_text(b)));
  }
  const Shape left_batch(left.begin(), left.end() - 2);
  const Shape right_batch(right.begin(), right.end() - 2);
  HONE_ASSIGN(const Shape batch, broadcast_shapes(left_batch, right_batch));
  auto matrix_of = [&](const Shape& own, const std::vector<int64_t>& index) {
    int64_t at = 0;
    const std::size_t skipped = batch.size() - own.size();
    for (std::size_t i = 0; i < own.size(); ++i) at = at * own[i] + (own[i] == 1 ? 0 : index[skipped + i]);
    return at;
  };
  if (element_count(batch) > 0) {
    std::vector<int64_t> index(batch.size(), 0);
    do {
      plan.a_of.push_back(matrix_of(left_batch, index));
      plan.b_of.push_back(matrix_of(right_batch, index));
    } while (next_index(index, batch));
  }
  plan.output = batch;
  if (a.size() > 1) plan.output.push_back(plan.m);
  if (b.size() > 1) plan.output.push_back(plan.n);
  return plan;
}

template <typename T>
std::vector<T> multiply_batches(const BatchedProduct& plan, const std::vector<T>& a,
                                const std::vector<T>& b) {
  const int64_t size = plan.m * plan.n;
  std::vector<T> out(plan.a_of.size() * static_cast<std::size_t>(size), 0);
  for (std::size_t i = 0; i < plan.a_of.size(); ++i) {
    multiply_add<T>(plan.m, plan.k, plan.n, a.data() + plan.a_of[i] * plan.m * plan.k,
                    b.data() + plan.b_of[i] * plan.k * plan.n, out.data() + static_cast<int64_t>(i) * size);
  }
  return out;
}

Result<std::vector<Tensor>> matmul(const RefCall& call) {
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  HONE_ASSIGN(const BatchedProduct plan, plan_product(a.shape(), b.shape()));
  if (is_integer(a.dtype())) {
    return std::vector<Tensor>{narrow<uint64_t>(
        a.dtype(), plan.output, multiply_batches(plan, widen<uint64_t>(a), widen<uint64_t>(b)))};
  }
  return std::vector<Tensor>{rounded(a.dtype(), plan.output, multiply_batches(plan, widen(a), widen(b)))};
}

// Subtracts a zero point from every element, or one for each row (`per_row`: axis -2) or column of the
// matrices.
Status subtract_zero_point(Wide& values, const Tensor& tensor, const Tensor& zero_point, bool per_row) {
  if (!zero_point.defined()) return {};
  const Wide zeros = widen(zero_point);
  if (zeros.size() == 1) {
    for (double& value : values) value -= zeros[0];
    return {};
  }
  const Shape& shape = tensor.shape();
  if (shape.size() < 2) return invalid("a zero point for each row or column needs a matrix");
  const int64_t rows = shape[shape.size() - 2];
  const int64_t columns = shape.back();
  const int64_t matrices = rows * columns == 0 ? 0 : tensor.size() / (rows * columns);
  const int64_t wanted = per_row ? rows : columns;
  const auto count = static_cast<int64_t>(zeros.size());
  if (count != wanted && count != wanted * matrices) {
    return invalid(fmt::format("a zero point of shape {} does not fit an input of shape {}",
                               shape_text(zero_point.shape()), shape_text(shape)));
  }
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    const int64_t matrix = i / (rows * columns);
    const int64_t line = per_row ? i / columns % rows : i % columns;
    values[static_cast<std::size_t>(i)] -=
        zeros[static_cast<std::size_t>(count == wanted ? line : matrix * wanted + line)];
  }
  return {};
}

// Multiplies by a scale (or divides, where `inverse`), one for all or one for each row or column of the
// output.
Status apply_scale(Wide& values, const Shape& shape, const Tensor& scale, bool per_row, bool inverse) {
  const Wide scales = widen(scale);
  const int64_t columns = shape.empty() ? 1 : shape.back();
  const int64_t rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const int64_t wanted = per_row ? rows : columns;
  const auto count = static_cast<int64_t>(scales.size());
  const int64_t total = static_cast<int64_t>(values.size());
  const int64_t matrices = rows * columns == 0 ? 0 : total / (rows * columns);
  if (count != 1 && count != wanted && count != wanted * matrices) {
    return invalid(fmt::format("a scale of shape {} does not fit a product of shape {}",
                               shape_text(scale.shape()), shape_text(shape)));
  }
  for (int64_t i = 0; i < total; ++i) {
    const int64_t line = per_row ? i / columns % rows : i % columns;
    const int64_t at = count == 1 ? 0 : count == wanted ? line : i / (rows * columns) * wanted + line;
    const double factor = scales[static_cast<std::size_t>(at)];
    double& value = values[static_cast<std::size_t>(i)];
    value = inverse ? value / factor : value * factor;
  }
  return {};
}

Result<std::vector<Tensor>> matmul_integer(const RefCall& call) {
  const Tensor none;
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  HONE_ASSIGN(const BatchedProduct plan, plan_product(a.shape(), b.shape()));
  Wide left = widen(a);
  Wide right = widen(b);
  HONE_CHECK(subtract_zero_point(left, a, call.has(2) ? call.inputs[2] : none, true));
  HONE_CHECK(subtract_zero_point(right, b, call.has(3) ? call.inputs[3] : none, false));
  return std::vector<Tensor>{rounded(DType::kI32, plan.output, multiply_batches(plan, left, right))};
}

Result<std::vector<Tensor>> qlinear_matmul(const RefCall& call) {
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[3];
  HONE_ASSIGN(const BatchedProduct plan, plan_product(a.shape(), b.shape()));
  Wide left = widen(a);
  Wide right = widen(b);
  HONE_CHECK(subtract_zero_point(left, a, call.inputs[2], true));
  HONE_CHECK(subtract_zero_point(right, b, call.inputs[5], false));
  Wide product = multiply_batches(plan, left, right);
  HONE_CHECK(apply_scale(product, plan.output, call.inputs[1], true, false));
  HONE_CHECK(apply_scale(product, plan.output, call.inputs[4], false, false));
  HONE_CHECK(apply_scale(product, plan.output, call.inputs[6], true, true));
  const Tensor& zero_point = call.inputs[7];
  HONE_ASSIGN(const double zero, scalar(zero_point, "y_zero_point"));
  // Rounded before the zero point is added, as QuantizeLinear does it.
  for (double& value : product)
    value = is_integer(zero_point.dtype()) ? std::nearbyint(value) + zero : value + zero;
  return std::vector<Tensor>{rounded(zero_point.dtype(), plan.output, product)};
}

template <typename T>
std::vector<T> transposed(const std::vector<T>& matrix, int64_t rows, int64_t columns) {
  std::vector<T> out(matrix.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      out[static_cast<std::size_t>(j * rows + i)] = matrix[static_cast<std::size_t>(i * columns + j)];
    }
  }
  return out;
}

Result<std::vector<Tensor>> gemm(const RefCall& call) {
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  HONE_CHECK(expect_rank(a, 2, "A"));
  HONE_CHECK(expect_rank(b, 2, "B"));
  const bool trans_a = call.attributes.integer("transA", 0) != 0;
  const bool trans_b = call.attributes.integer("transB", 0) != 0;
  const double alpha = call.attributes.real("alpha", 1.0F);
  const double beta = call.attributes.real("beta", 1.0F);
  const Shape left{a.shape()[trans_a ? 1 : 0], a.shape()[trans_a ? 0 : 1]};
  const Shape right{b.shape()[trans_b ? 1 : 0], b.shape()[trans_b ? 0 : 1]};
  HONE_ASSIGN(const BatchedProduct plan, plan_product(left, right));
  const Wide wide_a = trans_a ? transposed(widen(a), left[1], left[0]) : widen(a);
  const Wide wide_b = trans_b ? transposed(widen(b), right[1], right[0]) : widen(b);
  Wide product = multiply_batches(plan, wide_a, wide_b);
  for (double& value : product) value *= alpha;
  if (call.has(2)) {
    const Tensor& c = call.inputs[2];
    HONE_ASSIGN(const Shape broadcast, broadcast_shapes(c.shape(), plan.output));
    if (broadcast != plan.output) {
      return invalid(fmt::format("C of shape {} does not broadcast to {}", shape_text(c.shape()),
                                 shape_text(plan.output)));
    }
    const Wide wide_c = widen(c);
    const int64_t c_columns = c.rank() == 0 ? 1 : c.shape().back();
    const int64_t c_rows = c.rank() < 2 ? 1 : c.shape()[0];
    for (int64_t i = 0; i < plan.m; ++i) {
      for (int64_t j = 0; j < plan.n; ++j) {
        const int64_t from = (c_rows == 1 ? 0 : i) * c_columns + (c_columns == 1 ? 0 : j);
        product[static_cast<std::size_t>(i * plan.n + j)] += beta * wide_c[static_cast<std::size_t>(from)];
      }
    }
  }
  return std::vector<Tensor>{rounded(a.dtype(), plan.output, product)};
}

// The determinant of an n×n matrix by elimination with partial pivoting; destroys the matrix.
double determinant(double* matrix, int64_t n) {
  double result = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::abs(matrix[row * n + column]) > std::abs(matrix[pivot * n + column])) pivot = row;
    }
    if (matrix[pivot * n + column] == 0) return 0;
    if (pivot != column) {
      for (int64_t j = 0; j < n; ++j) std::swap(matrix[pivot * n + j], matrix[column * n + j]);
      result = -result;
    }
    result *= matrix[column * n + column];
    for (int64_t row = column + 1; row < n; ++row) {
      const double factor = matrix[row * n + column] / matrix[column * n + column];
      for (int64_t j = column; j < n; ++j) matrix[row * n + j] -= factor * matrix[column * n + j];
    }
  }
  return result;
}

Result<std::vector<Tensor>> det(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  if (x.rank() < 2 || x.shape()[static_cast<std::size_t>(x.rank() - 2)] != x.shape().back()) {
    return invalid(fmt::format("a determinant needs square matrices, not shape {}", shape_text(x.shape())));
  }
  const int64_t n = x.shape().back();
  const Shape batch(x.shape().begin(), x.shape().end() - 2);
  Wide matrices = widen(x);
  Wide out(static_cast<std::size_t>(element_count(batch)));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = determinant(matrices.data() + static_cast<int64_t>(i) * n * n, n);
  return std::vector<Tensor>{rounded(x.dtype(), batch, out)};
}

}  // namespace

void add_matrix_kernels(RefTable& table) {
  table.add("MatMul", matmul);
  table.add("MatMulInteger", matmul_integer);
  table.add("QLinearMatMul", qlinear_matmul);
  table.add("Gemm", gemm);
  table.add("Det", det);
  add_einsum_kernels(table);
  add_attention_kernels(table);
}

}  // namespace hone::kernels::ref
