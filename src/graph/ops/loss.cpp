// Losses of classification: negative log likelihood, and softmax with cross entropy.
#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

Status infer_loss_as(InferContext& context, DType result) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 2));
  const std::string reduction = context.attributes().text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    return context.error(fmt::format("reduction '{}' is not mean, sum or none", reduction));
  }
  const TensorType& scores = context.input(0);
  const TensorType& target = context.input(1);
  if (scores.has_rank()) HONE_CHECK(infer::expect_rank(context, 1, scores.rank() - 1));
  if (context.has_input(2)) HONE_CHECK(infer::expect_rank(context, 2, 1));
  TensorType loss = tensor_type(result, Dims{}), log_probabilities = scores;
  if (reduction == "none") loss.dims = target.dims;
  log_probabilities.dtype = result;
  context.set_output(0, std::move(loss));
  context.set_output(1, std::move(log_probabilities));  // of SoftmaxCrossEntropyLoss
  return {};
}

Status infer_loss(InferContext& context) { return infer_loss_as(context, context.input(0).dtype); }

Status infer_loss_in_f32(InferContext& context) { return infer_loss_as(context, DType::kF32); }

// Of scores [N, C, d…], each sample's class and what it counts, both [N, 1, d…].
Status infer_cross_entropy_gradient(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 2));
  const TensorType& scores = context.input(0);
  if (scores.has_rank()) {
    TensorType one = scores;
    (*one.dims)[1] = Dim(1);
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      one.dtype = context.input(i).dtype;
      if (auto merged = merge_types(one, context.input(i)); !merged.ok())
        return merged.error().within(fmt::format("input {} is no number a sample", i));
    }
  }
  context.set_output(0, scores);
  return {};
}

// log-softmax, then one gather and one addition a sample.
double cross_entropy_flops(const CostContext& context) {
  return 5 * infer::elements(context.in(0)) + 2 * infer::elements(context.in(1));
}

double likelihood_flops(const CostContext& context) { return 2 * infer::elements(context.in(1)); }

// Reads one score a sample.
void likelihood_bytes(const CostContext& context, Cost& cost) {
  const TensorType& scores = context.in(0);
  const double samples = infer::elements(context.in(1));
  cost.bytes_read = samples * dtype_bits(scores.dtype) / 8 + context.in(1).bytes();
  if (context.inputs.size() > 2 && context.inputs[2] != nullptr) cost.bytes_read += context.in(2).bytes();
  cost.bytes_written = context.out(0).bytes();
}

}  // namespace

void add_loss_ops(OpTable& table) {
  using enum AttributeKind;
  table.add({.name = "NegativeLogLikelihoodLoss",
             .op_class = OpClass::kReduction,
             .min_inputs = 2,
             .max_inputs = 3,
             .attributes = {{"ignore_index", kInt}, {"reduction", kString}},
             .infer = infer_loss,
             .flops = likelihood_flops,
             .bytes = likelihood_bytes,
             .summary = "minus the log-probability of each target class, weighted and reduced"});
  table.add({.name = "SoftmaxCrossEntropyLoss",
             .op_class = OpClass::kReduction,
             .min_inputs = 2,
             .max_inputs = 3,
             .max_outputs = 2,
             .attributes = {{"ignore_index", kInt}, {"reduction", kString}},
             .infer = infer_loss,
             .flops = cross_entropy_flops,
             .summary = "negative log likelihood of the softmax of scores; the log-probabilities too"});
  table.add(
      {.name = "hone.SoftmaxCrossEntropyLoss",
       .op_class = OpClass::kReduction,
       .min_inputs = 2,
       .max_inputs = 3,
       .max_outputs = 2,
       .attributes = {{"ignore_index", kInt}, {"reduction", kString}},
       .infer = infer_loss_in_f32,
       .flops = cross_entropy_flops,
       .summary = "SoftmaxCrossEntropyLoss whose results are f32, whatever float type its scores have"});
  table.add({.name = "hone.CrossEntropyGradient",
             .op_class = OpClass::kReduction,
             .min_inputs = 3,
             .max_inputs = 3,
             .infer = infer_cross_entropy_gradient,
             .flops = infer::per_output<6>,
             .summary =
                 "the softmax of scores less 1 at each sample's class, times what the sample counts: the "
                 "gradient of SoftmaxCrossEntropyLoss"});
}

}  // namespace hone::graph
