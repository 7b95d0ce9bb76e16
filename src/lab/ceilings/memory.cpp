// Memory roofs: each cache level and DRAM, by reading, writing and copying buffers that fit the level, and
// not the one below it. Every thread has a buffer of its own, first touched by itself.
#include <algorithm>
#include <memory>

#include <fmt/core.h>
#include <sys/mman.h>

#include "kernels/cpu/roof/traffic.h"
#include "lab/ceilings/measure.h"

namespace hone::lab::internal {
namespace {

constexpr double kPassSeconds = 1.5e-3;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr double kLeastDram = 64e6, kMostDram = 2e9;  // bytes of all threads' buffers together

// Anonymous memory in huge pages where the system has them: page walks would count as bandwidth otherwise.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_((bytes + kHugePage - 1) / kHugePage * kHugePage + kHugePage) {
    void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = mapped == MAP_FAILED ? nullptr : mapped;
    if (base_ != nullptr) madvise(base_, bytes_, MADV_HUGEPAGE);
  }
  ~Buffer() {
    if (base_ != nullptr) munmap(base_, bytes_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Aligned to a huge page; null if the system had no memory.
  std::byte* data() const {
    if (base_ == nullptr) return nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(base_);
    return reinterpret_cast<std::byte*>((address + kHugePage - 1) / kHugePage * kHugePage);
  }

 private:
  std::size_t bytes_;
  void* base_ = nullptr;
};

struct Level {
  std::string name;
  double capacity = 0;             // all the threads' together; 0: DRAM
  std::size_t bytes_a_thread = 0;  // working set
};

std::size_t to_grain(double bytes) {
  constexpr std::size_t kStep = 2 * kernels::roof::kTrafficGrain;  // halves are whole grains too
  return std::max(kStep, static_cast<std::size_t>(bytes) / kStep * kStep);
}

// A few times what the cache inside holds is enough to be outside of it, and half of a cache is what streams use at most: the
// rest is for stacks, code and unlucky mappings. Of a last level of hundreds of MB that a processor's other cores share,
// and other tenants of a virtual machine's host, half is not there: streams of that size run from DRAM. A level must hold
// clearly more than the ones inside it, or it isn't what would be measured (exclusive caches, few threads on a large one).
constexpr double kTimesInner = 4, kLeastTimesInner = 1.5;

double stream_bytes(double share, double inner) {
  const double most = inner > 0 ? std::min(share / 2, kTimesInner * inner) : share / 2;
  return std::max(most, kLeastTimesInner * inner);
}

std::vector<Level> plan_levels(const Machine& machine, int threads) {
  std::vector<Level> levels;
  double inner = 0;  // a thread's share of the last level, bytes
  double total = 0;  // of the last level, all instances
  for (const CacheLevel& cache : machine.caches) {
    const int used = std::min(cache.instances, threads);
    const double capacity = static_cast<double>(cache.bytes) * used;
    const double share = capacity / threads;
    total = static_cast<double>(cache.bytes) * cache.instances;
    if (share >= 3 * inner)
      levels.push_back({fmt::format("L{}", cache.level), capacity, to_grain(stream_bytes(share, inner))});
    inner = std::max(inner, share);
  }
  const double wanted = std::clamp(4 * total, kLeastDram, kMostDram);
  const double dram = std::min(wanted, static_cast<double>(machine.available_bytes) / 4);
  levels.push_back({"DRAM", 0, to_grain(dram / threads)});
  return levels;
}

using Stream = void (*)(std::byte* buffer, std::size_t bytes, int passes);

void read_stream(std::byte* buffer, std::size_t bytes, int passes) {
  kernels::roof::read_memory(buffer, bytes, passes);
}
void write_stream(std::byte* buffer, std::size_t bytes, int passes) {
  kernels::roof::write_memory(buffer, bytes, passes);
}
void copy_stream(std::byte* buffer, std::size_t bytes, int passes) {
  kernels::roof::copy_memory(buffer + bytes / 2, buffer, bytes / 2, passes);
}
void write_past_caches(std::byte* buffer, std::size_t bytes, int passes) {
  kernels::roof::stream_memory(buffer, bytes, passes);
}
void copy_past_caches(std::byte* buffer, std::size_t bytes, int passes) {
  kernels::roof::copy_streaming(buffer + bytes / 2, buffer, bytes / 2, passes);
}

struct Operation {
  const char* name;
  Stream stream;
};

// Half of a copy's buffer is read and half written, so all three move as many bytes as the buffer has.
std::vector<Operation> operations_of(const Level& level) {
  if (level.capacity > 0) return {{"read", read_stream}, {"write", write_stream}, {"copy", copy_stream}};
  // "copy" is the roof and so uses the stores that reach furthest; ordinary stores also fetch what they
  // overwrite, which isn't counted: what operators without streaming stores can hope for.
  return {{"read", read_stream},
          {"write", write_past_caches},
          {"copy", copy_past_caches},
          {"copy_cached", copy_stream}};
}

void measure_stream(CeilingsRun& run, const Level& level, const Operation& operation, int threads,
                    const std::vector<std::unique_ptr<Buffer>>& buffers) {
  // One pass over a small cache is too short to time: find how many make a repetition, by one thread's CPU
  // time.
  int passes = 1;
  const auto run_one = [&](int thread) {
    operation.stream(buffers[static_cast<std::size_t>(thread)]->data(), level.bytes_a_thread, passes);
  };
  while (passes < (1 << 24)) {
    const double seconds = std::max(1e-9, time_team(1, run_one).cpu_seconds);
    if (seconds >= kPassSeconds / 2) break;
    passes = static_cast<int>(passes * std::clamp(kPassSeconds / seconds, 1.5, 64.0)) + 1;
  }
  const auto once = [&] { return time_team(threads, run_one); };
  const Samples samples = collect(run.budget(), once);
  run.account(samples, fmt::format("{} {}", level.name, operation.name));
  const double bytes = static_cast<double>(level.bytes_a_thread) * threads * passes;
  run.result.roofs.memory.push_back(
      {level.name, operation.name, threads, level.capacity, rate_of(samples, bytes)});
}

}  // namespace

Status measure_memory(CeilingsRun& run) {
  for (int threads : run.thread_counts) {
    std::vector<Level> levels = plan_levels(run.machine, threads);
    std::erase_if(levels, [&](const Level& level) { return !run.wants(level.name); });
    if (levels.empty()) continue;
    std::size_t largest = 0;
    for (const Level& level : levels) largest = std::max(largest, level.bytes_a_thread);
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (int thread = 0; thread < threads; ++thread) {
      buffers.push_back(std::make_unique<Buffer>(largest));
      if (buffers.back()->data() == nullptr)
        return io_error(
            fmt::format("measuring memory bandwidth: no {} MB of memory for a buffer", largest / 1'000'000));
    }
    time_team(threads, [&](int thread) {
      kernels::roof::write_memory(buffers[static_cast<std::size_t>(thread)]->data(), largest, 1);
    });
    for (const Level& level : levels) {
      for (const Operation& operation : operations_of(level)) {
        HONE_CHECK(run.progress(fmt::format("{} {}, {} threads", level.name, operation.name, threads)));
        measure_stream(run, level, operation, threads, buffers);
      }
    }
  }
  return {};
}

}  // namespace hone::lab::internal
