#include "runtime/null/null_provider.h"

#include "runtime/reference_kernel.h"

namespace hone::runtime {

Result<std::vector<Candidate>> NullProvider::candidates(const graph::Graph& graph, const graph::Node& node,
                                                        Share) const {
  return std::vector<Candidate>{reference_candidate(graph, node)};
}

}  // namespace hone::runtime
