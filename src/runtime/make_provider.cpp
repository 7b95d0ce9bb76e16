#include "runtime/make_provider.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/cpu/cpu_provider.h"
#include "runtime/null/null_provider.h"

namespace hone::runtime {
namespace {

using Made = Result<std::unique_ptr<const Provider>>;

constexpr std::array<std::string_view, 2> kProviderNames = {"cpu", "null"};

}  // namespace

Made make_provider(std::string_view name, const ProviderOptions& options) {
  if (name != "cpu" && name != "null")
    return unsupported(fmt::format("there is no device '{}' in this build; it has {}", name,
                                   fmt::join(kProviderNames, ", ")));
  if (options.device_index != 0)
    return not_found(fmt::format("there is no device {} of '{}': only number 0", options.device_index, name));
  if (name == "cpu") return std::unique_ptr<const Provider>(std::make_unique<CpuProvider>(options.threads));
  return std::unique_ptr<const Provider>(std::make_unique<NullProvider>());
}

std::span<const std::string_view> provider_names() { return kProviderNames; }

}  // namespace hone::runtime
