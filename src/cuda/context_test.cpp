#include "cuda/context.h"

#include <thread>

#include "cuda/testing/fake_driver.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CudaContext, KnowsItsDevice) {
  const ContextPointer context = testing::fake_context();
  EXPECT_EQ(context->name(), "Fake GPU");
  EXPECT_EQ(context->architecture().number, 90);
  EXPECT_EQ(context->multiprocessors(), 132);
  EXPECT_EQ(context->total_bytes(), std::size_t{80} << 30);
}

TEST(CudaContext, ADeviceThatIsNotThereIsAnError) {
  const auto driver = Driver::load(testing::fake_driver_file());
  const auto context = Context::of_device(*driver, 1);
  ASSERT_FALSE(context.ok());
  EXPECT_THAT(context.error().message, HasSubstr("no GPU number 1: the driver sees 1"));
}

TEST(CudaContext, EverythingIsGivenBackOnceInWhateverOrderAndThread) {
  const int live = testing::live_handles(), contexts = testing::live_contexts();
  {
    ContextPointer context = testing::fake_context();
    DeviceBlock memory = *allocate(context, 100);
    Stream stream = *make_stream(context);
    StreamEvent event = *make_event(context, true);
    PinnedBlock pinned = *allocate_pinned(context, 8);
    Module module = *load_module(context, std::string_view("//ptx"));
    context.reset();  // kept by what is its own
    EXPECT_EQ(testing::live_handles(), live + 5);
    DeviceBlock moved = std::move(memory);
    memory = *allocate(moved.context_pointer(), 10);
    std::thread([taken = std::move(stream)] {}).join();  // another thread, where no context was current
    EXPECT_EQ(testing::live_handles(), live + 5);
  }
  EXPECT_EQ(testing::live_handles(), live);
  EXPECT_EQ(testing::live_contexts(), contexts);
}

TEST(CudaContext, MemoryThatIsNotThereIsSaidWithWhatThereIs) {
  const ContextPointer context = testing::fake_context();
  const auto block = allocate(context, std::size_t{1} << 40);
  ASSERT_FALSE(block.ok());
  EXPECT_THAT(block.error().message, AllOf(HasSubstr("not enough memory for a block of"),
                                           HasSubstr("GPU 0 (Fake GPU)"), HasSubstr("are free")));
}

TEST(CudaContext, AnErrorNamesTheCallAndWhatToDo) {
  const ContextPointer context = testing::fake_context();
  const testing::Faults faults("lost");
  const Stream stream = *make_stream(context);
  const Module module = *load_module(context, std::string_view("//ptx"));
  const FunctionHandle function = *find_function(module, "kernel");
  ASSERT_TRUE(launch(*context, function, {}, stream.get(), {}, "kernel").ok()) << "it fails later";
  const Status status =
      context->check(context->functions().stream_synchronize(stream.get()), "cuStreamSynchronize");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED"),
                                            HasSubstr("compute-sanitizer")));
}

TEST(CudaContext, ALaunchThatCannotBeGivenNamesTheKernelAndItsShape) {
  const ContextPointer context = testing::fake_context();
  const Stream stream = *make_stream(context);
  const Module module = *load_module(context, std::string_view("//ptx"));
  const FunctionHandle function = *find_function(module, "kernel");
  const Status status = launch(*context, function, {.block = {2048, 1, 1}}, stream.get(), {}, "sums");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              AllOf(HasSubstr("cuLaunchKernelEx of sums"), HasSubstr("block 2048x1x1")));
}

TEST(CudaContext, AnImageThatIsNoneIsAnError) {
  const ContextPointer context = testing::fake_context();
  const auto module = load_module(context, std::string_view("rubbish"));
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().message, HasSubstr("cuModuleLoadData"));
}

}  // namespace
}  // namespace hone::cuda
