#include "data/byte_text.h"

#include <gmock/gmock.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone::data {
namespace {

class ByteTextFile : public ::testing::Test {
 protected:
  ByteTextFile() : path_(scratch_path("hone-text-test")) {
    std::string text;
    for (int i = 0; i < 101; ++i) text += static_cast<char>(150 + i % 100);  // bytes above 127, too
    if (!write_file(path_, text).ok()) throw std::runtime_error("no file");
  }
  ~ByteTextFile() override { std::filesystem::remove(path_); }
  std::filesystem::path path_;
};

TEST_F(ByteTextFile, GivesWindowsAndTheSameOneByteLater) {
  const auto text = *make_byte_text(path_, 10);
  EXPECT_EQ(text->size(), 10);
  for (const int64_t window : {0, 9}) {
    const Sample sample = *text->read(window);
    for (int64_t i = 0; i < 10; ++i) {
      EXPECT_EQ(sample[0].int_at(i), 150 + (window * 10 + i) % 100);
      EXPECT_EQ(sample[1].int_at(i), 150 + (window * 10 + i + 1) % 100);
    }
  }
}

TEST_F(ByteTextFile, PartsHoldNoByteTwice) {
  const auto front = *make_byte_text(path_, 10, 0, 0.75);
  const auto back = *make_byte_text(path_, 10, 0.75, 1);
  EXPECT_EQ(front->size(), 7);
  EXPECT_EQ(back->size(), 2);
  EXPECT_EQ((*back->read(0))[0].int_at(0), 150 + 75);
}

TEST_F(ByteTextFile, SaysWhereThereIsNoWindow) {
  EXPECT_THAT(make_byte_text(path_, 101).error().message,
              ::testing::HasSubstr("101 bytes hold no window of 101"));
  EXPECT_FALSE(make_byte_text(path_, 0).ok());
  EXPECT_FALSE(make_byte_text("/nowhere", 5).ok());
}

}  // namespace
}  // namespace hone::data
