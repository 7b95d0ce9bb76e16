#include "trace/import/sniff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::trace {
namespace {

using namespace std::string_view_literals;

TEST(Sniff, FormatsAreToldByContent) {
  EXPECT_EQ(sniff("{\"schemaVersion\": 1").format, TraceFormat::kJson);
  EXPECT_EQ(sniff("\xef\xbb\xbf\n [{").format, TraceFormat::kJson);
  EXPECT_EQ(sniff("SQLite format 3\0\x10"sv).format, TraceFormat::kSqlite);
  EXPECT_EQ(sniff("==PROF== x\n\"ID\",\"Process ID\",\"Kernel Name\"\n").format, TraceFormat::kNcuCsv);
  EXPECT_EQ(sniff("training\n==PROF== Profiling \"gemm\"\n").format,
            TraceFormat::kNcuCsv);  // the table comes later
  EXPECT_EQ(sniff("epoch 1\nonednn_verbose,v1,info,oneDNN v3.13.0\n").format, TraceFormat::kOneDnn);
  EXPECT_EQ(sniff("\x0a\x10\x08\x01\x50\x02\x00"sv).format, TraceFormat::kPerfetto);
}

// A list of packets and a list of planes begin alike.
TEST(Sniff, ProfilesOfXlaAreKnownByTheirPlanes) {
  EXPECT_EQ(sniff("\x0a\x10\x12\x09/host:CPU\x1a\x02\x08\x01"sv).format, TraceFormat::kXplane);
  EXPECT_EQ(sniff("\x0a\x85\x01\x08\x02\x12\x0d/device:GPU:0\x1a"sv).format, TraceFormat::kXplane);
  EXPECT_EQ(sniff("\x0a\x10\x12\x05other\x1a\x02\x08\x01"sv).format, TraceFormat::kPerfetto);
  EXPECT_EQ(sniff(R"({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[{)").format,
            TraceFormat::kViewer);
  EXPECT_EQ(sniff(R"({"displayTimeUnit":"ns","traceEvents":[],"metadata":{"highres-ticks":true}})").format,
            TraceFormat::kJson);
}

TEST(Sniff, OthersAreNamedForTheMessage) {
  EXPECT_THAT(sniff("").looks_like, testing::HasSubstr("empty"));
  EXPECT_THAT(sniff(std::string(4096, '\0')).looks_like, testing::HasSubstr("zeros"));
  EXPECT_THAT(sniff("PK\x03\x04").looks_like, testing::HasSubstr("zip"));
  EXPECT_THAT(sniff("\x80\x02}q\x01").looks_like, testing::HasSubstr("pickle"));
  EXPECT_THAT(sniff("version https://git-lfs.github.com/spec/v1\n").looks_like,
              testing::HasSubstr("git lfs pull"));
  EXPECT_THAT(sniff("\xff\xfe{\0\r\0"sv).looks_like, testing::HasSubstr("UTF-16"));
  EXPECT_THAT(sniff("\x1f\x8b\x08\x00").looks_like, testing::HasSubstr("compressed twice"));
  EXPECT_THAT(sniff("{\n  \"schema\": 1,").looks_like, testing::HasSubstr("a report that hone wrote"));
  EXPECT_THAT(sniff("{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": [").looks_like,
              testing::HasSubstr("execution trace"));
  EXPECT_THAT(sniff("Time (%),Total Time (ns),Instances\n").looks_like, testing::HasSubstr("nsys export"));
  EXPECT_THAT(sniff(" Name    Self CPU %    Self CPU\n").looks_like,
              testing::HasSubstr("export_chrome_trace"));
  std::string archive("ranks/rank0.json");
  archive.resize(257, '\0');
  EXPECT_THAT(sniff(archive + "ustar  ").looks_like, testing::HasSubstr("a tar archive"));
  EXPECT_THAT(sniff("hello\n").looks_like, testing::HasSubstr("a text"));
  EXPECT_THAT(sniff("\x00\x01\x02\x03"sv).looks_like, testing::HasSubstr("data of another kind"));
}

TEST(Sniff, ModelsAreKnownFromTraces) {
  for (const std::string_view model : {"\x08\x03\x3a\x80\x01"sv, "\x08\x0a\x12\x04hone"sv}) {
    EXPECT_TRUE(sniff(model).is_onnx);
    EXPECT_THAT(sniff(model).looks_like, testing::HasSubstr("ONNX model"));
  }
  EXPECT_FALSE(sniff("\x08\x00\x00"sv).is_onnx);
  EXPECT_FALSE(sniff("\x0a\x10\x08\x01\x50\x02\x00"sv).is_onnx);
}

TEST(Sniff, TheMessageSaysWhatToDoFirst) {
  EXPECT_EQ(what_instead(sniff("hello\n"), "a.txt"), "this is a text of another kind.");
  EXPECT_THAT(what_instead(sniff("\x01\x02\x03\x04"), "run.nsys-rep"), testing::HasSubstr("nsys export"));
}

}  // namespace
}  // namespace hone::trace
