#include "report/csv.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/fabricate_device.h"

namespace hone::report {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(KernelsCsv, HasALineForEveryKernelUnderTheNamesOfTheFields) {
  const analyze::Analysis analysis = fabricate::device_analysis();
  const std::string csv = kernels_csv(analysis);
  EXPECT_THAT(csv, StartsWith("name,"));
  EXPECT_THAT(csv.substr(0, csv.find('\n')), HasSubstr(",launches"));
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), analysis.kernels.size() + 1);
  EXPECT_THAT(csv, HasSubstr(analysis.kernels.front().name));
}

TEST(KernelsCsv, QuotesWhatWouldEndACellAndStartsNoFormula) {
  analyze::Analysis analysis = fabricate::device_analysis();
  analysis.kernels.resize(1);
  analysis.kernels[0].name = "f<int, \"x\">";
  EXPECT_THAT(kernels_csv(analysis), HasSubstr("\n\"f<int, \"\"x\"\">\","));
  analysis.kernels[0].name = "=HYPERLINK(1)";
  EXPECT_THAT(kernels_csv(analysis), HasSubstr("\n'=HYPERLINK(1),"));
}

TEST(KernelsCsv, OfAnAnalysisWithoutKernelsHasOnlyTheNames) {
  const std::string csv = kernels_csv(analyze::Analysis{});
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), csv.empty() ? 0 : 1);
}

}  // namespace
}  // namespace hone::report
