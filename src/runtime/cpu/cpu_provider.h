// The CPU provider: oneDNN for convolutions and matrix products, hone's own kernels for the rest, the
// reference kernels (named so in the plan) where there is neither. Lowering lives in lower_*.cpp, one file an
// operator family.
#pragma once

#include "runtime/host_device.h"

namespace hone::runtime {

class CpuProvider : public HostProvider {
 public:
  // `threads`: 0 for every core that this process may use (kernels/cpu/cores.h).
  explicit CpuProvider(int threads = 0);
  std::string_view name() const override { return "cpu"; }
  // Processor, vector instructions, oneDNN's version, revision of hone's kernels, threads.
  std::string signature(Share share) const override;
  std::vector<Trait> traits() const override;
  // Kernels are made for as many threads as the share has, whatever the caller's team is.
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                            Share share) const override;
  // By the host's clock, with caches swept as the rest of a step sweeps them (cpu_timer.h).
  Result<std::unique_ptr<KernelTimer>> make_timer(std::size_t step_bytes, Share share) const override;
  int lanes() const override { return threads_; }  // one thread each
  int threads() const override { return threads_; }
  const graph::Capabilities& capabilities() const override;
  // The threads of a plan's team stay on their cores.
  std::unique_ptr<Hold> hold() const override;

 private:
  int threads_of(Share share) const { return share == Share::kLane ? 1 : threads_; }

  int threads_;
  std::string machine_;  // of the signature
};

}  // namespace hone::runtime
