#include "graph/training/step.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>

#include "core/onnx_dtype.h"
#include "graph/builder.h"
#include "graph/differentiate.h"
#include "graph/training/freeze_advice.h"
#include "graph/training/step_part.h"

namespace hone::graph {
namespace {

using IdMap = std::unordered_map<ValueId, ValueId>;  // from a model's values to the step's

ValueId input_named(const Graph& graph, const std::string& name) {
  for (const ValueId id : graph.inputs())
    if (graph.value(id).name == name) return id;
  return kNoValue;
}

Result<ValueId> judged_output(const Graph& model, const std::string& name) {
  std::string names;
  for (const ValueId id : model.outputs()) {
    if (name.empty() || model.value(id).name == name) return id;
    names += (names.empty() ? "" : ", ") + model.value(id).name;
  }
  return invalid(fmt::format("the model has no output '{}'; it has {}", name, names));
}

// Copies of a model within another graph: constants once, nodes as often as wanted.
class ModelCopies {
 public:
  ModelCopies(GraphBuilder& builder, const Graph& model) : builder_(builder), model_(model) {}

  // `given` maps the model's inputs; all values of the copy are added.
  Status add(IdMap& given) {
    for (const Node& node : model_.nodes()) HONE_CHECK(add_node(node, given));
    return {};
  }

 private:
  Status add_node(const Node& node, IdMap& map) {
    Node copy = node;
    for (ValueId& input : copy.inputs)
      if (input.valid()) input = value_of(input, map);
    std::vector<std::string> names;
    std::vector<TensorType> declared;
    for (const ValueId output : node.outputs) {
      names.push_back(output.valid() ? model_.value(output).name : "");
      declared.push_back(output.valid() ? model_.type(output) : TensorType{});
    }
    auto made = builder_.try_add(std::move(copy), names, declared);
    if (!made.ok()) return made.error().within(fmt::format("node '{}' ({})", node.name, node.op));
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid()) map[node.outputs[i]] = (*made)[i];
    return {};
  }

  ValueId value_of(ValueId id, const IdMap& map) {
    if (const auto found = map.find(id); found != map.end()) return found->second;
    const auto [constant, is_new] = constants_.try_emplace(id);
    if (is_new) constant->second = builder_.constant(model_.value(id).name, *model_.value(id).constant);
    return constant->second;
  }

  GraphBuilder& builder_;
  const Graph& model_;
  IdMap constants_;
};

// Values of a graph, made or being made, that `open` are computed from, and those themselves.
template <typename AnyGraph>
std::unordered_set<ValueId> reached_from(const AnyGraph& graph, std::vector<ValueId> open) {
  std::erase_if(open, [](ValueId id) { return !id.valid(); });
  std::unordered_set<ValueId> seen(open.begin(), open.end());
  while (!open.empty()) {
    const NodeId producer = graph.value(open.back()).producer;
    open.pop_back();
    if (!producer.valid()) continue;
    for (const ValueId input : graph.node(producer).inputs)
      if (input.valid() && seen.insert(input).second) open.push_back(input);
  }
  return seen;
}

const BatchField* field_that_feeds(const StepOptions& options, const std::string& input) {
  for (const BatchField& field : options.fields)
    if (field.feeds == input) return &field;
  return nullptr;
}

class StepMaker {
 public:
  StepMaker(const Graph& micro, const std::vector<NamedTensor>& parameters, const StepOptions& options)
      : micro_(micro), parameters_(parameters), options_(options), builder_("training_step") {}

  Result<Graph> make() {
    HONE_ASSIGN(output_, judged_output(micro_, options_.objective.output));
    add_data();
    HONE_CHECK(add_shared_inputs());
    mark_part(builder_, 0, StepPart::kForward);
    HONE_CHECK(add_micro_batches());
    const std::size_t first = builder_.nodes().size();
    add_update();
    mark_part(builder_, first, StepPart::kOptimizer);
    return std::move(builder_).finish();
  }

 private:
  void add_data();
  Status add_shared_inputs();
  ValueId add_parameter(const Value& of_micro);
  ValueId in_f32(ValueId value, const std::string& name) {
    return builder_.add("Cast", {value}, {{"to", dtype_to_onnx(DType::kF32)}}, name);
  }
  Status add_micro_batches();
  Status add_micro_batch(ModelCopies& copies, int64_t number);
  Result<ValueId> loss_of(ValueId prediction, ValueId target);
  Error with_what_to_freeze(Error error, NodeId refused, ValueId judged);
  void add_update();
  UpdateScalars scalars_of(ValueId rate, ValueId norm);
  ValueId unless_skipped(ValueId next, ValueId now) {
    return skip_.valid() ? builder_.add("Where", {skip_, now, next}, {}, "scale.kept") : next;
  }
  void add_next_loss_scale();

  const Graph& micro_;
  const std::vector<NamedTensor>& parameters_;
  const StepOptions& options_;
  GraphBuilder builder_;
  ValueId output_;                                    // of micro_
  std::map<std::string, std::vector<ValueId>> data_;  // of each field, its micro-batches
  ValueId whole_target_;
  IdMap shared_;                                           // inputs of micro_ that all copies read
  IdMap states_;                                           // state inputs of micro_: their values now
  std::vector<std::pair<ValueId, ValueId>> model_states_;  // input of the step, input of micro_
  std::vector<TrainedParameter> trained_;
  std::vector<ValueId> counts_;  // of each term, over the whole batch
  ValueId loss_;
  ValueId updates_;
  ValueId loss_scale_;  // with scale_loss
  ValueId skip_;        // bool[]
};

void StepMaker::add_data() {
  for (const BatchField& field : options_.fields) {
    const ValueId whole = builder_.input(kDataPrefix + field.name, field.type);
    if (field.name == options_.objective.target) whole_target_ = whole;
    std::vector<ValueId>& parts = data_[field.name];
    if (options_.accumulate == 1) {
      parts = {whole};
      continue;
    }
    const auto count = static_cast<std::size_t>(options_.accumulate);
    const std::vector<int64_t> extents(count, field.type.shape()[0] / options_.accumulate);
    const ValueId split = builder_.constant("micro.extents", Tensor::i64({options_.accumulate}, extents));
    parts = builder_.add_many("Split", {whole, split}, count, {{"axis", int64_t{0}}}, "micro." + field.name);
  }
}

Status StepMaker::add_shared_inputs() {
  const auto needed = reached_from(micro_, {output_});
  for (std::size_t i = 0; i < micro_.inputs().size(); ++i) {
    const ValueId id = micro_.inputs()[i];
    const Value& value = micro_.value(id);
    if (field_that_feeds(options_, value.name) != nullptr) continue;
    const bool is_parameter = std::any_of(parameters_.begin(), parameters_.end(),
                                          [&](const NamedTensor& p) { return p.name == value.name; });
    if (is_parameter && !needed.contains(id)) continue;
    const bool is_state = micro_.state_of_input(i) != nullptr;
    if (!is_parameter && !is_state && value.name != "random.seed")
      return invalid(
          fmt::format("the model's input '{}' ({}) is fed by no field of the data; name it in "
                      "[model] inputs",
                      value.name, value.type.text()));
    if (is_parameter) {
      shared_[id] = add_parameter(value);
      continue;
    }
    const ValueId input = builder_.input(value.name, value.type);
    if (is_state) {
      states_[id] = input;
      model_states_.emplace_back(input, id);
    } else {
      shared_[id] = input;
    }
  }
  if (trained_.empty()) return invalid("the loss depends on no weight");
  return {};
}

// The parameter in f32.
ValueId StepMaker::add_parameter(const Value& of_micro) {
  TensorType type = of_micro.type;
  const bool is_narrow = options_.bf16_weights && type.dtype == DType::kF32;
  if (is_narrow) type.dtype = DType::kBF16;
  const ValueId input = builder_.input(of_micro.name, type);
  const ValueId wide = is_narrow ? in_f32(input, of_micro.name + ".f32") : input;
  trained_.push_back({of_micro.name, input, wide, kNoValue});
  return wide;
}

Result<ValueId> StepMaker::loss_of(ValueId prediction, ValueId target) {
  ValueId total;
  for (std::size_t t = 0; t < options_.objective.terms.size(); ++t) {
    const LossTerm& term = options_.objective.terms[t];
    HONE_ASSIGN(const LossSum loss, emit_loss(builder_, options_.objective, term, prediction, target));
    ValueId part = loss.sum;
    part = builder_.add("Div", {part, counts_[t]}, {}, "loss.mean");
    if (term.weight != 1) {
      const ValueId weight =
          builder_.constant("loss.weight", Tensor::scalar_f32(static_cast<float>(term.weight)));
      part = builder_.add("Mul", {part, weight}, {}, "loss.weighted");
    }
    total = total.valid() ? builder_.add("Add", {total, part}, {}, "loss.terms") : part;
  }
  return total;
}

Status StepMaker::add_micro_batch(ModelCopies& copies, int64_t number) {
  IdMap map = shared_;
  map.insert(states_.begin(), states_.end());
  const auto at = static_cast<std::size_t>(number);
  for (const ValueId id : micro_.inputs())
    if (const BatchField* field = field_that_feeds(options_, micro_.value(id).name); field != nullptr)
      map[id] = data_.at(field->name)[at];
  std::size_t first = builder_.nodes().size();
  const auto end_part = [&](StepPart part) {
    mark_part(builder_, first, part);
    first = builder_.nodes().size();
  };
  HONE_CHECK(copies.add(map));
  end_part(StepPart::kForward);
  HONE_ASSIGN(const ValueId loss, loss_of(map.at(output_), data_.at(options_.objective.target)[at]));
  end_part(StepPart::kLoss);
  std::vector<ValueId> xs;
  for (const TrainedParameter& p : trained_) xs.push_back(p.wide);
  const ValueId judged =
      options_.scale_loss ? builder_.add("Mul", {loss, loss_scale_}, {}, "loss.scaled") : loss;
  NodeId refused;
  const auto differentiated = differentiate(builder_, judged, xs, {.refused = &refused, .zeros = false});
  if (!differentiated.ok()) return with_what_to_freeze(differentiated.error(), refused, judged);
  const std::vector<ValueId>& gradients = *differentiated;
  end_part(StepPart::kBackward);
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    if (!gradients[i].valid()) continue;
    ValueId& sum = trained_[i].gradient;
    sum = sum.valid() ? builder_.add("Add", {sum, gradients[i]}, {}, "micro.gradient") : gradients[i];
  }
  end_part(StepPart::kAccumulation);
  loss_ = loss_.valid() ? builder_.add("Add", {loss_, loss}, {}, "micro.loss") : loss;
  end_part(StepPart::kLoss);
  for (const StatePair& pair : micro_.states())
    if (const auto state = states_.find(micro_.state_input(pair)); state != states_.end())
      state->second = map.at(micro_.next_value(pair));
  return {};
}

// Weights are frozen until a gradient reaches the others: behind the node that refused there may be more of its kind.
Error StepMaker::with_what_to_freeze(Error error, NodeId refused, ValueId judged) {
  std::vector<std::string> frozen;
  std::vector<TrainedParameter> others = trained_;
  while (refused.valid() && !others.empty()) {
    const auto before = reached_from(builder_, builder_.node(refused).outputs);
    const auto lies_behind = [&](const TrainedParameter& p) { return !before.contains(p.wide); };
    const auto first = std::stable_partition(others.begin(), others.end(), lies_behind);
    if (first == others.end()) return error;
    for (auto p = first; p != others.end(); ++p) frozen.push_back(p->name);
    others.erase(first, others.end());
    std::vector<ValueId> xs;
    for (const TrainedParameter& p : others) xs.push_back(p.wide);
    refused = NodeId();
    (void)differentiate(builder_, judged, xs, {.refused = &refused});
  }
  if (frozen.empty()) return error;
  std::vector<std::string> names;
  for (const TrainedParameter& p : others) names.push_back(p.name);
  error.message += "; " + freeze_advice(frozen, names);
  return error;
}

Status StepMaker::add_micro_batches() {
  const std::size_t first = builder_.nodes().size();
  for (const LossTerm& term : options_.objective.terms)
    counts_.push_back(
        emit_loss_count(builder_, options_.objective, term, micro_.type(output_), whole_target_));
  mark_part(builder_, first, StepPart::kLoss);
  if (options_.scale_loss) loss_scale_ = builder_.input(kLossScaleState, tensor_type(DType::kF32, Dims{}));
  ModelCopies copies(builder_, micro_);
  for (int64_t i = 0; i < options_.accumulate; ++i) HONE_CHECK(add_micro_batch(copies, i));
  // What no gradient reaches is no state: PyTorch's optimizers leave it out as well (its .grad is None), decay included.
  std::erase_if(trained_, [](const TrainedParameter& p) { return !p.gradient.valid(); });
  if (trained_.empty()) return invalid("no gradient reaches a weight: there is nothing to train");
  return {};
}

// What the update multiplies gradients by: clipped by their norm, and without the loss's scale.
UpdateScalars StepMaker::scalars_of(ValueId rate, ValueId norm) {
  UpdateScalars scalars{.rate = rate, .updates = updates_, .rounding_seed = options_.bf16_weights};
  if (options_.clip > 0) scalars.scale = emit_clip_scale(builder_, norm, options_.clip);
  if (!options_.scale_loss) return scalars;
  const auto add = [&](const char* op, std::vector<ValueId> inputs) {
    return builder_.add(op, std::move(inputs), {}, "scale.gradients");
  };
  const auto number = [&](float value) {
    return builder_.constant("scale.number", Tensor::scalar_f32(value));
  };
  skip_ = add("Or", {add("IsNaN", {norm}), add("IsInf", {norm})});
  const ValueId undone = add("Reciprocal", {loss_scale_});
  const ValueId scale = scalars.scale.valid() ? add("Mul", {scalars.scale, undone}) : undone;
  scalars.scale = add("Where", {skip_, number(std::numeric_limits<float>::quiet_NaN()), scale});
  scalars.skip = skip_;
  return scalars;
}

void StepMaker::add_next_loss_scale() {
  const auto add = [&](const char* op, std::vector<ValueId> inputs) {
    return builder_.add(op, std::move(inputs), {}, "scale.next");
  };
  const auto number = [&](float value) {
    return builder_.constant("scale.number", Tensor::scalar_f32(value));
  };
  const auto whole = [&](int64_t value) {
    return builder_.constant("scale.steps", Tensor::scalar_i64(value));
  };
  const ValueId steps = builder_.input(kStepsAtScaleState, tensor_type(DType::kI64, Dims{}));
  const ValueId count = add("Add", {steps, whole(1)});
  const ValueId is_time = add("Equal", {count, whole(kScaleInterval)});
  const ValueId grown = add("Where", {is_time, add("Mul", {loss_scale_, number(2)}), loss_scale_});
  builder_.next_value(loss_scale_, add("Where", {skip_, add("Mul", {loss_scale_, number(0.5F)}), grown}));
  builder_.next_value(steps, add("Where", {add("Or", {skip_, is_time}), whole(0), count}));
}

void StepMaker::add_update() {
  updates_ = builder_.input(kUpdatesState, tensor_type(DType::kI64, Dims{}));
  const ValueId rate = emit_rate(builder_, options_.schedule, options_.optimizer.rate, updates_);
  ValueId norm = emit_global_norm(builder_, trained_);
  if (options_.scale_loss) norm = builder_.add("Div", {norm, loss_scale_}, {}, "norm.unscaled");
  const UpdateScalars scalars = scalars_of(rate, norm);
  for (const auto& [value, name] : {std::pair{loss_, "loss"}, {rate, "rate"}, {norm, "gradient_norm"}}) {
    builder_.rename(value, name);
    builder_.output(value);
  }
  if (options_.scale_loss) builder_.output(builder_.add("Identity", {loss_scale_}, {}, "loss_scale"));
  const std::vector<ValueId> next = emit_updates(builder_, options_.optimizer, trained_, scalars);
  for (std::size_t i = 0; i < trained_.size(); ++i) builder_.next_value(trained_[i].value, next[i]);
  if (options_.ema > 0) {
    const auto number = [&](double value) {
      return builder_.constant("ema.number", Tensor::scalar_f32(static_cast<float>(value)));
    };
    for (std::size_t i = 0; i < trained_.size(); ++i) {
      const TrainedParameter& p = trained_[i];
      const ValueId mean = builder_.input(kEmaPrefix + p.name, builder_.type(p.wide));
      const ValueId wide = p.wide == p.value ? next[i] : in_f32(next[i], "ema.next_weight");
      const ValueId kept = builder_.add("Mul", {mean, number(options_.ema)}, {}, "ema.kept");
      const ValueId added = builder_.add("Mul", {wide, number(1 - options_.ema)}, {}, "ema.added");
      builder_.next_value(mean, unless_skipped(builder_.add("Add", {kept, added}, {}, "ema.next"), mean));
    }
  }
  // Statistics are those of steps that counted; a stream of random numbers goes on.
  for (const auto& [input, of_micro] : model_states_) {
    const ValueId after = states_.at(of_micro);
    const bool is_number = builder_.type(input).dtype == DType::kF32;
    builder_.next_value(input, is_number ? unless_skipped(after, input) : after);
  }
  const ValueId one = builder_.constant("one", Tensor::scalar_i64(1));
  builder_.next_value(updates_,
                      unless_skipped(builder_.add("Add", {updates_, one}, {}, "updates.next"), updates_));
  if (options_.scale_loss) add_next_loss_scale();
}

Status check_options(const StepOptions& options) {
  const auto labels =
      std::find_if(options.fields.begin(), options.fields.end(),
                   [&](const BatchField& field) { return field.name == options.objective.target; });
  if (labels == options.fields.end())
    return invalid(fmt::format("the data have no field '{}' to learn", options.objective.target));
  for (const BatchField& field : options.fields)
    if (field.type.shape().empty() || field.type.shape()[0] % options.accumulate != 0)
      return invalid(fmt::format("a batch of {} cannot be cut into {} micro-batches",
                                 field.type.shape().empty() ? 0 : field.type.shape()[0], options.accumulate));
  return {};
}

// What an operator's inference refuses while a graph is built of a user's model.
template <typename Build>
Result<Graph> built(const Build& build) {
  try {
    return build();
  } catch (const BuildError& error) {
    return invalid(error.what());
  }
}

Result<Graph> evaluation(const Graph& inference, const StepOptions& options) {
  GraphBuilder builder("evaluation");
  HONE_ASSIGN(const ValueId output, judged_output(inference, options.objective.output));
  const auto needed = reached_from(inference, {output});
  IdMap map;
  ValueId target;
  for (const BatchField& field : options.fields) {
    const ValueId input = builder.input(kDataPrefix + field.name, field.type);
    if (field.name == options.objective.target) target = input;
    if (const ValueId fed = input_named(inference, field.feeds); fed.valid()) map[fed] = input;
  }
  for (const ValueId id : inference.inputs())
    if (!map.contains(id) && needed.contains(id))
      map[id] = builder.input(inference.value(id).name, inference.type(id));
    else if (!map.contains(id))
      map[id] = builder.constant(inference.value(id).name,
                                 Tensor::zeros(inference.type(id).dtype, inference.type(id).shape()));
  ModelCopies copies(builder, inference);
  HONE_CHECK(copies.add(map));
  const ValueId prediction = map.at(output);
  for (const LossTerm& term : options.objective.terms) {
    HONE_ASSIGN(const LossSum loss, emit_loss(builder, options.objective, term, prediction, target));
    builder.output(loss.sum);
    builder.output(builder.add("Identity", {loss.count}, {}, "loss.count"));
  }
  for (const ValueId counts : emit_metric_counts(builder, options.objective, prediction, target))
    builder.output(counts);
  return std::move(builder).finish();
}

}  // namespace

Result<Graph> make_step(const Graph& micro, const std::vector<NamedTensor>& parameters,
                        const StepOptions& options) {
  HONE_CHECK(check_options(options));
  return built([&] { return StepMaker(micro, parameters, options).make(); });
}

Result<Graph> make_evaluation(const Graph& inference, const StepOptions& options) {
  HONE_CHECK(check_options(options));
  return built([&] { return evaluation(inference, options); });
}

}  // namespace hone::graph
