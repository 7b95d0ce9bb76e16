// The step as a graph: accumulation is one batch, statistics and dropout are states, frozen and tied weights.
#include "graph/training/step.h"

#include <cmath>

#include <gmock/gmock.h>

#include "core/philox.h"
#include "graph/random_seeds.h"
#include "graph/specialise.h"
#include "graph/text.h"
#include "graph/training/trainable.h"
#include "graph/verify.h"
#include "model/zoo/zoo.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"

namespace hone::training {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::tensor_type;
using graph::ValueId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

template <typename T>
T valid(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

Tensor made(Shape shape, uint64_t stream, double size = 0.5) {
  Tensor tensor(DType::kF32, std::move(shape));
  const Philox random(5, stream);
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.size()); ++i)
    tensor.as<float>()[i] = static_cast<float>(size * random.normal(i));
  return tensor;
}

constexpr int64_t kSamples = 12, kLength = 5, kVocabulary = 7, kWidth = 6;

// Tokens to logits: embedding, normalisation, a dense layer whose weight is the embedding.
Graph tiny_language_model() {
  GraphBuilder b("tiny");
  const ValueId tokens =
      b.input("tokens", tensor_type(DType::kI64, graph::Dims{graph::Dim::symbol("batch"), kLength}));
  const ValueId embedding = b.constant("wte.weight", made({kVocabulary, kWidth}, 1));
  ValueId x = b.add("Gather", {embedding, tokens}, {{"axis", int64_t{0}}});
  x = b.add("LayerNormalization",
            {x, b.constant("ln.weight", made({kWidth}, 2)), b.constant("ln.bias", made({kWidth}, 3))});
  x = b.add("MatMul", {x, b.add("Transpose", {embedding}, {{"perm", Ints{1, 0}}})});
  b.rename(x, "logits");
  b.output(x);
  return valid(std::move(b).finish());
}

Graph with_batch(const Graph& graph, const std::string& input, const graph::TensorType& type) {
  std::vector<graph::InputFact> facts(graph.inputs().size());
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (graph.value(graph.inputs()[i]).name == input) facts[i].type = type;
  return valid(graph::with_random_stream(valid(graph::specialise(graph, facts))));
}

struct Stepper {
  Graph step;
  std::map<std::string, Tensor> values;
  double loss = 0, norm = 0;

  void run() {
    std::vector<Tensor> inputs;
    for (const ValueId id : step.inputs()) inputs.push_back(values.at(step.value(id).name));
    const auto outputs = valid(runtime::interpret(step, inputs));
    loss = outputs[graph::kStepLoss].at(0);
    norm = outputs[graph::kStepNorm].at(0);
    for (const graph::StatePair& pair : step.states())
      values[step.value(step.state_input(pair)).name] = outputs[pair.output].clone();
  }
};

Stepper stepper(const graph::TrainableModel& model, const graph::StepOptions& options, const Graph& micro) {
  Stepper made{valid(graph::make_step(micro, model.parameters, options)), {}, 0, 0};
  const Status status = graph::verify(made.step);
  if (!status.ok()) throw std::runtime_error(status.error().message);
  for (const ValueId id : made.step.inputs()) {
    const graph::Value& value = made.step.value(id);
    made.values[value.name] = Tensor::zeros(value.type.dtype, value.type.shape());
  }
  for (const auto* list : {&model.parameters, &model.statistics})
    for (const graph::NamedTensor& tensor : *list) made.values[tensor.name] = tensor.value;
  return made;
}

TEST(TrainingStep, MicroBatchesOfUnequalTokenCountsAreOneBatch) {
  const graph::TrainableModel model = valid(graph::make_trainable(tiny_language_model()));
  graph::StepOptions options;
  options.fields = {{"tokens", tensor_type(DType::kI64, Shape{kSamples, kLength}), "tokens"},
                    {"next", tensor_type(DType::kI64, Shape{kSamples, kLength}), ""}};
  options.objective.terms = {{graph::LossKind::kCrossEntropy, 1}};
  options.objective.target = "next";
  options.objective.ignore = -100;
  options.optimizer.kind = graph::OptimizerKind::kSgd;
  options.optimizer.rate = 0.5;
  options.clip = 0.4;
  options.ema = 0.8;

  Tensor tokens(DType::kI64, {kSamples, kLength}), next(DType::kI64, {kSamples, kLength});
  const Philox random(9);
  for (std::size_t i = 0; i < static_cast<std::size_t>(kSamples * kLength); ++i) {
    tokens.as<int64_t>()[i] = static_cast<int64_t>(random.uniform(i) * kVocabulary);
    next.as<int64_t>()[i] = static_cast<int64_t>(random.uniform(1000 + i) * kVocabulary);
  }
  // The first samples have a token or two that count, the last all of them; one micro-batch of six has none.
  for (int64_t sample = 0; sample < kSamples; ++sample)
    for (int64_t i = 0; i < kLength; ++i)
      if ((sample < 6 && i > sample % 2) || sample < 2)
        next.as<int64_t>()[static_cast<std::size_t>(sample * kLength + i)] = -100;

  std::vector<Stepper> steppers;
  for (const int64_t parts : {1, 2, 3, 6, 12}) {
    options.accumulate = parts;
    const Graph micro =
        with_batch(model.training, "tokens", tensor_type(DType::kI64, Shape{kSamples / parts, kLength}));
    steppers.push_back(stepper(model, options, micro));
    steppers.back().values["data.tokens"] = tokens;
    steppers.back().values["data.next"] = next;
    for (int i = 0; i < 4; ++i) steppers.back().run();
  }
  for (std::size_t s = 1; s < steppers.size(); ++s) {
    EXPECT_NEAR(steppers[s].loss, steppers[0].loss, 1e-6);
    EXPECT_NEAR(steppers[s].norm, steppers[0].norm, 1e-6);
    for (const auto& [name, tensor] : steppers[0].values)
      for (int64_t i = 0; tensor.dtype() == DType::kF32 && i < tensor.size(); ++i)
        EXPECT_NEAR(steppers[s].values.at(name).at(i), tensor.at(i), 2e-6) << name;
  }
  // They did move: the comparison could fail.
  EXPECT_GT(std::abs(steppers[0].values.at("wte.weight").at(3) - model.parameters[0].value.at(3)), 1e-3);
}

// Convolution, batch normalisation, dropout as an exporter leaves it (not training), a mean over places.
Graph tiny_classifier() {
  GraphBuilder b("classifier");
  const ValueId image =
      b.input("image", tensor_type(DType::kF32, graph::Dims{graph::Dim::symbol("batch"), 2, 4, 4}));
  ValueId x =
      b.add("Conv",
            {image, b.constant("conv.weight", made({3, 2, 3, 3}, 1)), b.constant("conv.bias", made({3}, 2))},
            {{"pads", Ints{1, 1, 1, 1}}});
  const ValueId ones = b.constant("onnx::shared", Tensor::f32({3}, std::vector<float>{1, 1, 1}));
  x = b.add("BatchNormalization",
            {x, ones, b.constant("bn.bias", made({3}, 3)), b.constant("bn.mean", made({3}, 4)), ones},
            {{"momentum", 0.75F}}, "bn");
  x = b.add("Relu", {x});
  x = b.add("Dropout", {x, b.constant("ratio", Tensor::scalar_f32(0.5F))}, {}, "dropout");
  x = b.add("ReduceMean", {x, b.constant("axes", Tensor::i64({2}, std::vector<int64_t>{2, 3}))},
            {{"keepdims", int64_t{0}}});
  b.rename(x, "logits");
  b.output(x);
  return valid(std::move(b).finish());
}

std::vector<std::string> names_of(const std::vector<graph::NamedTensor>& list) {
  std::vector<std::string> names;
  for (const graph::NamedTensor& tensor : list) names.push_back(tensor.name);
  return names;
}

TEST(TrainableModel, ShareOfMergedConstantsEndsAtNormalizations) {
  const graph::TrainableModel model = valid(graph::make_trainable(tiny_classifier()));
  EXPECT_THAT(names_of(model.parameters),
              UnorderedElementsAre("conv.weight", "conv.bias", "onnx::shared", "bn.bias"));
  EXPECT_THAT(names_of(model.statistics), ElementsAre("bn.mean", "bn.onnx::shared"));
}

// What PyTorch's exporter makes of layers with fresh weights: one constant of zeros and one of ones, and for every
// further reader an Identity of it, or an Identity of that.
Graph merged_layers() {
  GraphBuilder b("merged");
  const ValueId image = b.input("x", tensor_type(DType::kF32, graph::Dims{graph::Dim::symbol("batch"), 3}));
  const ValueId ones = b.constant("bn.weight", Tensor::f32({3}, std::vector<float>{1, 1, 1}));
  const ValueId zeros = b.constant("bn.bias", Tensor::zeros(DType::kF32, {3}));
  const auto also = [&](ValueId value, const char* name) {
    const ValueId own = b.add("Identity", {value});
    b.rename(own, name);
    return own;
  };
  const ValueId shift = also(zeros, "ln.bias");
  ValueId x = b.add("BatchNormalization", {image, ones, zeros, also(zeros, "bn.mean"), also(ones, "bn.var")});
  x = b.add("LayerNormalization", {x, also(ones, "ln.weight"), shift});
  x = b.add("LayerNormalization", {x, also(ones, "ln2.weight"), also(shift, "ln2.bias")});
  b.rename(x, "logits");
  b.output(x);
  return valid(std::move(b).finish());
}

TEST(TrainableModel, GivesEachReaderOfAMergedConstantItsOwnWeight) {
  const graph::TrainableModel model = valid(graph::make_trainable(merged_layers()));
  EXPECT_THAT(names_of(model.parameters),
              UnorderedElementsAre("bn.weight", "bn.bias", "ln.weight", "ln.bias", "ln2.weight", "ln2.bias"));
  EXPECT_THAT(names_of(model.statistics), ElementsAre("bn.mean", "bn.var"));
  EXPECT_EQ(model.training.states().size(), 2U);
  const Graph changed = valid(graph::with_constants(model.base, {{"ln.bias", made({3}, 7)}}));
  EXPECT_TRUE(
      same_tensor(*changed.value(changed.find_value("ln2.bias")).constant, Tensor::zeros(DType::kF32, {3})));
}

// `graph` as an exporter writes it for training: statistics are outputs, Dropout draws.
Graph exported_for_training(const Graph& graph, bool reads_statistics = false) {
  GraphBuilder b(graph);
  Tensor yes(DType::kBool, Shape{});
  yes.as<bool>()[0] = true;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const graph::NodeId id{i};
    if (b.node(id).op == "Dropout") b.append_input(id, b.constant("trains", yes));
    if (b.node(id).op != "BatchNormalization") continue;
    Attributes attributes = b.node(id).attributes;
    attributes.set("training_mode", int64_t{1});
    const auto outputs = b.add_many("BatchNormalization", b.node(id).inputs, 3, attributes);
    b.replace_all_uses(b.node(id).outputs[0], outputs[0]);
    b.erase(id);
    if (reads_statistics) b.output(outputs[1]);
  }
  return valid(std::move(b).finish());
}

TEST(TrainableModel, ExportedForTrainingIsTheSameAsForInference) {
  const graph::TrainableModel plain = valid(graph::make_trainable(tiny_classifier()));
  const graph::TrainableModel model = valid(graph::make_trainable(exported_for_training(tiny_classifier())));
  EXPECT_EQ(names_of(model.parameters).size(), names_of(plain.parameters).size());
  EXPECT_EQ(model.statistics.size(), 2U);
  EXPECT_EQ(model.training.states().size(), 2U);
  for (const Graph* form : {&model.base, &model.inference}) {
    for (const graph::Node& node : form->nodes()) {
      EXPECT_EQ(node.attributes.integer("training_mode", 0), 0) << node.name;
      if (node.op == "BatchNormalization") {
        EXPECT_EQ(node.outputs.size(), 1U);
      }
      if (node.op == "Dropout") {
        EXPECT_FALSE(form->value(node.inputs[2]).constant->as<bool>()[0]);
      }
    }
  }
  for (const graph::Node& node : model.training.nodes()) {
    if (node.op == "Dropout") {
      EXPECT_TRUE(model.training.value(node.inputs[2]).constant->as<bool>()[0]);
    }
  }
  const auto refused = graph::make_trainable(exported_for_training(tiny_classifier(), true));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("export the model for inference"));
}

TEST(TrainableModel, TakesAWeightOfOneElementBehindViewsAndNoNumberOfAFormula) {
  GraphBuilder b("slope");
  ValueId x = b.input("x", tensor_type(DType::kF32, graph::Dims{graph::Dim::symbol("batch"), 3, 2}));
  const ValueId slope = b.constant("p.weight", Tensor::f32({1}, std::vector<float>{0.25F}));
  const ValueId axes = b.constant("axes", Tensor::i64({1}, std::vector<int64_t>{1}));
  x = b.add("PRelu", {x, b.add("Unsqueeze", {slope, axes})});
  const ValueId half = b.constant("half", Tensor::f32({1}, std::vector<float>{0.5F}));
  x = b.add("Mul", {x, b.add("Unsqueeze", {half, axes})});
  b.output(x);
  const graph::TrainableModel model = valid(graph::make_trainable(valid(std::move(b).finish())));
  EXPECT_THAT(names_of(model.parameters), ElementsAre("p.weight"));
}

// Tables of angles and boxes say how an operator works; what learns stands before and behind it.
TEST(TrainableModel, TakesNoTablesOfAnglesAndNoBoxes) {
  GraphBuilder b("places");
  const auto weight = [&](const char* name, Shape shape) {
    return b.constant(name, Tensor::zeros(DType::kF32, std::move(shape)));
  };
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{1, 2, 3, 4}));
  x = b.add("MatMul", {x, weight("w", {4, 4})});
  x = b.add("RotaryEmbedding", {x, weight("cos", {1, 3, 2}), weight("sin", {1, 3, 2})});
  const ValueId image = b.constant("image", Tensor::i64({1}, std::vector<int64_t>{0}));
  b.output(b.add("RoiAlign", {x, weight("boxes", {1, 4}), image}));
  const graph::TrainableModel model = valid(graph::make_trainable(valid(std::move(b).finish())));
  EXPECT_THAT(names_of(model.parameters), ElementsAre("w"));
  EXPECT_TRUE(graph::make_trainable(model.base, {{"cos", "boxes"}}).ok())
      << "what stays may be named all the same";
}

// Logits to which a row of "table" adds where its largest element stands: an index, through which nothing flows back.
Graph model_with_a_weight_that_is_compared() {
  GraphBuilder b("compared");
  ValueId x = b.input("x", tensor_type(DType::kF32, graph::Dims{graph::Dim::symbol("batch"), 4}));
  x = b.add("MatMul", {x, b.constant("dense.weight", made({4, 3}, 1))});
  const ValueId place = b.add("ArgMax", {b.constant("table.weight", made({2, 3}, 2))},
                              {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}});
  b.output(b.add("Add", {x, b.add("Cast", {place}, {{"to", int64_t{1}}})}));
  return valid(std::move(b).finish());
}

// As PyTorch's optimizers, which pass over parameters whose .grad is None.
TEST(TrainingStep, LeavesWeightsAloneThatNoGradientReaches) {
  const graph::TrainableModel model = valid(graph::make_trainable(model_with_a_weight_that_is_compared()));
  ASSERT_THAT(names_of(model.parameters), UnorderedElementsAre("dense.weight", "table.weight"));
  for (std::size_t kind = 0; kind < graph::optimizer_names().size(); ++kind) {
    SCOPED_TRACE(graph::optimizer_names()[kind]);
    for (const int64_t accumulate : {1, 2}) {
      graph::StepOptions options;
      options.fields = {{"x", tensor_type(DType::kF32, Shape{4, 4}), "x"},
                        {"label", tensor_type(DType::kI64, Shape{4}), ""}};
      options.objective.target = "label";
      options.objective.terms = {{graph::LossKind::kCrossEntropy}};
      options.optimizer.kind = static_cast<graph::OptimizerKind>(kind);
      options.optimizer.weight_decay = 0.5;
      options.ema = 0.5;
      options.clip = 1;
      options.accumulate = accumulate;
      const Graph micro = with_batch(model.training, "x", tensor_type(DType::kF32, Shape{4 / accumulate, 4}));
      Stepper run = stepper(model, options, micro);
      run.values["data.x"] = made({4, 4}, 3);
      const std::map<std::string, Tensor> before = run.values;
      for (int i = 0; i < 3; ++i) run.run();
      EXPECT_TRUE(same_tensor(run.values.at("table.weight"), before.at("table.weight")));
      EXPECT_FALSE(same_tensor(run.values.at("dense.weight"), before.at("dense.weight")));
      for (const auto& [name, tensor] : run.values)
        EXPECT_FALSE(name.ends_with(".table.weight")) << "it needs no moment and no mean: " << name;
    }
  }
}

TEST(TrainingStep, NeedsAWeightThatAGradientReaches) {
  const graph::TrainableModel model =
      valid(graph::make_trainable(model_with_a_weight_that_is_compared(), {{"dense.*"}}));
  graph::StepOptions options;
  options.fields = {{"x", tensor_type(DType::kF32, Shape{4, 4}), "x"},
                    {"label", tensor_type(DType::kI64, Shape{4}), ""}};
  options.objective.target = "label";
  options.objective.terms = {{graph::LossKind::kCrossEntropy}};
  const Graph micro = with_batch(model.training, "x", tensor_type(DType::kF32, Shape{4, 4}));
  EXPECT_THAT(graph::make_step(micro, model.parameters, options).error().message,
              HasSubstr("no gradient reaches a weight"));
}

TEST(TrainableModel, FreezesByPatternAndRefusesPatternsThatMatchNothing) {
  const graph::TrainableModel model = valid(graph::make_trainable(tiny_classifier(), {{"conv.*"}}));
  EXPECT_THAT(names_of(model.parameters), UnorderedElementsAre("onnx::shared", "bn.bias"));
  EXPECT_THAT(graph::make_trainable(tiny_classifier(), {{"cnv.*"}}).error().message,
              HasSubstr("matches 'cnv.*'"));
  // With its scale frozen it normalizes by its running statistics.
  const graph::TrainableModel frozen = valid(graph::make_trainable(tiny_classifier(), {{"onnx::*", "bn.*"}}));
  EXPECT_TRUE(frozen.statistics.empty());
  for (const graph::Node& node : frozen.training.nodes())
    EXPECT_EQ(node.attributes.integer("training_mode", 0), 0) << node.name;
}

TEST(TrainableModel, PutsValuesBackWhereTheyWere) {
  const graph::TrainableModel model = valid(graph::make_trainable(tiny_classifier()));
  const Graph changed = valid(graph::with_constants(model.base, {{"conv.bias", made({3}, 77)}}));
  EXPECT_TRUE(same_tensor(*changed.value(changed.find_value("conv.bias")).constant, made({3}, 77)));
  EXPECT_THAT(graph::with_constants(model.base, {{"conv.bias", made({4}, 77)}}).error().message,
              HasSubstr("conv.bias"));
  EXPECT_FALSE(graph::with_constants(model.base, {{"nothing", made({4}, 77)}}).ok());
}

graph::StepOptions classifier_options() {
  graph::StepOptions options;
  options.fields = {{"image", tensor_type(DType::kF32, Shape{4, 2, 4, 4}), "image"},
                    {"label", tensor_type(DType::kI64, Shape{4}), ""}};
  options.objective.terms = {{graph::LossKind::kCrossEntropy, 1}};
  options.objective.target = "label";
  options.optimizer.rate = 0.05;
  return options;
}

TEST(TrainingStep, KeepsRunningStatisticsAndDrawsFreshDropout) {
  const graph::TrainableModel model = valid(graph::make_trainable(tiny_classifier()));
  const graph::StepOptions options = classifier_options();
  const Graph micro = with_batch(model.training, "image", tensor_type(DType::kF32, Shape{4, 2, 4, 4}));
  Stepper s = stepper(model, options, micro);
  s.values["data.image"] = made({4, 2, 4, 4}, 8, 1);
  s.values["data.label"] = Tensor::i64({4}, std::vector<int64_t>{0, 1, 2, 1});
  const Tensor before = s.values.at("bn.mean");
  s.run();
  const double first = s.loss;
  EXPECT_EQ(s.values.at("random.offset").int_at(0), 4 * 3 * 4 * 4);
  EXPECT_EQ(s.values.at(graph::kUpdatesState).int_at(0), 1);
  EXPECT_FALSE(same_tensor(before, s.values.at("bn.mean")));
  // momentum · before + (1 - momentum) · the batch's mean, of the convolution before the update.
  s.values["data.image"] = Tensor::zeros(DType::kF32, {4, 2, 4, 4});
  const Tensor mean = s.values.at("bn.mean");
  const Tensor bias = s.values.at("conv.bias");
  s.run();
  for (int64_t c = 0; c < 3; ++c)
    EXPECT_NEAR(s.values.at("bn.mean").at(c), 0.75 * mean.at(c) + 0.25 * bias.at(c), 1e-6);
  // The same place in the stream gives the same loss; another gives another.
  Stepper again = stepper(model, options, micro);
  again.values["data.image"] = made({4, 2, 4, 4}, 8, 1);
  again.values["data.label"] = s.values.at("data.label");
  Stepper elsewhere = again;
  elsewhere.values["random.offset"] = Tensor::scalar_i64(4 * 3 * 4 * 4);
  again.run();
  elsewhere.run();
  EXPECT_EQ(again.loss, first);
  EXPECT_NE(elsewhere.loss, first);
}

TEST(TrainingStep, MicroBatchesPassStatisticsAndTheRandomStreamOn) {
  const graph::TrainableModel model = valid(graph::make_trainable(tiny_classifier()));
  graph::StepOptions options = classifier_options();
  options.accumulate = 2;
  const Graph micro = with_batch(model.training, "image", tensor_type(DType::kF32, Shape{2, 2, 4, 4}));
  Stepper s = stepper(model, options, micro);
  s.values["data.label"] = Tensor::i64({4}, std::vector<int64_t>{0, 1, 2, 1});
  const Tensor mean = s.values.at("bn.mean");
  const Tensor bias = s.values.at("conv.bias");
  s.run();  // on zeros: what is normalised is the bias, whichever micro-batch it is
  EXPECT_EQ(s.values.at("random.offset").int_at(0), 4 * 3 * 4 * 4);
  for (int64_t c = 0; c < 3; ++c) {
    const double once = 0.75 * mean.at(c) + 0.25 * bias.at(c);
    EXPECT_NEAR(s.values.at("bn.mean").at(c), 0.75 * once + 0.25 * bias.at(c), 1e-6);
  }
}

// What evaluation counts of `prediction` and masks with an axis of one channel, as image files have them.
std::vector<Tensor> evaluated(const graph::Objective& objective, const Tensor& prediction,
                              const Tensor& mask) {
  GraphBuilder b("objective");
  const ValueId p = b.input("p", tensor_type(prediction.dtype(), prediction.shape()));
  const ValueId t = b.input("t", tensor_type(mask.dtype(), mask.shape()));
  EXPECT_TRUE(graph::check_objective(objective, b.type(p), b.type(t)).ok());
  for (const graph::LossTerm& term : objective.terms) {
    const graph::LossSum loss = valid(graph::emit_loss(b, objective, term, p, t));
    b.output(loss.sum);
    b.output(b.add("Identity", {loss.count}));
  }
  for (const ValueId counts : graph::emit_metric_counts(b, objective, p, t)) b.output(counts);
  return valid(runtime::interpret(valid(std::move(b).finish()), std::vector<Tensor>{prediction, mask}));
}

TEST(Objective, TakesMasksOfOneChannelAsClasses) {
  graph::Objective objective;
  objective.terms = {{graph::LossKind::kCrossEntropy, 1}, {graph::LossKind::kDice, 1}};
  objective.metric = graph::MetricKind::kDice;
  const Tensor prediction = made({2, 3, 2, 2}, 4, 1);
  Tensor mask(DType::kU8, {2, 1, 2, 2});
  for (std::size_t i = 0; i < 8; ++i) mask.as<uint8_t>()[i] = static_cast<uint8_t>(i % 3);
  const auto outputs = evaluated(objective, prediction, mask);
  ASSERT_EQ(outputs.size(), 5u);
  EXPECT_EQ(outputs[1].at(0), 8);
  EXPECT_EQ(outputs[3].at(0), 2);
  EXPECT_EQ(outputs[4].shape(), (Shape{2, 6}));
  double loss = 0;
  double both[3] = {}, sizes[3] = {};
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t i = 0; i < 4; ++i) {
      const auto score = [&](int64_t c) { return prediction.at((n * 3 + c) * 4 + i); };
      const int64_t label = (n * 4 + i) % 3;
      const int64_t named = score(0) >= score(1) && score(0) >= score(2) ? 0 : score(1) >= score(2) ? 1 : 2;
      loss += std::log(std::exp(score(0)) + std::exp(score(1)) + std::exp(score(2))) - score(label);
      both[label] += named == label ? 1 : 0;
      sizes[label] += 1;
      sizes[named] += 1;
    }
  }
  EXPECT_NEAR(outputs[0].at(0), loss, 1e-5);
  for (int64_t c = 0; c < 3; ++c) {
    EXPECT_EQ(outputs[4].at(c) + outputs[4].at(6 + c), both[c]);
    EXPECT_EQ(outputs[4].at(3 + c) + outputs[4].at(9 + c), sizes[c]);
  }
}

TEST(TrainingStep, EvaluationCountsWhatTheMetricNeeds) {
  const graph::TrainableModel model = valid(graph::make_trainable(tiny_classifier()));
  graph::StepOptions options = classifier_options();
  options.objective.metric = graph::MetricKind::kAccuracy;
  const Graph whole = with_batch(model.inference, "image", tensor_type(DType::kF32, Shape{4, 2, 4, 4}));
  const Graph evaluation = valid(graph::make_evaluation(whole, options));
  std::vector<Tensor> inputs;
  for (const ValueId id : evaluation.inputs()) {
    const std::string& name = evaluation.value(id).name;
    if (name == "data.image") inputs.push_back(made({4, 2, 4, 4}, 8, 1));
    if (name == "data.label") inputs.push_back(Tensor::i64({4}, std::vector<int64_t>{0, 1, 2, 1}));
    for (const auto* list : {&model.parameters, &model.statistics})
      for (const graph::NamedTensor& tensor : *list)
        if (tensor.name == name) inputs.push_back(tensor.value);
  }
  const auto outputs = valid(runtime::interpret(evaluation, inputs));
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[1].at(0), 4);
  // By the model itself.
  const auto logits =
      valid(runtime::interpret(valid(graph::specialise(tiny_classifier(), std::vector<graph::InputFact>(1))),
                               std::vector<Tensor>{inputs[0]}));
  double right = 0, loss = 0;
  const int64_t labels[] = {0, 1, 2, 1};
  for (int64_t n = 0; n < 4; ++n) {
    double sum = 0;
    int64_t best = 0;
    for (int64_t c = 0; c < 3; ++c) {
      sum += std::exp(logits[0].at(n * 3 + c));
      if (logits[0].at(n * 3 + c) > logits[0].at(n * 3 + best)) best = c;
    }
    loss += std::log(sum) - logits[0].at(n * 3 + labels[n]);
    right += best == labels[n] ? 1 : 0;
    EXPECT_EQ(outputs[2].at(n * 2), best == labels[n] ? 1 : 0);
    EXPECT_EQ(outputs[2].at(n * 2 + 1), 1);
  }
  EXPECT_NEAR(outputs[0].at(0), loss, 1e-5);
  EXPECT_EQ(graph::metric_of(graph::MetricKind::kAccuracy, {right, 4}, 0), right / 4);
}

TEST(Metrics, AreTheirDefinitions) {
  using graph::metric_of;
  using graph::MetricKind;
  // |A∩B| = 6, |A| + |B| = 20.
  EXPECT_DOUBLE_EQ(metric_of(MetricKind::kDice, {6, 20}, 0), 0.6);
  EXPECT_DOUBLE_EQ(metric_of(MetricKind::kIou, {6, 20}, 0), 6.0 / 14);
  EXPECT_DOUBLE_EQ(metric_of(MetricKind::kDice, {0, 0}, 0), 1) << "nothing to find, nothing found";
  // Of three classes the first is the background.
  EXPECT_DOUBLE_EQ(metric_of(MetricKind::kDice, {100, 6, 2, 200, 20, 8}, 0), (0.6 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(metric_of(MetricKind::kBitsPerByte, {}, std::log(8.0)), 3);
  EXPECT_DOUBLE_EQ(metric_of(MetricKind::kPerplexity, {}, std::log(8.0)), 8);
}

}  // namespace
}  // namespace hone::training
