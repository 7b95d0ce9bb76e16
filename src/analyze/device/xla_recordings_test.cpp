// Programs on JAX that XLA's profiler recorded on an H100 (tests/traces/xla), judged. The profiler does not say that the host
// waits for its results; gains are told all the same.
#include <filesystem>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze {
namespace {

Analysis analysis_of_xla(const std::string& name) {
  const std::vector<std::filesystem::path> paths = {source_folder() / "tests/traces/xla" /
                                                    (name + ".xplane.pb.gz")};
  auto trace = trace::import_trace(paths);
  EXPECT_TRUE(trace.ok()) << name;
  EXPECT_TRUE(trace::link_trace(*trace).ok()) << name;
  auto analysis = analyze_trace(*trace, Roofs{}, {});
  EXPECT_TRUE(analysis.ok()) << name;
  return std::move(*analysis);
}

// Products in true f32, as jax_default_matmul_precision "highest" asks for; the loss is read in every step.
TEST(XlaRecordings, OfProductsInF32NameThePrecision) {
  const Analysis analysis = analysis_of_xla("h100_mlp_highest");
  ASSERT_TRUE(analysis.verdict.cause.has_value());
  EXPECT_EQ(*analysis.verdict.cause, Cause::kPrecision);
  EXPECT_NEAR(analysis.step.ms.median, 41.99, 0.02 * 41.99);  // measured beside the recording
}

// The same program as it comes: products in f32 are computed in tf32 by default, here by kernels that nothing was tuned for.
TEST(XlaRecordings, OfProductsInTf32DoNotAdviseTf32) {
  const Analysis analysis = analysis_of_xla("h100_mlp");
  ASSERT_TRUE(analysis.verdict.cause.has_value());
  EXPECT_EQ(*analysis.verdict.cause, Cause::kKernelInefficiency);
  for (const Finding& finding : analysis.findings) EXPECT_NE(finding.rule, "f32_without_matrix_units");
}

// Convolutions by kernels that nothing was tuned for; the program waits by block_until_ready. With autotuning a step takes
// 0.42 ms on the same device, with images and weights in bf16 60.9 ms.
TEST(XlaRecordings, OfProgramsThatOnlyWaitHaveGainsAndNoneByAnotherType) {
  const Analysis analysis = analysis_of_xla("h100_conv");
  ASSERT_TRUE(analysis.verdict.cause.has_value());
  EXPECT_EQ(*analysis.verdict.cause, Cause::kKernelInefficiency);
  EXPECT_NEAR(analysis.step.ms.median, 67.02, 0.02 * 67.02);
  EXPECT_NEAR(analysis.verdict.recoverable_ms, 67.02 - 0.42, 0.05 * 67);
}

}  // namespace
}  // namespace hone::analyze
