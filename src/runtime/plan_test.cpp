#include "runtime/plan.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "graph/builder.h"
#include "runtime/interpreter.h"
#include "runtime/testing/idle_provider.h"

namespace hone::runtime {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using testing::IdleProvider;

graph::Graph chain(int length) {
  GraphBuilder b("chain");
  ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{4}));
  for (int i = 0; i < length; ++i) x = b.add("Relu", {x});
  b.output(x);
  return *std::move(b).finish();
}

TEST(Plan, RunningATinyNodeCostsLessThanAMicrosecond) {
  auto plan = Plan::compile(chain(1000), IdleProvider());
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
  auto plan = Plan::compile(chain(20), IdleProvider());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ((*plan)->memory().arena_bytes, 2 * 64u);
}

TEST(Plan, RefusesWhatMemoryCannotHoldAndNamesIt) {
  GraphBuilder b("vast");
  ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{int64_t{1} << 22, int64_t{1} << 22}));
  b.output(b.add("Relu", {x}));
  auto plan = Plan::compile(*std::move(b).finish(), IdleProvider());
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("'x' (f32[4194304,4194304]) takes 64.0 TiB"), std::string::npos)
      << plan.error().message;
}

TEST(Plan, RefusesStrings) {
  GraphBuilder b("words");
  b.output(b.add("Identity", {b.input("x", graph::tensor_type(DType::kString, Shape{2}))}));
  auto plan = Plan::compile(*std::move(b).finish(), IdleProvider());
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kUnsupported);
}

// The exporters' idiom for "while": as many trips as an int64 can say. Only what can never end is refused.
graph::Graph while_loop(bool ends) {
  GraphBuilder body("body");
  body.input("trip", graph::tensor_type(DType::kI64, Shape{}));
  ValueId going = body.input("going", graph::tensor_type(DType::kBool, Shape{}));
  ValueId x = body.input("x", graph::tensor_type(DType::kF32, Shape{}));
  ValueId next = body.add("Add", {x, body.constant("one", Tensor::scalar_f32(1))});
  body.output(ends ? body.add("Less", {next, body.constant("limit", Tensor::scalar_f32(7))})
                   : body.add("Identity", {going}));
  body.output(next);
  GraphBuilder b("loop");
  graph::Node node;
  node.op = "Loop";
  node.inputs = {b.constant("trips", Tensor::scalar_i64(std::numeric_limits<int64_t>::max())),
                 graph::kNoValue, b.input("x", graph::tensor_type(DType::kF32, Shape{}))};
  node.bodies = {std::make_shared<const graph::Graph>(*std::move(body).finish())};
  const std::string name = "y";
  b.output((*b.try_add(std::move(node), std::span(&name, 1)))[0]);
  return *std::move(b).finish();
}

TEST(Loop, ThatNothingCanEndIsRefused) {
  const Tensor zero = Tensor::scalar_f32(0);
  auto outputs = interpret(while_loop(true), std::vector{zero});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].at(0), 7);
  outputs = interpret(while_loop(false), std::vector{zero});
  ASSERT_FALSE(outputs.ok());
  EXPECT_NE(outputs.error().message.find("the loop never ends"), std::string::npos)
      << outputs.error().message;
}

// Two equal candidates for every node; counts how often kernels are made.
class TwoCandidates : public HostProvider {
 public:
  std::string_view name() const override { return "two"; }
  std::string signature(Share) const override { return "two"; }
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                            Share share) const override {
    HONE_ASSIGN(const std::vector<Candidate> one, IdleProvider().candidates(graph, node, share));
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
  auto plan = Plan::compile(*std::move(b).finish(), IdleProvider());
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("tokens"), std::string::npos) << plan.error().message;
}

}  // namespace
}  // namespace hone::runtime
