#include "lab/experiment/target.h"

namespace hone::lab {

passes::Target pass_target(const runtime::Provider& provider) {
  passes::Target target;
  target.convolution_layout = provider.convolution_layout();
  target.runs = [&provider](const graph::Graph& graph, const graph::Node& node) {
    auto candidates = provider.candidates(graph, node, runtime::Share::kDevice);
    return candidates.ok() && !candidates->empty() && candidates->front().name != "reference";
  };
  return target;
}

}  // namespace hone::lab
