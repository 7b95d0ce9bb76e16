// Gradients of the losses of classification: probabilities less the one-hot target, weighted. Nothing of the
// size of the scores is kept from the forward pass.
#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

// What each sample's −log p counts in the gradient that flows in, [N, 1, d…], and its class, [N, 1, d…]. An
// ignored sample counts 0 and has class 0.
struct Samples {
  ValueId factor = kNoValue;
  ValueId target = kNoValue;
};

// The weights of the samples, or nothing where all count 1.
ValueId sample_weights(GradientContext& c, ValueId ignored, ValueId target, DType dtype) {
  ValueId weights = kNoValue;
  if (c.has_input(2)) weights = c.cast(c.add("Gather", {c.input(2), target}), dtype);
  if (!ignored.valid()) return weights;
  if (!weights.valid()) return c.cast(c.add("Not", {ignored}), dtype);
  return c.choose(ignored, c.scalar(0, weights), weights);
}

Samples samples_of(GradientContext& c) {
  const DType dtype = c.type(c.input(0)).dtype;
  ValueId target = c.cast(c.input(1), DType::kI64);
  ValueId ignored = kNoValue;
  if (c.attributes().has("ignore_index")) {
    ignored = c.add("Equal", {target, c.integer(c.attributes().integer("ignore_index", 0))});
    target = c.choose(ignored, c.integer(0), target);
  }
  const ValueId weights = sample_weights(c, ignored, target, dtype);
  ValueId factor = c.gradient();
  if (c.attributes().text("reduction", "mean") == "mean") {
    const ValueId total = weights.valid() ? c.add("ReduceSum", {weights}, {{"keepdims", int64_t{0}}})
                                          : c.cast(c.add("Size", {target}), dtype);
    factor = c.over(factor, total);
  }
  if (weights.valid()) factor = c.times(factor, weights);
  // One factor for all samples is repeated: each has its own place in the scores.
  if (c.type(factor).has_rank() && c.rank_of(factor) == 0)
    factor = c.add("Expand", {factor, c.shape_of(target)});
  const ValueId axis = c.ints({1});
  return {c.add("Unsqueeze", {factor, axis}), c.add("Unsqueeze", {target, axis})};
}

// `into` less each sample's factor at its class.
ValueId less_at_target(GradientContext& c, ValueId into, const Samples& samples) {
  return c.add("ScatterElements", {into, samples.target, c.negative(samples.factor)},
               {{"axis", int64_t{1}}, {"reduction", "add"}});
}

Status expect_plain(const GradientContext& c) {
  if (c.has_input(2) && c.wants(2))
    return unsupported("unsupported: the gradient of a loss with respect to its class weights");
  if (!c.type(c.input(0)).has_rank())
    return unsupported("unsupported: the gradient of a loss of scores whose rank is not known");
  return {};
}

Status likelihood_rule(GradientContext& c) {
  HONE_CHECK(expect_plain(c));
  c.set(0, less_at_target(c, c.zeros_like(c.input(0)), samples_of(c)));
  return {};
}

Status cross_entropy_rule(GradientContext& c) {
  HONE_CHECK(expect_plain(c));
  const ValueId scores = c.input(0);
  const ValueId p = c.add("Softmax", {scores}, {{"axis", int64_t{1}}});
  ValueId sum = kNoValue;
  if (c.gradient(0).valid()) {
    const Samples samples = samples_of(c);
    sum = less_at_target(c, c.times(p, samples.factor), samples);
  }
  if (c.node().outputs.size() > 1 && c.gradient(1).valid()) {  // that of the log-probabilities
    const ValueId g = c.gradient(1);
    const ValueId part = c.minus(g, c.times(p, c.summed(g, {1})));
    sum = sum.valid() ? c.plus(sum, part) : part;
  }
  c.set(0, sum);
  return {};
}

}  // namespace

void add_loss_gradients(OpTable& table) {
  table.set_gradient("NegativeLogLikelihoodLoss", likelihood_rule);
  table.set_gradient("SoftmaxCrossEntropyLoss", cross_entropy_rule);
}

}  // namespace hone::graph
