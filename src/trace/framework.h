// Who made the program that was recorded. Where it ran is another matter (Meta::device): a CUDA program of
// one's own and a PyTorch program drive the same device, and what speeds up one cannot be written into the
// other.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hone::trace {

enum class Framework : uint8_t {
  kNative,  // none that is known: the program calls the device's runtime and libraries itself
  kPyTorch,
  kJax,
  kTensorFlow,
  kHone,  // a plan that hone made and ran
};
inline constexpr int kFrameworkCount = 5;

std::string_view framework_name(Framework framework);   // "pytorch": JSON, SQL, files
std::string_view framework_title(Framework framework);  // "PyTorch": for people
std::optional<Framework> framework_from_name(std::string_view name);

}  // namespace hone::trace
