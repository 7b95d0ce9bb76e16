#include "passes/pipeline.h"

#include <set>

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(Pipeline, NamesEveryPassOnceAndKeepsGroupsTogether) {
  std::set<std::string_view> names;
  for (const Pass& pass : pipeline()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.summary.empty()) << pass.name;
    ASSERT_NE(pass.run, nullptr) << pass.name;
    EXPECT_EQ(pass.aim, aim_of(pass.group)) << pass.name;
  }
}

TEST(Pipeline, RunsOnlyWhatIsAskedForAndRefusesUnknownNames) {
  const graph::Graph graph =
      graph_of("(%x: f32[2]) { %a: f32[*] = Identity(%x) %y: f32[*] = Relu(%a) return %y }");
  PipelineOptions options;
  options.only = {"simplify_views"};
  auto result = run_pipeline(graph, {}, options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->reports.size(), 1U);
  EXPECT_EQ(result->reports[0].done.size(), 1U);
  options.only = {"no_such_pass"};
  result = run_pipeline(graph, {}, options);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("simplify_views (simplify)"), std::string::npos);
}

TEST(Pipeline, PredictsGainsFromPrices) {
  PassContext context;
  context.price = [](const graph::Graph& graph) { return 1e-3 * static_cast<double>(graph.nodes().size()); };
  auto result = run_pipeline(
      graph_of("(%x: f32[2]) { %a: f32[*] = Identity(%x) %y: f32[*] = Relu(%a) return %y }"), context);
  ASSERT_TRUE(result.ok()) << result.error().message;
  double gain = 0;
  for (const PassReport& report : result->reports) gain += report.predicted_gain_ms;
  EXPECT_DOUBLE_EQ(gain, 1.0);
}

}  // namespace
}  // namespace hone::passes
