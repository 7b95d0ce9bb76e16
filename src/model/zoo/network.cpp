#include "model/zoo/network.h"

#include <algorithm>
#include <cmath>

#include "core/hash.h"
#include "model/zoo/normal_fill.h"

namespace hone::model::zoo {
Initial he(int64_t fan_in, float gain) { return {0, std::sqrt(gain / static_cast<float>(fan_in))}; }

Network::Network(std::string name, uint64_t seed) : builder_(std::move(name)), seed_(seed) {}

Module Network::root() { return {this, ""}; }

ValueId Network::input(const std::string& name, DType dtype, graph::Dims dims) {
  return builder_.input(name, graph::tensor_type(dtype, std::move(dims)));
}

void Network::output(ValueId value, const std::string& name, graph::Dims dims) {
  builder_.rename(value, name);
  builder_.set_type(value, graph::tensor_type(builder_.type(value).dtype, std::move(dims)));
  builder_.output(value);
}

ValueId Network::random(const std::string& name, Shape shape, Initial initial, bool positive) {
  Tensor tensor(DType::kF32, std::move(shape));
  const ValueId value = builder_.constant(name, tensor);
  pending_.push_back({std::move(tensor), fnv1a(name), initial, positive});
  return value;
}

void Network::fill() const {
  std::vector<NormalFill> fills;
  for (const Pending& pending : pending_) {
    Tensor tensor = pending.tensor;
    fills.push_back({tensor.as<float>(), pending.stream, pending.initial.mean, pending.initial.deviation,
                     pending.positive});
  }
  fill_normal(fills, seed_);
}

Result<Built> Network::finish() && {
  fill();
  HONE_ASSIGN(graph::Graph graph, std::move(builder_).finish());
  return Built{std::move(graph), parameter_count_};
}

std::string Module::named(std::string_view leaf, char separator) const {
  return path_.empty() ? std::string(leaf) : path_ + separator + std::string(leaf);
}

Module Module::operator[](std::string_view child) const { return {network_, named(child, '.')}; }

ValueId Module::op(const std::string& op, std::vector<ValueId> inputs, Attributes attributes) const {
  return network_->builder_.add(op, std::move(inputs), std::move(attributes), named(op, '/'));
}

std::vector<ValueId> Module::ops(const std::string& op, std::vector<ValueId> inputs, std::size_t outputs,
                                 Attributes attributes) const {
  return network_->builder_.add_many(op, std::move(inputs), outputs, std::move(attributes), named(op, '/'));
}

ValueId Module::parameter(std::string_view leaf, Shape shape, Initial initial) const {
  network_->parameter_count_ += element_count(shape);
  return network_->random(named(leaf, '.'), std::move(shape), initial, false);
}

ValueId Module::buffer(std::string_view leaf, Shape shape, Initial initial, bool positive) const {
  return network_->random(named(leaf, '.'), std::move(shape), initial, positive);
}

ValueId Module::constant(Tensor data) const {
  return network_->builder_.constant(named("Constant", '/'), std::move(data));
}

ValueId Module::scalar(float value) const { return constant(Tensor::scalar_f32(value)); }
ValueId Module::index(int64_t value) const { return constant(Tensor::scalar_i64(value)); }

ValueId Module::ints(const std::vector<int64_t>& values) const {
  return constant(Tensor::i64({static_cast<int64_t>(values.size())}, values));
}

ValueId Module::shape(const std::vector<Target>& extents) const {
  std::vector<ValueId> parts;
  for (const Target& target : extents) {
    if (const auto* number = std::get_if<int64_t>(&target)) {
      parts.push_back(ints({*number}));
      continue;
    }
    const Extent& extent = std::get<Extent>(target);
    const ValueId one = op("Gather", {op("Shape", {extent.of}), index(extent.axis)}, {{"axis", int64_t{0}}});
    parts.push_back(op("Unsqueeze", {one, ints({0})}));
  }
  return op("Concat", std::move(parts), {{"axis", int64_t{0}}});
}

ValueId Module::reshape(ValueId x, const std::vector<Target>& extents) const {
  return op("Reshape", {x, shape(extents)});
}

}  // namespace hone::model::zoo
