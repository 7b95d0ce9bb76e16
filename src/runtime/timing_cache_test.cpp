#include "runtime/timing_cache.h"

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "graph/builder.h"

namespace hone::runtime {
namespace {

TEST(TimingCache, KeepsEntriesOnDiskAndForgetsErasedOnes) {
  const auto path = scratch_path("timings") / "timings.tsv";
  TimingCache cache = TimingCache::open(path);
  cache.put("cpu", "Relu", {"hone", 12.5});
  cache.put("cpu", "Add", {"hone", 3});
  ASSERT_TRUE(cache.save().ok());
  TimingCache again = TimingCache::open(path);
  EXPECT_EQ(again.find("cpu", "Relu")->microseconds, 12.5);
  again.erase("cpu", "Relu");
  again.erase("cpu", "never there");
  ASSERT_TRUE(again.save().ok());
  const TimingCache third = TimingCache::open(path);
  EXPECT_FALSE(third.find("cpu", "Relu"));
  EXPECT_TRUE(third.find("cpu", "Add"));
  std::filesystem::remove_all(path.parent_path());
}

// A group of a sum and a product of it, by what the product reads.
graph::Graph group(bool reads_p, bool reads_q) {
  const graph::TensorType type = graph::tensor_type(DType::kF32, Shape{4});
  graph::GraphBuilder body("body");
  const graph::ValueId p = body.input("p", type), q = body.input("q", type);
  const graph::ValueId sum = body.add("Add", {p, q});
  body.output(body.add("Mul", {sum, reads_p ? p : reads_q ? q : sum}));
  graph::GraphBuilder b("g");
  graph::Node node;
  node.op = "hone.Fused";
  node.attributes.set("kind", std::string("pointwise"));
  node.inputs = {b.input("a", type), b.input("b", type)};
  node.bodies = {std::make_shared<const graph::Graph>(*std::move(body).finish())};
  const std::string name = "y";
  b.output((*b.try_add(std::move(node), std::span(&name, 1)))[0]);
  return *std::move(b).finish();
}

TEST(NodeSignature, TellsGroupsApartThatAreConnectedInAnotherWay) {
  const auto signature = [](bool reads_p, bool reads_q) {
    const graph::Graph graph = group(reads_p, reads_q);
    return node_signature(graph, graph.nodes()[0]);
  };
  EXPECT_NE(signature(true, false), signature(false, true));
  EXPECT_NE(signature(true, false), signature(false, false));
  EXPECT_EQ(signature(true, false), signature(true, false));
}

TEST(TimingCache, ADamagedFileIsAnEmptyCacheAndIsSaid) {
  const auto path = scratch_path("damaged") / "timings.tsv";
  TimingCache good = TimingCache::open(path);
  good.put("p", "n", {"fast", 12.5});
  ASSERT_TRUE(good.save().ok());
  const std::string text = *read_file(path);
  ASSERT_EQ(TimingCache::open(path).size(), 1U);
  const auto with_time = [&](const char* time) {
    std::string changed = text;
    return changed.replace(changed.rfind("12.5"), 4, time);
  };
  for (const std::string& damaged :
       {std::string("hone timings 0\n"), std::string("\0\1\2\n", 4), text.substr(0, text.rfind('\t')),
        with_time("soon"), with_time("12.5 ms"), with_time("nan"), with_time("inf"), with_time("-3"),
        text + "a line without tabs\n"}) {
    ASSERT_TRUE(write_file(path, damaged).ok());
    const TimingCache cache = TimingCache::open(path);
    EXPECT_EQ(cache.size(), 0U) << damaged;
    EXPECT_NE(cache.note().find("kernels are measured again"), std::string::npos) << damaged;
  }
  std::filesystem::remove_all(path.parent_path());
}

}  // namespace
}  // namespace hone::runtime
