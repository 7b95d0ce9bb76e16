// A provider whose kernels do nothing: for tests of how plans are laid out, and for what running one costs.
#pragma once

#include "runtime/host_device.h"

namespace hone::runtime::testing {

class IdleProvider : public HostProvider {
 public:
  std::string_view name() const override { return "idle"; }
  std::string signature(Share) const override { return "idle"; }
  Result<std::vector<Candidate>> candidates(const graph::Graph&, const graph::Node&, Share) const override {
    return std::vector<Candidate>{{"idle", []() -> Result<std::unique_ptr<Kernel>> {
                                     return std::unique_ptr<Kernel>(std::make_unique<IdleKernel>());
                                   }}};
  }

 private:
  class IdleKernel : public Kernel {
   public:
    std::string implementation() const override { return "idle"; }
    std::optional<std::size_t> in_place_input() const override { return 0; }
    Status enqueue(const KernelArguments&, Queue&) override { return {}; }
  };
};

}  // namespace hone::runtime::testing
