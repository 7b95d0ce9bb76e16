#include "runtime/make_provider.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/cpu/cpu_provider.h"
#include "runtime/cuda/cuda_provider.h"
#include "runtime/null/null_provider.h"

namespace hone::runtime {
namespace {

using Made = Result<std::unique_ptr<const Provider>>;

struct Maker {
  std::string_view name;
  Made (*make)(const ProviderOptions&);
};

Made only_one(std::string_view name, const ProviderOptions& options, std::unique_ptr<const Provider> made) {
  if (options.device_index == 0) return made;
  return not_found(fmt::format("there is no device {} of '{}': only number 0", options.device_index, name));
}

Made make_cuda(const ProviderOptions& options) {
  auto made = CudaProvider::make(options.device_index);
  if (made.ok()) return made;
  Error error = made.error().within("device 'cuda'");
  error.message += "; --device cpu does without";
  return error;
}

constexpr std::array kMakers = {
    Maker{"cpu",
          [](const ProviderOptions& options) {
            return only_one("cpu", options, std::make_unique<CpuProvider>(options.threads));
          }},
    Maker{"cuda", make_cuda}, Maker{"null", [](const ProviderOptions& options) {
                                      return only_one("null", options, std::make_unique<NullProvider>());
                                    }}};

constexpr auto kProviderNames = [] {
  std::array<std::string_view, kMakers.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kMakers[i].name;
  return names;
}();

}  // namespace

Result<std::unique_ptr<const Provider>> make_provider(std::string_view name, const ProviderOptions& options) {
  const auto maker =
      std::find_if(kMakers.begin(), kMakers.end(), [&](const Maker& known) { return known.name == name; });
  if (maker == kMakers.end())
    return unsupported(fmt::format("there is no device '{}' in this build; it has {}", name,
                                   fmt::join(kProviderNames, ", ")));
  return maker->make(options);
}

DefaultProvider default_provider() {
  const Result<bool> gpu = CudaProvider::finds_gpu();
  if (gpu.ok()) return {*gpu ? "cuda" : "cpu"};
  return {"cpu", gpu.error().message};
}

std::span<const std::string_view> provider_names() { return kProviderNames; }

}  // namespace hone::runtime
