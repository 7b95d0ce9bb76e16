#include "graph/ops/infer_helpers.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/onnx_dtype.h"
#include "graph/product_math.h"

namespace hone::graph::infer {

Dim sum(const Dim& a, const Dim& b) {
  int64_t result = 0;
  if (a.known() && b.known()) {
    return __builtin_add_overflow(a.extent(), b.extent(), &result) ? Dim() : Dim(result);
  }
  if (a.known() && a.extent() == 0) return b;
  if (b.known() && b.extent() == 0) return a;
  return {};
}

Dim product(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) {
    int64_t result = 0;
    if (__builtin_mul_overflow(a.extent(), b.extent(), &result)) return {};
    return result;
  }
  if ((a.known() && a.extent() == 0) || (b.known() && b.extent() == 0)) return 0;
  if (a.known() && a.extent() == 1) return b;
  if (b.known() && b.extent() == 1) return a;
  return {};
}

Dim product(const Dims& dims, std::size_t first, std::size_t last) {
  Dim result = 1;
  for (std::size_t i = first; i < last; ++i) result = product(result, dims[i]);
  return result;
}

Dim quotient(const Dim& a, int64_t divisor) {
  if (divisor == 1) return a;
  if (!a.known() || divisor <= 0 || a.extent() % divisor != 0) return {};
  return a.extent() / divisor;
}

Dims unknown_dims(int64_t count) { return Dims(static_cast<std::size_t>(std::max<int64_t>(count, 0))); }

std::optional<Dims> dims_input(const InferContext& context, std::size_t input) {
  if (const auto values = context.ints(input)) {
    Dims dims;
    for (int64_t value : *values) dims.push_back(value < 0 ? Dim() : Dim(value));
    return dims;
  }
  const TensorType& type = context.input(input);
  if (type.has_rank() && type.rank() == 1 && (*type.dims)[0].known()) {
    return unknown_dims((*type.dims)[0].extent());
  }
  return std::nullopt;
}

Result<int64_t> axis(const InferContext& context, std::string_view attribute, int64_t otherwise,
                     int64_t rank) {
  auto result = normalize_axis(context.attributes().integer(attribute, otherwise), rank);
  if (!result.ok()) return result.error().within(fmt::format("attribute {}", attribute));
  return result;
}

Result<Ints> normalized_axes(Ints axes, int64_t rank) {
  for (int64_t& a : axes) {
    HONE_ASSIGN(a, normalize_axis(a, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return invalid(fmt::format("axes {} name one axis twice", shape_text(axes)));
  }
  return axes;
}

Result<DType> dtype_attribute(const InferContext& context, std::string_view attribute, DType otherwise) {
  if (!context.attributes().has(attribute)) return otherwise;
  const int64_t code = context.attributes().integer(attribute, 0);
  if (code == 0 && otherwise != DType::kUndefined) return otherwise;
  if (auto dtype = dtype_from_onnx(code)) return *dtype;
  return context.error(fmt::format("attribute {} is {}, which is no ONNX element type", attribute, code));
}

bool is_numeric(DType dtype) {
  return is_general_float(dtype) || (is_integer(dtype) && dtype_bits(dtype) >= 8);
}

bool is_general_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }
bool is_signed_numeric(DType dtype) { return is_numeric(dtype) && is_signed(dtype); }

Status expect_dtype(const InferContext& context, std::size_t input, bool (*allowed)(DType),
                    std::string_view what) {
  const DType dtype = context.input(input).dtype;
  if (dtype == DType::kUndefined || allowed(dtype)) return {};
  return context.error(fmt::format("input {} has dtype {}, must be {}", input, dtype_name(dtype), what));
}

Status expect_same_dtype(const InferContext& context, std::size_t a, std::size_t b) {
  const DType x = context.input(a).dtype;
  const DType y = context.input(b).dtype;
  if (x == y || x == DType::kUndefined || y == DType::kUndefined) return {};
  return context.error(fmt::format("inputs {} and {} have dtypes {} and {}, must be the same", a, b,
                                   dtype_name(x), dtype_name(y)));
}

Status check_product_math(const InferContext& context) {
  const std::string math = context.attributes().text(kProductMath, std::string(kTf32Math));
  if (math == kTf32Math) return {};
  return context.error(fmt::format("attribute {} is '{}', must be '{}'", kProductMath, math, kTf32Math));
}

Status expect_rank(const InferContext& context, std::size_t input, int64_t rank) {
  const TensorType& type = context.input(input);
  if (!type.has_rank() || type.rank() == rank) return {};
  return context.error(fmt::format("input {} is {}, must have rank {}", input, type.text(), rank));
}

Status expect_rank_at_least(const InferContext& context, std::size_t input, int64_t rank) {
  const TensorType& type = context.input(input);
  if (!type.has_rank() || type.rank() >= rank) return {};
  return context.error(fmt::format("input {} is {}, must have rank {} or more", input, type.text(), rank));
}

Status same_as_first(InferContext& context) {
  context.set_output(0, context.input(0));
  return {};
}

Status same_as_first_float(InferContext& context) {
  HONE_CHECK(expect_dtype(context, 0, is_general_float, "a floating-point type"));
  return same_as_first(context);
}

Status same_as_first_numeric(InferContext& context) {
  HONE_CHECK(expect_dtype(context, 0, is_numeric, "a numeric type"));
  return same_as_first(context);
}

namespace {

// Whether a tensor of this type holds one number, or one a channel of a tensor with `rank` axes: in whatever layout
// that is, such an operand lies the same.
bool is_of_channels(const TensorType& type, std::size_t rank) {
  if (type.layout != Layout::kPlain || !type.is_static()) return false;
  const Shape shape = type.shape();
  if (shape.size() > rank) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && i + rank - shape.size() != 1) return false;
  }
  return true;
}

// The layout that the inputs [first, last) have in common.
Result<Layout> common_layout(const InferContext& context, std::size_t first, std::size_t last) {
  const TensorType* laid_out = nullptr;
  for (std::size_t i = first; i < last && laid_out == nullptr; ++i) {
    if (context.input(i).layout != Layout::kPlain && context.input(i).has_rank())
      laid_out = &context.input(i);
  }
  if (laid_out == nullptr) return Layout::kPlain;
  for (std::size_t i = first; i < last; ++i) {
    const TensorType& type = context.input(i);
    if (type.layout == laid_out->layout || is_of_channels(type, static_cast<std::size_t>(laid_out->rank())))
      continue;
    return context.error(fmt::format("input {} has layout {}, another input has {}: add a hone.Reorder", i,
                                     layout_name(type.layout), layout_name(laid_out->layout)));
  }
  return laid_out->layout;
}

}  // namespace

Result<TensorType> broadcast(const InferContext& context, std::size_t first, std::size_t last, DType dtype) {
  TensorType result = unranked(dtype);
  HONE_ASSIGN(result.layout, common_layout(context, first, last));
  std::optional<Dims> dims = Dims{};
  for (std::size_t i = first; i < last; ++i) {
    const TensorType& type = context.input(i);
    if (!type.has_rank()) dims.reset();
    if (!dims) continue;
    HONE_ASSIGN(dims, broadcast_dims(*dims, *type.dims));
  }
  result.dims = std::move(dims);
  return result;
}

namespace {

DType first_known_dtype(const InferContext& context) {
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (context.input(i).dtype != DType::kUndefined) return context.input(i).dtype;
  }
  return DType::kUndefined;
}

}  // namespace

Status broadcast_all(InferContext& context) {
  for (std::size_t i = 1; i < context.input_count(); ++i) HONE_CHECK(expect_same_dtype(context, 0, i));
  HONE_ASSIGN(TensorType type, broadcast(context, 0, context.input_count(), first_known_dtype(context)));
  context.set_output(0, std::move(type));
  return {};
}

Status broadcast_numeric(InferContext& context) {
  HONE_CHECK(expect_dtype(context, 0, is_numeric, "a numeric type"));
  return broadcast_all(context);
}

Status broadcast_to_bool(InferContext& context) {
  HONE_CHECK(expect_same_dtype(context, 0, 1));
  HONE_ASSIGN(TensorType type, broadcast(context, 0, 2, DType::kBool));
  context.set_output(0, std::move(type));
  return {};
}

Dims reduced(const Dims& dims, const Ints& axes, bool keepdims) {
  Dims result;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i))) {
      result.push_back(dims[i]);
    } else if (keepdims) {
      result.emplace_back(1);
    }
  }
  return result;
}

double elements(const TensorType& type) {
  return type.is_static() ? static_cast<double>(element_count(type.shape())) : 0.0;
}

void written_bytes(const CostContext& context, Cost& cost) { cost.bytes_written = context.out(0).bytes(); }

void no_bytes(const CostContext&, Cost& cost) {
  cost.bytes_read = 0;
  cost.bytes_written = 0;
}

}  // namespace hone::graph::infer
