#include "observe/session/call_ids.h"

#include <algorithm>
#include <array>

namespace hone::observe {
namespace {

struct NamedCall {
  std::string_view name;
  CallId id;
};

constexpr std::array kCalls = {
    NamedCall{"cudaMemcpy", {31, 0}},
    NamedCall{"cudaMemcpyAsync", {41, 0}},
    NamedCall{"cudaMemset", {49, 0}},
    NamedCall{"cudaMemsetAsync", {51, 0}},
    NamedCall{"cudaStreamSynchronize", {131, 0}},
    NamedCall{"cudaEventRecord", {135, 0}},
    NamedCall{"cudaEventSynchronize", {137, 0}},
    NamedCall{"cudaDeviceSynchronize", {165, 0}},
    NamedCall{"cudaLaunchKernel", {211, 0}},
    NamedCall{"cudaGraphLaunch", {311, 0}},
    NamedCall{"cudaLaunchKernelExC", {430, 0}},
    NamedCall{"cuCtxSynchronize", {0, 17}},
    NamedCall{"cuEventRecord", {0, 119}},
    NamedCall{"cuEventSynchronize", {0, 121}},
    NamedCall{"cuStreamSynchronize", {0, 126}},
    NamedCall{"cuMemcpyHtoD", {0, 276}},
    NamedCall{"cuMemcpyHtoDAsync", {0, 277}},
    NamedCall{"cuMemcpyDtoH", {0, 278}},
    NamedCall{"cuMemcpyDtoHAsync", {0, 279}},
    NamedCall{"cuMemcpyDtoDAsync", {0, 281}},
    NamedCall{"cuMemcpyAsync", {0, 306}},
    NamedCall{"cuLaunchKernel", {0, 307}},
    NamedCall{"cuGraphLaunch", {0, 514}},
    NamedCall{"cuLaunchKernelEx", {0, 652}},
};

}  // namespace

CallId call_id(std::string_view name) {
  const auto found =
      std::find_if(kCalls.begin(), kCalls.end(), [&](const NamedCall& call) { return call.name == name; });
  return found == kCalls.end() ? CallId() : found->id;
}

}  // namespace hone::observe
