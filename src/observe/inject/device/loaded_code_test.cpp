// Code of devices and its source lines, with the real CUPTI, which needs no GPU for this; where there is none, each test says so.
#include "observe/inject/device/loaded_code.h"

#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/source_folder.h"
#include "observe/inject/cupti/cupti_profiler_abi.h"

namespace hone::observe::inject {
namespace {

using trace::segments::LineInfo;

constexpr const char* kGather = "_Z6gatherPKfPKiPf";

std::string gather_cubin() {
  const auto read = read_file(source_folder() / "src/observe/inject/testing/gather.cubin");
  EXPECT_TRUE(read.ok());
  return read.ok() ? *read : std::string();
}

// The cubin with the name of its section of lines spoilt, as if it had none.
std::string without_lines(std::string cubin) {
  for (size_t at; (at = cubin.find(".debug_line")) != cubin.npos;) cubin[at + 1] = 'x';
  return cubin;
}

class RealCuptiCode : public ::testing::Test {
 protected:
  // False where there is no CUPTI.
  bool load() {
    char why[8192];
    if (load_cupti(Environment::read(), cupti, why, sizeof(why))) return true;
    std::cerr << "\n*** NOT RUN: no CUPTI here. ***\n\n";
    return false;
  }
  uint64_t checksum(const std::string& cubin) {
    auto asking = cupti::parameters<cupti::CubinCrc>();
    asking.cubin = cubin.data();
    asking.cubin_bytes = cubin.size();
    cupti.find<cupti::Result (*)(cupti::CubinCrc*)>("cuptiGetCubinCrc")(&asking);
    return asking.crc;
  }

  Cupti cupti;
  LoadedCode code;
};

TEST_F(RealCuptiCode, KnowsTheLineOfAnInstruction) {
  if (!load()) return;
  std::string cubin = gather_cubin();
  const uint64_t crc = checksum(cubin);
  code.loaded(cubin.data(), cubin.size());
  cubin.assign(cubin.size(), '\0');  // the program's copy may go
  const SourcePlace place = code.place_of(cupti, crc, kGather, 0x80);
  EXPECT_EQ(place.known, LineInfo::kKnown);
  EXPECT_EQ(place.file, "/tmp/gather/gather.cu");
  EXPECT_EQ(place.line, 5u);
  EXPECT_EQ(code.place_of(cupti, crc, kGather, 0x100).line, 6u);
}

TEST_F(RealCuptiCode, TellsCodeWithoutLinesFromCodeThatItHasNotSeen) {
  if (!load()) return;
  const std::string cubin = without_lines(gather_cubin());
  code.loaded(cubin.data(), cubin.size());
  EXPECT_EQ(code.place_of(cupti, checksum(cubin), kGather, 0x80).known, LineInfo::kNone);
  EXPECT_EQ(code.place_of(cupti, checksum(cubin) + 1, kGather, 0x80).known, LineInfo::kCodeUnseen);
}

// The checksum is of the instructions alone.
TEST_F(RealCuptiCode, PrefersTheSameCodeWithLines) {
  if (!load()) return;
  const std::string with = gather_cubin(), without = without_lines(with);
  for (const std::string* cubin : {&without, &with, &without}) code.loaded(cubin->data(), cubin->size());
  EXPECT_EQ(code.place_of(cupti, checksum(with), kGather, 0x80).line, 5u);
}

TEST_F(RealCuptiCode, KnowsNoLineBehindTheEndAndNoneOfOtherFunctions) {
  if (!load()) return;
  const std::string cubin = gather_cubin();
  code.loaded(cubin.data(), cubin.size());
  EXPECT_EQ(code.place_of(cupti, checksum(cubin), kGather, 1 << 20).known, LineInfo::kNone);
  EXPECT_EQ(code.place_of(cupti, checksum(cubin), "other", 0x80).known, LineInfo::kNone);
}

TEST(SourceLines, AreSeenInAnElfFileAloneAndNeverReadBeyondItsEnd) {
  const std::string cubin = gather_cubin();
  EXPECT_TRUE(has_source_lines(cubin.data(), cubin.size()));
  EXPECT_FALSE(has_source_lines(without_lines(cubin).data(), cubin.size()));
  for (size_t bytes = 0; bytes < cubin.size(); bytes += 7) {
    const std::string part = cubin.substr(0, bytes);
    has_source_lines(part.data(), part.size());
  }
  EXPECT_FALSE(
      has_source_lines("not an ELF file, but long enough to be the head of one, and then some more", 72));
}

}  // namespace
}  // namespace hone::observe::inject
