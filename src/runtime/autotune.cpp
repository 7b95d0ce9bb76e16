#include "runtime/autotune.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "core/clock.h"
#include "runtime/timing_cache.h"

namespace hone::runtime {
namespace {

using graph::Graph;
using graph::Node;

std::size_t byte_size(const graph::TensorType& type) {
  return static_cast<std::size_t>(storage_elements(type.shape(), type.layout)) * dtype_size(type.dtype);
}

// Memory for one node's run on made-up data.
class Sandbox {
 public:
  Sandbox(const Graph& graph, const Node& node) {
    for (graph::ValueId id : node.inputs) {
      if (!id.valid()) {
        inputs_.push_back(nullptr);
        continue;
      }
      const graph::Value& value = graph.value(id);
      if (value.is_constant()) {
        inputs_.push_back(value.constant->data());
        continue;
      }
      Tensor& tensor = allocate(byte_size(value.type));
      make_up(value.type.dtype, tensor.data(), tensor.bytes());
      inputs_.push_back(tensor.data());
    }
    for (graph::ValueId id : node.outputs) {
      outputs_.push_back(id.valid() ? allocate(byte_size(graph.type(id))).data() : nullptr);
    }
  }

  KernelArguments arguments(const Kernel& kernel) {
    if (scratch_.bytes() < kernel.scratch_bytes())
      scratch_ = Tensor::zeros(DType::kU8, {static_cast<int64_t>(kernel.scratch_bytes())});
    return {inputs_, outputs_, scratch_.data()};
  }

 private:
  Tensor& allocate(std::size_t bytes) {
    return owned_.emplace_back(
        Tensor::zeros(DType::kU8, {static_cast<int64_t>(std::max<std::size_t>(bytes, 64))}));
  }

  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<Tensor> owned_;
  Tensor scratch_;
};

// The median of repeated runs, in microseconds; infinity if the kernel fails on made-up data.
double measure(Kernel& kernel, Sandbox& sandbox, double budget_ms) {
  const KernelArguments arguments = sandbox.arguments(kernel);
  if (!kernel.run(arguments).ok()) return std::numeric_limits<double>::infinity();
  std::vector<double> times;
  const auto budget_ns = static_cast<int64_t>(budget_ms * 1e6);
  const int64_t end = now_ns() + budget_ns;
  do {
    const int64_t start = now_ns();
    if (!kernel.run(arguments).ok()) return std::numeric_limits<double>::infinity();
    times.push_back(static_cast<double>(now_ns() - start) / 1e3);
  } while (times.size() < 50 && (now_ns() < end || (times.size() < 3 && now_ns() < end + 4 * budget_ns)));
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

}  // namespace

void make_up(DType dtype, void* data, std::size_t bytes) {
  std::minstd_rand random(12345);
  if (dtype != DType::kF32) {
    std::memset(data, 0, bytes);
    return;
  }
  for (float& x : std::span(static_cast<float*>(data), bytes / sizeof(float)))
    x = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
}

Result<Chosen> choose_kernel(const Graph& graph, const Node& node, const Provider& provider,
                             const PlanOptions& options) {
  HONE_ASSIGN(const std::vector<Candidate> candidates, provider.candidates(graph, node));
  Error last = unsupported(
      fmt::format("unsupported: {} (provider {} has no kernel for it)", node.op, provider.name()));
  const bool measured =
      options.autotune && (candidates.size() > 1 || (options.measure_single && options.cache != nullptr));
  if (!measured) {
    for (const Candidate& candidate : candidates) {
      auto kernel = candidate.make();
      if (kernel.ok()) {
        return Chosen{std::move(*kernel), candidates.size() == 1
                                              ? "only candidate"
                                              : "first of " + std::to_string(candidates.size())};
      }
      last = kernel.error();
    }
    return last;
  }

  const std::string signature = node_signature(graph, node);
  if (options.cache != nullptr) {
    if (auto known = options.cache->find(provider.signature(), signature)) {
      for (const Candidate& candidate : candidates) {
        if (candidate.name != known->candidate) continue;
        auto kernel = candidate.make();
        if (kernel.ok()) {
          return Chosen{std::move(*kernel), fmt::format("fastest of {} (remembered): {:.1f} µs",
                                                        candidates.size(), known->microseconds)};
        }
      }
    }
  }

  Sandbox sandbox(graph, node);
  Chosen best;
  double best_time = std::numeric_limits<double>::infinity();
  double second_time = best_time;
  std::string best_name;
  for (const Candidate& candidate : candidates) {
    auto kernel = candidate.make();
    if (!kernel.ok()) {
      last = kernel.error();
      continue;
    }
    const double time =
        measure(**kernel, sandbox, options.tune_ms_per_node / static_cast<double>(candidates.size()));
    if (best.kernel == nullptr || time < best_time) {
      second_time = best_time;
      best_time = time;
      best.kernel = std::move(*kernel);
      best_name = candidate.name;
    } else {
      second_time = std::min(second_time, time);
    }
  }
  if (best.kernel == nullptr) return last;
  best.why =
      fmt::format("fastest of {}: {:.1f} µs, next {:.1f} µs", candidates.size(), best_time, second_time);
  if (options.cache != nullptr) options.cache->put(provider.signature(), signature, {best_name, best_time});
  return best;
}

}  // namespace hone::runtime
