#include "lab/experiment/others_share.h"

#include <algorithm>
#include <ctime>

namespace hone::lab {

ContentionShare without_own_threads(ContentionShare share, int64_t used_ns, int64_t wall_ns, int cpus) {
  if (!share.known || wall_ns <= 0) return share;
  const double unused = cpus - static_cast<double>(used_ns) / static_cast<double>(wall_ns);
  share.waited = std::clamp(unused, 0.0, share.waited);
  return share;
}

int64_t process_cpu_ns() {
  timespec time{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace hone::lab
