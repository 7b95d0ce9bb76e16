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

// Where to run if nobody says: "cuda" where there is an NVIDIA GPU with the libraries that its provider cannot do without, else
// "cpu". Takes no device, loads libraries.
struct DefaultProvider {
  std::string_view name;
  std::string why_no_gpu = {};  // of one that is there
};
DefaultProvider default_provider();

}  // namespace hone::runtime
