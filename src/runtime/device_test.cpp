#include "runtime/device.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "core/memory_budget.h"
#include "core/tensor.h"
#include "runtime/null/null_device.h"
#include "runtime/testing/providers.h"

namespace hone::runtime {
namespace {

std::vector<int> counting(std::size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

// What every device promises.
class Devices : public ::testing::TestWithParam<const char*> {
 protected:
  Memory allocate(std::size_t bytes) { return *device_->allocate(bytes); }

  const std::shared_ptr<Device> device_ = testing::provider_named(GetParam())->device();
  const std::unique_ptr<Queue> queue_ = *device_->make_queue();
};

TEST_P(Devices, MemoryIsAlignedAndKeepsWhatIsCopiedIn) {
  const std::vector<int> numbers = counting(1000);
  const Memory a = allocate(4000), b = allocate(4000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.address()) % kTensorAlignment, 0U);
  std::vector<int> back(1000);
  ASSERT_TRUE(queue_->copy_in(a.address(), numbers.data(), 4000).ok());
  ASSERT_TRUE(queue_->copy(b.address(), a.address(), 4000).ok());
  ASSERT_TRUE(queue_->copy_out(back.data(), b.address(), 4000).ok());
  ASSERT_TRUE(queue_->wait().ok());
  EXPECT_EQ(back, numbers);
}

TEST_P(Devices, CommandsRunInOrder) {
  const Memory memory = allocate(4);
  int one = 1, found = 0;
  ASSERT_TRUE(queue_->copy_in(memory.address(), &one, 4).ok());
  one = 2;  // taken already
  ASSERT_TRUE(queue_->copy_out(&found, memory.address(), 4).ok());
  ASSERT_TRUE(queue_->fill(memory.address(), std::byte{0xff}, 4).ok());
  ASSERT_TRUE(queue_->wait().ok());
  EXPECT_EQ(found, 1);
}

TEST_P(Devices, NothingIsCopiedForNoBytes) {
  EXPECT_TRUE(queue_->copy_in(nullptr, nullptr, 0).ok());
  EXPECT_TRUE(queue_->copy_out(nullptr, nullptr, 0).ok());
  EXPECT_TRUE(queue_->wait().ok());
}

TEST_P(Devices, StagingMemoryIsTheHostsToo) {
  Memory staging = *device_->allocate_staging(8);
  const Memory memory = allocate(8);
  const int64_t number = 42;
  ASSERT_TRUE(queue_->copy_in(memory.address(), &number, 8).ok());
  ASSERT_TRUE(queue_->copy_out(staging.address(), memory.address(), 8).ok());
  ASSERT_TRUE(queue_->wait().ok());
  EXPECT_EQ(*reinterpret_cast<const int64_t*>(staging.address()), 42);
}

TEST_P(Devices, EventsTellTimeAndOrderQueues) {
  const std::unique_ptr<Queue> other = *device_->make_queue();
  const Memory memory = allocate(4);
  const auto begin = *queue_->make_event(), end = *queue_->make_event();
  int found = 0;
  const int seven = 7;
  ASSERT_TRUE(queue_->record(*begin).ok());
  ASSERT_TRUE(queue_->copy_in(memory.address(), &seven, 4).ok());
  ASSERT_TRUE(queue_->record(*end).ok());
  ASSERT_TRUE(other->after(*end).ok());
  ASSERT_TRUE(other->copy_out(&found, memory.address(), 4).ok());
  ASSERT_TRUE(other->wait().ok());  // nobody has waited for the first queue
  EXPECT_EQ(found, 7);
  const auto us = queue_->microseconds(*begin, *end);
  ASSERT_TRUE(us.ok());
  EXPECT_GE(*us, 0);
}

TEST_P(Devices, LanesRunAfterWhatCameBeforeAndBeforeWhatComesAfter) {
  struct Work {
    std::byte* memory;
  };
  const Memory memory = allocate(12);
  Work work{memory.address()};
  ASSERT_TRUE(queue_->fill(memory.address(), std::byte{1}, 4).ok());
  ASSERT_TRUE(queue_
                  ->fork(
                      2,
                      [](void* context, int lane, Queue& queue) {
                        std::byte* const from = static_cast<Work*>(context)->memory;
                        EXPECT_TRUE(queue.copy(from + 4 * (1 + lane), from, 4).ok());
                      },
                      &work)
                  .ok());
  ASSERT_TRUE(queue_->fill(memory.address(), std::byte{2}, 4).ok());
  std::vector<uint8_t> back(12);
  ASSERT_TRUE(queue_->copy_out(back.data(), memory.address(), 12).ok());
  ASSERT_TRUE(queue_->wait().ok());
  EXPECT_EQ(back, (std::vector<uint8_t>{2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST_P(Devices, LanesOfOneForkAreDoneBeforeThoseOfTheNextBegin) {
  const Memory memory = allocate(12);
  ASSERT_TRUE(queue_->fill(memory.address(), std::byte{1}, 4).ok());
  const auto copy_first = [](void* context, int lane, Queue& queue) {
    auto* const from = static_cast<std::byte*>(context);
    EXPECT_TRUE(queue.copy(from + 4 * (1 + lane), from, 4).ok());
  };
  const auto overwrite_it = [](void* context, int lane, Queue& queue) {
    if (lane == 0) return;
    EXPECT_TRUE(queue.fill(context, std::byte{9}, 4).ok());
  };
  ASSERT_TRUE(queue_->fork(2, copy_first, memory.address()).ok());
  ASSERT_TRUE(queue_->fork(2, overwrite_it, memory.address()).ok());
  std::vector<uint8_t> back(12);
  ASSERT_TRUE(queue_->copy_out(back.data(), memory.address(), 12).ok());
  ASSERT_TRUE(queue_->wait().ok());
  EXPECT_EQ(back, (std::vector<uint8_t>{9, 9, 9, 9, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST_P(Devices, AnAbsurdAllocationIsAnErrorThatSaysWhatWasAskedFor) {
  // The second is an address space that the system would promise, and no machine has.
  for (const std::size_t bytes : {std::size_t{1} << 60, std::size_t{1} << 45}) {
    const auto memory = device_->allocate(bytes);
    ASSERT_FALSE(memory.ok());
    EXPECT_NE(memory.error().message.find("not enough memory"), std::string::npos) << memory.error().message;
  }
}

TEST_P(Devices, MemoryMayOutliveItsProviderAndIsMoved) {
  Memory kept;
  {
    const auto device = testing::provider_named(GetParam())->device();
    kept = *device->allocate(100);
  }
  const Memory moved = std::move(kept);
  EXPECT_EQ(moved.bytes(), 100U);
  EXPECT_NE(moved.address(), nullptr);
}

TEST_P(Devices, CountsWhatIsTakenOfMemoryOfItsOwnAndChargesStagingToTheHost) {
  if (device_->host_visible()) return;  // the account of tensors counts there
  const std::size_t before = device_->use().now, on_host = memory_in_use();
  device_->restart_peak();
  {
    const Memory staging = *device_->allocate_staging(3000);
    EXPECT_GE(memory_in_use(), on_host + 3000);
    Memory a = allocate(1000);
    const Memory b = allocate(70);
    EXPECT_EQ(device_->use().now, before + 1070);
    a = Memory();
    EXPECT_EQ(device_->use().now, before + 70);
  }
  EXPECT_EQ(device_->use().now, before);
  EXPECT_EQ(device_->use().peak, before + 1070);
  EXPECT_EQ(memory_in_use(), on_host);
  device_->restart_peak();
  EXPECT_EQ(device_->use().peak, before);
}

INSTANTIATE_TEST_SUITE_P(Gpu, Devices, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(All, Devices, ::testing::Values("cpu", "null", testing::kCudaWithoutGpu),
                         [](const auto& test) { return std::string(test.param); });

TEST(NullDevice, RunsNothingUntilSomebodyWaits) {
  const auto device = std::make_shared<NullDevice>();
  const std::unique_ptr<Queue> queue = *device->make_queue();
  EXPECT_FALSE(queue->immediate());
  const Memory memory = *device->allocate(4);
  int found = 5;
  ASSERT_TRUE(queue->fill(memory.address(), std::byte{0}, 4).ok());
  ASSERT_TRUE(queue->copy_out(&found, memory.address(), 4).ok());
  EXPECT_EQ(found, 5);
  ASSERT_TRUE(queue->wait().ok());
  EXPECT_EQ(found, 0);
}

TEST(NullDevice, RefusesHostAddressesWhereItsOwnBelong) {
  const auto device = std::make_shared<NullDevice>();
  const std::unique_ptr<Queue> queue = *device->make_queue();
  int host = 0, other = 0;
  EXPECT_FALSE(queue->copy_in(&host, &other, 4).ok());
  EXPECT_FALSE(queue->copy_out(&other, &host, 4).ok());
  EXPECT_FALSE(queue->fill(&host, std::byte{0}, 4).ok());
}

TEST(NullDeviceDeathTest, WhoFollowsADeviceAddressOnTheHostCrashes) {
  const auto device = std::make_shared<NullDevice>();
  const std::unique_ptr<Queue> queue = *device->make_queue();
  const Memory memory = *device->allocate(64);
  volatile std::byte* const address = memory.address();
  EXPECT_DEATH((void)*address, "") << "reading";
  EXPECT_DEATH(*address = std::byte{1}, "") << "writing";
  ASSERT_TRUE(queue->fill(memory.address(), std::byte{1}, 64).ok());
  ASSERT_TRUE(queue->wait().ok());
  EXPECT_DEATH((void)*address, "") << "after the queue has been there";
}

TEST(NullDeviceDeathTest, WhoRunsOverTheEndOfABlockCrashesBehindTheWallToo) {
  const auto device = std::make_shared<NullDevice>();
  const Memory memory = *device->allocate(64);
  const Wall::Opening opening(device->wall());
  volatile std::byte* const address = memory.address();
  address[63] = std::byte{1};
  EXPECT_DEATH(address[64] = std::byte{1}, "");
}

}  // namespace
}  // namespace hone::runtime
