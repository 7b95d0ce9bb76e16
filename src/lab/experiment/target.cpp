#include "lab/experiment/target.h"

namespace hone::lab {

passes::Target pass_target(const runtime::Provider& provider) {
  return {provider.capabilities(), [&provider](const graph::Graph& graph, const graph::Node& node) {
            return provider.runs(graph, node);
          }};
}

}  // namespace hone::lab
