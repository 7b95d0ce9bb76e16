#include "observe/inject/device/call_table.h"

#include <string_view>

namespace hone::observe::inject {
namespace {

constexpr std::string_view kLaunches[] = {"cudaLaunchKernel",          "cudaLaunchCooperativeKernel",
                                          "cudaGraphLaunch",           "cuLaunchKernel",
                                          "cuLaunchCooperativeKernel", "cuGraphLaunch"};
// Beginnings, so that variants of calls (2D, async, per-thread stream) and those of later versions are among them.
constexpr std::string_view kRuntimeCalls[] = {"cudaLaunch", "cudaGraphLaunch", "cudaGraphInstantiate",
                                              "cudaMemcpy", "cudaMemset",      "cudaMemPrefetch",
                                              "cudaMalloc", "cudaFree",        "cudaHostAlloc"};
constexpr std::string_view kDriverCalls[] = {
    "cuLaunch",      "cuGraphLaunch", "cuGraphInstantiate", "cuMemcpy",     "cuMemset",
    "cuMemPrefetch", "cuMemAlloc",    "cuMemFree",          "cuModuleLoad", "cuLibraryLoad"};
constexpr std::string_view kWait = "Synchronize";  // of a device, context, stream or event
// Beside those, what may come once a step and seldom comes often; all of it is recorded.
constexpr std::string_view kMayEndSteps[] = {"cudaMemcpy", "cuMemcpy", "cudaGraphLaunch", "cuGraphLaunch"};

template <size_t count>
bool begins_with_one_of(std::string_view name, const std::string_view (&beginnings)[count]) {
  for (std::string_view beginning : beginnings) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

// "cudaLaunchKernel_ptsz_v7000" is cudaLaunchKernel, of version 7000, for programs with a default stream a thread.
std::string_view without_version(std::string_view name) {
  const size_t version = name.rfind("_v");
  if (version != name.npos && version + 2 < name.size() &&
      name.find_first_not_of("0123456789", version + 2) == name.npos) {
    name = name.substr(0, version);
  }
  for (std::string_view variant : {"_ptsz", "_ptds"}) {
    if (name.ends_with(variant)) name.remove_suffix(variant.size());
  }
  return name;
}

}  // namespace

void CallTable::fill(const Cupti& cupti, Output& output) {
  if (filled_) return;
  filled_ = true;
  const bool runtime = domain_ == cupti::Domain::kRuntime;
  for (uint32_t id = 1; id < kMostCalls; ++id) {
    const char* text = nullptr;
    if (cupti.GetCallbackName(domain_, id, &text) != cupti::Result::kSuccess || !text) continue;
    const std::string_view name = text;
    works_[id] = runtime ? begins_with_one_of(name, kRuntimeCalls) : begins_with_one_of(name, kDriverCalls);
    waits_[id] = name.find(kWait) != name.npos || begins_with_one_of(name, kMayEndSteps);
    recorded_[id] = works_[id] || waits_[id];
    launches_[id] = begins_with_one_of(name, kLaunches);
    names_[id] = output.id(without_version(name));
  }
}

}  // namespace hone::observe::inject
