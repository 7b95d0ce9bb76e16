#include "observe/host/running_thread.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <vector>

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hone::observe {
namespace {

constexpr std::size_t kPageBytes = 4096, kRingBytes = 64 * kPageBytes;
constexpr uint64_t kSampleEveryNs = 500'000;
constexpr uint32_t kSampledStackBytes = 8192;

#if defined(__x86_64__)
// Registers in the order in which the kernel writes them (asm/perf_regs.h: AX BX CX DX SI DI BP SP IP, R8 to R15), as DWARF
// numbers them.
constexpr std::array<int, 17> kDwarfNumbers = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr uint64_t kRegisterMask = 0x1ff | (uint64_t{0xff} << 16);
#else
constexpr std::array<int, 0> kDwarfNumbers = {};
constexpr uint64_t kRegisterMask = 0;
#endif

perf_event_attr running_attributes(bool also_in_kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = kSampleEveryNs;
  attributes.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = kRegisterMask;
  attributes.sample_stack_user = kSampledStackBytes;
  attributes.exclude_kernel = also_in_kernel ? 0 : 1;
  attributes.exclude_hv = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  return attributes;
}

// Takes values off a record.
class RecordWords {
 public:
  explicit RecordWords(std::string_view bytes) : bytes_(bytes) {}
  uint64_t word() {
    uint64_t value = 0;
    if (bytes_.size() < sizeof(value)) return 0;
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_.remove_prefix(sizeof(value));
    return value;
  }
  std::string_view take(uint64_t count) {
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view bytes_;
};

std::optional<RunningMoment> parse_moment(std::string_view record) {
  RecordWords words(record);
  RunningMoment moment;
  moment.time_ns = static_cast<int64_t>(words.word());
  if (words.word() == PERF_SAMPLE_REGS_ABI_NONE) return std::nullopt;
  for (const int number : kDwarfNumbers) moment.registers.set(number, words.word());
  const std::string_view stack = words.take(words.word());
  if (!stack.empty()) moment.stack = stack.substr(0, words.word());
  return moment;
}

}  // namespace

std::unique_ptr<RunningThread> RunningThread::open(int tid, int& error) {
  error = ENOSYS;
  if (kDwarfNumbers.empty()) return nullptr;
  int file = -1;
  for (const bool also_in_kernel : {true, false}) {
    perf_event_attr attributes = running_attributes(also_in_kernel);
    file = static_cast<int>(::syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (file >= 0) break;
    error = errno;
  }
  if (file < 0) return nullptr;
  void* ring = ::mmap(nullptr, kPageBytes + kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (ring == MAP_FAILED) {
    error = errno;
    ::close(file);
    return nullptr;
  }
  return std::unique_ptr<RunningThread>(new RunningThread(file, ring));
}

RunningThread::~RunningThread() {
  ::munmap(ring_, kPageBytes + kRingBytes);
  ::close(file_);
}

std::optional<RunningMoment> RunningThread::last() {
  auto* page = static_cast<perf_event_mmap_page*>(ring_);
  const char* data = static_cast<const char*>(ring_) + kPageBytes;
  const uint64_t head = std::atomic_ref(page->data_head).load(std::memory_order_acquire);
  uint64_t tail = page->data_tail;
  std::string record;
  const auto copy = [&](uint64_t from, void* to, std::size_t bytes) {
    const std::size_t at = from % kRingBytes, first = std::min(bytes, kRingBytes - at);
    std::memcpy(to, data + at, first);
    std::memcpy(static_cast<char*>(to) + first, data, bytes - first);
  };
  while (head - tail >= sizeof(perf_event_header)) {
    perf_event_header header{};
    copy(tail, &header, sizeof(header));
    if (header.size < sizeof(header) || header.size > head - tail) break;
    if (header.type == PERF_RECORD_SAMPLE) {
      record.resize(header.size - sizeof(header));
      copy(tail + sizeof(header), record.data(), record.size());
    }
    tail += header.size;
  }
  std::atomic_ref(page->data_tail).store(tail, std::memory_order_release);
  return record.empty() ? std::nullopt : parse_moment(record);
}

}  // namespace hone::observe
