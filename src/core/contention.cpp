#include "core/contention.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "core/clock.h"

namespace hone {
namespace {

constexpr const char* kTasks = "/proc/self/task";

// "<ns on a CPU> <ns in line> <time slices>"; below 0: unreadable.
int64_t waited_ns_of(int tasks, const char* thread) {
  const std::string path = std::string(thread) + "/schedstat";
  const int file = ::openat(tasks, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  std::array<char, 96> text{};
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  if (size <= 0) return -1;
  const char* end = text.data() + size;
  const char* second = std::find(static_cast<const char*>(text.data()), end, ' ');
  int64_t waited = -1;
  if (second != end) std::from_chars(second + 1, end, waited);
  return waited;
}

// The waiting of all threads that live, added up; below 0: not known.
int64_t waited_ns_now() {
  DIR* folder = ::opendir(kTasks);
  if (folder == nullptr) return -1;
  int64_t sum = -1;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    const int64_t waited = waited_ns_of(::dirfd(folder), entry->d_name);
    if (waited >= 0) sum = std::max<int64_t>(sum, 0) + waited;
  }
  ::closedir(folder);
  return sum;
}

}  // namespace

ContentionMeter::ContentionMeter(int64_t forgiven_ns) : forgiven_ns_(forgiven_ns) { restart(); }

void ContentionMeter::restart() {
  waited_ns_ = waited_ns_now();
  start_ns_ = now_ns();
}

ContentionShare ContentionMeter::share() const {
  const int64_t end_ns = now_ns(), waited = waited_ns_now();
  if (waited < 0 || waited_ns_ < 0) return {};
  // A thread that has ended since takes its count with it: then the sum may have fallen.
  const int64_t in_line = std::max<int64_t>(0, waited - waited_ns_);
  if (in_line <= forgiven_ns_) return {0, true};
  const auto wall = static_cast<double>(std::max<int64_t>(1, end_ns - start_ns_));
  return {std::min(1.0, static_cast<double>(in_line) / wall), true};
}

std::string contention_text(const ContentionShare& share) {
  return fmt::format("other programs had this process's CPUs for {:.0f} % of the time",
                     std::max(1.0, 100 * share.waited));
}

}  // namespace hone
