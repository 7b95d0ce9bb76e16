#include "runtime/make_provider.h"

#include <gmock/gmock.h>

namespace hone::runtime {
namespace {

TEST(MakeProvider, MakesEveryProviderThatItNames) {
  EXPECT_THAT(provider_names(), ::testing::Contains("cpu"));
  for (const std::string_view name : provider_names()) {
    const auto provider = make_provider(name);
    ASSERT_TRUE(provider.ok()) << provider.error().message;
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
