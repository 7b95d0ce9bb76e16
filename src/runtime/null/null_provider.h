// The null provider: every operator by its reference kernel, on a device that is like no host
// (null_device.h). For tests: what works on it and on the CPU knows nothing of either.
#pragma once

#include "runtime/null/null_device.h"
#include "runtime/provider.h"

namespace hone::runtime {

class NullProvider : public Provider {
 public:
  std::string_view name() const override { return "null"; }
  std::string signature(Share share) const override;
  std::shared_ptr<Device> device() const override { return device_; }
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                            Share share) const override;
  int lanes() const override { return 2; }

 private:
  std::shared_ptr<NullDevice> device_ = std::make_shared<NullDevice>();
};

}  // namespace hone::runtime
