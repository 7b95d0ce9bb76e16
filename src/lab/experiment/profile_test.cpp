#include "lab/experiment/profile.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "analyze/rules.h"
#include "graph/builder.h"
#include "lab/prepared.h"
#include "passes/pipeline.h"
#include "runtime/testing/providers.h"

namespace hone::lab {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

// Three branches of pointwise and normalising operators, joined.
graph::Graph branches() {
  GraphBuilder b("branches");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{16, 4096}));
  std::vector<ValueId> ends;
  for (int i = 0; i < 3; ++i) ends.push_back(b.add("Softmax", {b.add("Gelu", {b.add("Tanh", {x})})}));
  b.output(b.add("Add", {b.add("Add", {ends[0], ends[1]}), ends[2]}));
  return *std::move(b).finish();
}

TEST(Profile, LedgerOfOverlappingOperatorsAddsUpToTheStep) {
  const graph::Graph graph = branches();
  const auto provider = runtime::testing::cpu_provider(2);
  const auto inputs = make_inputs(graph, 1);
  ASSERT_TRUE(inputs.ok());
  runtime::PlanOptions options;
  options.overlap = runtime::Overlap::kAlways;
  auto plan = runtime::Plan::compile(graph, *provider, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_TRUE((*plan)->write(0, inputs->tensors[0]).ok());
  ProfileOptions profile_options;
  profile_options.max_steps = 60;
  profile_options.threads = 2;
  const auto profile = profile_plan(**plan, Roofs{}, profile_options);
  ASSERT_TRUE(profile.ok()) << profile.error().message;

  // The trace holds the lanes on their threads. (Whether they overlap is the machine's doing.)
  const trace::SpanTable& spans = profile->trace.spans;
  std::set<uint32_t> tracks;
  for (std::size_t i = 0; i < spans.size(); ++i)
    if (spans.category[i] == trace::Category::kOperator) tracks.insert(spans.track[i].index);
  EXPECT_EQ(tracks.size(), 2u);

  // The ledger counts no instant twice.
  double rows = 0;
  for (const analyze::LedgerRow& row : profile->analysis.ledger) rows += row.ms;
  EXPECT_NEAR(rows, profile->analysis.step.ms.median, 0.005 * profile->analysis.step.ms.median);
  double operators = 0;
  for (const analyze::OperatorTime& op : profile->analysis.operators) operators += op.ms.median;
  EXPECT_LE(operators, 1.005 * profile->analysis.step.ms.median);
  EXPECT_NE(profile->trace.operators[0].implementation.find("lane "), std::string::npos)
      << profile->trace.operators[0].implementation;
}

// Analysis knows no passes: what its advice calls them must be their names.
TEST(Profile, AdviceNamesPassesThatThereAre) {
  int named = 0;
  for (const analyze::Cause cause : analyze::all_causes()) {
    const std::string fix(analyze::rule_of(cause).fix.of(trace::Framework::kHone));
    std::size_t at = fix.find("(passes: ");
    if (at == std::string::npos) continue;
    const std::string list = fix.substr(at + 9, fix.find_first_of(";)", at) - at - 9);
    for (std::size_t from = 0; from < list.size();) {
      const std::size_t end = std::min(list.find(", ", from), list.size());
      const std::string name = list.substr(from, end - from);
      EXPECT_TRUE(
          std::any_of(passes::pipeline().begin(), passes::pipeline().end(),
                      [&](const passes::Pass& pass) { return pass.name == name || pass.group == name; }))
          << name << " in: " << fix;
      ++named;
      from = end + 2;
    }
  }
  EXPECT_GE(named, 3);
}

}  // namespace
}  // namespace hone::lab
