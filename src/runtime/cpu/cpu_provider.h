// The CPU provider: oneDNN for convolutions and matrix products, hone's own kernels for the rest, the
// reference kernels (named so in the plan) where there is neither. Lowering lives in lower_*.cpp, one file an
// operator family.
#pragma once

#include "runtime/provider.h"

namespace hone::runtime {

class CpuProvider : public Provider {
 public:
  // `threads`: 0 for every core that this process may use (kernels/cpu/cores.h).
  explicit CpuProvider(int threads = 0);
  std::string_view name() const override { return "cpu"; }
  // Processor, vector instructions, oneDNN's version, revision of hone's kernels, threads.
  std::string signature() const override { return signature_; }
  std::size_t cache_bytes() const override { return cache_bytes_; }
  int threads() const { return threads_; }
  // What its convolutions run fastest in: blocks as wide as the CPU's vectors.
  Layout convolution_layout() const;
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph,
                                            const graph::Node& node) const override;
  // A lane is one thread.
  Lanes lanes() const override;

 private:
  struct OneLane {};
  explicit CpuProvider(OneLane);  // leaves the calling thread's team as it is

  int threads_;
  std::string signature_;
  std::size_t cache_bytes_;
};

}  // namespace hone::runtime
