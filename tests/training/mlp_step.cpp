#include "tests/training/mlp_step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

#include "core/philox.h"
#include "graph/builder.h"
#include "graph/differentiate.h"
#include "graph/random_seeds.h"
#include "graph/verify.h"

namespace hone::training {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;
using Numbers = std::vector<double>;

// Not too regular, the same on every machine.
double made_up(uint64_t stream, int64_t i) { return Philox(77, stream).normal(static_cast<uint64_t>(i)) / 2; }

Tensor number(DType dtype, double value) {
  Tensor tensor(dtype, {});
  if (dtype == DType::kF32) *tensor.as<float>().data() = static_cast<float>(value);
  if (dtype == DType::kF64) *tensor.as<double>().data() = value;
  if (dtype == DType::kI64) *tensor.as<int64_t>().data() = static_cast<int64_t>(value);
  return tensor;
}

struct StepBuilder {
  explicit StepBuilder(DType type) : dtype(type), b("mlp_step"), stream(b, "random") {}

  ValueId input(const std::string& name, Shape shape) {
    return b.input(name, graph::tensor_type(dtype, shape));
  }
  ValueId constant(double value) { return b.constant("c", number(dtype, value)); }
  ValueId loss();
  void update_by_adamw(std::vector<ValueId> parameters, std::vector<ValueId> gradients);
  void update_by_sgd(std::vector<ValueId> parameters, std::vector<ValueId> gradients);
  std::vector<ValueId> moments(const std::string& prefix, const std::vector<ValueId>& parameters);

  DType dtype;
  GraphBuilder b;
  graph::RandomStream stream;
  ValueId w1, b1, w2, b2;
};

ValueId StepBuilder::loss() {
  const ValueId x = input("x", {kBatch, kIn});
  const ValueId t = input("t", {kBatch, kOut});
  w1 = input("w1", {kIn, kHidden});
  b1 = input("b1", {kHidden});
  w2 = input("w2", {kHidden, kOut});
  b2 = input("b2", {kOut});
  const ValueId hidden = b.add("Tanh", {b.add("Add", {b.add("MatMul", {x, w1}), b1})});
  const ValueId place = stream.take(kBatch * kHidden);
  const ValueId kept = b.add("hone.Dropout", {hidden, stream.seed(), place, constant(double{kDropped})});
  const ValueId y = b.add("Add", {b.add("MatMul", {kept, w2}), b2});
  const ValueId difference = b.add("Sub", {y, t});
  return b.add("ReduceMean", {b.add("Mul", {difference, difference})}, {{"keepdims", int64_t{0}}}, "loss");
}

std::vector<ValueId> StepBuilder::moments(const std::string& prefix, const std::vector<ValueId>& parameters) {
  std::vector<ValueId> made;
  for (ValueId parameter : parameters)
    made.push_back(b.input(prefix + b.value(parameter).name, b.type(parameter)));
  return made;
}

void append(std::vector<ValueId>& to, const std::vector<ValueId>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void StepBuilder::update_by_adamw(std::vector<ValueId> parameters, std::vector<ValueId> gradients) {
  const ValueId updates = b.input("updates", graph::tensor_type(DType::kI64, Shape{}));
  std::vector<ValueId> inputs = {constant(double{kRate}), updates, kNoValue};
  std::vector<ValueId> states = parameters;
  append(states, moments("m_", parameters));
  append(states, moments("v_", parameters));
  append(inputs, parameters);
  append(inputs, gradients);
  inputs.insert(inputs.end(), states.begin() + static_cast<std::ptrdiff_t>(parameters.size()), states.end());
  const auto next = b.add_many("hone.AdamW", inputs, states.size(), {{"weight_decay", kDecay}});
  for (std::size_t i = 0; i < states.size(); ++i) b.next_value(states[i], next[i]);
  b.next_value(updates, b.add("Add", {updates, b.constant("one", number(DType::kI64, 1))}));
}

void StepBuilder::update_by_sgd(std::vector<ValueId> parameters, std::vector<ValueId> gradients) {
  std::vector<ValueId> inputs = {constant(double{kRate}), constant(0.5)};
  std::vector<ValueId> states = parameters;
  append(states, moments("v_", parameters));
  append(inputs, parameters);
  append(inputs, gradients);
  inputs.insert(inputs.end(), states.begin() + static_cast<std::ptrdiff_t>(parameters.size()), states.end());
  const auto next = b.add_many("hone.Sgd", inputs, states.size(),
                               {{"momentum", kMomentum}, {"nesterov", int64_t{1}}, {"weight_decay", kDecay}});
  for (std::size_t i = 0; i < states.size(); ++i) b.next_value(states[i], next[i]);
}

}  // namespace

graph::Graph mlp_step(DType dtype) {
  StepBuilder step(dtype);
  const ValueId loss = step.loss();
  const std::vector<ValueId> parameters = {step.w1, step.b1, step.w2, step.b2};
  auto gradients = graph::differentiate(step.b, loss, parameters);
  if (!gradients.ok()) throw std::logic_error(gradients.error().message);
  const std::vector<ValueId>& g = *gradients;
  step.b.output(loss);
  step.update_by_adamw({step.w1, step.b1}, {g[0], g[1]});
  step.update_by_sgd({step.w2, step.b2}, {g[2], g[3]});
  step.stream.finish();  // behind the gradient of the dropout, which reads the offset, too
  auto graph = std::move(step.b).finish();
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  if (Status valid = graph::verify(*graph); !valid.ok()) throw std::logic_error(valid.error().message);
  return *std::move(graph);
}

std::vector<Tensor> initial_values(const graph::Graph& step) {
  std::vector<Tensor> values;
  for (std::size_t input = 0; input < step.inputs().size(); ++input) {
    const graph::Value& value = step.value(step.inputs()[input]);
    Tensor tensor(value.type.dtype, value.type.shape());
    const bool made = value.name.size() <= 2;  // x, t, w1 …; moments, counters and offsets begin with 0
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const double element = made ? made_up(input, i) : value.name == "random.seed" ? double{kSeed} : 0;
      const auto at = static_cast<std::size_t>(i);
      if (value.type.dtype == DType::kF32) tensor.as<float>()[at] = static_cast<float>(element);
      if (value.type.dtype == DType::kF64) tensor.as<double>()[at] = element;
      if (value.type.dtype == DType::kI64) tensor.as<int64_t>()[at] = static_cast<int64_t>(element);
    }
    values.push_back(std::move(tensor));
  }
  return values;
}

namespace {

// The loop, with what it remembers by the names of the graph's inputs.
struct Loop {
  std::map<std::string, Numbers> now;
  Numbers hidden, kept, scale, y;  // of the last forward pass; scale: 0 where an element was dropped

  double forward();
  std::map<std::string, Numbers> backward() const;
  void adamw(const std::string& name, const Numbers& gradient);
  void sgd(const std::string& name, const Numbers& gradient);
  void step(std::vector<double>& losses);
};

double Loop::forward() {
  hidden.assign(kBatch * kHidden, 0);
  scale = kept = hidden;
  y.assign(kBatch * kOut, 0);
  const Philox random(static_cast<uint64_t>(kSeed));
  const auto offset = static_cast<uint64_t>(now["random.offset"][0]);
  double loss = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    for (int64_t h = 0; h < kHidden; ++h) {
      double sum = now["b1"][h];
      for (int64_t i = 0; i < kIn; ++i) sum += now["x"][n * kIn + i] * now["w1"][i * kHidden + h];
      const int64_t at = n * kHidden + h;
      hidden[at] = std::tanh(sum);
      const bool stays = random.uniform(offset + static_cast<uint64_t>(at)) >= double{kDropped};
      scale[at] = stays ? 1 / (1 - double{kDropped}) : 0;
      kept[at] = hidden[at] * scale[at];
    }
    for (int64_t o = 0; o < kOut; ++o) {
      double sum = now["b2"][o];
      for (int64_t h = 0; h < kHidden; ++h) sum += kept[n * kHidden + h] * now["w2"][h * kOut + o];
      y[n * kOut + o] = sum;
      loss += std::pow(sum - now["t"][n * kOut + o], 2);
    }
  }
  return loss / (kBatch * kOut);
}

std::map<std::string, Numbers> Loop::backward() const {
  std::map<std::string, Numbers> g = {{"w1", Numbers(kIn * kHidden, 0)},
                                      {"b1", Numbers(kHidden, 0)},
                                      {"w2", Numbers(kHidden * kOut, 0)},
                                      {"b2", Numbers(kOut, 0)}};
  for (int64_t n = 0; n < kBatch; ++n) {
    Numbers dh(kHidden, 0);
    for (int64_t o = 0; o < kOut; ++o) {
      const double dy = 2 * (y[n * kOut + o] - now.at("t")[n * kOut + o]) / (kBatch * kOut);
      g["b2"][o] += dy;
      for (int64_t h = 0; h < kHidden; ++h) {
        g["w2"][h * kOut + o] += kept[n * kHidden + h] * dy;
        dh[h] += now.at("w2")[h * kOut + o] * dy;
      }
    }
    for (int64_t h = 0; h < kHidden; ++h) {
      const int64_t at = n * kHidden + h;
      const double da = dh[h] * scale[at] * (1 - hidden[at] * hidden[at]);
      g["b1"][h] += da;
      for (int64_t i = 0; i < kIn; ++i) g["w1"][i * kHidden + h] += now.at("x")[n * kIn + i] * da;
    }
  }
  return g;
}

void Loop::adamw(const std::string& name, const Numbers& gradient) {
  const double beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F, rate = kRate;
  const double t = now["updates"][0] + 1;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double& m = now["m_" + name][i];
    double& v = now["v_" + name][i];
    double& x = now[name][i];
    m = beta1 * m + (1 - beta1) * gradient[i];
    v = beta2 * v + (1 - beta2) * gradient[i] * gradient[i];
    const double corrected = std::sqrt(v / (1 - std::pow(beta2, t))) + epsilon;
    x -= rate * double{kDecay} * x;
    x -= rate * m / (1 - std::pow(beta1, t)) / corrected;
  }
}

void Loop::sgd(const std::string& name, const Numbers& gradient) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double& v = now["v_" + name][i];
    double& x = now[name][i];
    const double g = 0.5 * gradient[i] + double{kDecay} * x;
    v = double{kMomentum} * v + g;
    x -= double{kRate} * (g + double{kMomentum} * v);
  }
}

void Loop::step(std::vector<double>& losses) {
  losses.push_back(forward());
  const auto g = backward();
  for (const char* name : {"w1", "b1"}) adamw(name, g.at(name));
  for (const char* name : {"w2", "b2"}) sgd(name, g.at(name));
  now["updates"][0] += 1;
  now["random.offset"][0] += kBatch * kHidden;
}

}  // namespace

ByHand train_by_hand(const graph::Graph& step, int steps) {
  Loop loop;
  const std::vector<Tensor> values = initial_values(step);
  for (std::size_t i = 0; i < values.size(); ++i)
    loop.now[step.value(step.inputs()[i]).name] = values[i].to_doubles();
  ByHand result;
  for (int i = 0; i < steps; ++i) loop.step(result.losses);
  for (const graph::StatePair& pair : step.states())
    result.states.push_back(loop.now.at(step.value(step.state_input(pair)).name));
  return result;
}

}  // namespace hone::training
