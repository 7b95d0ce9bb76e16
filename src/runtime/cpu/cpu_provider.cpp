#include "runtime/cpu/cpu_provider.h"

#include <fstream>

#include <fmt/core.h>

#include "kernels/cpu/cores.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/roof/arithmetic.h"
#include "kernels/cpu/roof/gemm.h"
#include "runtime/cpu/capabilities.h"
#include "runtime/cpu/cpu_queue.h"
#include "runtime/cpu/cpu_timer.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/kernel_revision.h"
#include "runtime/reference_kernel.h"

namespace hone::runtime {
namespace {

// As the operating system names it; "unknown processor" where it does not.
std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return "unknown processor";
}

// The host's memory, and queues whose kernels find a team of the provider's threads.
class CpuDevice : public HostDevice {
 public:
  explicit CpuDevice(int threads) : threads_(threads) {}
  Result<std::unique_ptr<Queue>> make_queue() override {
    return std::unique_ptr<Queue>(std::make_unique<cpu::CpuQueue>(threads_));
  }

 private:
  int threads_;
};

class PinnedHold : public Hold {
 public:
  explicit PinnedHold(int threads) : team_(threads) {}

 private:
  kernels::PinnedTeam team_;
};

int threads_or_all(int threads) { return threads > 0 ? threads : kernels::default_thread_count(); }

// `make` called with a team of the size that its kernel will run with: libraries prepare for that many.
Candidate made_for(int threads, Candidate candidate) {
  candidate.make = [threads, make = std::move(candidate.make)] {
    const kernels::TeamSize team(threads);
    return make();
  };
  return candidate;
}

}  // namespace

CpuProvider::CpuProvider(int threads)
    : HostProvider(std::make_shared<CpuDevice>(threads_or_all(threads))),
      threads_(threads_or_all(threads)),
      machine_(fmt::format("cpu {}, {}, oneDNN {}, kernels {}", cpu_model(), kernels::roof::vector_features(),
                           kernels::roof::dnnl_version_text(), cpu::kernel_revision())) {}

std::string CpuProvider::signature(Share share) const {
  return fmt::format("{}, threads={}", machine_, threads_of(share));
}

std::vector<Trait> CpuProvider::traits() const {
  return {{"processor", cpu_model()},
          {"vector instructions", std::string(kernels::roof::vector_features())},
          {"oneDNN", kernels::roof::dnnl_version_text()},
          {"revision of hone's kernels", std::string(cpu::kernel_revision())},
          {"threads", std::to_string(threads_)}};
}

std::unique_ptr<Hold> CpuProvider::hold() const { return std::make_unique<PinnedHold>(threads_); }

Result<std::unique_ptr<KernelTimer>> CpuProvider::make_timer(std::size_t step_bytes, Share share) const {
  return std::unique_ptr<KernelTimer>(
      std::make_unique<cpu::CpuTimer>(device(), threads_of(share), step_bytes));
}

const graph::Capabilities& CpuProvider::capabilities() const { return cpu::capabilities(); }

Result<std::vector<Candidate>> CpuProvider::candidates(const graph::Graph& graph, const graph::Node& node,
                                                       Share share) const {
  const kernels::TeamSize team(threads_of(share));  // what is offered may depend on it
  std::vector<Candidate> found;
  const LowerContext context{graph, node};
  if (node.custom != nullptr) {
    HONE_ASSIGN(found, cpu::plugin_candidates(context));
    for (Candidate& candidate : found) candidate = made_for(threads_of(share), std::move(candidate));
    return found;
  }
  // Kernels write output 0 at least; a node of which only a later output is wanted is the reference's.
  const bool lowerable = node.has_output(0) && (node.inputs.empty() || node.has_input(0));
  for (const LowerFunction lower :
       {cpu::lower_convolution, cpu::lower_matmul, cpu::lower_pointwise, cpu::lower_pooling,
        cpu::lower_normalization, cpu::lower_attention, cpu::lower_movement, cpu::lower_indexing,
        cpu::lower_reduction, cpu::lower_resize, cpu::lower_loss, cpu::lower_optimizer}) {
    if (lowerable) lower(context, found);
  }
  cpu::lower_recurrent(context, found);  // any of its outputs may be absent
  if (found.empty() && ReferenceNode::can_run(graph, node)) found.push_back(reference_candidate(graph, node));
  for (Candidate& candidate : found) candidate = made_for(threads_of(share), std::move(candidate));
  return found;
}

}  // namespace hone::runtime
