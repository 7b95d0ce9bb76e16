// Graphs of one node, as most tests of gradients need them.
#pragma once

#include <string>
#include <vector>

#include "tests/gradients/check_gradient.h"

namespace hone::gradients {

using Values = std::vector<graph::ValueId>;

inline graph::ValueId ints(graph::GraphBuilder& b, const Ints& values) {
  return b.constant("ints", Tensor::i64({static_cast<int64_t>(values.size())}, values));
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
