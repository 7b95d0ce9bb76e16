#include "runtime/reference_kernel.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "runtime/host_device.h"

namespace hone::runtime {
namespace {

Tensor pair_of(float a, float b) { return Tensor::f32({2}, std::vector<float>{a, b}); }

// Candidates are kept, kernels made of them later, and both outlive what they were asked for.
TEST(ReferenceKernel, KeepsAllThatItNeedsOfItsGraph) {
  std::unique_ptr<Kernel> kernel;
  {
    std::optional<Candidate> candidate;
    {
      graph::GraphBuilder b("g");
      const graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{2}));
      b.output(b.add("LeakyRelu", {x}, {{"alpha", 0.5F}}));
      const graph::Graph graph = *std::move(b).finish();
      candidate = reference_candidate(graph, graph.nodes()[0]);
    }
    EXPECT_TRUE(candidate->reference);
    kernel = *candidate->make();
  }
  const Tensor x = pair_of(3, -4);
  Tensor y = pair_of(0, 0);
  const void* const inputs[] = {x.data()};
  void* const outputs[] = {y.data()};
  HostQueue queue;
  ASSERT_TRUE(kernel->enqueue({.inputs = inputs, .outputs = outputs}, queue).ok());
  EXPECT_TRUE(same_tensor(y, pair_of(3, -2)));
}

TEST(ReferenceKernel, RunsPlainLayoutsOnly) {
  graph::GraphBuilder b("g");
  const graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{1, 16, 2, 2}));
  const graph::ValueId blocked = b.add("hone.Reorder", {x}, {{"layout", std::string("blocked16")}});
  b.output(b.add("Relu", {blocked}));
  const graph::Graph graph = *std::move(b).finish();
  EXPECT_FALSE(ReferenceNode::can_run(graph, graph.nodes()[0]));
  EXPECT_FALSE(ReferenceNode::can_run(graph, graph.nodes()[1]));
}

}  // namespace
}  // namespace hone::runtime
