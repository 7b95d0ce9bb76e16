// NVRTC for tests that compile, which takes no GPU. Where it is not installed they say so and end.
#pragma once

#include <iostream>
#include <memory>

#include "cuda/nvrtc.h"

namespace hone::cuda::testing {

inline std::shared_ptr<const Nvrtc> real_nvrtc() {
  auto nvrtc = Nvrtc::load(LibraryPlaces::of_this_process());
  if (nvrtc.ok()) return *nvrtc;
  std::cerr << "\n*** NOT RUN: " << nvrtc.error().message << " ***\n\n";
  return nullptr;
}

}  // namespace hone::cuda::testing
