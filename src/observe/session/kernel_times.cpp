#include "observe/session/kernel_times.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <utility>

#include <fmt/format.h>

#include "trace/import/kernel_symbol.h"

namespace hone::observe {
namespace {

namespace segments = trace::segments;

// Parts of names, in lower case: NCCL and RCCL, NVSHMEM, PyTorch's symmetric memory, DeepEP, vLLM's and TensorRT-LLM's own
// all-reduces.
constexpr std::string_view kCommunicating[] = {
    "nccl",      "rccl",         "nvshmem",   "multimem",   "symm_mem",       "deep_ep",       "deepep",
    "allreduce", "all_reduce",   "allgather", "all_gather", "reduce_scatter", "reducescatter", "all_to_all",
    "alltoall",  "cross_device", "one_shot",  "two_shot",   "barrier_kernel"};

std::string short_name(const KernelTime& kernel) {
  const std::string name = trace::demangled(kernel.symbol);
  const std::string& text = name.empty() ? kernel.symbol : name;
  constexpr std::size_t kMost = 80;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "…";
}

bool matches(const std::regex& pattern, const KernelTime& kernel) {
  return std::regex_search(kernel.symbol, pattern) ||
         std::regex_search(trace::demangled(kernel.symbol), pattern);
}

enum class Obstacle : uint8_t { kNone, kCommunicates, kInGraphs };

Obstacle obstacle(const KernelTime& kernel) {
  if (communicates(kernel.symbol)) return Obstacle::kCommunicates;
  return kernel.in_graphs == kernel.launches ? Obstacle::kInGraphs : Obstacle::kNone;
}

// One line for all kernels that cannot be counted for the same reason; empty: there are none.
std::string line_of(const std::vector<std::string>& kernels, std::string_view why) {
  if (kernels.empty()) return {};
  constexpr std::size_t kNamed = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, kernels.size()); ++i)
    names += (i > 0 ? ", " : "") + kernels[i];
  if (kernels.size() > kNamed) names += fmt::format(" and {} more", kernels.size() - kNamed);
  return fmt::format("no counters of {}: {}", names, why);
}

}  // namespace

void KernelTimes::see(const SegmentRecord& record) {
  if (record.at.kind() != segments::Kind::kKernel) return;
  const auto kernel = record.at.as<segments::Kernel>();
  if (!kernel || kernel->start_ns < begin_ns_ || kernel->end_ns < kernel->start_ns) return;
  KernelTime& time = times_[{record.pid, kernel->device, kernel->name, kernel->grid, kernel->block}];
  time.ns += kernel->end_ns - kernel->start_ns;
  ++time.launches;
  time.in_graphs += kernel->graph_node != 0;
}

int KernelTimes::busiest() const {
  std::map<int, int64_t> busy;
  for (const auto& [key, time] : times_) busy[key.pid] += time.ns;
  const auto most = std::max_element(busy.begin(), busy.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == busy.end() ? 0 : most->first;
}

std::map<int, std::vector<uint32_t>> KernelTimes::devices() const {
  std::map<int, std::vector<uint32_t>> devices;
  for (const auto& [key, time] : times_) {
    std::vector<uint32_t>& of_process = devices[key.pid];
    if (of_process.empty() || of_process.back() != key.device) of_process.push_back(key.device);
  }
  return devices;
}

std::vector<KernelTime> KernelTimes::kernels(int pid, const SegmentTail& tail) const {
  std::vector<KernelTime> kernels;
  for (const auto& [key, time] : times_) {
    if (key.pid != pid) continue;
    KernelTime& kernel = kernels.emplace_back(time);
    kernel.symbol = tail.name(pid, key.name);
    kernel.device = key.device;
    kernel.grid = key.grid;
    kernel.block = key.block;
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const KernelTime& a, const KernelTime& b) { return a.ns > b.ns; });
  return kernels;
}

bool communicates(std::string_view kernel) {
  std::string name(kernel);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::any_of(std::begin(kCommunicating), std::end(kCommunicating),
                     [&](std::string_view part) { return name.find(part) != name.npos; });
}

Result<KernelChoice> choose_kernels(const std::vector<KernelTime>& kernels, const std::string& pattern,
                                    std::size_t most) {
  std::regex wanted;
  try {
    wanted = std::regex(pattern, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    return invalid(fmt::format("'{}' is no regular expression: {}", pattern, error.what()));
  }
  KernelChoice choice;
  std::vector<std::string> communicating, in_graphs;
  for (const KernelTime& kernel : kernels) {
    if (choice.counted.size() + communicating.size() + in_graphs.size() >= most) break;
    if (kernel.symbol.empty() || (!pattern.empty() && !matches(wanted, kernel))) continue;
    const Obstacle found = obstacle(kernel);
    if (found == Obstacle::kNone)
      choice.counted.push_back(kernel);
    else
      (found == Obstacle::kInGraphs ? in_graphs : communicating).push_back(short_name(kernel));
  }
  for (std::string line :
       {line_of(communicating, "what talks with other devices must not run again to be counted"),
        line_of(
            in_graphs,
            "CUDA graphs launch what takes most time here, and their kernels cannot be counted one by one")})
    if (!line.empty()) choice.left_out.push_back(std::move(line));
  return choice;
}

}  // namespace hone::observe
