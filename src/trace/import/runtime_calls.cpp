#include "trace/import/runtime_calls.h"

#include <algorithm>
#include <initializer_list>

namespace hone::trace {
namespace {

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view s) { return text.starts_with(s); });
}

}  // namespace

Category runtime_call_category(std::string_view name) {
  if (name.find("Synchronize") != std::string_view::npos && starts_with_any(name, {"cu", "hip"}))
    return Category::kSynchronization;
  if (starts_with_any(
          name, {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cuMemAlloc", "cuMemFree", "cuMemCreate",
                 "cuMemMap", "cuMemUnmap", "cuMemRelease", "cuMemSetAccess", "cuMemAddress", "cuMemHostAlloc",
                 "hipMalloc", "hipFree", "hipHostMalloc", "hipHostFree"}))
    return Category::kAllocation;
  return Category::kRuntime;
}

bool is_collective_kernel(std::string_view name) {
  return starts_with_any(name, {"ncclDevKernel", "ncclKernel", "rcclKernel", "rcclDevKernel"});
}

std::string collective_of_kernel(std::string_view name) {
  const std::size_t begin = name.find('_');
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = name.substr(begin + 1);
  std::string collective(rest.substr(0, rest.find_first_of("_(<")));
  for (char& c : collective) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return collective;
}

}  // namespace hone::trace
