#include "observe/session/onednn_stream.h"

#include <array>
#include <random>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone::observe {
namespace {

struct Divided {
  std::string others, lines;
};

// `lengths`: of the pieces that the text comes in, over and over.
Divided divided(std::string_view text, const std::vector<std::size_t>& lengths) {
  Divided found;
  OneDnnFilter filter([&](std::string_view bytes) { found.others += bytes; },
                      [&](std::string_view line) { found.lines += line; });
  for (std::size_t i = 0; !text.empty(); ++i) {
    const std::size_t length = std::min(lengths[i % lengths.size()], text.size());
    filter.take(text.substr(0, length));
    text.remove_prefix(length);
  }
  filter.give_up_waiting();
  return found;
}

constexpr std::string_view kLine =
    "onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx2,undef,,,,4x4:4x4,0.01\n";
constexpr std::string_view kOldLine = "dnnl_verbose,exec,cpu,eltwise,jit:avx2,forward,,,,64,0.02\n";

TEST(OneDnnFilter, DividesTheStreamHoweverItComes) {
  const std::string text = "loss 0.1" + std::string(kLine) + "\nonednn is fast\n" + std::string(kLine) +
                           std::string(kOldLine) + "onednn_verb\ndnnl_verbose and on";
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::vector<std::size_t> lengths = {1 + random() % 30, 1 + random() % 30, 1 + random() % 30};
    const Divided found = divided(text, lengths);
    EXPECT_EQ(found.others, "loss 0.1\nonednn is fast\nonednn_verb\ndnnl_verbose and on");
    EXPECT_EQ(found.lines, std::string(kLine) + std::string(kLine) + std::string(kOldLine));
  }
}

TEST(OneDnnFilter, PassesBytesOn) {
  std::string bytes;
  for (int i = 0; i < 2000; ++i) bytes += static_cast<char>(i * 7);
  EXPECT_EQ(divided(bytes, {13}).others, bytes);
  EXPECT_EQ(divided(bytes, {13}).lines, "");
}

TEST(OneDnnFilter, HoldsNothingBackThatCannotBecomeALine) {
  std::string others;
  OneDnnFilter filter([&](std::string_view bytes) { others += bytes; }, [](std::string_view) {});
  filter.take("Continue? [y/n] ");
  EXPECT_EQ(others, "Continue? [y/n] ");
  filter.take("so");  // an o may begin a line
  EXPECT_TRUE(filter.waits());
  filter.give_up_waiting();
  EXPECT_EQ(others, "Continue? [y/n] so");
}

TEST(OneDnnStream, BringsTheProgramsOwnOutputAndKeepsTheRest) {
  const std::filesystem::path log = scratch_path("onednn.log");
  std::array<int, 2> out = {};
  ASSERT_EQ(::pipe(out.data()), 0);
  {
    auto stream = OneDnnStream::open(out[1], log);
    ASSERT_TRUE(stream.ok());
    const std::string said = "epoch 1\n" + std::string(kLine) + "epoch 2";
    ASSERT_EQ(::write((*stream)->program_end(), said.data(), said.size()), static_cast<ssize_t>(said.size()));
    const int left_behind = ::dup((*stream)->program_end());  // by a process that outlives the program
    (*stream)->finish();
    ::close(left_behind);
  }
  ::close(out[1]);
  std::array<char, 100> got = {};
  EXPECT_EQ(std::string(got.data(), static_cast<std::size_t>(::read(out[0], got.data(), got.size()))),
            "epoch 1\nepoch 2");
  ::close(out[0]);
  EXPECT_EQ(*read_file(log), kLine);
  std::filesystem::remove(log);
}

}  // namespace
}  // namespace hone::observe
