// Gradients of operators that draw random numbers. Numbers of a stream depend on the seed and the offset
// alone.
#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

// What was dropped passes nothing back; the rest is scaled as before. The same seed and offset drop the same
// elements, so no mask is kept.
Status stream_dropout_rule(GradientContext& c) {
  if (!c.gradient().valid()) return {};  // the mask has none
  std::vector<ValueId> inputs = c.node().inputs;
  inputs[0] = c.gradient();
  c.set(0, c.add("hone.Dropout", std::move(inputs)));
  return {};
}

// ONNX's, where it does not train.
Status onnx_dropout_rule(GradientContext& c) {
  const Tensor* training = c.has_input(2) ? c.constant(2) : nullptr;
  if (c.has_input(2) && (training == nullptr || training->int_at(0) != 0))
    return unsupported(
        "unsupported: the gradient of a Dropout that trains, without a stream of numbers; give "
        "the graph seeds first");
  c.set(0, c.gradient());
  return {};
}

}  // namespace

void add_random_gradients(OpTable& table) {
  table.set_gradient("hone.Dropout", stream_dropout_rule);
  table.set_gradient("Dropout", onnx_dropout_rule);
  for (const char* op : {"hone.RandomUniform", "hone.RandomNormal", "hone.Bernoulli", "hone.Multinomial"})
    table.set_gradient(op, no_gradient);
}

}  // namespace hone::graph
