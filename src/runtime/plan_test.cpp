#include "runtime/plan.h"

#include <gtest/gtest.h>

#include "core/clock.h"
#include "graph/builder.h"
#include "runtime/interpreter.h"
#include "runtime/null/null_provider.h"

namespace hone::runtime {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

graph::Graph chain(int length) {
  GraphBuilder b("chain");
  ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{4}));
  for (int i = 0; i < length; ++i) x = b.add("Relu", {x});
  b.output(x);
  return *std::move(b).finish();
}

TEST(Plan, RunningATinyNodeCostsLessThanAMicrosecond) {
  auto plan = Plan::compile(chain(1000), NullProvider());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  double best = 1e9;
  for (int round = 0; round < 50; ++round) {
    const int64_t start = now_ns();
    ASSERT_TRUE((*plan)->run().ok());
    best = std::min(best, static_cast<double>(now_ns() - start) / 1000.0);
  }
  EXPECT_LT(best, 1000.0) << "nanoseconds a node";
}

TEST(Plan, AnInPlaceChainNeedsTheInputAndOneBufferMore) {
  auto plan = Plan::compile(chain(20), NullProvider());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ((*plan)->memory().arena_bytes, 2 * 64u);
}

// Two equal candidates for every node; counts how often kernels are made.
class TwoCandidates : public Provider {
 public:
  std::string_view name() const override { return "two"; }
  std::string signature() const override { return "two"; }
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph,
                                            const graph::Node& node) const override {
    HONE_ASSIGN(const std::vector<Candidate> one, NullProvider().candidates(graph, node));
    std::vector<Candidate> two;
    for (const char* name : {"a", "b"}) {
      two.push_back({name, [this, make = one[0].make] {
                       ++made;
                       return make();
                     }});
    }
    return two;
  }
  mutable int made = 0;
};

TEST(Plan, EqualNodesAreMeasuredOnce) {
  const TwoCandidates provider;
  ASSERT_TRUE(Plan::compile(chain(10), provider).ok());
  EXPECT_EQ(provider.made, 2 + 9);
}

TEST(Plan, RefusesUnknownShapesByName) {
  GraphBuilder b("g");
  ValueId x = b.input("tokens", graph::tensor_type(DType::kF32, graph::Dims{graph::Dim::symbol("batch"), 4}));
  b.output(b.add("Relu", {x}));
  auto plan = Plan::compile(*std::move(b).finish(), NullProvider());
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("tokens"), std::string::npos) << plan.error().message;
}

}  // namespace
}  // namespace hone::runtime
