// Running a plan allocates nothing: counted over malloc and its kin, so that libraries' allocations count, too.
// The reference kernels allocate from a heap that keeps what it is given back, which this program's operator new
// asks as hone's does.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "cuda/testing/fake_driver.h"
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
// Of the fake driver, whose own allocations are none of ours (cuda/testing/fake_driver.cpp); null: every one counts.
std::atomic<int (*)()> g_driver_is_at_work{nullptr};

void count_allocation() {
  const auto at_work = g_driver_is_at_work.load(std::memory_order_relaxed);
  if (at_work == nullptr || at_work() == 0) g_allocations.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

// glibc's own entry points; defining the public names here takes the place of its own for the whole program.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  count_allocation();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  count_allocation();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  count_allocation();
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count_allocation();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  count_allocation();
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
double allocations_per_run(const Build& build, runtime::Overlap overlap = runtime::Overlap::kNever,
                           const char* provider = "cpu") {
  runtime::PlanOptions options;
  options.autotune = false;
  options.overlap = overlap;
  auto plan = runtime::Plan::compile(make_graph(build), *runtime::testing::provider_named(provider), options);
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

// While it lives, what the fake driver does is not counted.
class WithoutTheDriver {
 public:
  WithoutTheDriver() {
    void* const driver = ::dlopen(cuda::testing::fake_driver_file().c_str(), RTLD_NOW);
    auto* const at_work =
        driver == nullptr ? nullptr : reinterpret_cast<int (*)()>(::dlsym(driver, "fake_driver_is_at_work"));
    if (at_work == nullptr) throw std::logic_error("no fake driver");
    g_driver_is_at_work = at_work;
  }
  ~WithoutTheDriver() { g_driver_is_at_work = nullptr; }
  WithoutTheDriver(const WithoutTheDriver&) = delete;
  WithoutTheDriver& operator=(const WithoutTheDriver&) = delete;
};

// A product, generated kernels, a row kernel, a copy and a sum, replayed as one graph.
TEST(Allocation, ReplaysOnCudaAllocateNothing) {
  const Build build = [](GraphBuilder& b) -> std::vector<ValueId> {
    ValueId x = b.add("MatMul", {f32_input(b, "x", {24, 32}), f32_constant(b, {32, 48})});
    x = b.add("Gelu", {b.add("Add", {x, f32_constant(b, {48})})});
    x = b.add("Softmax", {x});
    return {b.add("Transpose", {x}, {{"perm", Ints{1, 0}}}), b.add("ReduceSum", {x, ints(b, {1})})};
  };
  const WithoutTheDriver ours;
  for (const runtime::Overlap overlap : {runtime::Overlap::kNever, runtime::Overlap::kAlways}) {
    const int64_t replays = cuda::testing::graphs_run();
    EXPECT_EQ(allocations_per_run(build, overlap, runtime::testing::kCudaOnHost), 0);
    EXPECT_GE(cuda::testing::graphs_run() - replays, 20) << "the runs were no replays";
  }
}

// Neither the device's memory nor page-locked memory is taken, in runs, in what is written and read, or in runs given ahead.
TEST(Allocation, RunsOnCudaTakeNoMemoryOfTheDevice) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  auto plan =
      runtime::Plan::compile(make_graph([](GraphBuilder& b) -> std::vector<ValueId> {
                               const ValueId x = f32_input(b, "x", {24, 32});
                               return {b.add("Softmax", {b.add("MatMul", {x, f32_constant(b, {32, 48})})})};
                             }),
                             *provider);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const Tensor x = Tensor::zeros(DType::kF32, {24, 32});
  const std::vector<std::size_t> outputs = {0};
  const auto run = [&] {
    ASSERT_TRUE((*plan)->write(0, x).ok());
    ASSERT_TRUE((*plan)->run().ok());
    ASSERT_TRUE((*plan)->read(0).ok());
    if (!(*plan)->can_give_ahead()) return;
    ASSERT_TRUE((*plan)->give(outputs).ok());
    ASSERT_TRUE((*plan)->give(outputs).ok());
    for (int i = 0; i < 2; ++i) ASSERT_TRUE((*plan)->take().ok());
  };
  for (int i = 0; i < 3; ++i) run();
  EXPECT_TRUE((*plan)->can_give_ahead());
  const int64_t before = cuda::testing::blocks_made();
  EXPECT_GT(before, 0);
  for (int i = 0; i < 10; ++i) run();
  EXPECT_EQ(cuda::testing::blocks_made(), before);
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
