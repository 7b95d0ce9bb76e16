#include "graph/gradients/context.h"

#include <numeric>

#include <fmt/core.h>

#include "graph/differentiate.h"

namespace hone::graph {
namespace {

// Over which axes of `from` a gradient is summed to become one of `to`, which was broadcast to `from`. An
// error where an extent may or may not have been broadcast.
Result<Ints> broadcast_axes(const TensorType& from, const TensorType& to) {
  const Error unknown = unsupported(
      fmt::format("unsupported: whether {} was broadcast to {} is not known; read the model with numbers for "
                  "its symbols",
                  to.text(), from.text()));
  if (!from.has_rank() || !to.has_rank() || from.rank() < to.rank()) return unknown;
  const auto leading = static_cast<std::size_t>(from.rank() - to.rank());
  Ints axes;
  for (std::size_t i = 0; i < from.dims->size(); ++i) {
    const Dim& wide = (*from.dims)[i];
    const bool one = wide.known() && wide.extent() == 1;
    if (i < leading) {
      axes.push_back(static_cast<int64_t>(i));
      continue;
    }
    const Dim& own = (*to.dims)[i - leading];
    if (own.known() && own.extent() == 1 && !one) axes.push_back(static_cast<int64_t>(i));
    if (!own.known() && !one && !own.same_as(wide)) return unknown;
  }
  return axes;
}

}  // namespace

GradientContext::GradientContext(GraphBuilder& builder, Node node, std::vector<ValueId> output_gradients,
                                 std::vector<bool> wanted, std::vector<std::string> provenance)
    : NodeEmitter(builder, node.name + ".grad", std::move(provenance)),
      node_(std::move(node)),
      output_gradients_(std::move(output_gradients)),
      wanted_(std::move(wanted)),
      input_gradients_(node_.inputs.size(), kNoValue) {}

const Tensor* GradientContext::constant(std::size_t i) const {
  return has_input(i) ? constant_of(input(i)) : nullptr;
}

std::optional<Ints> GradientContext::constant_ints(std::size_t i) const {
  const Tensor* tensor = constant(i);
  if (tensor == nullptr || !is_integer(tensor->dtype())) return std::nullopt;
  return tensor->to_ints();
}

ValueId GradientContext::summed_to(ValueId gradient, ValueId like) {
  if (!status_.ok()) return kNoValue;
  if (type(gradient).dims.has_value() && type(like).dims == type(gradient).dims && type(like).is_static())
    return gradient;
  auto axes = broadcast_axes(type(gradient), type(like));
  if (!axes.ok()) {
    fail(axes.error());
    return kNoValue;
  }
  if (axes->empty()) return gradient;
  const int64_t leading = type(gradient).rank() - type(like).rank();
  ValueId sum = add("ReduceSum", {gradient, ints(*axes)}, {{"keepdims", int64_t{1}}});
  if (leading == 0) return sum;
  Ints dropped(static_cast<std::size_t>(leading));
  std::iota(dropped.begin(), dropped.end(), 0);
  return add("Squeeze", {sum, ints(dropped)});
}

ValueId GradientContext::reshaped_to(ValueId gradient, ValueId like) {
  // Zero is an extent here, and no request to copy one.
  return add("Reshape", {gradient, shape_of(like)}, {{"allowzero", int64_t{1}}});
}

void GradientContext::set(std::size_t i, ValueId gradient) {
  if (!status_.ok() || !wanted_[i]) return;
  refine_type(gradient, input(i));
  input_gradients_[i] = gradient;
}

// Beside single numbers an input has the shape of the result, also where that is not known.
void GradientContext::set_summed(std::size_t i, ValueId gradient) {
  bool alone = type(input(i)).has_rank();
  for (std::size_t other = 0; alone && other < input_count(); ++other) {
    if (other == i || !has_input(other)) continue;
    const TensorType& beside = type(input(other));
    alone = beside.has_rank() && beside.rank() <= type(input(i)).rank();
    for (std::size_t k = 0; alone && k < beside.dims->size(); ++k)
      alone = (*beside.dims)[k].known() && (*beside.dims)[k].extent() == 1;
  }
  set(i, alone ? gradient : summed_to(gradient, input(i)));
}

Status GradientContext::set_through(Expansion expand) {
  // Inputs that are one value, or of which one is computed from another, stay apart behind an Identity each.
  std::vector<ValueId> stand_ins, bounds, xs, ys, seeds;
  std::vector<std::size_t> of_input;
  for (std::size_t i = 0; i < input_count(); ++i) {
    const bool varies = has_input(i) && (wants(i) || constant(i) == nullptr);
    stand_ins.push_back(varies ? add("Identity", {input(i)}) : input(i));
    if (!varies) continue;
    bounds.push_back(stand_ins.back());
    if (!wants(i)) continue;
    xs.push_back(stand_ins.back());
    of_input.push_back(i);
  }
  HONE_CHECK(status());
  HONE_ASSIGN(const std::vector<ValueId> outputs, expand(*this, stand_ins));
  HONE_CHECK(status());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].valid() || !gradient(i).valid()) continue;
    ys.push_back(outputs[i]);
    seeds.push_back(gradient(i));
  }
  DifferentiateOptions options;
  options.provenance = provenance();
  HONE_ASSIGN(const std::vector<ValueId> found,
              differentiate_within(builder_, ys, seeds, bounds, xs, options));
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (found[i].valid()) set(of_input[i], found[i]);
  return {};
}

Status no_gradient(GradientContext&) { return {}; }

void add_gradients(OpTable& table) {
  add_pointwise_gradients(table);
  add_activation_gradients(table);
  add_movement_gradients(table);
  add_reduction_gradients(table);
  add_matrix_gradients(table);
  add_convolution_gradients(table);
  add_normalization_gradients(table);
  add_random_gradients(table);
  add_loss_gradients(table);
  add_indexing_gradients(table);
  add_attention_gradients(table);
  add_resize_gradients(table);
  add_group_gradients(table);
  add_pooling_gradients(table);
  add_einsum_gradients(table);
  add_recurrent_gradients(table);
  add_vision_gradients(table);
  add_signal_gradients(table);
}

}  // namespace hone::graph
