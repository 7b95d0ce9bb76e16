// Graphs of one node, as most tests of gradients need them.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/gradients/check_gradient.h"

namespace hone::gradients {

using Values = std::vector<graph::ValueId>;

inline graph::ValueId ints(graph::GraphBuilder& b, const Ints& values) {
  return b.constant("ints", Tensor::i64({static_cast<int64_t>(values.size())}, values));
}

inline graph::ValueId classes(graph::GraphBuilder& b, const Shape& shape, const Ints& values) {
  return b.constant("classes", Tensor::i64(shape, values));
}

inline graph::ValueId doubles(graph::GraphBuilder& b, const Shape& shape, const std::vector<double>& values) {
  return b.constant("doubles", Tensor::of<double>(DType::kF64, shape, values));
}

// A loss that must be made.
inline graph::ValueId made(Result<graph::ValueId> loss) {
  if (!loss.ok()) throw std::logic_error(loss.error().message);
  return *loss;
}

// One node of `op` on all inputs.
inline Build node(const std::string& op, const Attributes& attributes = {}) {
  return [=](graph::GraphBuilder& b, const Values& x) { return b.add(op, x, attributes); };
}

// One node of `op` on the input and lists of integers.
inline Build node_with(const std::string& op, const std::vector<Ints>& lists,
                       const Attributes& attributes = {}) {
  return [=](graph::GraphBuilder& b, const Values& x) {
    Values inputs = x;
    for (const Ints& list : lists) inputs.push_back(ints(b, list));
    return b.add(op, inputs, attributes);
  };
}

}  // namespace hone::gradients
