// Running a plan allocates nothing: counted over malloc and its kin, so that libraries' allocations count, too.
// The reference kernels allocate from a heap that keeps what it is given back, which this program's operator new
// asks as hone's does.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "tests/backends/compare.h"
#include "tests/backends/reference_cases.h"
#include <gmock/gmock.h>

#include "core/replace_operator_new.h"
#include "kernels/ref/ref.h"
#include "runtime/host_border.h"
#include "runtime/host_device.h"
#include "runtime/kernel_timer.h"
#include "runtime/plan.h"
#include "runtime/reference_kernel.h"
#include "runtime/testing/providers.h"

// Sanitizers bring their own malloc: nothing can be counted there.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HONE_COUNTS_ALLOCATIONS 1

namespace {
std::atomic<int64_t> g_allocations{0};
}

// glibc's own entry points; defining the public names here takes the place of its own for the whole program.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  *memory = __libc_memalign(alignment, bytes);
  return *memory != nullptr ? 0 : ENOMEM;
}
}
#endif

namespace hone::backends {
namespace {

#ifdef HONE_COUNTS_ALLOCATIONS

using graph::GraphBuilder;
using graph::ValueId;

// Allocations of one run, once warm.
double allocations_per_run(const Build& build, runtime::Overlap overlap = runtime::Overlap::kNever) {
  runtime::PlanOptions options;
  options.autotune = false;
  options.overlap = overlap;
  auto plan = runtime::Plan::compile(make_graph(build), *runtime::testing::cpu_provider(), options);
  if (!plan.ok()) {
    ADD_FAILURE() << plan.error().message;
    return -1;
  }
  const auto run = [&] {
    if (!(*plan)->run().ok()) ADD_FAILURE() << "a run failed";
  };
  for (int i = 0; i < 3; ++i) run();
  constexpr int kRuns = 20;
  const int64_t before = g_allocations.load();
  for (int i = 0; i < kRuns; ++i) run();
  return static_cast<double>(g_allocations.load() - before) / kRuns;
}

TEST(Allocation, OwnKernelsAllocateNothing) {
  const double count = allocations_per_run([](GraphBuilder& b) -> std::vector<ValueId> {
    // Large enough for several threads.
    ValueId x = b.add("Gelu", {f32_input(b, "x", {4, 64, 512})});
    x = b.add("LayerNormalization", {x, f32_constant(b, {512}), f32_constant(b, {512})});
    x = b.add("Transpose", {b.add("Softmax", {x})}, {{"perm", Ints{0, 2, 1}}});
    x = b.add("Concat", {x, b.add("Neg", {x})}, {{"axis", int64_t{2}}});
    x = b.add("Reshape", {x, ints(b, {4, 8, 64, 128})});
    const ValueId scales = b.constant("s", Tensor::f32({4}, std::vector<float>{1, 1, 2, 2}));
    const ValueId large = b.add("Resize", {x, graph::kNoValue, scales}, {{"mode", std::string("linear")}});
    const ValueId attended = b.add("Attention", {x, x, x});
    return {b.add("ReduceMean", {large, ints(b, {2, 3})}),
            b.add("ArgMax", {attended}, {{"axis", int64_t{-1}}})};
  });
  EXPECT_EQ(count, 0);
}

TEST(Allocation, OptimizersAllocateNothing) {
  const double count = allocations_per_run([](GraphBuilder& b) -> std::vector<ValueId> {
    std::vector<ValueId> inputs = {scalar(b, 0.1F), input_of(b, "updates", DType::kI64, {}), graph::kNoValue};
    for (const char* name : {"x", "g", "m", "v"}) inputs.push_back(f32_input(b, name, {300, 500}));
    std::vector<ValueId> outputs = b.add_many("hone.AdamW", inputs, 3);
    outputs.push_back(b.add("hone.Sgd", {inputs[0], inputs[0], outputs[0], inputs[4]}));
    outputs.push_back(b.add(
        "hone.Sgd",
        {inputs[0], graph::kNoValue, inputs[1], input_of(b, "narrow", DType::kBF16, {300, 500}), inputs[4]},
        {{"numbers", Ints{0}}}));
    return outputs;
  });
  EXPECT_EQ(count, 0);
}

TEST(Allocation, LanesAllocateNothing) {
  const double count = allocations_per_run(
      [](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId x = f32_input(b, "x", {4, 64, 512});
        std::vector<ValueId> ends;
        for (int branch = 0; branch < 3; ++branch) {
          ValueId y = b.add("Gelu", {x});
          y = b.add("LayerNormalization", {y, f32_constant(b, {512}), f32_constant(b, {512})});
          ends.push_back(b.add("Softmax", {y}));
        }
        return {b.add("Concat", ends, {{"axis", int64_t{2}}})};
      },
      runtime::Overlap::kAlways);
  EXPECT_EQ(count, 0);
}

// Whatever has a reference kernel and may be a plan's kernel, in the first run and in later ones. What may not be
// one is the host's, between a plan's kernels (runtime/host_step.h), and has no part in this promise.
TEST(Allocation, ReferenceKernelsAllocateNothingOnceTheyHaveRun) {
  runtime::HostDevice device;
  std::vector<std::string> covered, on_host;
  for (const ReferenceCase& each : reference_cases()) {
    SCOPED_TRACE(each.op);
    const graph::Node& node = each.graph.nodes()[0];
    covered.push_back(each.op);
    if (!runtime::why_on_host(each.graph, node).empty()) {
      on_host.push_back(each.op);
      continue;
    }
    runtime::HostQueue queue;
    const auto kernel = *runtime::reference_candidate(each.graph, node).make();
    const auto sandbox = runtime::Sandbox::make(each.graph, node, device, queue);
    ASSERT_TRUE(sandbox.ok()) << sandbox.error().message;
    const runtime::KernelArguments arguments = *(*sandbox)->arguments(*kernel);
    const auto run = [&] {
      const Status status = kernel->enqueue(arguments, queue);
      EXPECT_TRUE(status.ok()) << status.error().message;
    };
    run();
    const std::size_t kept = queue.heap().bytes();
    EXPECT_GT(kept, 0U);
    const int64_t before = g_allocations.load();
    for (int i = 0; i < 5; ++i) run();
    EXPECT_EQ(g_allocations.load() - before, 0);
    EXPECT_EQ(queue.heap().bytes(), kept);
  }
  EXPECT_THAT(covered, ::testing::UnorderedElementsAreArray(kernels::ref::ref_table().names()));
  // Extents that the data decide, and strings.
  EXPECT_THAT(on_host, ::testing::UnorderedElementsAre("Compress", "NonMaxSuppression", "NonZero",
                                                       "StringNormalizer", "Unique", "hone.FirstRows"));
}

// In a plan, where several kernels share the heap of their queue.
TEST(Allocation, PlansOfReferenceKernelsAllocateNothing) {
  const double count = allocations_per_run([](GraphBuilder& b) -> std::vector<ValueId> {
    ValueId x = b.add("Hardmax", {f32_input(b, "x", {4, 64, 512})});
    x = b.add("LRN", {b.add("Reshape", {x, ints(b, {4, 8, 64, 64})})}, {{"size", int64_t{3}}});
    return {b.add("LpPool", {x}, {{"kernel_shape", Ints{2, 2}}})};
  });
  EXPECT_EQ(count, 0);
}

// oneDNN 2.6 makes a map of arguments in each execution: six times operator new (see
// tests/allocations/onednn_allocation_test.cpp), eight calls of malloc's kin measured here with the
// convolution. The way to it through the plan is the one that the test above finds free of allocations.
TEST(Allocation, OneDnnAllocatesNoMoreThanItsArgumentsTake) {
  constexpr double kOfTheLibrary = 8;
  EXPECT_LE(allocations_per_run([](GraphBuilder& b) -> std::vector<ValueId> {
              const ValueId x = f32_input(b, "x", {1, 16, 20, 20});
              return {b.add("Conv", {x, f32_constant(b, {32, 16, 3, 3})})};
            }),
            kOfTheLibrary);
  EXPECT_LE(allocations_per_run([](GraphBuilder& b) -> std::vector<ValueId> {
              return {b.add("MatMul", {f32_input(b, "x", {33, 64}), f32_constant(b, {64, 65})})};
            }),
            kOfTheLibrary);
}

#endif

}  // namespace
}  // namespace hone::backends
