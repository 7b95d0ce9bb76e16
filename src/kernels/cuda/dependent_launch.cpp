#include "kernels/cuda/dependent_launch.h"

#include <string_view>

namespace hone::kernels::gpu {
namespace {

constexpr std::string_view kWait = R"cuda(#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define HONE_WAIT_FOR_WHAT_RAN_BEFORE asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#else
#define HONE_WAIT_FOR_WHAT_RAN_BEFORE
#endif
)cuda";

}  // namespace

std::string with_dependent_launch(std::string text) {
  constexpr std::string_view kKernel = "__global__", kStatement = " HONE_WAIT_FOR_WHAT_RAN_BEFORE";
  for (std::size_t at = text.find(kKernel); at != std::string::npos; at = text.find(kKernel, at + 1)) {
    const std::size_t body =
        text.find_first_of("{;", at);  // parameters hold neither; a declaration has no body
    if (body == std::string::npos || text[body] == ';') continue;
    text.insert(body + 1, kStatement);
  }
  return std::string(kWait) + text;
}

}  // namespace hone::kernels::gpu
