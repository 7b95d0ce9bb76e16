#include "graph/training/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include <fnmatch.h>

namespace hone::graph {
namespace {

// What parameters must share to be updated by one node.
struct UpdateGroup {
  double rate_factor = 1;
  double weight_decay = 0;
  std::vector<TrainedParameter> parameters;
  std::vector<std::size_t> places;  // among all parameters: what they are rounded by
};

class UpdateEmitter {
 public:
  UpdateEmitter(GraphBuilder& builder, const Optimizer& optimizer, const UpdateScalars& scalars)
      : b_(builder), o_(optimizer), scalars_(scalars) {}

  std::vector<ValueId> run(std::span<const TrainedParameter> parameters) {
    std::vector<ValueId> next(parameters.size());
    for (const UpdateGroup& group : grouped(parameters)) {
      const std::vector<ValueId> updated = update(group);
      for (std::size_t i = 0; i < updated.size(); ++i) next[group.places[i]] = updated[i];
    }
    return next;
  }

 private:
  std::vector<UpdateGroup> grouped(std::span<const TrainedParameter> parameters) const;
  std::vector<ValueId> update(const UpdateGroup& group);
  std::vector<ValueId> sgd(const UpdateGroup& group);
  std::vector<ValueId> adamw(const UpdateGroup& group, ValueId rate);
  ValueId lion(const UpdateGroup& group, std::size_t i);
  ValueId lamb(const UpdateGroup& group, std::size_t i);
  ValueId muon(const UpdateGroup& group, std::size_t i);
  ValueId stepped(const UpdateGroup& group, std::size_t i, ValueId rate, ValueId direction, double decay,
                  double factor = 1);
  Attributes with_rounding(Attributes attributes, std::span<const std::size_t> places) const;
  ValueId orthogonalised(ValueId matrix, bool tall);
  std::vector<ValueId> many(const char* op, std::vector<ValueId> scalars, const UpdateGroup& group,
                            const std::vector<std::string>& moments, Attributes attributes);

  // A state like the parameter, in f32: what it is called, and its value now.
  ValueId moment(const std::string& prefix, const TrainedParameter& p) {
    return b_.input(prefix + p.name, b_.type(p.wide));
  }
  // What a state becomes: its next value, or what it is where the step is skipped.
  ValueId unless_skipped(ValueId next, ValueId now) {
    return scalars_.skip.valid() ? op("Where", {scalars_.skip, now, next}) : next;
  }
  ValueId op(const char* name, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return b_.add(name, std::move(inputs), std::move(attributes), std::string("update.") + name);
  }
  ValueId number(double value) {
    return b_.constant("update.number", Tensor::scalar_f32(static_cast<float>(value)));
  }
  ValueId times(ValueId a, ValueId b) { return op("Mul", {a, b}); }
  ValueId times(ValueId a, double b) { return op("Mul", {a, number(b)}); }
  ValueId plus(ValueId a, ValueId b) { return op("Add", {a, b}); }
  ValueId minus(ValueId a, ValueId b) { return op("Sub", {a, b}); }
  // keep · a + (1 - keep) · b
  ValueId mixed(double keep, ValueId a, ValueId b) { return plus(times(a, keep), times(b, 1 - keep)); }
  ValueId scaled_gradient(const TrainedParameter& p) {
    return scalars_.scale.valid() ? times(p.gradient, scalars_.scale) : p.gradient;
  }
  // A scale that is NaN where the step is skipped, and else nothing.
  ValueId scale_of_skip() {
    if (!scalars_.skip.valid()) return kNoValue;
    return op("Where", {scalars_.skip, number(std::numeric_limits<double>::quiet_NaN()), number(1)});
  }
  ValueId rate_of(double factor) { return factor == 1 ? scalars_.rate : times(scalars_.rate, factor); }
  // x · (1 - rate · decay)
  ValueId decayed(ValueId x, ValueId rate, double decay) {
    return decay == 0 ? x : times(x, minus(number(1), times(rate, decay)));
  }
  ValueId norm(ValueId x) { return op("Sqrt", {op("ReduceSumSquare", {x}, {{"keepdims", int64_t{0}}})}); }
  // 1 - beta^t of the update that is being made, t from 1.
  ValueId correction(double beta) {
    const ValueId t = plus(op("Cast", {scalars_.updates}, {{"to", int64_t{1}}}), number(1));
    return minus(number(1), op("Exp", {times(t, std::log(beta))}));
  }

  GraphBuilder& b_;
  const Optimizer& o_;
  const UpdateScalars& scalars_;
};

bool is_matrix(const GraphBuilder& b, const TrainedParameter& p) { return b.type(p.value).rank() == 2; }

std::vector<UpdateGroup> UpdateEmitter::grouped(std::span<const TrainedParameter> parameters) const {
  std::map<std::tuple<double, double, bool>, UpdateGroup> groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TrainedParameter& p = parameters[i];
    double factor = 1;
    double decay = o_.decay_vectors || b_.type(p.value).rank() >= 2 ? o_.weight_decay : 0;
    for (const ParameterGroup& group : o_.groups) {
      const auto fits = [&](const std::string& pattern) { return matches_pattern(pattern, p.name); };
      if (std::none_of(group.match.begin(), group.match.end(), fits)) continue;
      factor = group.rate;
      if (group.weight_decay) decay = *group.weight_decay;
      break;
    }
    const bool apart = o_.kind == OptimizerKind::kMuon && !is_matrix(b_, p);
    UpdateGroup& group = groups[{factor, decay, apart}];
    group.rate_factor = factor;
    group.weight_decay = decay;
    group.parameters.push_back(p);
    group.places.push_back(i);
  }
  std::vector<UpdateGroup> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

std::vector<ValueId> UpdateEmitter::update(const UpdateGroup& group) {
  if (o_.kind == OptimizerKind::kSgd) return sgd(group);
  if (o_.kind == OptimizerKind::kAdam || o_.kind == OptimizerKind::kAdamW)
    return adamw(group, rate_of(group.rate_factor));
  if (o_.kind == OptimizerKind::kMuon && !is_matrix(b_, group.parameters.front()))
    return adamw(group, rate_of(group.rate_factor * o_.vector_rate / o_.rate));
  std::vector<ValueId> next;
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    next.push_back(o_.kind == OptimizerKind::kLion   ? lion(group, i)
                   : o_.kind == OptimizerKind::kLamb ? lamb(group, i)
                                                     : muon(group, i));
  }
  return next;
}

std::vector<ValueId> UpdateEmitter::many(const char* name, std::vector<ValueId> inputs,
                                         const UpdateGroup& group, const std::vector<std::string>& moments,
                                         Attributes attributes) {
  std::vector<ValueId> states;
  for (const TrainedParameter& p : group.parameters) inputs.push_back(p.value);
  for (const TrainedParameter& p : group.parameters) inputs.push_back(p.gradient);
  for (const std::string& prefix : moments)
    for (const TrainedParameter& p : group.parameters) states.push_back(moment(prefix, p));
  inputs.insert(inputs.end(), states.begin(), states.end());
  const std::size_t count = group.parameters.size();
  std::vector<ValueId> next = b_.add_many(name, std::move(inputs), count + states.size(),
                                          with_rounding(std::move(attributes), group.places), "update");
  for (std::size_t i = 0; i < states.size(); ++i) b_.next_value(states[i], next[count + i]);
  next.resize(count);
  return next;
}

std::vector<ValueId> UpdateEmitter::sgd(const UpdateGroup& group) {
  Attributes attributes;
  if (group.weight_decay != 0) attributes.set("weight_decay", static_cast<float>(group.weight_decay));
  if (o_.momentum != 0) attributes.set("momentum", static_cast<float>(o_.momentum));
  if (o_.momentum != 0 && o_.nesterov) attributes.set("nesterov", int64_t{1});
  std::vector<std::string> moments;
  if (o_.momentum != 0) moments.push_back("sgd.v.");
  std::vector<ValueId> scalars = {rate_of(group.rate_factor), scalars_.scale};
  if (scalars_.rounding_seed) scalars.push_back(scalars_.updates);
  return many("hone.Sgd", std::move(scalars), group, moments, std::move(attributes));
}

// Of a node that updates the parameters with these numbers.
Attributes UpdateEmitter::with_rounding(Attributes attributes, std::span<const std::size_t> places) const {
  if (!scalars_.rounding_seed) return attributes;
  attributes.set("seed", static_cast<int64_t>(*scalars_.rounding_seed));
  attributes.set("numbers", Ints(places.begin(), places.end()));
  return attributes;
}

// x' = x·(1 - rate·decay) - rate·factor·direction of parameter `i` of the group. Where it is bf16, that is a step of gradient
// descent, whose operator rounds.
ValueId UpdateEmitter::stepped(const UpdateGroup& group, std::size_t i, ValueId rate, ValueId direction,
                               double decay, double factor) {
  const TrainedParameter& p = group.parameters[i];
  if (!scalars_.rounding_seed) {
    const ValueId step = factor == 1 ? rate : times(rate, factor);
    return unless_skipped(minus(decayed(p.value, rate, decay), times(direction, step)), p.value);
  }
  Attributes attributes;
  if (decay != 0) attributes.set("weight_decay", static_cast<float>(decay));
  return b_.add(
      "hone.Sgd",
      {rate, scale_of_skip(), scalars_.updates, p.value, factor == 1 ? direction : times(direction, factor)},
      with_rounding(std::move(attributes), std::span(group.places).subspan(i, 1)), "update");
}

std::vector<ValueId> UpdateEmitter::adamw(const UpdateGroup& group, ValueId rate) {
  const bool coupled = o_.kind == OptimizerKind::kAdam && group.weight_decay != 0;
  UpdateGroup with = group;
  ValueId scale = scalars_.scale;
  if (coupled) {
    for (TrainedParameter& p : with.parameters)
      p.gradient = plus(scaled_gradient(p), times(p.wide, group.weight_decay));
    scale = scale_of_skip();
  }
  const Attributes attributes = {{"beta1", static_cast<float>(o_.beta1)},
                                 {"beta2", static_cast<float>(o_.beta2)},
                                 {"epsilon", static_cast<float>(o_.epsilon)},
                                 {"weight_decay", coupled ? 0.0F : static_cast<float>(group.weight_decay)}};
  return many("hone.AdamW", {rate, scalars_.updates, scale}, with, {"adam.m.", "adam.v."}, attributes);
}

// u = sign(beta1·m + (1 - beta1)·g);  x' = x·(1 - rate·decay) - rate·u;  m' = beta2·m + (1 - beta2)·g.
ValueId UpdateEmitter::lion(const UpdateGroup& group, std::size_t i) {
  const TrainedParameter& p = group.parameters[i];
  const ValueId m = moment("lion.m.", p);
  const ValueId g = scaled_gradient(p);
  const ValueId rate = rate_of(group.rate_factor);
  const ValueId direction = op("Sign", {mixed(o_.beta1, m, g)});
  b_.next_value(m, unless_skipped(mixed(o_.beta2, m, g), m));
  return stepped(group, i, rate, direction, group.weight_decay);
}

// r = m̂ / (√v̂ + epsilon) + decay·x;  x' = x - rate·(|x| / |r|)·r, the quotient being 1 where either norm is 0.
ValueId UpdateEmitter::lamb(const UpdateGroup& group, std::size_t i) {
  const TrainedParameter& p = group.parameters[i];
  const ValueId m = moment("lamb.m.", p);
  const ValueId v = moment("lamb.v.", p);
  const ValueId g = scaled_gradient(p);
  const ValueId next_m = mixed(o_.beta1, m, g);
  const ValueId next_v = mixed(o_.beta2, v, times(g, g));
  b_.next_value(m, unless_skipped(next_m, m));
  b_.next_value(v, unless_skipped(next_v, v));
  const ValueId root = op("Sqrt", {op("Div", {next_v, correction(o_.beta2)})});
  ValueId r = op("Div", {op("Div", {next_m, correction(o_.beta1)}), plus(root, number(o_.epsilon))});
  if (group.weight_decay != 0) r = plus(r, times(p.wide, group.weight_decay));
  const ValueId of_x = norm(p.wide);
  const ValueId of_r = norm(r);
  const ValueId either_zero = op("Equal", {times(of_x, of_r), number(0)});
  const ValueId divisor = op("Where", {either_zero, number(1), of_r});
  const ValueId trust = op("Where", {either_zero, number(1), op("Div", {of_x, divisor})});
  return stepped(group, i, times(trust, rate_of(group.rate_factor)), r, 0);
}

// m' = momentum·m + (1 - momentum)·g; the update is g mixed with m' in the same way (Nesterov) or m', made
// orthogonal, times √max(1, rows / columns).
ValueId UpdateEmitter::muon(const UpdateGroup& group, std::size_t i) {
  const TrainedParameter& p = group.parameters[i];
  const ValueId m = moment("muon.m.", p);
  const ValueId g = scaled_gradient(p);
  const ValueId rate = rate_of(group.rate_factor);
  const ValueId next_m = mixed(o_.momentum, m, g);
  b_.next_value(m, unless_skipped(next_m, m));
  const Shape shape = b_.type(p.value).shape();
  const ValueId direction =
      orthogonalised(o_.nesterov ? mixed(o_.momentum, next_m, g) : next_m, shape[0] > shape[1]);
  const double factor =
      std::sqrt(std::max(1.0, static_cast<double>(shape[0]) / static_cast<double>(shape[1])));
  return stepped(group, i, rate, direction, group.weight_decay, factor);
}

// Five steps of Newton and Schulz's iteration with the coefficients that Muon's authors chose for speed: singular
// values end near 1, not at it.
ValueId UpdateEmitter::orthogonalised(ValueId x, bool tall) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  const auto transposed = [&](ValueId value) { return op("Transpose", {value}, {{"perm", Ints{1, 0}}}); };
  if (tall) x = transposed(x);
  x = op("Div", {x, op("Max", {norm(x), number(1e-7)})});
  for (int i = 0; i < 5; ++i) {
    const ValueId a = op("MatMul", {x, transposed(x)});
    const ValueId b = plus(times(a, kB), times(op("MatMul", {a, a}), kC));
    x = plus(times(x, kA), op("MatMul", {b, x}));
  }
  return tall ? transposed(x) : x;
}

}  // namespace

std::span<const std::string_view> optimizer_names() {
  static constexpr std::array<std::string_view, 6> kNames = {"sgd", "adam", "adamw", "lion", "lamb", "muon"};
  return kNames;
}

bool matches_pattern(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

std::vector<ValueId> emit_updates(GraphBuilder& builder, const Optimizer& optimizer,
                                  std::span<const TrainedParameter> parameters,
                                  const UpdateScalars& scalars) {
  return UpdateEmitter(builder, optimizer, scalars).run(parameters);
}

ValueId emit_global_norm(GraphBuilder& builder, std::span<const TrainedParameter> parameters) {
  std::vector<ValueId> gradients;
  for (const TrainedParameter& p : parameters) gradients.push_back(p.gradient);
  return builder.add("Sqrt", {builder.add("hone.SquareSum", gradients, {}, "norm.square")}, {}, "norm.root");
}

ValueId emit_clip_scale(GraphBuilder& builder, ValueId norm, double most) {
  const auto number = [&](double value) {
    return builder.constant("clip.number", Tensor::scalar_f32(static_cast<float>(value)));
  };
  const ValueId safe = builder.add("Add", {norm, number(1e-6)}, {}, "clip.norm");
  const ValueId scale = builder.add("Div", {number(most), safe}, {}, "clip.quotient");
  return builder.add("Min", {scale, number(1)}, {}, "clip.scale");
}

}  // namespace hone::graph
