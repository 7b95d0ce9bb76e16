#include "core/file_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using testing::ElementsAre;

TEST(FileNames, KeepWhatFilesMayBeCalledEverywhere) {
  EXPECT_THAT(file_names({"y", "a/b", "logits:0", "ä", ""}, ".npy"),
              ElementsAre("y.npy", "a_b.npy", "logits_0.npy", "__.npy", "_.npy"));
}

TEST(FileNames, AreAllDifferent) {
  EXPECT_THAT(file_names({"a/b", "a_b", "a b"}, ".npy"), ElementsAre("a_b-2.npy", "a_b.npy", "a_b-3.npy"));
  EXPECT_THAT(file_names({"Y", "y"}, ".npy"), ElementsAre("Y.npy", "y-2.npy"))
      << "some file systems tell no case apart";
  EXPECT_THAT(file_names({"a/b", "a_b", "a_b-2"}, ".npy"), ElementsAre("a_b-3.npy", "a_b.npy", "a_b-2.npy"));
}

TEST(FileNames, FitIntoAFileSystemHoweverLongTheNames) {
  const std::string layer(300, 'x');
  const auto names = file_names({layer + "1", layer + "2"}, ".npy");
  EXPECT_NE(names[0], names[1]);
  for (const std::string& name : names) EXPECT_LE(name.size(), 200u);
}

}  // namespace
}  // namespace hone
