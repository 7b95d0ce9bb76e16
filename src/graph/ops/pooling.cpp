// Pooling over windows, planes and regions, MaxUnpool, and LRN.
#include <fmt/core.h>

#include "graph/ops/parts.h"
#include "graph/ops/window_infer.h"

namespace hone::graph {
namespace {

Status infer_pool(InferContext& context) {
  const TensorType& x = context.input(0);
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_numeric, "a numeric type"));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 3));
  HONE_ASSIGN(WindowSpec spec, read_windows(context.attributes(), {}));
  TensorType output = x;
  if (x.has_rank()) {
    HONE_ASSIGN(const Dims spatial, infer::windows(std::move(spec), std::span(*x.dims).subspan(2)));
    output.dims = Dims{(*x.dims)[0], (*x.dims)[1]};
    output.dims->insert(output.dims->end(), spatial.begin(), spatial.end());
  }
  context.set_output(0, output);
  output.dtype = DType::kI64;
  context.set_output(1, output);
  return {};
}

Status infer_global_pool(InferContext& context) {
  TensorType output = context.input(0);
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 2));
  if (output.has_rank()) {
    for (std::size_t i = 2; i < output.dims->size(); ++i) (*output.dims)[i] = 1;
  }
  context.set_output(0, output);
  return {};
}

// The gradient of a pool's output, and the pool's input or (AveragePool) the shape of that.
Status infer_pool_gradient(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_ASSIGN(WindowSpec spec, read_windows(context.attributes(), {}));
  const TensorType& g = context.input(0);
  TensorType output = g;
  if (context.node().op == "hone.MaxPoolGradient") {
    HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
    output.dims = context.input(1).dims;
  } else if (const auto shape = context.ints(1)) {
    output.dims = to_dims(*shape);
  } else if (g.has_rank()) {
    output.dims = Dims(g.dims->size());
  }
  if (g.has_rank() && output.has_rank()) {
    if (output.rank() < 3 || output.rank() != g.rank())
      return context.error(fmt::format("a gradient {} does not fit a pool of {}", g.text(), output.text()));
    HONE_ASSIGN(const Dims pooled, infer::windows(std::move(spec), std::span(*output.dims).subspan(2)));
    for (std::size_t i = 0; i < pooled.size(); ++i)
      if (pooled[i].known() && (*g.dims)[i + 2].known() && pooled[i].extent() != (*g.dims)[i + 2].extent())
        return context.error(fmt::format("a gradient {} does not fit a pool of {}", g.text(), output.text()));
  }
  context.set_output(0, output);
  return {};
}

Status infer_max_unpool(InferContext& context) {
  const TensorType& x = context.input(0);
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 3));
  if (context.has_input(2)) {
    if (auto shape = context.ints(2)) {
      for (int64_t extent : *shape) {
        if (extent < 0) return context.error(fmt::format("output_shape has the extent {}", extent));
      }
      context.set_output(0, tensor_type(x.dtype, *shape));
    } else {
      context.set_output(0, x.has_rank() ? tensor_type(x.dtype, Dims(x.dims->size())) : unranked(x.dtype));
    }
    return {};
  }
  if (!x.has_rank()) {
    context.set_output(0, unranked(x.dtype));
    return {};
  }
  HONE_ASSIGN(WindowSpec spec, read_windows(context.attributes(), {}));
  if (spec.axes.size() + 2 != x.dims->size())
    return context.error("kernel_shape does not fit the input's rank");
  Dims dims{(*x.dims)[0], (*x.dims)[1]};
  for (std::size_t i = 0; i < spec.axes.size(); ++i) {
    const Window& window = spec.axes[i];
    const Dim& in = (*x.dims)[i + 2];
    const int64_t extent =
        in.known() ? (in.extent() - 1) * window.stride - window.pad_begin - window.pad_end + window.kernel
                   : -1;
    if (in.known() && extent < 0)
      return context.error(fmt::format("the padding leaves an extent of {}", extent));
    dims.push_back(in.known() ? Dim(extent) : Dim());
  }
  context.set_output(0, tensor_type(x.dtype, std::move(dims)));
  return {};
}

Status infer_max_roi_pool(InferContext& context) {
  HONE_CHECK(infer::expect_rank(context, 0, 4));
  HONE_CHECK(infer::expect_rank(context, 1, 2));
  const TensorType& x = context.input(0);
  const TensorType& rois = context.input(1);
  const Ints pooled = context.attributes().ints("pooled_shape");
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1) {
    return context.error("pooled_shape needs two positive numbers");
  }
  context.set_output(0,
                     tensor_type(x.dtype, Dims{rois.has_rank() ? (*rois.dims)[0] : Dim(),
                                               x.has_rank() ? (*x.dims)[1] : Dim(), pooled[0], pooled[1]}));
  return {};
}

// One operation a tap: a comparison, an addition, or (LpPool) a power and an addition.
double pool_flops(const CostContext& context) {
  const Ints kernel = context.node.attributes.ints("kernel_shape");
  const double per_tap = context.node.op == "LpPool" ? 2 : 1;
  const double per_output = context.node.op == "MaxPool" ? 0 : 1;  // the division or the root
  return infer::elements(context.out(0)) * (per_tap * infer::taps(kernel) + per_output);
}

// One operation a tap: a comparison or an addition.
double pool_gradient_flops(const CostContext& context) {
  return infer::elements(context.in(0)) * (infer::taps(context.node.attributes.ints("kernel_shape")) + 1);
}

// Each neighbour squared and added, then scale, power and division.
double lrn_flops(const CostContext& context) {
  const auto size = static_cast<double>(context.node.attributes.integer("size", 1));
  return infer::elements(context.in(0)) * (2 * size + 4);
}

std::vector<AttributeSpec> pool_attributes(std::initializer_list<AttributeSpec> more) {
  using enum AttributeKind;
  std::vector<AttributeSpec> attributes{{"auto_pad", kString}, {"ceil_mode", kInt},
                                        {"dilations", kInts},  {"kernel_shape", kInts, true},
                                        {"pads", kInts},       {"strides", kInts}};
  attributes.insert(attributes.end(), more);
  return attributes;
}

}  // namespace

void add_pooling_ops(OpTable& table) {
  using enum AttributeKind;
  table.add({.name = "MaxPool",
             .op_class = OpClass::kPooling,
             .min_inputs = 1,
             .max_inputs = 1,
             .min_outputs = 1,
             .max_outputs = 2,
             .attributes = pool_attributes({{"storage_order", kInt}}),
             .infer = infer_pool,
             .flops = pool_flops,
             .layouts = LayoutRule::kKept,
             .summary = "the largest element under each window, and where it was"});
  table.add({.name = "AveragePool",
             .op_class = OpClass::kPooling,
             .min_inputs = 1,
             .max_inputs = 1,
             .attributes = pool_attributes({{"count_include_pad", kInt}}),
             .infer = infer_pool,
             .flops = pool_flops,
             .layouts = LayoutRule::kKept,
             .summary = "the mean under each window"});
  table.add({.name = "hone.MaxPoolGradient",
             .op_class = OpClass::kPooling,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = pool_attributes({{"storage_order", kInt}}),
             .infer = infer_pool_gradient,
             .flops = pool_gradient_flops,
             .layouts = LayoutRule::kKept,
             .summary = "the gradient of MaxPool's input, of its output's and that input: each goes to the "
                        "element that was taken"});
  table.add({.name = "hone.AveragePoolGradient",
             .op_class = OpClass::kPooling,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = pool_attributes({{"count_include_pad", kInt}}),
             .infer = infer_pool_gradient,
             .flops = pool_gradient_flops,
             .summary =
                 "the gradient of AveragePool's input, of its output's and that input's shape: in equal "
                 "shares"});
  table.add({.name = "LpPool",
             .op_class = OpClass::kPooling,
             .min_inputs = 1,
             .max_inputs = 1,
             .attributes = pool_attributes({{"p", kInt}}),
             .infer = infer_pool,
             .flops = pool_flops,
             .summary = "the p-norm under each window"});
  for (auto [name, summary] : {std::pair{"GlobalAveragePool", "the mean of each plane"},
                               std::pair{"GlobalMaxPool", "the largest element of each plane"},
                               std::pair{"GlobalLpPool", "the p-norm of each plane"}}) {
    OpEntry entry{.name = name,
                  .op_class = OpClass::kPooling,
                  .min_inputs = 1,
                  .max_inputs = 1,
                  .infer = infer_global_pool,
                  .flops = infer::per_input<1>,
                  .layouts = LayoutRule::kKept,
                  .summary = summary};
    if (entry.name == "GlobalLpPool") {
      entry.layouts = LayoutRule::kPlain;
      entry.attributes = {{"p", kInt}};
      entry.flops = infer::per_input<2>;
    }
    table.add(std::move(entry));
  }
  table.add({.name = "MaxUnpool",
             .op_class = OpClass::kPooling,
             .min_inputs = 2,
             .max_inputs = 3,
             .attributes = {{"kernel_shape", kInts, true}, {"pads", kInts}, {"strides", kInts}},
             .infer = infer_max_unpool,
             .summary = "puts elements back where MaxPool found them, zeros elsewhere"});
  table.add({.name = "MaxRoiPool",
             .op_class = OpClass::kPooling,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = {{"pooled_shape", kInts, true}, {"spatial_scale", kFloat}},
             .infer = infer_max_roi_pool,
             .summary = "the largest element in each bin of each region of interest"});
  table.add({.name = "LRN",
             .op_class = OpClass::kNormalization,
             .min_inputs = 1,
             .max_inputs = 1,
             .attributes = {{"alpha", kFloat}, {"beta", kFloat}, {"bias", kFloat}, {"size", kInt, true}},
             .infer = infer::same_as_first_float,
             .flops = lrn_flops,
             .summary = "local response normalization across channels"});
}

}  // namespace hone::graph
