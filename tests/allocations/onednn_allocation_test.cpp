// A run allocates nothing of ours. oneDNN itself makes a small map of arguments in every execution; what it
// takes is bounded here, so that a worse version shows.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "kernels/cpu/dnnl/convolution.h"
#include "kernels/cpu/dnnl/test_support.h"

namespace {

std::atomic<int64_t> g_allocations{0};

}  // namespace

// Replaces the global allocation functions of this test program: the library's calls arrive here too.
// Never inlined: a delete that is, while its new is not, looks mismatched to the compiler.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace hone::kernels {
namespace {

using namespace hone::kernels::testing;

// What one bare dnnl_primitive_execute() with this many arguments allocates in 2.6.3 (3.2: see the decision
// on the version in docs/decisions); its interface offers no way to avoid that.
constexpr int64_t kAllocationsOfTheLibrary = 6;

TEST(Allocation, ARunAllocatesNothingOfOurs) {
  ConvolutionDesc desc;
  desc.in_channels = 16;
  desc.out_channels = 16;
  desc.input = {8, 8};
  desc.kernel = {3, 3};
  desc.post_ops = {PostOp::relu()};
  desc.src_layout = Layout::kBlocked16;
  desc.dst_layout = Layout::kBlocked16;
  const Tensor src = random_tensor({1024}, 1);
  const Tensor weights = random_tensor(desc.weights_shape(), 1);
  Tensor dst = poisoned(1024);
  auto kernel = Convolution::create(desc, weights.data(), nullptr);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  Tensor scratch = poisoned(static_cast<int64_t>((*kernel)->scratch_bytes() / 4 + 16));
  for (int warm_up = 0; warm_up < 3; ++warm_up) {
    ASSERT_TRUE((*kernel)->execute(src.data(), dst.data(), {}, scratch.data()).ok());
  }
  constexpr int64_t kRuns = 100;
  const int64_t before = g_allocations.load();
  for (int64_t run = 0; run < kRuns; ++run) {
    const Status ran = (*kernel)->execute(src.data(), dst.data(), {}, scratch.data());
    if (!ran.ok()) FAIL() << ran.error().message;
  }
  const int64_t per_run = (g_allocations.load() - before) / kRuns;
  RecordProperty("allocations_per_run", static_cast<int>(per_run));
  EXPECT_LE(per_run, kAllocationsOfTheLibrary);
}

}  // namespace
}  // namespace hone::kernels
