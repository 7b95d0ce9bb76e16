#include "observe/session/source_text.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/testing/scratch_path.h"

namespace hone::observe {
namespace {

class SourceText : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_) << "first\n\t  out[i] = in[i];  \r\n\n" << std::string(900, 'x');
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string of_line(const std::filesystem::path& path, uint32_t line) {
    trace::Trace trace;
    trace::KernelSample& row = trace.kernel_samples.emplace_back();
    row.file = trace.strings.intern(path.string());
    row.line = line;
    row.line_info = trace::LineInfo::kKnown;
    trace.kernel_samples.emplace_back();  // one without a line
    read_source_lines(trace);
    EXPECT_FALSE(trace.kernel_samples[1].source.valid());
    const trace::StringId source = trace.kernel_samples[0].source;
    return source.valid() ? std::string(trace.strings.text(source)) : "none";
  }

  std::filesystem::path path_ = scratch_path("hone_source_text.cu");
};

TEST_F(SourceText, IsTheLineWithoutBlanksAtItsEnds) {
  EXPECT_EQ(of_line(path_, 1), "first");
  EXPECT_EQ(of_line(path_, 2), "out[i] = in[i];");
}

TEST_F(SourceText, IsNoneOfEmptyLinesBehindTheEndAndOfFilesThatCannotBeRead) {
  EXPECT_EQ(of_line(path_, 3), "none");
  EXPECT_EQ(of_line(path_, 5), "none");
  EXPECT_EQ(of_line(path_.string() + ".none", 1), "none");
  EXPECT_EQ(of_line("/dev/zero", 1), "none");
}

TEST_F(SourceText, IsShortened) { EXPECT_EQ(of_line(path_, 4).size(), 200u); }

}  // namespace
}  // namespace hone::observe
