#include "lab/process_memory.h"

#include <sys/resource.h>

namespace hone::lab {

std::size_t resident_peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace hone::lab
