// NVRTC for tests that compile, which takes no GPU. Where it is not installed they say so and end.
#pragma once

#include <iostream>
#include <memory>

#include "cuda/nvrtc.h"
#include <gtest/gtest.h>

namespace hone::cuda::testing {

inline std::shared_ptr<const Nvrtc> real_nvrtc() {
  auto nvrtc = Nvrtc::load(LibraryPlaces::of_this_process());
  if (nvrtc.ok()) return *nvrtc;
  std::cerr << "\n*** NOT RUN: " << nvrtc.error().message << " ***\n\n";
  return nullptr;
}

// So many kernels, none of which spills or has local memory.
inline void expect_registers_alone(const Result<CompiledKernels>& compiled, std::size_t kernels) {
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_EQ(compiled->uses.size(), kernels);
  for (const KernelUse& use : compiled->uses)
    EXPECT_EQ(use.spill_stores + use.spill_loads + use.stack_bytes, 0) << use.name;
}

}  // namespace hone::cuda::testing
