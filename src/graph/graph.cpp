#include "graph/graph.h"

#include <algorithm>

namespace hone::graph {

ValueId Graph::find_value(std::string_view name) const {
  for (uint32_t i = 0; i < values_.size(); ++i) {
    if (values_[i].name == name) return ValueId{i};
  }
  return kNoValue;
}

bool Graph::is_output(ValueId value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

const StatePair* Graph::state_of_input(std::size_t position) const {
  const auto found = std::find_if(states_.begin(), states_.end(),
                                  [&](const StatePair& pair) { return pair.input == position; });
  return found == states_.end() ? nullptr : &*found;
}

const StatePair* Graph::state_of_output(std::size_t position) const {
  const auto found = std::find_if(states_.begin(), states_.end(),
                                  [&](const StatePair& pair) { return pair.output == position; });
  return found == states_.end() ? nullptr : &*found;
}

std::vector<std::string> Graph::symbols() const {
  std::vector<std::string> symbols;
  for (ValueId input : inputs_) {
    const TensorType& t = type(input);
    if (!t.has_rank()) continue;
    for (const Dim& dim : *t.dims) {
      if (!dim.symbolic()) continue;
      if (std::find(symbols.begin(), symbols.end(), dim.name()) == symbols.end())
        symbols.push_back(dim.name());
    }
  }
  return symbols;
}

}  // namespace hone::graph
