#include "cuda/kernel_cache.h"

#include "cuda/testing/real_nvrtc.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone::cuda {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CompiledKernels two_kernels() {
  CompiledKernels kernels;
  kernels.image = {'\177', 'E', 'L', 'F', '\0', '\n', '7'};
  kernels.uses = {{.name = "a", .registers = 20},
                  {.name = "b\nb", .registers = 40, .stack_bytes = 8, .spill_stores = 4, .spill_loads = 12}};
  return kernels;
}

TEST(KernelFile, HoldsWhatWasPutIn) {
  const auto read = read_kernel_file(kernel_file("the key\n7", two_kernels()), "the key\n7");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->image, two_kernels().image);
  ASSERT_EQ(read->uses.size(), 2U);
  EXPECT_EQ(read->uses[1].name, "b\nb");
  EXPECT_EQ(read->uses[1].stack_bytes, 8);
  EXPECT_EQ(read->uses[1].spill_loads, 12);
}

TEST(KernelFile, OfAnotherKeyIsRefused) {
  const auto read = read_kernel_file(kernel_file("one", two_kernels()), "two");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("another kernel"));
}

// Whatever is cut off or changed: it is noticed.
TEST(KernelFile, ThatIsDamagedAnywhereIsRefused) {
  const std::string whole = kernel_file("key", two_kernels());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_kernel_file(std::string_view(whole).substr(0, size), "key").ok()) << size;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 1;
    EXPECT_FALSE(read_kernel_file(changed, "key").ok()) << at;
  }
  EXPECT_FALSE(read_kernel_file(whole + "x", "key").ok());
}

KernelSource adds(int number) {
  return {.name = "adds.cu",
          .text = "extern \"C\" __global__ void adds(float* x) { x[threadIdx.x] += " +
                  std::to_string(number) + "; }",
          .options = {}};
}

class RealNvrtcCache : public ::testing::Test {
 protected:
  ~RealNvrtcCache() override {
    fs::permissions(folder_, fs::perms::owner_all, ignored_);
    fs::remove_all(folder_, ignored_);
  }
  KernelCache cache(int architecture = 90, int driver = 13000) const {
    return {nvrtc_, {architecture}, driver, folder_};
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_, error)) found.push_back(entry.path());
    return found;
  }

  const std::shared_ptr<const Nvrtc> nvrtc_ = testing::real_nvrtc();
  const fs::path folder_ = scratch_path("hone-kernel-cache");
  std::error_code ignored_;
};

TEST_F(RealNvrtcCache, CompilesOnceForThisProcessAndForTheNext) {
  if (nvrtc_ == nullptr) GTEST_SKIP();
  KernelCache first = cache();
  const auto made = first.get(adds(1));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(*first.get(adds(1)), *made);
  EXPECT_EQ(first.compiled(), 1);
  KernelCache next = cache();
  const auto kept = next.get(adds(1));
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(next.compiled(), 0);
  EXPECT_EQ((*kept)->image, (*made)->image);
  EXPECT_EQ((*kept)->uses[0].registers, (*made)->uses[0].registers);
}

TEST_F(RealNvrtcCache, ADeviceADriverAndAnOptionMakeAnotherKernel) {
  if (nvrtc_ == nullptr) GTEST_SKIP();
  ASSERT_TRUE(cache().get(adds(1)).ok());
  KernelCache other_device = cache(80), other_driver = cache(90, 12090), same = cache();
  ASSERT_TRUE(other_device.get(adds(1)).ok());
  ASSERT_TRUE(other_driver.get(adds(1)).ok());
  KernelSource fast = adds(1);
  fast.options = {"--use_fast_math"};
  ASSERT_TRUE(same.get(fast).ok());
  EXPECT_EQ(other_device.compiled() + other_driver.compiled() + same.compiled(), 3);
  EXPECT_EQ(files().size(), 4U);
}

TEST_F(RealNvrtcCache, ADamagedFileIsCompiledAgainWithALine) {
  if (nvrtc_ == nullptr) GTEST_SKIP();
  ASSERT_TRUE(cache().get(adds(1)).ok());
  ASSERT_EQ(files().size(), 1U);
  ASSERT_TRUE(write_file(files()[0], "hone kernels 1\nrubbish").ok());
  KernelCache again = cache();
  ASSERT_TRUE(again.get(adds(1)).ok());
  EXPECT_EQ(again.compiled(), 1);
  EXPECT_THAT(again.take_notes(), ElementsAre(HasSubstr("compiled again")));
  KernelCache mended = cache();
  ASSERT_TRUE(mended.get(adds(1)).ok());
  EXPECT_EQ(mended.compiled(), 0);
  EXPECT_THAT(mended.take_notes(), IsEmpty());
}

TEST_F(RealNvrtcCache, AFolderThatCannotBeWrittenIsSaidOnce) {
  if (nvrtc_ == nullptr) GTEST_SKIP();
  ASSERT_TRUE(write_file(folder_, "a file where the folder should be").ok());
  KernelCache kept_nowhere = cache();
  EXPECT_TRUE(kept_nowhere.get(adds(1)).ok());
  EXPECT_TRUE(kept_nowhere.get(adds(2)).ok());
  EXPECT_THAT(kept_nowhere.take_notes(), ElementsAre(HasSubstr("compiled kernels are not kept")));
}

TEST_F(RealNvrtcCache, AFullFolderLosesWhatWasUsedLongestAgo) {
  if (nvrtc_ == nullptr) GTEST_SKIP();
  KernelCache small = cache();
  ASSERT_TRUE(small.get(adds(1)).ok());
  const fs::path oldest = files().at(0);
  fs::last_write_time(oldest, fs::file_time_type::clock::now() - std::chrono::hours(1));
  small.limit_bytes(2 * fs::file_size(oldest) + 100);
  for (const int number : {2, 3, 4}) ASSERT_TRUE(small.get(adds(number)).ok());
  EXPECT_FALSE(fs::exists(oldest));
  EXPECT_LE(files().size(), 3U);
}

TEST_F(RealNvrtcCache, CompilesManySideBySideAndNamesTheOneThatIsWrong) {
  if (nvrtc_ == nullptr) GTEST_SKIP();
  KernelCache many = cache();
  std::vector<KernelSource> sources;
  for (int i = 0; i < 6; ++i) sources.push_back(adds(i));
  sources[3].text = "no kernel";
  const auto made = many.get_all(sources);
  ASSERT_EQ(made.size(), 6U);
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(made[i].ok(), i != 3) << i;
  EXPECT_THAT(made[3].error().message, HasSubstr("adds.cu does not compile"));
  EXPECT_EQ(many.compiled(), 5);
}

TEST_F(RealNvrtcCache, CompilesOnceWhatManyThreadsWantAtATime) {
  if (nvrtc_ == nullptr) GTEST_SKIP();
  KernelCache wanted = cache();
  const auto made = wanted.get_all(std::vector<KernelSource>(8, adds(1)));
  for (const auto& kernels : made) EXPECT_EQ(*kernels, *made[0]);
  EXPECT_EQ(wanted.compiled(), 1);
  const KernelSource no_kernel{.name = "wrong.cu", .text = "no kernel", .options = {}};
  const auto wrong = wanted.get_all(std::vector<KernelSource>(4, no_kernel));
  for (const auto& kernels : wrong) EXPECT_FALSE(kernels.ok()) << "nobody waits for what does not compile";
}

}  // namespace
}  // namespace hone::cuda
