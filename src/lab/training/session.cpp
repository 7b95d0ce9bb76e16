#include "lab/training/session.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <unordered_set>

#include <fmt/format.h>

#include "core/as_f32.h"
#include "lab/experiment/target.h"
#include "lab/prepared.h"
#include "lab/training/datasets.h"
#include "runtime/interpreter.h"

namespace hone::lab {
namespace {

// Whether a loss or the metric takes labels that are no class numbers for shares: nothing to all of it.
bool takes_shares(const graph::Objective& objective) {
  return objective.metric == graph::MetricKind::kDice || objective.metric == graph::MetricKind::kIou ||
         std::any_of(objective.terms.begin(), objective.terms.end(), [](const graph::LossTerm& term) {
           return term.kind == graph::LossKind::kBce || term.kind == graph::LossKind::kDice;
         });
}

// Of the masks of a batch, a million numbers and more: in one pass that compilers make wide.
bool are_zero_or_one(std::span<const uint8_t> values) {
  uint8_t bits = 0;
  for (const uint8_t value : values) bits |= value;
  return bits <= 1;
}

// As number_outputs() has them.
StepNumbers numbers_of(std::span<const Tensor> read) {
  StepNumbers numbers{read[0].at(0), read[1].at(0), read[2].at(0)};
  if (read.size() > 3) numbers.loss_scale = read[3].at(0);
  return numbers;
}

bool is_data(const std::string& name) { return name.starts_with(graph::kDataPrefix); }

}  // namespace

Result<passes::PipelineResult> optimised_step(const TrainingProgram& program,
                                              const runtime::Provider& provider,
                                              const std::set<std::string>& without_passes,
                                              const std::string& precision) {
  passes::PipelineOptions options;
  options.disabled = without_passes;
  if (precision != "f32") options.lossy.insert(precision);
  passes::PassContext context{runtime::interpret_node, nullptr, pass_target(provider)};
  context.narrow_residual = program.options.narrow_residual;
  HONE_ASSIGN(passes::PipelineResult step, passes::run_pipeline(program.step, context, options));
  for (const passes::PassReport& report : step.reports) {
    if (report.name != precision || !report.done.empty()) continue;
    return unsupported(fmt::format(
        "[train] precision = \"{}\" cannot be had: {}; --set train.precision=f32, or take another device",
        precision, report.missed.empty() ? "the step has no product" : report.missed[0].text));
  }
  return step;
}

Result<SessionGraphs> optimised_graphs(const TrainingProgram& program, const runtime::Provider& provider,
                                       const std::set<std::string>& without_passes,
                                       const std::string& precision) {
  SessionGraphs graphs;
  HONE_ASSIGN(passes::PipelineResult step, optimised_step(program, provider, without_passes, precision));
  for (passes::PassReport& report : step.reports)
    if (report.name == precision) graphs.types = std::move(report.types);
  graphs.step = std::move(step.graph);
  HONE_ASSIGN(graphs.evaluation, optimise(program.evaluation, provider, without_passes));
  return graphs;
}

Result<std::unique_ptr<Session>> Session::make(const TrainingProgram& program,
                                               const runtime::Provider& provider,
                                               const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session(program));
  HONE_CHECK(session->make_plans(provider, options));
  model::NamedTensors initial(program.initial.begin(), program.initial.end());
  HONE_CHECK(session->restore(initial));
  return session;
}

Status Session::make_plans(const runtime::Provider& provider, const SessionOptions& options) {
  SessionGraphs graphs;
  if (options.graphs != nullptr) {
    graphs = *options.graphs;
  } else {
    HONE_ASSIGN(graphs, optimised_graphs(program_, provider, options.without_passes, options.precision));
  }
  runtime::PlanOptions plan;
  plan.autotune = options.autotune;
  plan.cache = options.cache;
  plan.check_numbers = options.check_numbers;
  plan.progress = options.progress;
  HONE_ASSIGN(plan_, runtime::Plan::compile(std::move(graphs.step), provider, plan));
  plan.check_numbers = false;
  HONE_ASSIGN(evaluation_, runtime::Plan::compile(std::move(graphs.evaluation), provider, plan));
  data_inputs_ = BatchInputs(plan_->graph(), program_.options.fields);
  evaluation_data_inputs_ = BatchInputs(evaluation_->graph(), program_.options.fields);
  HONE_CHECK(data_inputs_.stage(plan_->graph(), *provider.device()));
  HONE_CHECK(evaluation_data_inputs_.stage(evaluation_->graph(), *provider.device()));
  classes_ = program_.classes;
  return {};
}

Status Session::check_labels(const data::Batch& batch, const data::Dataset& data) const {
  const graph::Objective& objective = program_.options.objective;
  const bool are_shares = classes_ == 0 && takes_shares(objective);
  if (classes_ == 0 && !are_shares) return {};
  const auto fits = [&](const Tensor& labels, int64_t i) {
    if (are_shares) return labels.at(i) >= 0 && labels.at(i) <= 1;
    const int64_t label = labels.int_at(i);
    return (label >= 0 && label < classes_) || label == objective.ignore;
  };
  for (std::size_t f = 0; f < batch.tensors.size(); ++f) {
    if (program_.options.fields[f].name != objective.target) continue;
    const Tensor& labels = batch.tensors[f];
    if (are_shares && labels.dtype() == DType::kU8 && are_zero_or_one(labels.as<uint8_t>())) continue;
    const int64_t each = labels.size() / std::max<int64_t>(labels.shape().at(0), 1);
    for (int64_t i = 0; i < labels.size(); ++i) {
      if (fits(labels, i)) continue;
      const std::string name = data.name_of(batch.samples.at(static_cast<std::size_t>(i / each)));
      if (!are_shares) return label_out_of_range(name, labels.int_at(i), classes_);
      return invalid(
          fmt::format("{}: its {} holds {:g}, but without classes bce, dice and iou take 0 to 1; masks that "
                      "mark with any "
                      "number but 0 need [data] binary_masks = true (of source pairs)",
                      name, objective.target, labels.at(i)));
    }
  }
  return {};
}

Status Session::write_batch(const data::Batch& batch, const data::Dataset& data) {
  HONE_CHECK(ready_batch(batch, data));
  return take_batch();
}

Status Session::ready_batch(const data::Batch& batch, const data::Dataset& data) {
  HONE_CHECK(check_labels(batch, data));
  return data_inputs_.ready(batch);
}

Status Session::take_batch() { return data_inputs_.take(*plan_); }

Result<StepNumbers> Session::step(const std::function<Status()>& meanwhile) {
  HONE_CHECK(plan_->run(meanwhile));
  return numbers();
}

std::span<const std::size_t> Session::number_outputs() const {
  static constexpr std::array<std::size_t, 4> kOutputs = {graph::kStepLoss, graph::kStepRate,
                                                          graph::kStepNorm, graph::kStepLossScale};
  return std::span(kOutputs).first(program_.options.scale_loss ? 4 : 3);
}

Result<StepNumbers> Session::numbers() const {
  std::vector<Tensor> read;
  for (const std::size_t output : number_outputs()) {
    HONE_ASSIGN(Tensor number, plan_->read(output));
    read.push_back(std::move(number));
  }
  return numbers_of(read);
}

Status Session::give_step() { return plan_->give(number_outputs()); }

Result<Session::TakenStep> Session::take_step() {
  HONE_ASSIGN(const runtime::TakenRun run, plan_->take());
  TakenStep step{numbers_of(run.outputs), std::nullopt};
  if (run.idle_us) step.idle_s = *run.idle_us * 1e-6;
  return step;
}

// One after the other, so that no more than one copy is there.
Status Session::copy_to_evaluation() {
  std::map<std::string, const graph::NamedTensor*> by_name;
  for (const auto* list : {&program_.model.parameters, &program_.model.statistics})
    for (const graph::NamedTensor& tensor : *list) by_name[tensor.name] = &tensor;
  const graph::Graph& graph = evaluation_->graph();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const std::string& name = graph.value(graph.inputs()[i]).name;
    if (is_data(name)) continue;
    const auto found = by_name.find(name);
    if (found == by_name.end())
      return invalid(fmt::format("evaluation needs '{}', which is not trained", name));
    HONE_ASSIGN(const Tensor value, trained_value(*found->second));
    HONE_CHECK(evaluation_->write(i, value));
  }
  return {};
}

Result<EvaluationNumbers> Session::evaluate(data::Batches& batches, const data::Dataset& data) {
  HONE_CHECK(copy_to_evaluation());
  HONE_CHECK(batches.seek({}));
  const std::size_t terms = program_.options.objective.terms.size();
  std::vector<double> sums(terms), counts(terms), metric_counts;
  EvaluationNumbers numbers;
  std::unordered_set<int64_t> judged;  // one that stands in for a damaged sample counts once
  for (int64_t b = 0; b < batches.batches_per_epoch(); ++b) {
    HONE_ASSIGN(const data::Batch batch, batches.next());
    HONE_CHECK(check_labels(batch, data));
    HONE_CHECK(evaluation_data_inputs_.write(*evaluation_, batch));
    HONE_CHECK(evaluation_->run());
    HONE_ASSIGN(const std::vector<Tensor> outputs, evaluation_->read_all());
    for (std::size_t t = 0; t < terms; ++t) {
      sums[t] += outputs[2 * t].at(0);
      counts[t] += outputs[2 * t + 1].at(0);
    }
    if (outputs.size() > 2 * terms) {
      const Tensor& each = outputs[2 * terms];  // [samples, n]
      const int64_t n = each.shape().at(1);
      metric_counts.resize(static_cast<std::size_t>(n));
      for (int64_t i = 0; i < each.size(); ++i) metric_counts[static_cast<std::size_t>(i % n)] += each.at(i);
    }
    judged.insert(batch.samples.begin(), batch.samples.end());
  }
  numbers.samples = std::ssize(judged);
  for (std::size_t t = 0; t < terms; ++t)
    numbers.loss += program_.options.objective.terms[t].weight * sums[t] / std::max(counts[t], 1.0);
  numbers.metric = graph::metric_of(program_.options.objective.metric, metric_counts, numbers.loss);
  return numbers;
}

Result<model::NamedTensors> Session::states() const {
  model::NamedTensors states;
  const graph::Graph& graph = plan_->graph();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const std::string& name = graph.value(graph.inputs()[i]).name;
    if (is_data(name)) continue;
    HONE_ASSIGN(Tensor tensor, plan_->read_input(i));
    states.emplace_back(name, std::move(tensor));
  }
  return states;
}

Status Session::restore(const model::NamedTensors& states) {
  const graph::Graph& graph = plan_->graph();
  std::map<std::string, const Tensor*> by_name;
  for (const auto& [name, tensor] : states) by_name[name] = &tensor;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const graph::Value& value = graph.value(graph.inputs()[i]);
    if (is_data(value.name)) continue;
    const auto found = by_name.find(value.name);
    if (found == by_name.end())
      return invalid(
          fmt::format("there is no '{}' among the states; were they of another recipe?", value.name));
    if (found->second->dtype() != value.type.dtype || found->second->shape() != value.type.shape())
      return invalid(fmt::format("'{}' is {}{} among the states, the recipe's is {}", value.name,
                                 dtype_name(found->second->dtype()), shape_text(found->second->shape()),
                                 value.type.text()));
    HONE_CHECK(plan_->write(i, found->second->aligned()));
  }
  return {};
}

// In f32, with the moving average where there is one.
Result<Tensor> Session::trained_value(const graph::NamedTensor& tensor) const {
  const graph::Graph& graph = plan_->graph();
  std::size_t input = input_named(graph, graph::kEmaPrefix + tensor.name);
  if (input == kNoInput) input = input_named(graph, tensor.name);
  if (input == kNoInput) return tensor.value;  // the loss does not depend on it
  HONE_ASSIGN(const Tensor kept, plan_->read_input(input));
  return kept.dtype() == DType::kBF16 ? as_f32(kept) : kept;
}

Result<std::map<std::string, Tensor>> Session::trained_values() const {
  std::map<std::string, Tensor> values;
  for (const auto* list : {&program_.model.parameters, &program_.model.statistics})
    for (const graph::NamedTensor& tensor : *list) {
      HONE_ASSIGN(values[tensor.name], trained_value(tensor));
    }
  return values;
}

}  // namespace hone::lab
