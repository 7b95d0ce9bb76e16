// Providers by name: the one place that knows them all.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "runtime/provider.h"

namespace hone::runtime {

struct ProviderOptions {
  int threads = 0;       // of the host; 0: every core that this process may use (kernels/cpu/cores.h)
  int device_index = 0;  // which device of its kind
};

// "cpu", "cuda", "null". An unknown name is an error that lists them; one whose device is not here says what is missing.
Result<std::unique_ptr<const Provider>> make_provider(std::string_view name,
                                                      const ProviderOptions& options = {});
std::span<const std::string_view> provider_names();

}  // namespace hone::runtime
