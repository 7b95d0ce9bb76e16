#include "lab/process_memory.h"

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

namespace hone::lab {
namespace {

TEST(ProcessMemory, PeakIsWhatWasTouchedAndStaysWhenThatIsGone) {
  const std::size_t before = resident_peak(), bytes = before + (std::size_t{64} << 20);
  {
    const auto block = std::make_unique_for_overwrite<char[]>(bytes);
    std::memset(block.get(), 1, bytes);
    EXPECT_GE(resident_peak(), bytes) << block[bytes / 2];
  }
  EXPECT_GE(resident_peak(), bytes);
}

}  // namespace
}  // namespace hone::lab
