// The null provider: every operator by its reference kernel. For tests of what must not depend on a device.
#pragma once

#include "runtime/host_device.h"

namespace hone::runtime {

class NullProvider : public HostProvider {
 public:
  std::string_view name() const override { return "null"; }
  std::string signature(Share) const override { return "null"; }
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                            Share share) const override;
};

}  // namespace hone::runtime
