#include "trace/framework.h"

#include <array>

namespace hone::trace {
namespace {

struct FrameworkNames {
  std::string_view name, title;
};

constexpr std::array<FrameworkNames, kFrameworkCount> kFrameworkNames = {{
    {"native", "a native program"},
    {"pytorch", "PyTorch"},
    {"jax", "JAX"},
    {"tensorflow", "TensorFlow"},
    {"hone", "hone"},
}};

}  // namespace

std::string_view framework_name(Framework framework) {
  return kFrameworkNames[static_cast<std::size_t>(framework)].name;
}

std::string_view framework_title(Framework framework) {
  return kFrameworkNames[static_cast<std::size_t>(framework)].title;
}

std::optional<Framework> framework_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kFrameworkNames.size(); ++i)
    if (kFrameworkNames[i].name == name) return static_cast<Framework>(i);
  return std::nullopt;
}

}  // namespace hone::trace
