// Generated gathers without a GPU: many units, of which a thread has several, with indices that are not there among them.
// Forms and sizes: compiled_kernels_test.cpp and runtime/cuda.
#include "kernels/cuda/gather.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "core/tensor.h"
#include "kernels/cuda/testing/host_kernels.h"

namespace hone::kernels::gpu {
namespace {

Tensor bytes_of_numbers(int64_t count) {
  Tensor made = Tensor::zeros(DType::kU8, {count});
  std::mt19937 random(3);
  for (int64_t i = 0; i < count; ++i) static_cast<uint8_t*>(made.data())[i] = static_cast<uint8_t>(random());
  return made;
}

TEST(GeneratedGather, TakesManyUnitsAndTellsOfIndicesThatAreNotThere) {
  // Runs of 16 bytes, of 6 bytes in units of 2, and of one: the last thread has less than the others.
  const std::vector<GatherDesc> descs = {
      {.element_size = 2, .outer = 2, .axis = 300, .inner = 24, .indices = 180001},
      {.element_size = 1, .outer = 1, .axis = 90, .inner = 6, .indices = 350003},
      {.element_size = 1, .outer = 7, .axis = 1000, .inner = 1, .indices = 150001, .index_type = DType::kI32},
      {.element_size = 4, .outer = 3, .axis = 40, .inner = 5, .indices = 70}};
  testing::HostKernels host("hone-gather-kernels");
  std::vector<GatherKernel> kernels;
  for (const GatherDesc& desc : descs) {
    kernels.push_back(*generate_gather(desc));
    host.add(kernels.back().source, kGatherEntry);
  }
  host.compile();
  for (std::size_t i = 0; i < descs.size(); ++i) {
    const GatherDesc& desc = descs[i];
    const int64_t run = desc.inner * static_cast<int64_t>(desc.element_size);
    const Tensor data = bytes_of_numbers(desc.outer * desc.axis * run);
    for (const bool wrong : {false, true}) {
      std::mt19937 random(5);
      std::vector<int64_t> wide;
      std::vector<int32_t> narrow;
      for (int64_t k = 0; k < desc.indices; ++k)
        wide.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(2 * desc.axis)) - desc.axis);
      if (wrong) wide[wide.size() / 2] = desc.axis;
      narrow.assign(wide.begin(), wide.end());
      const int64_t bytes = desc.outer * desc.indices * run;
      Tensor out = bytes_of_numbers(bytes + 32);
      const Tensor before = bytes_of_numbers(bytes + 32);
      uint64_t fault = 0;
      const bool is_narrow = desc.index_type == DType::kI32;
      host.run(i, {static_cast<unsigned>(kernels[i].blocks), 1, 1, kGatherBlock, 1, 1},
               {data.data(), is_narrow ? static_cast<const void*>(narrow.data()) : wide.data(), out.data(),
                &fault, reinterpret_cast<const void*>(uintptr_t{77})});
      EXPECT_EQ(fault, wrong ? 77U : 0U);
      const auto *from = static_cast<const uint8_t*>(data.data()),
                 *found = static_cast<const uint8_t*>(out.data());
      for (int64_t item = 0; item < desc.outer * desc.indices; ++item) {
        int64_t index = wide[static_cast<std::size_t>(item % desc.indices)];
        if (index < 0) index += desc.axis;
        const int64_t place = item / desc.indices * desc.axis + index;
        for (int64_t k = 0; k < run; ++k)
          ASSERT_EQ(found[item * run + k], index == desc.axis ? 0 : from[place * run + k])
              << i << ": " << item;
      }
      EXPECT_TRUE(
          std::equal(found + bytes, found + bytes + 32, static_cast<const uint8_t*>(before.data()) + bytes));
    }
  }
}

}  // namespace
}  // namespace hone::kernels::gpu
