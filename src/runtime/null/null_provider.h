// The null provider: every operator is a kernel that does nothing. For tests of plans and of what running one
// costs.
#pragma once

#include "runtime/provider.h"

namespace hone::runtime {

class NullProvider : public Provider {
 public:
  std::string_view name() const override { return "null"; }
  std::string signature() const override { return "null"; }
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph,
                                            const graph::Node& node) const override;
};

}  // namespace hone::runtime
