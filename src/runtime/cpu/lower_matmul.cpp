// MatMul and Gemm, alone or as a group of kind "matmul": oneDNN's matrix product, constant factors packed
// once.
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/gemm/packed_matmul.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/lower/group_view.h"

namespace hone::runtime::cpu {
namespace {

using kernels::MatMul;
using kernels::MatMulDesc;
using kernels::PostOp;

constexpr std::size_t kMaxProductOperands = 8;

// The product that a node asks for, with Gemm's scale and addend brought into the forms that the kernel has.
struct Product {
  MatMulDesc desc;
  Tensor b;                // constant right factor; undefined if computed
  Tensor bias;             // constant addend a column; undefined if none
  bool flattened = false;  // all rows of all batches are one matrix
  // What comes before the group's own epilogue: Gemm's factors and computed addend.
  Epilogue own = {};
};

Tensor scaled(const Tensor& tensor, float factor) {
  if (factor == 1.0F) return tensor;
  Tensor result = tensor.clone();
  for (float& x : result.as<float>()) x *= factor;
  return result;
}

std::optional<Product> read_matmul(const GroupView& group) {
  const graph::Node& node = group.anchor();
  Product product;
  Shape a = group.type(node.inputs[0]).shape();
  Shape b = group.type(node.inputs[1]).shape();
  if (a.empty() || b.empty()) return std::nullopt;
  // Vectors are matrices of one row or column: the result lies in memory the same without that axis.
  if ((a.size() == 1 || b.size() == 1) && group.is_group()) return std::nullopt;
  if (a.size() == 1) a = {1, a[0]};
  if (b.size() == 1) b = {b[0], 1};
  if (const Tensor* constant = group.constant(node.inputs[1]); constant != nullptr && b.size() == 2) {
    product.b = *constant;
    product.desc.constant_b = true;
    product.flattened = true;
    a = {element_count(a) / std::max<int64_t>(1, a.back()), a.back()};
  }
  product.desc.a_shape = a;
  product.desc.b_shape = b;
  return product;
}

bool is_row(const Tensor* c, int64_t columns) {
  return c != nullptr && c->size() == columns && c->rank() > 0 && c->shape().back() == columns;
}

// One number a column from a scalar or a row, scaled.
Tensor row_of(const Tensor& c, int64_t columns, float factor) {
  Tensor row(DType::kF32, {columns});
  for (int64_t i = 0; i < columns; ++i) {
    row.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(c.at(c.size() == 1 ? 0 : i)) * factor;
  }
  return row;
}

// alpha·A·B + beta·C. Constants are scaled here, once; a computed C makes it ((A·B)·(alpha / beta) + C)·beta.
std::optional<Product> read_gemm(const GroupView& group) {
  const graph::Node& node = group.anchor();
  const Attributes& attributes = node.attributes;
  const float alpha = attributes.real("alpha", 1.0F);
  const float beta = attributes.real("beta", 1.0F);
  Product product;
  product.flattened = true;
  const Shape a = group.type(node.inputs[0]).shape();
  const Shape b = group.type(node.inputs[1]).shape();
  const bool transpose_a = attributes.integer("transA", 0) != 0;
  const bool transpose_b = attributes.integer("transB", 0) != 0;
  product.desc.a_shape = transpose_a ? Shape{a[1], a[0]} : a;
  if (transpose_a) product.desc.a_strides = {1, a[1]};
  product.desc.b_shape = transpose_b ? Shape{b[1], b[0]} : b;
  if (transpose_b) product.desc.b_strides = {1, b[1]};
  const Tensor* constant_b = group.constant(node.inputs[1]);
  product.desc.constant_b = constant_b != nullptr;
  const Tensor* c = node.has_input(2) ? group.constant(node.inputs[2]) : nullptr;
  const int64_t columns = product.desc.b_shape[1];
  const bool adds = node.has_input(2) && beta != 0.0F;
  // The library adds a bias before a product of computed factors could be scaled: there C is an operand.
  const bool scales_later = alpha != 1.0F && (constant_b == nullptr || constant_b->dtype() != DType::kF32);
  if (adds && c != nullptr && !scales_later && (c->size() == 1 || is_row(c, columns))) {
    product.bias = row_of(*c, columns, beta);
    product.desc.has_bias = true;
  }
  const bool operand = adds && !product.desc.has_bias;
  const float before = operand ? alpha / beta : alpha;  // the factor of A·B before C is added
  if (constant_b != nullptr) product.b = scales_later ? *constant_b : scaled(*constant_b, before);
  if (before != 1.0F && (constant_b == nullptr || scales_later))
    product.own.post_ops.push_back(PostOp::of(PostOp::Kind::kLinear, before));
  if (!operand) return product;
  const auto c_input = group.input_index(node.inputs[2]);
  if (!c_input) return std::nullopt;
  Shape shape = group.type(node.inputs[2]).shape();
  shape.insert(shape.begin(), 2 - shape.size(), 1);
  product.own.post_ops.push_back(
      PostOp::binary(PostOp::Kind::kBinaryAdd, shape, Layout::kPlain, group.type(node.inputs[2]).dtype));
  product.own.operand_inputs.push_back(*c_input);
  if (beta != 1.0F) product.own.post_ops.push_back(PostOp::of(PostOp::Kind::kLinear, beta));
  return product;
}

// The first Add of one constant a column is the bias: the kernel adds it while it accumulates.
void take_bias(const GroupView& group, Product& product, Epilogue& epilogue,
               std::vector<std::size_t>& unread) {
  const bool first_step = product.own.post_ops.empty();
  if (product.desc.has_bias || !product.desc.constant_b || !first_step || epilogue.post_ops.empty()) return;
  const PostOp& first = epilogue.post_ops.front();
  if (first.kind != PostOp::Kind::kBinaryAdd) return;
  const int64_t columns = product.desc.b_shape.back();
  const graph::ValueId operand =
      !group.is_group() ? graph::kNoValue : group.graph().inputs()[epilogue.operand_inputs[0]];
  const Tensor* data = group.constant(operand);
  const auto uses =
      std::count(epilogue.operand_inputs.begin(), epilogue.operand_inputs.end(), epilogue.operand_inputs[0]);
  if (uses != 1 || !is_row(data, columns) || data->dtype() != DType::kF32) return;
  product.bias = *data;
  product.desc.has_bias = true;
  unread.push_back(epilogue.operand_inputs[0]);
  epilogue.post_ops.erase(epilogue.post_ops.begin());
  epilogue.operand_inputs.erase(epilogue.operand_inputs.begin());
}

// Operands' shapes as the flattened product sees them: whole, a row of columns, or one number.
void flatten_operands(const Product& product, Epilogue& epilogue) {
  const int64_t rows = product.desc.a_shape[0];
  const int64_t columns = product.desc.b_shape[1];
  for (PostOp& op : epilogue.post_ops) {
    if (!op.is_binary()) continue;
    const int64_t size = element_count(op.operand_shape);
    op.operand_shape = size == 1 ? Shape{1, 1}
                       : size == columns && op.operand_shape.back() == columns && size != rows * columns
                           ? Shape{1, columns}
                           : Shape{rows, columns};
  }
}

Result<std::unique_ptr<Kernel>> make(MatMulDesc desc, const Tensor& b, const Tensor& bias,
                                     std::size_t a_input, std::size_t b_input,
                                     std::vector<std::size_t> operands, std::vector<std::size_t> unread) {
  const std::vector<PostOp> tail = take_own_tail(desc.post_ops);
  HONE_ASSIGN(const Shape dst, desc.dst_shape());
  HONE_ASSIGN(std::shared_ptr<MatMul> product,
              MatMul::create(desc, b.defined() ? b.data() : nullptr, bias.defined() ? bias.data() : nullptr));
  KernelTraits traits;
  traits.implementation = fmt::format("oneDNN {}", product->name());
  traits.scratch_bytes = product->scratch_bytes();
  traits.packed_bytes = product->packed_weight_bytes();
  traits.unread = std::move(unread);
  return make_kernel(std::move(traits),
                     [product, a_input, b_input, tail, runs = ResultRuns{1, element_count(dst), 1},
                      operands = std::move(operands)](const KernelArguments& arguments) -> Status {
                       std::array<const void*, kMaxProductOperands> pointers{};
                       for (std::size_t i = 0; i < operands.size(); ++i)
                         pointers[i] = arguments.inputs[operands[i]];
                       HONE_CHECK(product->execute(
                           arguments.inputs[a_input], arguments.inputs[b_input], arguments.outputs[0],
                           std::span(pointers).first(operands.size()), arguments.scratch));
                       if (!tail.empty())
                         apply_to_result(tail, static_cast<float*>(arguments.outputs[0]), runs);
                       return {};
                     });
}

// Offers the own product, which reads at most one operand, the residual. With more rows oneDNN is at nine
// tenths of the machine's speed and there is nothing to gain (bench/results/own-kernels.json).
void add_own(const Product& product, std::size_t a_input, const std::vector<std::size_t>& operands,
             const std::vector<std::size_t>& unread, std::vector<Candidate>& found) {
  using kernels::PackedMatMul;
  constexpr int64_t kMostRows = 32;
  if (!PackedMatMul::supports(product.desc).ok() || product.desc.a_shape[0] > kMostRows) return;
  const std::string name = fmt::format("hone {}", PackedMatMul::kName);
  const auto make_own = [=, desc = product.desc, b = product.b,
                         bias = product.bias]() -> Result<std::unique_ptr<Kernel>> {
    HONE_ASSIGN(std::shared_ptr<PackedMatMul> own,
                PackedMatMul::create(desc, b.data(), bias.defined() ? bias.data() : nullptr));
    KernelTraits traits;
    traits.implementation = name;
    traits.packed_bytes = own->packed_weight_bytes();
    traits.unread = unread;
    const std::optional<std::size_t> residual = operands.empty() ? std::nullopt : std::optional(operands[0]);
    return make_kernel(
        std::move(traits), [own, a_input, residual](const KernelArguments& arguments) -> Status {
          own->execute(static_cast<const float*>(arguments.inputs[a_input]),
                       residual ? static_cast<const float*>(arguments.inputs[*residual]) : nullptr,
                       static_cast<float*>(arguments.outputs[0]));
          return {};
        });
  };
  found.push_back({name, make_own});
}

}  // namespace

void lower_matmul(const LowerContext& context, std::vector<Candidate>& found) {
  const GroupView group(context);
  const graph::Node& node = group.anchor();
  if (node.op != "MatMul" && node.op != "Gemm") return;
  const DType dtype = group.type(node.inputs[0]).dtype;
  if ((dtype != DType::kF32 && dtype != DType::kBF16) || group.type(node.outputs[0]).layout != Layout::kPlain)
    return;
  auto epilogue = read_epilogue(group);
  if (!epilogue || epilogue->operand_inputs.size() > kMaxProductOperands) return;
  auto product = node.op == "Gemm" ? read_gemm(group) : read_matmul(group);
  if (!product || element_count(product->desc.a_shape) == 0 || element_count(product->desc.b_shape) == 0)
    return;
  product->desc.dtype = dtype;
  product->desc.result = group.type(group.last().outputs[0]).dtype;
  const auto a_input = group.input_index(node.inputs[0]);
  const auto b_input = group.input_index(node.inputs[1]);
  if (!a_input || (!b_input && !product->desc.constant_b)) return;  // constants within a group
  std::vector<std::size_t> unread;
  if (b_input && product->desc.constant_b) unread.push_back(*b_input);
  if (node.op == "Gemm" && node.has_input(2) && product->own.operand_inputs.empty()) {
    if (const auto c_input = group.input_index(node.inputs[2])) unread.push_back(*c_input);
  }
  take_bias(group, *product, *epilogue, unread);
  if (product->flattened) flatten_operands(*product, *epilogue);
  epilogue->post_ops.insert(epilogue->post_ops.begin(), product->own.post_ops.begin(),
                            product->own.post_ops.end());
  epilogue->operand_inputs.insert(epilogue->operand_inputs.begin(), product->own.operand_inputs.begin(),
                                  product->own.operand_inputs.end());
  if (epilogue->operand_inputs.size() > kMaxProductOperands) return;
  product->desc.post_ops = epilogue->post_ops;
  // A constant that was packed in one place may still be read as memory in another.
  std::erase_if(unread, [&](std::size_t input) {
    const auto& read = epilogue->operand_inputs;
    return input == *a_input || std::find(read.begin(), read.end(), input) != read.end();
  });
  add_own(*product, *a_input, epilogue->operand_inputs, unread, found);
  MatMulDesc library = product->desc;
  if (!take_own_tail(library.post_ops).empty() && library.result != DType::kF32) return;
  for (const std::string& implementation : MatMul::candidates(library)) {
    MatMulDesc desc = product->desc;
    desc.implementation = implementation;
    found.push_back(
        {implementation, [desc, b = product->b, bias = product->bias, a_input = *a_input,
                          b_input = b_input.value_or(*a_input), operands = epilogue->operand_inputs,
                          unread] { return make(desc, b, bias, a_input, b_input, operands, unread); }});
  }
}

}  // namespace hone::runtime::cpu
