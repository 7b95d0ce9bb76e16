// From a MatMulDesc to a oneDNN primitive. Batch axes that the right factor lacks become rows, because one
// large product runs faster than many small ones and is what the library packs weights for.
#include "kernels/cpu/dnnl/matmul.h"

#include <algorithm>

#include <fmt/core.h>

#include "kernels/cpu/dnnl/attributes.h"
#include "kernels/cpu/dnnl/execution.h"
#include "kernels/cpu/dnnl/library.h"

namespace hone::kernels {
namespace {

using onednn::Execution;
using onednn::MemoryDesc;

std::string describe_product(const MatMulDesc& desc) {
  return fmt::format("matrix product {} x {}", shape_text(desc.a_shape), shape_text(desc.b_shape));
}

// The product as the library sees it: all shapes of one rank.
struct Problem {
  Shape a, a_strides, b, b_strides, dst;
  std::vector<PostOp> post_ops;
};

// `extents` with ones (or, for strides, zeros) in front up to `rank` axes.
Shape extend(const Shape& extents, std::size_t rank, int64_t value) {
  Shape result(rank - extents.size(), value);
  result.insert(result.end(), extents.begin(), extents.end());
  return result;
}

// The stride of an axis of extent 1 is never used, but the library checks it.
void tidy_strides(const Shape& shape, Shape& strides) {
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1) continue;
    if (i + 2 >= shape.size()) {
      // A vector: keep its other axis dense-looking in either order.
      const std::size_t other = i + 1 == shape.size() ? i - 1 : i + 1;
      strides[i] = strides[other] == 1 ? shape[other] : 1;
    } else {
      strides[i] = shape[i + 1] * strides[i + 1];
    }
  }
}

bool all_ones(const Shape& shape, std::size_t count) {
  return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(count),
                     [](int64_t extent) { return extent == 1; });
}

// Whether the leading `count` axes and the row axis walk memory at one pitch.
bool leading_axes_merge(const Shape& shape, const Shape& strides, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (shape[i] != 1 && strides[i] != strides[i + 1] * shape[i + 1]) return false;
  }
  return true;
}

// Merges batch axes into rows where b has none and a and every operand allow it.
void merge_batch_into_rows(Problem& problem) {
  const std::size_t rank = problem.dst.size();
  if (rank <= 2) return;
  const std::size_t batch = rank - 2;
  const bool a_full = std::equal(problem.a.begin(), problem.a.begin() + static_cast<std::ptrdiff_t>(batch),
                                 problem.dst.begin());
  if (!all_ones(problem.b, batch) || !a_full || !leading_axes_merge(problem.a, problem.a_strides, batch))
    return;
  for (const PostOp& op : problem.post_ops) {
    if (!op.is_binary()) continue;
    const Shape shape = extend(op.operand_shape, rank, 1);
    const bool full = std::equal(shape.begin(), shape.end() - 1, problem.dst.begin());
    if (!full && !all_ones(shape, rank - 1)) return;
  }
  const auto merged = [batch](const Shape& shape) {
    int64_t rows = 1;
    for (std::size_t i = 0; i <= batch; ++i) rows *= shape[i];
    return Shape{rows, shape.back()};
  };
  for (PostOp& op : problem.post_ops) {
    if (op.is_binary()) op.operand_shape = merged(extend(op.operand_shape, rank, 1));
  }
  problem.a = merged(problem.a);
  problem.dst = merged(problem.dst);
  problem.a_strides = {problem.a_strides[batch], problem.a_strides[batch + 1]};
  problem.b = {problem.b[batch], problem.b[batch + 1]};
  problem.b_strides = {problem.b_strides[batch], problem.b_strides[batch + 1]};
}

Result<Problem> problem_of(const MatMulDesc& desc) {
  HONE_CHECK(onednn::check_types(describe_product(desc), desc.dtype, desc.result));
  Problem problem;
  HONE_ASSIGN(problem.dst, desc.dst_shape());
  if (element_count(problem.dst) == 0 || element_count(desc.a_shape) == 0) {
    return unsupported(describe_product(desc) + ": an extent is 0");
  }
  const std::size_t rank = problem.dst.size();
  problem.a = extend(desc.a_shape, rank, 1);
  problem.b = extend(desc.b_shape, rank, 1);
  problem.a_strides =
      extend(desc.a_strides.empty() ? row_major_strides(desc.a_shape) : desc.a_strides, rank, 0);
  problem.b_strides =
      extend(desc.b_strides.empty() ? row_major_strides(desc.b_shape) : desc.b_strides, rank, 0);
  tidy_strides(problem.a, problem.a_strides);
  tidy_strides(problem.b, problem.b_strides);
  problem.post_ops = desc.post_ops;
  merge_batch_into_rows(problem);
  return problem;
}

struct Product {
  onednn::Tensors tensors;
  MemoryDesc given_b;
  onednn::Epilogue epilogue;
};

Result<Product> product_of(const MatMulDesc& desc) {
  HONE_ASSIGN(const Problem problem, problem_of(desc));
  Product product;
  product.tensors.src = onednn::strided_desc(problem.a, problem.a_strides, desc.dtype);
  product.given_b = onednn::strided_desc(problem.b, problem.b_strides, desc.dtype);
  product.tensors.weights = desc.constant_b ? onednn::any_desc(problem.b, desc.dtype) : product.given_b;
  product.tensors.dst = onednn::plain_desc(problem.dst, desc.result);
  if (desc.has_bias) {
    Shape bias(problem.dst.size(), 1);
    bias.back() = problem.dst.back();
    product.tensors.bias = onednn::plain_desc(bias);
  }
  HONE_ASSIGN(product.epilogue, onednn::make_epilogue(problem.post_ops, problem.dst));
  return product;
}

Result<std::unique_ptr<Execution>> build(const MatMulDesc& desc, const void* b, const void* bias) {
  HONE_ASSIGN(const Product product, product_of(desc));
  const onednn::Tensors& tensors = product.tensors;
  auto execution = std::make_unique<Execution>("");
  const auto finish = [&](auto& found) -> Result<std::unique_ptr<Execution>> {
    if (!onednn::select_implementation(found, desc.implementation)) {
      return unsupported(fmt::format("{}: oneDNN has no implementation {} with post-ops [{}]",
                                     describe_product(desc), desc.implementation,
                                     post_ops_text(desc.post_ops)));
    }
    execution->set_name(found.impl_info_str());
    execution->add_argument(DNNL_ARG_SRC, tensors.src);
    execution->add_argument(DNNL_ARG_DST, tensors.dst);
    if (!desc.constant_b) execution->add_argument(DNNL_ARG_WEIGHTS, product.given_b);
    for (const auto& operand : product.epilogue.operands)
      execution->add_argument(operand.argument, operand.desc);
    if (desc.constant_b) execution->add_constant(DNNL_ARG_WEIGHTS, product.given_b, b, found.weights_desc());
    if (desc.has_bias) execution->add_constant(DNNL_ARG_BIAS, tensors.bias, bias, tensors.bias);
    execution->finish(dnnl::matmul(found), found.scratchpad_desc());
    return std::move(execution);
  };
  return onednn::with_matmul(execution->engine(), tensors, product.epilogue.attributes, finish);
}

}  // namespace

Result<Shape> MatMulDesc::dst_shape() const {
  const auto strides_fit = [](const Shape& shape, const Shape& strides) {
    return strides.empty() || strides.size() == shape.size();
  };
  if (a_shape.size() < 2 || b_shape.size() < 2 || a_shape.back() != b_shape[b_shape.size() - 2] ||
      !strides_fit(a_shape, a_strides) || !strides_fit(b_shape, b_strides)) {
    return invalid(describe_product(*this) + ": the shapes do not multiply");
  }
  HONE_ASSIGN(Shape shape, broadcast_shapes(std::span(a_shape).first(a_shape.size() - 2),
                                            std::span(b_shape).first(b_shape.size() - 2)));
  shape.push_back(a_shape[a_shape.size() - 2]);
  shape.push_back(b_shape.back());
  return shape;
}

double MatMulDesc::flops() const {
  const auto shape = dst_shape();
  return shape.ok() ? 2.0 * static_cast<double>(element_count(*shape)) * static_cast<double>(a_shape.back())
                    : 0;
}

bool has_tiles_of_bf16() {
  constexpr auto kTiles = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kTiles) == kTiles;
}

MatMul::MatMul(std::unique_ptr<Execution> execution, bool constant_b)
    : execution_(std::move(execution)), constant_b_(constant_b) {}
MatMul::~MatMul() = default;

Result<std::unique_ptr<MatMul>> MatMul::create(const MatMulDesc& desc, const void* b, const void* bias) {
  try {
    HONE_ASSIGN(auto execution, build(desc, b, bias));
    return std::unique_ptr<MatMul>(new MatMul(std::move(execution), desc.constant_b));
  } catch (const dnnl::error& error) {
    return onednn::library_error(describe_product(desc), error);
  }
}

std::vector<std::string> MatMul::candidates(const MatMulDesc& desc) {
  std::vector<std::string> names;
  try {
    auto product = product_of(desc);
    if (!product.ok()) return names;
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    onednn::with_matmul(engine, product->tensors, product->epilogue.attributes,
                        [&](auto& found) { names = onednn::implementations(found); });
  } catch (const dnnl::error&) {
    return names;  // the library refuses the product
  }
  return names;
}

const std::string& MatMul::name() const { return execution_->name(); }
std::size_t MatMul::scratch_bytes() const { return execution_->scratch_bytes(); }
std::size_t MatMul::packed_weight_bytes() const { return execution_->constant_bytes(); }

Status MatMul::execute(const void* a, const void* b, void* dst, std::span<const void* const> operands,
                       void* scratch) noexcept {
  execution_->set(0, a);
  execution_->set(1, dst);
  if (!constant_b_) execution_->set(2, b);
  const std::size_t first = constant_b_ ? 2 : 3;
  for (std::size_t i = 0; i < operands.size(); ++i) execution_->set(first + i, operands[i]);
  return execution_->run(scratch);
}

}  // namespace hone::kernels
