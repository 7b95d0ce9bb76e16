#include "trace/run_folder.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone::trace {
namespace {

class RunFolderTest : public testing::Test {
 protected:
  std::filesystem::path folder_ = scratch_path("hone_run_folder_test");
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
};

RunInfo example_info() {
  RunInfo info;
  info.what = "lab";
  info.command = "hone lab \"my model\".onnx \xff";
  info.when = timestamp_now();
  info.machine = "a machine";
  info.device = "cpu";
  info.model = "model.onnx";
  info.threads = 2;
  info.versions = {{"hone", "0.1.0"}, {"oneDNN", "2.6.3"}};
  Roofs roofs;
  roofs.machine = "a machine";
  roofs.threads = 2;
  roofs.compute = {{DType::kF32, "fma", 2, {2e11, 1.9e11, 2.1e11}}};
  roofs.memory = {{"DRAM", "copy", 2, 0, {3e10, 2.9e10, 3.1e10}}};
  roofs.barrier = {1e-6, 9e-7, 2e-6};
  info.roofs = roofs;
  return info;
}

TEST_F(RunFolderTest, ComesBackWhole) {
  RunInfo info = example_info();
  Trace trace;
  TrackId track = trace.add_track({});
  trace.spans.add({10, 5, track, trace.strings.intern("x"), Category::kStep, 0, {}, 0});
  Status written = write_run_folder(folder_, info, trace);
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_TRUE(is_run_folder(folder_));
  Result<RunFolder> read = read_run_folder(folder_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->info.what, "lab");
  EXPECT_EQ(read->info.command, "hone lab \"my model\".onnx \xef\xbf\xbd");
  EXPECT_EQ(read->info.when, info.when);
  EXPECT_EQ(read->info.threads, 2);
  EXPECT_EQ(read->info.versions, info.versions);
  ASSERT_TRUE(read->info.roofs.has_value());
  EXPECT_EQ(read->info.roofs->compute_roof(DType::kF32, 2), 2e11);
  EXPECT_EQ(read->info.roofs->dram_roof(2), 3e10);
  EXPECT_EQ(read->info.roofs->barrier.median, 1e-6);
  EXPECT_EQ(read->trace.spans.size(), 1u);
}

TEST_F(RunFolderTest, SaysWhatIsWrongWithAFolderThatIsNone) {
  EXPECT_FALSE(is_run_folder(folder_));
  // Other programs name files so, too.
  std::filesystem::create_directories(folder_);
  ASSERT_TRUE(write_file(folder_ / "run.json", "{}").ok());
  EXPECT_FALSE(is_run_folder(folder_));
  EXPECT_FALSE(read_run_folder(folder_).ok());
  ASSERT_TRUE(make_folder(folder_).ok());
  for (const char* text : {"", "{", "[]", "{\"schema\": 99}", "{\"schema\": 1, \"threads\": \"two\"}"}) {
    ASSERT_TRUE(write_file(folder_ / kRunFile, text).ok());
    Result<RunInfo> info = read_run_info(folder_);
    ASSERT_FALSE(info.ok()) << text;
    EXPECT_NE(info.error().message.find("run.json"), std::string::npos) << info.error().message;
  }
}

}  // namespace
}  // namespace hone::trace
