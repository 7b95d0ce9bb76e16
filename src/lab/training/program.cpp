#include "lab/training/program.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/op_table.h"
#include "graph/random_seeds.h"
#include "graph/specialise.h"
#include "graph/verify.h"
#include "model/onnx/reader.h"
#include "model/zoo/zoo.h"
#include "passes/lower_precision.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"

namespace hone::lab {
namespace {

Result<graph::Graph> load_recipes_model(const model::RecipeModel& recipe) {
  if (recipe.zoo.empty()) return model::read_onnx(recipe.onnx);
  model::ZooOptions options;
  options.seed = recipe.seed;
  options.sizes = recipe.sizes;
  return model::build_zoo_model(recipe.zoo, options);
}

std::string names_of(std::span<const data::Field> fields) {
  std::vector<std::string> names;
  for (const data::Field& field : fields) names.push_back(field.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

class ProgramMaker {
 public:
  ProgramMaker(const model::Recipe& recipe, std::span<const data::Field> fields, int64_t steps,
               int64_t evaluation_batch)
      : recipe_(recipe), fields_(fields), steps_(steps), evaluation_batch_(evaluation_batch) {}

  Result<TrainingProgram> make() {
    HONE_ASSIGN(const graph::Graph model, load_recipes_model(recipe_.model));
    HONE_ASSIGN(program_.model, graph::make_trainable(model, {recipe_.model.freeze}));
    HONE_CHECK(check_groups());
    set_options();
    HONE_CHECK(feed_inputs(model));
    HONE_CHECK(find_target());
    HONE_ASSIGN(const graph::Graph micro,
                specialised(program_.model.training, program_.options.fields, recipe_.train.accumulate));
    graph::StepOptions evaluation = program_.options;
    evaluation.accumulate = 1;
    for (graph::BatchField& field : evaluation.fields) {
      Shape shape = field.type.shape();
      shape[0] = evaluation_batch_;
      field.type = graph::tensor_type(field.type.dtype, shape);
    }
    const auto specialised_whole = specialised(program_.model.inference, evaluation.fields, 1);
    if (!specialised_whole.ok())
      return specialised_whole.error().within(fmt::format(
          "evaluating {} samples at once, a part of those that [data] validation keeps back (a model with "
          "a fixed batch takes so many alone: export it with an open one, or keep back a multiple of it)",
          evaluation_batch_));
    const graph::Graph& whole = *specialised_whole;
    HONE_CHECK(check_prediction(whole, evaluation.fields));
    HONE_ASSIGN(const graph::Graph random, graph::with_random_stream(micro));
    HONE_ASSIGN(program_.step, graph::make_step(random, program_.model.parameters, program_.options));
    HONE_ASSIGN(program_.evaluation, graph::make_evaluation(whole, evaluation));
    HONE_CHECK(graph::verify(program_.step));
    HONE_CHECK(graph::verify(program_.evaluation));
    set_initial_values();
    const std::vector<std::string> untrained = untrained_weights(program_);
    for (const graph::NamedTensor& parameter : program_.model.parameters)
      if (std::find(untrained.begin(), untrained.end(), parameter.name) == untrained.end())
        program_.parameters += parameter.value.size();
    for (const graph::Node& node : program_.step.nodes())
      program_.step_flops += graph::node_cost(program_.step, node).flops;
    return std::move(program_);
  }

 private:
  Status check_groups() const;
  void set_options();
  Status feed_inputs(const graph::Graph& model);
  Status find_target();
  Result<graph::Graph> specialised(const graph::Graph& graph, const std::vector<graph::BatchField>& fields,
                                   int64_t parts) const;
  Status check_prediction(const graph::Graph& whole, const std::vector<graph::BatchField>& fields);
  void set_initial_values();

  const model::Recipe& recipe_;
  std::span<const data::Field> fields_;
  int64_t steps_;
  int64_t evaluation_batch_;
  TrainingProgram program_;
};

// As of `freeze`: a pattern that matches nothing is a name misspelt.
Status ProgramMaker::check_groups() const {
  for (const graph::ParameterGroup& group : recipe_.optimizer.groups)
    for (const std::string& pattern : group.match)
      if (std::none_of(program_.model.parameters.begin(), program_.model.parameters.end(),
                       [&](const graph::NamedTensor& p) { return graph::matches_pattern(pattern, p.name); }))
        return invalid(
            fmt::format("[[optimizer.groups]] match: no trained weight's name matches '{}'", pattern));
  return {};
}

void ProgramMaker::set_options() {
  graph::StepOptions& o = program_.options;
  o.objective = recipe_.objective;
  o.optimizer = recipe_.optimizer;
  o.schedule = recipe_.schedule;
  o.schedule.steps = steps_;
  const bool is_share = recipe_.warmup < 1;
  o.schedule.warmup_steps =
      std::llround(is_share ? recipe_.warmup * static_cast<double>(steps_) : recipe_.warmup);
  o.accumulate = recipe_.train.accumulate;
  o.clip = recipe_.train.clip;
  o.ema = recipe_.train.ema;
  o.scale_loss = recipe_.train.precision == "fp16";
  o.narrow_residual = recipe_.train.residual == "narrow";
  if (recipe_.train.weights == "bf16") o.bf16_weights = recipe_.train.seed;
  for (const data::Field& field : fields_) {
    Shape shape = field.shape;
    shape.insert(shape.begin(), recipe_.train.batch);
    o.fields.push_back({field.name, graph::tensor_type(field.dtype, shape), ""});
  }
}

// By the recipe's table, or by name, or the model's only input and the data's first field.
Status ProgramMaker::feed_inputs(const graph::Graph& model) {
  std::set<std::string> used;
  for (const graph::ValueId id : model.inputs()) {
    const graph::Value& input = model.value(id);
    const auto said = recipe_.model.inputs.find(input.name);
    std::string wanted = said != recipe_.model.inputs.end() ? said->second : input.name;
    if (said != recipe_.model.inputs.end()) used.insert(input.name);
    auto field = std::find_if(program_.options.fields.begin(), program_.options.fields.end(),
                              [&](const graph::BatchField& f) { return f.name == wanted; });
    if (field == program_.options.fields.end() && said == recipe_.model.inputs.end() &&
        model.inputs().size() == 1)
      field = program_.options.fields.begin();
    if (field == program_.options.fields.end())
      return invalid(fmt::format("[model] inputs: the model's '{}' ({}) is fed by no field; the data have {}",
                                 input.name, input.type.text(), names_of(fields_)));
    if (auto merged = graph::merge_types(input.type, field->type); !merged.ok())
      return merged.error().within(
          fmt::format("the model's input '{}' is {}, the field '{}' with its batch {}", input.name,
                      input.type.text(), field->name, field->type.text()));
    field->feeds = input.name;
  }
  for (const auto& [name, field] : recipe_.model.inputs)
    if (!used.contains(name))
      return invalid(fmt::format("[model] inputs: the model has no input '{}'", name));
  return {};
}

Status ProgramMaker::find_target() {
  std::string& target = program_.options.objective.target;
  if (!target.empty()) {
    for (const data::Field& field : fields_)
      if (field.name == target) return {};
    return invalid(
        fmt::format("[loss] target: the data have no field '{}'; they have {}", target, names_of(fields_)));
  }
  for (const graph::BatchField& field : program_.options.fields) {
    if (!field.feeds.empty()) continue;
    if (!target.empty()) return invalid(fmt::format("[loss] needs a target: one of {}", names_of(fields_)));
    target = field.name;
  }
  if (target.empty()) return invalid("[loss] needs a target: every field feeds the model");
  return {};
}

// With known extents for one of `parts` of the batch, without the chains by which exporters compute shapes, and with
// activations, normalizations and attention as one operator each: their gradients then are, too.
Result<graph::Graph> ProgramMaker::specialised(const graph::Graph& graph,
                                               const std::vector<graph::BatchField>& fields,
                                               int64_t parts) const {
  std::vector<graph::InputFact> facts(graph.inputs().size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    for (const graph::BatchField& field : fields) {
      if (field.feeds != graph.value(graph.inputs()[i]).name || field.feeds.empty()) continue;
      Shape shape = field.type.shape();
      shape[0] /= parts;
      facts[i].type = graph::tensor_type(field.type.dtype, shape);
    }
  }
  HONE_ASSIGN(graph::Graph known, graph::specialise(graph, facts));
  passes::PassContext context;
  context.evaluate = runtime::interpret_node;
  context.target.takes.attention =
      true;  // where it has no kernel for the gradient, that is spelled out again
  HONE_ASSIGN(passes::PipelineResult simple,
              passes::run_pipeline(std::move(known), context,
                                   {.disabled = {},
                                    .only = {"simplify", "recognise_activations", "recognise_normalization",
                                             "recognise_attention"},
                                    .lossy = {}}));
  return std::move(simple.graph);
}

Status ProgramMaker::check_prediction(const graph::Graph& whole,
                                      const std::vector<graph::BatchField>& fields) {
  const graph::Objective& objective = program_.options.objective;
  graph::ValueId output;
  std::string names;
  for (const graph::ValueId id : whole.outputs()) {
    const std::string& name = whole.value(id).name;
    if (!output.valid() && (objective.output.empty() || objective.output == name)) output = id;
    names += (names.empty() ? "" : ", ") + name;
  }
  if (!output.valid())
    return invalid(fmt::format("[model] output: the model has no '{}'; it has {}", objective.output, names));
  if (!whole.type(output).is_static())
    return unsupported(fmt::format("the model's output '{}' is {}: its shape is known only when it runs",
                                   whole.value(output).name, whole.type(output).text()));
  const auto labels = std::find_if(fields.begin(), fields.end(), [&](const graph::BatchField& field) {
    return field.name == objective.target;
  });
  HONE_CHECK(graph::check_objective(objective, whole.type(output), labels->type));
  if (auto axis = graph::class_axis(whole.type(output), labels->type); axis.ok())
    program_.classes = whole.type(output).shape()[static_cast<std::size_t>(*axis)];
  return {};
}

void ProgramMaker::set_initial_values() {
  std::map<std::string, Tensor> known;
  for (const auto* list : {&program_.model.parameters, &program_.model.statistics})
    for (const graph::NamedTensor& tensor : *list) known[tensor.name] = tensor.value;
  const std::string ema = graph::kEmaPrefix;
  // Moments begin with zeros, which need not be there as often as there are moments.
  std::size_t largest = 0;
  for (const graph::ValueId id : program_.step.inputs())
    largest = std::max(largest, program_.step.type(id).storage_bytes());
  const auto zeros =
      std::make_shared<const Tensor>(Tensor::zeros(DType::kU8, {static_cast<int64_t>(largest)}));
  program_.zeros = *zeros;
  for (const graph::ValueId id : program_.step.inputs()) {
    const graph::Value& value = program_.step.value(id);
    if (value.name.starts_with(graph::kDataPrefix)) continue;
    const bool is_ema = value.name.starts_with(ema) && known.contains(value.name.substr(ema.size()));
    const auto found = known.find(is_ema ? value.name.substr(ema.size()) : value.name);
    Tensor initial = found != known.end()
                         ? found->second
                         : Tensor::borrowed(value.type.dtype, value.type.shape(), zeros->data(), zeros);
    if (value.name == "random.seed") initial = Tensor::scalar_i64(static_cast<int64_t>(recipe_.train.seed));
    if (value.type.dtype == DType::kBF16 && initial.dtype() == DType::kF32)
      initial = passes::narrowed(initial, DType::kBF16);
    if (value.name == graph::kLossScaleState) initial = Tensor::scalar_f32(graph::kFirstLossScale);
    program_.initial[value.name] = initial.aligned();
  }
}

}  // namespace

Result<TrainingProgram> make_program(const model::Recipe& recipe, std::span<const data::Field> fields,
                                     int64_t steps, int64_t evaluation_batch) {
  return ProgramMaker(recipe, fields, steps, evaluation_batch).make();
}

std::vector<std::string> untrained_weights(const TrainingProgram& program) {
  std::set<std::string> states;
  for (const graph::StatePair& pair : program.step.states())
    states.insert(program.step.value(program.step.state_input(pair)).name);
  std::vector<std::string> names;
  for (const graph::NamedTensor& parameter : program.model.parameters)
    if (!states.contains(parameter.name)) names.push_back(parameter.name);
  return names;
}

}  // namespace hone::lab
