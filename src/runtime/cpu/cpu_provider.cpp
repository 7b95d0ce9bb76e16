#include "runtime/cpu/cpu_provider.h"

#include <fstream>

#include <fmt/core.h>
#include <omp.h>

#include "kernels/cpu/cores.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/roof/arithmetic.h"
#include "kernels/cpu/roof/gemm.h"
#include "runtime/cpu/families.h"
#include "runtime/reference_kernel.h"

namespace hone::runtime {
namespace {

// To be raised when hone's own kernels or their names change: timings taken before are then measured anew.
constexpr int kKernelRevision = 4;

// As the operating system names it; "unknown processor" where it does not.
std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return "unknown processor";
}

// The last level's, as the first CPU sees it; what is common where the system does not tell.
std::size_t last_level_cache() {
  for (int index = 4; index >= 2; --index) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    std::size_t kib = 0;  // written as "32768K"
    if (file >> kib && kib > 0) return kib << 10;
  }
  return std::size_t{32} << 20;
}

bool plain_everywhere(const graph::Graph& graph, const graph::Node& node) {
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    for (graph::ValueId id : *ids) {
      if (id.valid() && graph.type(id).layout != Layout::kPlain) return false;
    }
  }
  return true;
}

std::string signature_of(int threads) {
  return fmt::format("cpu {}, {}, oneDNN {}, kernels {}, threads={}", cpu_model(),
                     kernels::roof::vector_features(), kernels::roof::dnnl_version_text(), kKernelRevision,
                     threads);
}

}  // namespace

CpuProvider::CpuProvider(int threads)
    : threads_(threads > 0 ? threads : kernels::default_thread_count()), cache_bytes_(last_level_cache()) {
  omp_set_num_threads(threads_);
  signature_ = signature_of(threads_);
}

CpuProvider::CpuProvider(OneLane) : threads_(1), signature_(signature_of(1)) {}

Lanes CpuProvider::lanes() const {
  if (threads_ < 2) return {};
  return {threads_, std::unique_ptr<Provider>(new CpuProvider(OneLane{})), kernels::run_lanes};
}

Layout CpuProvider::convolution_layout() const {
  return __builtin_cpu_supports("avx512f") ? Layout::kBlocked16 : Layout::kBlocked8;
}

Result<std::vector<Candidate>> CpuProvider::candidates(const graph::Graph& graph,
                                                       const graph::Node& node) const {
  std::vector<Candidate> found;
  const cpu::LowerContext context{graph, node};
  // Kernels write output 0 at least; a node of which only a later output is wanted is the reference's.
  const bool lowerable = node.has_output(0) && (node.inputs.empty() || node.has_input(0));
  for (const cpu::LowerFunction lower :
       {cpu::lower_convolution, cpu::lower_matmul, cpu::lower_pointwise, cpu::lower_pooling,
        cpu::lower_normalization, cpu::lower_attention, cpu::lower_movement, cpu::lower_indexing,
        cpu::lower_reduction, cpu::lower_resize, cpu::lower_optimizer}) {
    if (lowerable) lower(context, found);
  }
  cpu::lower_recurrent(context, found);  // any of its outputs may be absent
  if (found.empty() && plain_everywhere(graph, node)) found.push_back(reference_candidate(graph, node));
  return found;
}

}  // namespace hone::runtime
