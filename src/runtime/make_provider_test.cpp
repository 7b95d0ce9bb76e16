#include "runtime/make_provider.h"

#include <gmock/gmock.h>

namespace hone::runtime {
namespace {

// A GPU may be missing, and then it is said in one line what exactly, and where it was looked for.
TEST(MakeProvider, MakesEveryProviderThatItNamesOrSaysWhatTheMachineLacks) {
  EXPECT_THAT(provider_names(), ::testing::IsSupersetOf({"cpu", "cuda", "null"}));
  for (const std::string_view name : provider_names()) {
    const auto provider = make_provider(name);
    if (!provider.ok()) {
      EXPECT_EQ(name, "cuda") << "others need no device";
      EXPECT_THAT(provider.error().message, ::testing::AllOf(::testing::StartsWith("device 'cuda': "),
                                                             ::testing::HasSubstr("looked in"),
                                                             ::testing::Not(::testing::HasSubstr("\n"))));
      continue;
    }
    EXPECT_EQ((*provider)->name(), name);
  }
}

TEST(MakeProvider, SaysWhatThereIsInsteadOfWhatThereIsNot) {
  const auto unknown = make_provider("abacus");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
  for (const std::string_view name : provider_names())
    EXPECT_THAT(unknown.error().message, ::testing::HasSubstr(std::string(name)));
  const auto second = make_provider("cpu", {.device_index = 1});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace hone::runtime
