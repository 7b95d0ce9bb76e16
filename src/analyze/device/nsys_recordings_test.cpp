// Programs of tests/traces/record that Nsight Systems recorded, judged: what was planted is found from its
// databases too, and the step takes as long as without a recorder.
#include <filesystem>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"
#include "trace/testing/inflated.h"

namespace hone::analyze {
namespace {

Analysis analysis_of(const std::string& name) {
  const trace::Inflated file(source_folder() / "tests/traces/nsys" / (name + ".sqlite.gz"));
  const std::vector<std::filesystem::path> paths = {file.path};
  auto trace = trace::import_trace(paths);
  EXPECT_TRUE(trace.ok()) << name;
  EXPECT_TRUE(trace::link_trace(*trace).ok()) << name;
  auto analysis = analyze_trace(*trace, Roofs{}, {});
  EXPECT_TRUE(analysis.ok()) << name;
  return std::move(*analysis);
}

TEST(NsysRecordings, OfImagesWithChannelsFirstNameTheLayout) {
  const Analysis analysis = analysis_of("layout_channels_first.2025.3");
  ASSERT_TRUE(analysis.verdict.cause.has_value());
  EXPECT_EQ(*analysis.verdict.cause, Cause::kLayout);
  EXPECT_NEAR(analysis.step.ms.median, 21.06, 0.02 * 21.06);  // measured beside the recording
  ASSERT_TRUE(analysis.coverage.has_value());
  EXPECT_GT(analysis.coverage->costed_share,
            0.98);  // of kernels, though neither types nor strides are recorded
}

TEST(NsysRecordings, OfPageableInputNameTheCopy) {
  const Analysis analysis = analysis_of("copy_pageable.2023.4");
  ASSERT_TRUE(analysis.verdict.cause.has_value());
  EXPECT_EQ(*analysis.verdict.cause, Cause::kHostCopy);
}

TEST(NsysRecordings, OfALargeProductReplayedFromAGraphAreHealthy) {
  const Analysis analysis = analysis_of("cuda_graph_nodes.2025.3");
  EXPECT_TRUE(analysis.verdict.healthy());
  EXPECT_NEAR(analysis.step.ms.median, 1.82, 0.03 * 1.82);
}

TEST(NsysRecordings, OfAGraphAsAWholeAreNotCalledHealthy) {
  const Analysis analysis = analysis_of("cuda_graph_whole.2025.3");
  EXPECT_FALSE(analysis.verdict.cause.has_value());
  EXPECT_FALSE(analysis.verdict.healthy());
}

}  // namespace
}  // namespace hone::analyze
