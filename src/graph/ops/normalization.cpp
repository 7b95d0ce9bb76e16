// Normalizations over the batch, instances, groups, layers, and by norms. LRN is in pooling.cpp.
#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

using infer::expect_dtype;

Status expect_float(const InferContext& context) {
  return expect_dtype(context, 0, infer::is_general_float, "a floating-point type");
}

// Input `i` is one value a channel.
Status expect_per_channel(const InferContext& context, std::size_t i) {
  HONE_CHECK(infer::expect_rank(context, i, 1));
  const TensorType& x = context.input(0);
  const TensorType& parameter = context.input(i);
  if (!x.has_rank() || !parameter.has_rank() || x.rank() < 2) return {};
  const Dim& channels = (*x.dims)[1];
  const Dim& own = (*parameter.dims)[0];
  if (!channels.known() || !own.known() || channels.extent() == own.extent()) return {};
  return context.error(fmt::format("input {} is {}, must have one value for each of {} channels", i,
                                   parameter.text(), channels.extent()));
}

Status infer_batch_normalization(InferContext& context) {
  HONE_CHECK(expect_float(context));
  for (std::size_t i = 1; i < 5; ++i) HONE_CHECK(expect_per_channel(context, i));
  const bool training = context.node().op == "hone.BatchNormalizationRelu" ||
                        context.attributes().integer("training_mode", 0) != 0;
  if (!training && context.output_count() > 1) {
    return context.error("has running statistics as outputs, but training_mode is 0");
  }
  context.set_output(0, context.input(0));
  context.set_output(1, context.input(3));
  context.set_output(2, context.input(4));
  return {};
}

// Of g, x and the scale: dx, dscale, dbias. A Relu's result may follow, which says where g counts.
Status infer_batch_normalization_gradient(InferContext& context) {
  HONE_CHECK(expect_float(context));
  const TensorType& x = context.input(1);
  for (const std::size_t i : {std::size_t{0}, std::size_t{3}}) {
    if (i >= context.input_count()) continue;
    if (auto merged = merge_types(x, context.input(i)); !merged.ok())
      return merged.error().within(fmt::format("input {} is not as input 1, x", i));
  }
  HONE_CHECK(infer::expect_rank(context, 2, 1));
  context.set_output(0, x);
  context.set_output(1, context.input(2));
  context.set_output(2, context.input(2));
  return {};
}

// Of g, x and the scale, which has the extents of the axes that are normalized: dx, dscale, dbias. g may be of another
// type than x, whose gradient is of its own.
Status infer_layer_normalization_gradient(InferContext& context) {
  HONE_CHECK(expect_float(context));
  const TensorType& x = context.input(1);
  TensorType g = context.input(0);
  if (g.kind == x.kind && is_float(x.dtype)) g.dtype = x.dtype;
  if (auto merged = merge_types(x, g); !merged.ok())
    return merged.error().within("input 0 is not as input 1, x");
  if (x.has_rank()) HONE_CHECK(infer::axis(context, "axis", -1, x.rank()));
  context.set_output(0, x);
  context.set_output(1, context.input(2));
  context.set_output(2, context.input(2));
  return {};
}

Status infer_channel_normalization(InferContext& context) {
  HONE_CHECK(expect_float(context));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 2));
  HONE_CHECK(expect_per_channel(context, 1));
  HONE_CHECK(expect_per_channel(context, 2));
  const TensorType& x = context.input(0);
  const int64_t groups = context.attributes().integer("num_groups", 1);
  const bool known = x.has_rank() && (*x.dims)[1].known();
  if (groups < 1 || (known && (*x.dims)[1].extent() % groups != 0)) {
    return context.error(fmt::format("the channels of {} do not divide into {} groups", x.text(), groups));
  }
  return infer::same_as_first(context);
}

Status infer_layer_normalization(InferContext& context) {
  HONE_CHECK(expect_float(context));
  HONE_ASSIGN(const DType stash, infer::dtype_attribute(context, "stash_type", DType::kF32));
  const TensorType& x = context.input(0);
  TensorType output = x;
  if (context.node().op == "RMSNormalization") output.dtype = context.input(1).dtype;
  context.set_output(0, output);
  TensorType statistics = x;
  statistics.dtype = stash;
  if (x.has_rank()) {
    HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", -1, x.rank()));
    for (std::size_t i = static_cast<std::size_t>(axis); i < statistics.dims->size(); ++i)
      (*statistics.dims)[i] = 1;
  }
  context.set_output(1, statistics);
  context.set_output(2, statistics);
  return {};
}

Status infer_lp_normalization(InferContext& context) {
  HONE_CHECK(expect_float(context));
  if (context.input(0).has_rank()) HONE_CHECK(infer::axis(context, "axis", -1, context.input(0).rank()));
  return infer::same_as_first(context);
}

// Inference: one multiply-add an element (the scale and shift of a channel are prepared once); training adds
// the mean (1) and the variance (3: subtract, square, add).
double batch_normalization_flops(const CostContext& context) {
  const bool training = context.node.attributes.integer("training_mode", 0) != 0;
  return infer::elements(context.in(0)) * (training ? 6 : 2);
}

}  // namespace

void add_normalization_ops(OpTable& table) {
  using enum AttributeKind;
  table.add(
      {.name = "BatchNormalization",
       .op_class = OpClass::kNormalization,
       .min_inputs = 5,
       .max_inputs = 5,
       .min_outputs = 1,
       .max_outputs = 3,
       .attributes = {{"epsilon", kFloat}, {"momentum", kFloat}, {"training_mode", kInt}},
       .infer = infer_batch_normalization,
       .flops = batch_normalization_flops,
       .layouts = LayoutRule::kKept,
       .summary = "normalization by running (inference) or batch statistics (training) of each channel"});
  table.add({.name = "hone.BatchNormalizationRelu",
             .op_class = OpClass::kNormalization,
             .min_inputs = 5,
             .max_inputs = 5,
             .min_outputs = 1,
             .max_outputs = 3,
             .attributes = {{"epsilon", kFloat}, {"momentum", kFloat}},
             .infer = infer_batch_normalization,
             .flops = infer::per_input<7>,
             .layouts = LayoutRule::kKept,
             .summary = "BatchNormalization in training, and a Relu of its result"});
  // Mean and variance again (4), two sums over g (3), then the result (5).
  table.add(
      {.name = "hone.BatchNormalizationGradient",
       .op_class = OpClass::kNormalization,
       .min_inputs = 3,
       .max_inputs = 4,
       .min_outputs = 3,
       .max_outputs = 3,
       .attributes = {{"epsilon", kFloat}},
       .infer = infer_batch_normalization_gradient,
       .flops = infer::per_input<12>,
       .layouts = LayoutRule::kKept,
       .summary =
           "the gradients of input, scale and bias of a BatchNormalization in training, of its output's "
           "gradient (where it is behind a Relu: where that is above 0), its input and scale"});
  table.add(
      {.name = "hone.LayerNormalizationGradient",
       .op_class = OpClass::kNormalization,
       .min_inputs = 3,
       .max_inputs = 3,
       .min_outputs = 3,
       .max_outputs = 3,
       .attributes = {{"axis", kInt}, {"epsilon", kFloat}},
       .infer = infer_layer_normalization_gradient,
       .flops = infer::per_input<12>,
       .summary =
           "the gradients of input, scale and bias of a LayerNormalization, of its output's gradient, its "
           "input and scale"});
  // An element is added to the mean (1) and the variance (3), then normalized and scaled (4).
  table.add({.name = "InstanceNormalization",
             .op_class = OpClass::kNormalization,
             .min_inputs = 3,
             .max_inputs = 3,
             .attributes = {{"epsilon", kFloat}},
             .infer = infer_channel_normalization,
             .flops = infer::per_input<8>,
             .summary = "normalization of each plane"});
  table.add({.name = "GroupNormalization",
             .op_class = OpClass::kNormalization,
             .min_inputs = 3,
             .max_inputs = 3,
             .attributes = {{"epsilon", kFloat}, {"num_groups", kInt, true}, {"stash_type", kInt}},
             .infer = infer_channel_normalization,
             .flops = infer::per_input<8>,
             .summary = "normalization of groups of channels"});
  table.add({.name = "LayerNormalization",
             .op_class = OpClass::kNormalization,
             .min_inputs = 2,
             .max_inputs = 3,
             .min_outputs = 1,
             .max_outputs = 3,
             .attributes = {{"axis", kInt}, {"epsilon", kFloat}, {"stash_type", kInt}},
             .infer = infer_layer_normalization,
             .flops = infer::per_input<8>,
             .summary = "normalization over the last axes; optionally mean and inverse deviation"});
  // Squared and added (2), then scaled twice (2).
  table.add({.name = "RMSNormalization",
             .op_class = OpClass::kNormalization,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = {{"axis", kInt}, {"epsilon", kFloat}, {"stash_type", kInt}},
             .infer = infer_layer_normalization,
             .flops = infer::per_input<4>,
             .summary = "division by the root of the mean square over the last axes"});
  table.add({.name = "LpNormalization",
             .op_class = OpClass::kNormalization,
             .min_inputs = 1,
             .max_inputs = 1,
             .attributes = {{"axis", kInt}, {"p", kInt}},
             .infer = infer_lp_normalization,
             .flops = infer::per_input<3>,
             .summary = "division by the norm along an axis"});
  table.add({.name = "MeanVarianceNormalization",
             .op_class = OpClass::kNormalization,
             .min_inputs = 1,
             .max_inputs = 1,
             .attributes = {{"axes", kInts}},
             .infer = infer::same_as_first_float,
             .flops = infer::per_input<6>,
             .summary = "subtraction of the mean and division by the deviation over axes"});
}

}  // namespace hone::graph
