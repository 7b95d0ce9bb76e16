#include "runtime/provider.h"

namespace hone::runtime {

const graph::Capabilities& Provider::capabilities() const {
  static const graph::Capabilities none;
  return none;
}

bool Provider::runs(const graph::Graph& graph, const graph::Node& node) const {
  for (const auto* ids : {&node.inputs, &node.outputs})
    for (const graph::ValueId id : *ids)
      if (id.valid() && !graph.type(id).is_static()) return false;
  const auto found = candidates(graph, node, Share::kDevice);
  return found.ok() && !found->empty() && !found->front().reference;
}

}  // namespace hone::runtime
