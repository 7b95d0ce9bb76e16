#include "cuda/driver.h"

#include "cuda/testing/fake_driver.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string why_not(const std::string& library) {
  const auto driver = Driver::load(library);
  return driver.ok() ? "" : driver.error().message;
}

TEST(Driver, TellsItsVersionAndItsDevices) {
  const auto driver = Driver::load(testing::fake_driver_file());
  ASSERT_TRUE(driver.ok()) << driver.error().message;
  EXPECT_EQ((*driver)->version(), 13000);
  EXPECT_EQ((*driver)->devices(), 1);
}

TEST(Driver, ThatIsMissingIsSaidInOneLineWithWhereItWasLookedFor) {
  const std::string why = why_not("libcuda-that-is-not-here.so.1");
  EXPECT_THAT(why, AllOf(HasSubstr("driver's library is not here"),
                         HasSubstr("libcuda-that-is-not-here.so.1"), HasSubstr("looked in"),
                         HasSubstr("/usr/lib/wsl/lib"), HasSubstr("CUDA 12.0"), Not(HasSubstr("\n"))));
}

TEST(Driver, ThatIsTooOldIsSaidWithItsVersion) {
  const testing::Faults faults("old");
  EXPECT_THAT(
      why_not(testing::fake_driver_file()),
      AllOf(HasSubstr("speaks CUDA 11.8"), HasSubstr("needs 12.0"), HasSubstr("install a newer driver")));
}

TEST(Driver, ThatSeesNoGpuSaysWhereToLook) {
  const testing::Faults faults("no-device");
  EXPECT_THAT(why_not(testing::fake_driver_file()),
              AllOf(HasSubstr("cuInit: CUDA_ERROR_NO_DEVICE"), HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(Driver, ALibraryThatIsAnotherNamesWhatItLacks) {
  EXPECT_THAT(why_not("libm.so.6"), AllOf(HasSubstr("libm.so.6 lacks cuInit"), HasSubstr("newer")));
}

}  // namespace
}  // namespace hone::cuda
