// A CPU that passes for one whose products take f16, bf16 and tf32: what it has no kernel for in those types the reference
// computes, and is taken for a kernel of its own. For tests of what passes and the lab do on such a device: its numbers
// are right, its times mean nothing.
#pragma once

#include <algorithm>

#include "runtime/cpu/cpu_provider.h"

namespace hone::runtime::testing {

class HalfProvider : public CpuProvider {
 public:
  explicit HalfProvider(int threads = 1) : CpuProvider(threads), takes_(CpuProvider::capabilities()) {
    takes_.products = {DType::kF32, DType::kF16, DType::kBF16};
    takes_.bias_gradients = {DType::kF16, DType::kBF16};
    takes_.tf32_products = true;
    takes_.widened_sums = {DType::kF16, DType::kBF16};
    takes_.narrow_normalizations = true;
    takes_.convolution_layout = Layout::kPlain;
  }
  std::string signature(Share share) const override { return "half " + CpuProvider::signature(share); }
  const graph::Capabilities& capabilities() const override { return takes_; }
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                            Share share) const override {
    HONE_ASSIGN(std::vector<Candidate> found, CpuProvider::candidates(graph, node, share));
    const auto is_half = [&](graph::ValueId id) {
      return id.valid() && (graph.type(id).dtype == DType::kF16 || graph.type(id).dtype == DType::kBF16);
    };
    const bool half = std::any_of(node.inputs.begin(), node.inputs.end(), is_half) ||
                      std::any_of(node.outputs.begin(), node.outputs.end(), is_half);
    for (Candidate& candidate : found) candidate.reference = candidate.reference && !half;
    return found;
  }

 private:
  graph::Capabilities takes_;
};

}  // namespace hone::runtime::testing
