// Matrix products and what is made of them: MatMul, Gemm, their quantized forms, Einsum, Det. Attention is in
// attention.cpp.
#include <map>

#include <fmt/core.h>

#include "core/einsum.h"
#include "graph/ops/infer_helpers.h"
#include "graph/ops/parts.h"
#include "graph/product_math.h"

namespace hone::graph {
namespace {

using infer::expect_dtype;

// NumPy's rule for a matrix product of possibly unknown shapes.
Result<TensorType> product_type(const TensorType& a, const TensorType& b, DType dtype) {
  if (!a.has_rank() || !b.has_rank()) return unranked(dtype);
  if (a.rank() == 0 || b.rank() == 0) return invalid("a matrix product needs inputs of rank 1 or more");
  Dims left = *a.dims;
  Dims right = *b.dims;
  if (left.size() == 1) left.insert(left.begin(), Dim(1));
  if (right.size() == 1) right.emplace_back(1);
  const Dim& inner_left = left.back();
  const Dim& inner_right = right[right.size() - 2];
  if (inner_left.known() && inner_right.known() && inner_left.extent() != inner_right.extent()) {
    return invalid(fmt::format("inputs {} and {} do not fit as a matrix product", a.text(), b.text()));
  }
  HONE_ASSIGN(Dims dims,
              broadcast_dims(Dims(left.begin(), left.end() - 2), Dims(right.begin(), right.end() - 2)));
  if (a.rank() > 1) dims.push_back(left[left.size() - 2]);
  if (b.rank() > 1) dims.push_back(right.back());
  return tensor_type(dtype, std::move(dims));
}

Status infer_matmul(InferContext& context) {
  HONE_CHECK(infer::check_product_math(context));
  HONE_CHECK(expect_dtype(context, 0, infer::is_numeric, "a numeric type"));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
  HONE_ASSIGN(TensorType type, product_type(context.input(0), context.input(1), context.input(0).dtype));
  context.set_output(0, std::move(type));
  return {};
}

bool is_quantized(DType dtype) { return dtype_bits(dtype) == 8 && dtype != DType::kBool; }

Status infer_matmul_integer(InferContext& context) {
  HONE_CHECK(expect_dtype(context, 0, infer::is_byte, "i8 or u8"));
  HONE_CHECK(expect_dtype(context, 1, infer::is_byte, "i8 or u8"));
  HONE_ASSIGN(TensorType type, product_type(context.input(0), context.input(1), DType::kI32));
  context.set_output(0, std::move(type));
  return {};
}

Status infer_qlinear_matmul(InferContext& context) {
  for (std::size_t i : {0, 3, 7}) HONE_CHECK(expect_dtype(context, i, is_quantized, "an 8-bit type"));
  HONE_ASSIGN(TensorType type, product_type(context.input(0), context.input(3), context.input(7).dtype));
  context.set_output(0, std::move(type));
  return {};
}

Status infer_gemm(InferContext& context) {
  HONE_CHECK(infer::check_product_math(context));
  HONE_CHECK(expect_dtype(context, 0, infer::is_numeric, "a numeric type"));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
  HONE_CHECK(infer::expect_rank(context, 0, 2));
  HONE_CHECK(infer::expect_rank(context, 1, 2));
  TensorType a = context.input(0);
  TensorType b = context.input(1);
  if (a.has_rank() && context.attributes().integer("transA", 0) != 0) std::swap((*a.dims)[0], (*a.dims)[1]);
  if (b.has_rank() && context.attributes().integer("transB", 0) != 0) std::swap((*b.dims)[0], (*b.dims)[1]);
  if (!a.has_rank()) a.dims = Dims(2);
  if (!b.has_rank()) b.dims = Dims(2);
  HONE_ASSIGN(const TensorType type, product_type(a, b, a.dtype));
  if (context.has_input(2) && context.input(2).has_rank()) {
    HONE_ASSIGN(const Dims sum, broadcast_dims(*context.input(2).dims, *type.dims));
    if (sum.size() > 2)
      return context.error(
          fmt::format("C is {}, must broadcast to {}", context.input(2).text(), type.text()));
    for (std::size_t i = 0; i < 2; ++i) {
      const Dim& own = (*type.dims)[i];
      if (own.known() && sum[i].known() && own.extent() != sum[i].extent()) {
        return context.error(
            fmt::format("C is {}, must broadcast to {}", context.input(2).text(), type.text()));
      }
    }
  }
  context.set_output(0, type);
  return {};
}

Status infer_einsum(InferContext& context) {
  std::vector<int64_t> ranks;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.input(i).has_rank()) {
      context.set_output(0, unranked(context.input(0).dtype));
      return {};
    }
    ranks.push_back(context.input(i).rank());
  }
  HONE_ASSIGN(const Einsum einsum, parse_einsum(context.attributes().text("equation", ""), ranks));
  std::map<int, Dim> extents;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t axis = 0; axis < einsum.operands[i].size(); ++axis) {
      auto [at, fresh] = extents.emplace(einsum.operands[i][axis], (*context.input(i).dims)[axis]);
      if (fresh) continue;
      HONE_ASSIGN(const Dims both, broadcast_dims({at->second}, {(*context.input(i).dims)[axis]}));
      at->second = both[0];
    }
  }
  Dims dims;
  for (int label : einsum.output) dims.push_back(extents.at(label));
  context.set_output(0, tensor_type(context.input(0).dtype, std::move(dims)));
  return {};
}

Status infer_det(InferContext& context) {
  HONE_CHECK(expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 2));
  TensorType type = context.input(0);
  if (type.has_rank()) type.dims->resize(type.dims->size() - 2);
  context.set_output(0, std::move(type));
  return {};
}

// 2 · (elements of the output) · (the inner extent): a multiply-add for each, as LAPACK Working Note 41
// counts.
double product_flops(const CostContext& context) {
  return 2 * infer::elements(context.out(0)) * static_cast<double>(context.in(0).shape().back());
}

double qlinear_matmul_flops(const CostContext& context) {  // requantization: scale, round, shift
  return product_flops(context) + 3 * infer::elements(context.out(0));
}

double gemm_flops(const CostContext& context) {
  const Attributes& attributes = context.node.attributes;
  const Shape a = context.in(0).shape();
  const double inner = static_cast<double>(a[attributes.integer("transA", 0) != 0 ? 0 : 1]);
  double per_output = 2 * inner;
  if (attributes.real("alpha", 1) != 1) per_output += 1;
  if (context.inputs.size() > 2 && context.inputs[2] != nullptr)
    per_output += attributes.real("beta", 1) != 1 ? 2 : 1;
  return infer::elements(context.out(0)) * per_output;
}

// One multiplication an operand and one addition (none where nothing is summed), over all labels. Contracting
// pairs first may need fewer.
double einsum_flops(const CostContext& context) {
  std::vector<int64_t> ranks;
  for (const Value* input : context.inputs) ranks.push_back(input->type.rank());
  const auto einsum = parse_einsum(context.node.attributes.text("equation", ""), ranks);
  if (!einsum.ok()) return 0;
  std::map<int, int64_t> extents;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Shape shape = context.in(i).shape();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      int64_t& extent = extents[einsum->operands[i][axis]];
      extent = std::max(extent, shape[axis]);
    }
  }
  double points = 1;
  for (auto [label, extent] : extents) points *= static_cast<double>(extent);
  const double multiplications = static_cast<double>(context.inputs.size()) - 1;
  return points * (multiplications + (einsum->summed.empty() ? 0 : 1));
}

// 2/3 n³ of an LU factorisation for each matrix.
double det_flops(const CostContext& context) {
  return infer::elements(context.in(0)) * static_cast<double>(context.in(0).shape().back()) * 2 / 3;
}

}  // namespace

void add_matrix_ops(OpTable& table) {
  using enum AttributeKind;
  table.add({.name = "MatMul",
             .op_class = OpClass::kMatrix,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = {{kProductMath, kString}},
             .infer = infer_matmul,
             .flops = product_flops,
             .summary = "matrix product, batched and broadcast as NumPy's matmul"});
  table.add({.name = "MatMulInteger",
             .op_class = OpClass::kMatrix,
             .min_inputs = 2,
             .max_inputs = 4,
             .infer = infer_matmul_integer,
             .flops = product_flops,
             .summary = "8-bit matrix product with 32-bit sums"});
  table.add({.name = "QLinearMatMul",
             .op_class = OpClass::kMatrix,
             .min_inputs = 8,
             .max_inputs = 8,
             .infer = infer_qlinear_matmul,
             .flops = qlinear_matmul_flops,
             .summary = "8-bit matrix product, requantized to 8 bits"});
  table.add(
      {.name = "Gemm",
       .op_class = OpClass::kMatrix,
       .min_inputs = 2,
       .max_inputs = 3,
       .attributes =
           {{"alpha", kFloat}, {"beta", kFloat}, {"transA", kInt}, {"transB", kInt}, {kProductMath, kString}},
       .infer = infer_gemm,
       .flops = gemm_flops,
       .summary = "alpha · A · B + beta · C of matrices, transposed on request"});
  table.add({.name = "Einsum",
             .op_class = OpClass::kMatrix,
             .min_inputs = 1,
             .max_inputs = -1,
             .attributes = {{"equation", kString, true}},
             .infer = infer_einsum,
             .flops = einsum_flops,
             .summary = "Einstein summation"});
  table.add({.name = "Det",
             .op_class = OpClass::kMatrix,
             .min_inputs = 1,
             .max_inputs = 1,
             .infer = infer_det,
             .flops = det_flops,
             .summary = "determinants of square matrices"});
  add_attention_ops(table);
}

}  // namespace hone::graph
