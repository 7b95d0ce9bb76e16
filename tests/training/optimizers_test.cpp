// Every optimizer and every schedule against a loop in f64 that follows its paper's formulas.
#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include <gmock/gmock.h>

#include "core/philox.h"
#include "graph/training/optimizer.h"
#include "graph/training/schedule.h"
#include "graph/verify.h"
#include "runtime/interpreter.h"

namespace hone::training {
namespace {

using graph::Optimizer;
using graph::OptimizerKind;
using graph::Schedule;
using graph::ScheduleKind;
using graph::ValueId;
using Numbers = std::vector<double>;

constexpr int kUpdates = 7;
const Shape kTall = {5, 3}, kWide = {3, 4}, kVector = {6};

// A graph that only updates: gradients are inputs. Names: w.tall, w.wide, bias. With a seed, parameters are bf16.
graph::Graph update_graph(const Optimizer& optimizer, double clip, std::optional<uint64_t> seed = {}) {
  graph::GraphBuilder b("update");
  std::vector<graph::TrainedParameter> parameters;
  for (const auto& [name, shape] : {std::pair{"w.tall", kTall}, {"w.wide", kWide}, {"bias", kVector}}) {
    const ValueId x = b.input(name, graph::tensor_type(seed ? DType::kBF16 : DType::kF32, shape));
    const ValueId wide = seed ? b.add("Cast", {x}, {{"to", int64_t{1}}}) : x;
    parameters.push_back(
        {name, x, wide, b.input(std::string("g.") + name, graph::tensor_type(DType::kF32, shape))});
  }
  const ValueId updates = b.input("updates", graph::tensor_type(DType::kI64, Shape{}));
  const ValueId rate = graph::emit_rate(b, {}, optimizer.rate, updates);
  const ValueId norm = graph::emit_global_norm(b, parameters);
  const ValueId scale = clip > 0 ? graph::emit_clip_scale(b, norm, clip) : graph::kNoValue;
  const auto next = graph::emit_updates(
      b, optimizer, parameters, {.rate = rate, .updates = updates, .scale = scale, .rounding_seed = seed});
  for (std::size_t i = 0; i < next.size(); ++i) b.next_value(parameters[i].value, next[i]);
  b.next_value(updates, b.add("Add", {updates, b.constant("one", Tensor::scalar_i64(1))}));
  auto graph = std::move(b).finish();
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  if (const Status valid = graph::verify(*graph); !valid.ok()) throw std::logic_error(valid.error().message);
  return *std::move(graph);
}

double made_number(uint64_t stream, int64_t i) { return Philox(17, stream).normal(static_cast<uint64_t>(i)); }

Numbers gradient_of(const std::string& name, int64_t size, int update) {
  Numbers g(static_cast<std::size_t>(size));
  for (int64_t i = 0; i < size; ++i)
    g[static_cast<std::size_t>(i)] = static_cast<float>(
        made_number(100 * static_cast<uint64_t>(update + 1) + name.size() + name.back(), i));
  return g;
}

// All parameters after kUpdates, by the graph.
std::map<std::string, Numbers> by_graph(const Optimizer& optimizer, double clip) {
  const graph::Graph graph = update_graph(optimizer, clip);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    const graph::Value& value = graph.value(id);
    Tensor tensor = Tensor::zeros(value.type.dtype, value.type.shape());
    const bool is_parameter = value.name == "w.tall" || value.name == "w.wide" || value.name == "bias";
    for (int64_t i = 0; is_parameter && i < tensor.size(); ++i)
      tensor.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(made_number(value.name.size(), i));
    inputs.push_back(std::move(tensor));
  }
  for (int update = 0; update < kUpdates; ++update) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string& name = graph.value(graph.inputs()[i]).name;
      if (!name.starts_with("g.")) continue;
      const Numbers g = gradient_of(name.substr(2), inputs[i].size(), update);
      for (std::size_t j = 0; j < g.size(); ++j) inputs[i].as<float>()[j] = static_cast<float>(g[j]);
    }
    auto outputs = runtime::interpret(graph, inputs);
    if (!outputs.ok()) throw std::runtime_error(outputs.error().message);
    for (const graph::StatePair& pair : graph.states()) inputs[pair.input] = (*outputs)[pair.output].clone();
  }
  std::map<std::string, Numbers> result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = graph.value(graph.inputs()[i]).name;
    if (name == "w.tall" || name == "w.wide" || name == "bias") result[name] = inputs[i].to_doubles();
  }
  return result;
}

struct Parameter {
  std::string name;
  Shape shape;
  Numbers x, m, v;
};

using Update = std::function<void(Parameter&, const Numbers& g, int t)>;  // t from 1

std::map<std::string, Numbers> by_hand(const Update& update, double clip = 0) {
  std::vector<Parameter> parameters = {
      {"w.tall", kTall, {}, {}, {}}, {"w.wide", kWide, {}, {}, {}}, {"bias", kVector, {}, {}, {}}};
  for (Parameter& p : parameters) {
    const int64_t size = element_count(p.shape);
    p.m = p.v = Numbers(static_cast<std::size_t>(size), 0);
    for (int64_t i = 0; i < size; ++i) p.x.push_back(static_cast<float>(made_number(p.name.size(), i)));
  }
  for (int t = 1; t <= kUpdates; ++t) {
    std::vector<Numbers> gradients;
    double square = 0;
    for (Parameter& p : parameters) {
      gradients.push_back(gradient_of(p.name, element_count(p.shape), t - 1));
      for (const double g : gradients.back()) square += g * g;
    }
    const double scale = clip > 0 ? std::min(1.0, clip / (std::sqrt(square) + 1e-6)) : 1;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      for (double& g : gradients[i]) g *= scale;
      update(parameters[i], gradients[i], t);
    }
  }
  std::map<std::string, Numbers> result;
  for (const Parameter& p : parameters) result[p.name] = p.x;
  return result;
}

void expect_near(const std::map<std::string, Numbers>& got, const std::map<std::string, Numbers>& wanted,
                 double tolerance = 2e-5) {
  for (const auto& [name, numbers] : wanted)
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_NEAR(got.at(name)[i], numbers[i], tolerance * (1 + std::abs(numbers[i]))) << name << " " << i;
}

Update sgd(double rate, double momentum, bool nesterov, double decay) {
  return [=](Parameter& p, const Numbers& gradient, int) {
    for (std::size_t i = 0; i < p.x.size(); ++i) {
      const double g = gradient[i] + decay * p.x[i];
      p.m[i] = momentum * p.m[i] + g;
      p.x[i] -= rate * (nesterov ? g + momentum * p.m[i] : p.m[i]);
    }
  };
}

Update adam(double rate, double decay, double coupled_decay) {
  return [=](Parameter& p, const Numbers& gradient, int t) {
    for (std::size_t i = 0; i < p.x.size(); ++i) {
      const double g = gradient[i] + coupled_decay * p.x[i];
      p.m[i] = 0.9 * p.m[i] + 0.1 * g;
      p.v[i] = 0.999 * p.v[i] + 0.001 * g * g;
      p.x[i] *= 1 - rate * decay;
      p.x[i] -=
          rate * p.m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(p.v[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
  };
}

TEST(TrainingOptimizers, SgdWithAndWithoutMomentum) {
  expect_near(by_graph({.kind = OptimizerKind::kSgd, .rate = 0.1, .momentum = 0}, 0),
              by_hand(sgd(0.1, 0, false, 0)));
  expect_near(by_graph({.kind = OptimizerKind::kSgd, .rate = 0.1, .momentum = 0.8}, 0),
              by_hand(sgd(0.1, 0.8, false, 0)));
  expect_near(
      by_graph(
          {.kind = OptimizerKind::kSgd, .rate = 0.1, .momentum = 0.8, .nesterov = true, .weight_decay = 0.3},
          0),
      by_hand(sgd(0.1, 0.8, true, 0.3)));
}

TEST(TrainingOptimizers, AdamDecaysThroughTheGradientAndAdamWApartFromIt) {
  expect_near(by_graph({.kind = OptimizerKind::kAdam, .rate = 0.05, .weight_decay = 0.2}, 0),
              by_hand(adam(0.05, 0, 0.2)));
  expect_near(by_graph({.kind = OptimizerKind::kAdamW, .rate = 0.05, .weight_decay = 0.2}, 0),
              by_hand(adam(0.05, 0.2, 0)));
}

TEST(TrainingOptimizers, ClipByTheNormOfAllGradients) {
  for (const double clip : {0.5, 1e6})
    expect_near(by_graph({.kind = OptimizerKind::kSgd, .rate = 0.1, .momentum = 0.9}, clip),
                by_hand(sgd(0.1, 0.9, false, 0), clip));
  expect_near(by_graph({.kind = OptimizerKind::kAdam, .rate = 0.05, .weight_decay = 0.2}, 0.5),
              by_hand(adam(0.05, 0, 0.2), 0.5));
}

TEST(TrainingOptimizers, GroupsAndVectorsHaveRatesAndDecaysOfTheirOwn) {
  Optimizer o{
      .kind = OptimizerKind::kAdamW, .rate = 0.05, .weight_decay = 0.2, .decay_vectors = false, .groups = {}};
  o.groups.push_back({.match = {"w.wi*"}, .rate = 0.5, .weight_decay = 0.1});
  o.groups.push_back({.match = {"w.*"}, .rate = 2, .weight_decay = {}});
  expect_near(by_graph(o, 0), by_hand([](Parameter& p, const Numbers& g, int t) {
                if (p.name == "bias") return adam(0.05, 0, 0)(p, g, t);
                if (p.name == "w.wide") return adam(0.025, 0.1, 0)(p, g, t);
                adam(0.1, 0.2, 0)(p, g, t);
              }));
}

TEST(TrainingOptimizers, Lion) {
  expect_near(by_graph({.kind = OptimizerKind::kLion, .rate = 0.01, .beta2 = 0.99, .weight_decay = 0.3}, 0),
              by_hand([](Parameter& p, const Numbers& g, int) {
                for (std::size_t i = 0; i < p.x.size(); ++i) {
                  const double mixed = 0.9 * p.m[i] + 0.1 * g[i];
                  p.x[i] = p.x[i] * (1 - 0.01 * 0.3) - 0.01 * (mixed > 0 ? 1 : mixed < 0 ? -1 : 0);
                  p.m[i] = 0.99 * p.m[i] + 0.01 * g[i];
                }
              }));
}

double norm_of(const Numbers& x) {
  double square = 0;
  for (const double value : x) square += value * value;
  return std::sqrt(square);
}

TEST(TrainingOptimizers, Lamb) {
  expect_near(by_graph({.kind = OptimizerKind::kLamb, .rate = 0.02, .epsilon = 1e-6, .weight_decay = 0.1}, 0),
              by_hand([](Parameter& p, const Numbers& g, int t) {
                Numbers r(p.x.size());
                for (std::size_t i = 0; i < r.size(); ++i) {
                  p.m[i] = 0.9 * p.m[i] + 0.1 * g[i];
                  p.v[i] = 0.999 * p.v[i] + 0.001 * g[i] * g[i];
                  r[i] = p.m[i] / (1 - std::pow(0.9, t)) /
                             (std::sqrt(p.v[i] / (1 - std::pow(0.999, t))) + 1e-6) +
                         0.1 * p.x[i];
                }
                const double trust = norm_of(p.x) / norm_of(r);
                for (std::size_t i = 0; i < r.size(); ++i) p.x[i] -= 0.02 * trust * r[i];
              }),
              5e-5);
}

// rows x columns times columns x other.
Numbers product(const Numbers& a, const Numbers& b, int64_t rows, int64_t inner, int64_t columns) {
  Numbers c(static_cast<std::size_t>(rows * columns), 0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t j = 0; j < columns; ++j)
        c[static_cast<std::size_t>(i * columns + j)] +=
            a[static_cast<std::size_t>(i * inner + k)] * b[static_cast<std::size_t>(k * columns + j)];
  return c;
}
Numbers transposed(const Numbers& a, int64_t rows, int64_t columns) {
  Numbers t(a.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      t[static_cast<std::size_t>(j * rows + i)] = a[static_cast<std::size_t>(i * columns + j)];
  return t;
}
// On the side with fewer rows the same as on the other: (X Xᵀ) X = X (Xᵀ X).
Numbers newton_schulz(Numbers x, int64_t rows, int64_t columns) {
  const double size = std::max(norm_of(x), 1e-7);
  for (double& value : x) value /= size;
  for (int i = 0; i < 5; ++i) {
    const Numbers a = product(transposed(x, rows, columns), x, columns, rows, columns);
    const Numbers xa = product(x, a, rows, columns, columns);
    const Numbers xaa = product(xa, a, rows, columns, columns);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = 3.4445 * x[j] - 4.7750 * xa[j] + 2.0315 * xaa[j];
  }
  return x;
}

TEST(TrainingOptimizers, MuonForMatricesAndAdamWForTheRest) {
  Optimizer o{.kind = OptimizerKind::kMuon,
              .rate = 0.02,
              .momentum = 0.95,
              .nesterov = true,
              .weight_decay = 0.1,
              .groups = {}};
  o.vector_rate = 0.003;
  expect_near(by_graph(o, 0), by_hand([](Parameter& p, const Numbers& g, int t) {
                if (p.shape.size() != 2) return adam(0.003, 0.1, 0)(p, g, t);
                Numbers direction(p.x.size());
                for (std::size_t i = 0; i < p.x.size(); ++i) {
                  p.m[i] = 0.95 * p.m[i] + 0.05 * g[i];
                  direction[i] = 0.95 * p.m[i] + 0.05 * g[i];
                }
                direction = newton_schulz(direction, p.shape[0], p.shape[1]);
                const double tall = std::sqrt(std::max(1.0, double(p.shape[0]) / double(p.shape[1])));
                for (std::size_t i = 0; i < p.x.size(); ++i)
                  p.x[i] = p.x[i] * (1 - 0.02 * 0.1) - 0.02 * tall * direction[i];
              }),
              2e-4);
}

// The parameters behind the first update from numbers that bf16 holds, one behind the other.
Numbers behind_one_update(const Optimizer& optimizer, std::optional<uint64_t> seed) {
  const graph::Graph graph = update_graph(optimizer, 0, seed);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    const graph::Value& value = graph.value(id);
    Tensor tensor = Tensor::zeros(value.type.dtype, value.type.shape());
    const bool is_gradient = value.name.starts_with("g.");
    const bool is_number = is_gradient || value.name.starts_with("w.") || value.name == "bias";
    for (int64_t i = 0; is_number && i < tensor.size(); ++i) {
      const auto number = static_cast<float>(made_number(value.name.size() + (is_gradient ? 50 : 0), i));
      const uint16_t narrow = f32_to_bf16(number);
      if (tensor.dtype() == DType::kBF16) tensor.as<uint16_t>()[static_cast<std::size_t>(i)] = narrow;
      if (tensor.dtype() == DType::kF32)
        tensor.as<float>()[static_cast<std::size_t>(i)] = bf16_to_f32(narrow);
    }
    inputs.push_back(std::move(tensor));
  }
  const auto outputs = runtime::interpret(graph, inputs);
  if (!outputs.ok()) throw std::runtime_error(outputs.error().message);
  Numbers all;
  for (const graph::StatePair& pair : graph.states()) {
    const std::string& name = graph.value(graph.state_input(pair)).name;
    if (!name.starts_with("w.") && name != "bias") continue;
    for (const double number : (*outputs)[pair.output].to_doubles()) all.push_back(number);
  }
  return all;
}

// The rate is so small that rounding to the nearest would leave most weights where they were.
TEST(TrainingOptimizers, OfBf16WeightsTakeTheSameStepInTheMean) {
  constexpr int kSeeds = 400;
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW,
                                   OptimizerKind::kLion, OptimizerKind::kLamb, OptimizerKind::kMuon}) {
    SCOPED_TRACE(graph::optimizer_names()[static_cast<std::size_t>(kind)]);
    const Optimizer optimizer{.kind = kind, .rate = 5e-4, .weight_decay = 0.1, .groups = {}};
    const Numbers wanted = behind_one_update(optimizer, std::nullopt);
    Numbers mean(wanted.size(), 0);
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Numbers once = behind_one_update(optimizer, seed);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += once.at(i) / kSeeds;
    }
    int moved = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double last_place = std::ldexp(1.0, std::ilogb(wanted[i]) - 7);
      EXPECT_NEAR(mean[i], wanted[i], 5 * last_place / 2 / std::sqrt(double{kSeeds}) + 1e-7) << i;
      moved += mean[i] != behind_one_update(optimizer, 0)[i];
    }
    EXPECT_GT(moved, 10) << "roundings that go either way";
  }
}

// The rate of each step, by the graph.
Numbers rates(const Schedule& schedule, double peak, int64_t steps) {
  graph::GraphBuilder b("rate");
  b.output(graph::emit_rate(b, schedule, peak, b.input("updates", graph::tensor_type(DType::kI64, Shape{}))));
  const auto graph = std::move(b).finish();
  Numbers list;
  for (int64_t t = 0; t < steps; ++t)
    list.push_back(runtime::interpret(*graph, std::vector<Tensor>{Tensor::scalar_i64(t)})->at(0).at(0));
  return list;
}

void expect_rates(const Schedule& schedule, const std::function<double(int64_t)>& wanted) {
  const Numbers got = rates(schedule, 0.4, schedule.steps + 3);
  for (std::size_t t = 0; t < got.size(); ++t)
    EXPECT_NEAR(got[t], 0.4 * wanted(static_cast<int64_t>(t)), 1e-6) << "step " << t;
}

TEST(TrainingSchedules, AreTheirFormulas) {
  const auto progress = [](int64_t t, double first, double last) {
    return std::clamp((static_cast<double>(t) - first) / (last - first), 0.0, 1.0);
  };
  const auto warm = [](int64_t t) { return std::min(1.0, (static_cast<double>(t) + 1) / 4); };
  const auto cosine = [](double from, double to, double p) {
    return to + (from - to) * (1 + std::cos(std::numbers::pi * p)) / 2;
  };
  expect_rates({.kind = ScheduleKind::kConstant, .steps = 20, .warmup_steps = 4}, warm);
  expect_rates({.kind = ScheduleKind::kLinear, .steps = 20, .warmup_steps = 4, .final = 0.1},
               [&](int64_t t) { return warm(t) * (1 - 0.9 * progress(t, 4, 20)); });
  expect_rates({.kind = ScheduleKind::kCosine, .steps = 20, .warmup_steps = 4, .final = 0.1},
               [&](int64_t t) { return warm(t) * cosine(1, 0.1, progress(t, 4, 20)); });
  expect_rates(
      {.kind = ScheduleKind::kWarmupStableDecay, .steps = 20, .warmup_steps = 4, .final = 0, .decay = 0.25},
      [&](int64_t t) { return warm(t) * (1 - progress(t, 15, 20)); });
  // torch.optim.lr_scheduler.OneCycleLR(max_lr=0.4, total_steps=20, pct_start=0.3): up to step 5, down to step 19.
  expect_rates({.kind = ScheduleKind::kOneCycle, .steps = 20, .final = 4e-6, .peak_at = 0.3, .start = 0.04},
               [&](int64_t t) {
                 return t < 5 ? cosine(0.04, 1, progress(t, 0, 5)) : cosine(1, 4e-6, progress(t, 5, 19));
               });
}

}  // namespace
}  // namespace hone::training
