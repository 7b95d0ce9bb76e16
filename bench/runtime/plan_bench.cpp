// What a plan costs besides its kernels' work: chains of pointwise nodes on four numbers, time a node.
#include <chrono>
#include <string>

#include <benchmark/benchmark.h>

#include "graph/builder.h"
#include "runtime/make_provider.h"
#include "runtime/plan.h"
#include "runtime/testing/idle_provider.h"

namespace {

using hone::DType;
using hone::Shape;
using hone::graph::GraphBuilder;
using hone::graph::ValueId;

constexpr int kNodes = 1000;

hone::graph::Graph chain(const std::string& op, int nodes = kNodes) {
  GraphBuilder b("chain");
  ValueId x = b.input("x", hone::graph::tensor_type(DType::kF32, Shape{4}));
  for (int i = 0; i < nodes; ++i) x = b.add(op, {x});
  b.output(x);
  return *std::move(b).finish();
}

void run(benchmark::State& state, const std::string& op, const hone::runtime::Provider& provider) {
  auto plan = hone::runtime::Plan::compile(chain(op), provider);
  if (!plan.ok()) return state.SkipWithError(plan.error().message.c_str());
  for (auto _ : state) {
    if (!(*plan)->run().ok()) return state.SkipWithError("a run failed");
  }
  state.counters["s_per_node"] =
      benchmark::Counter(kNodes, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void executor_alone(benchmark::State& state) { run(state, "Relu", hone::runtime::testing::IdleProvider()); }
void tiny_relu(benchmark::State& state) { run(state, "Relu", **hone::runtime::make_provider("cpu")); }
void tiny_tanh(benchmark::State& state) { run(state, "Tanh", **hone::runtime::make_provider("cpu")); }

// What the host does for a run on a GPU, a graph of so many kernels, until the device has it; the wait is not counted.
void cuda_given(benchmark::State& state) {
  const auto provider = hone::runtime::make_provider("cuda");
  if (!provider.ok()) return state.SkipWithError(provider.error().message.c_str());
  hone::runtime::PlanOptions options;
  options.tune_ms_per_node = 0;
  auto plan =
      hone::runtime::Plan::compile(chain("Tanh", static_cast<int>(state.range(0))), **provider, options);
  if (!plan.ok()) return state.SkipWithError(plan.error().message.c_str());
  for (auto _ : state) {
    const auto begun = std::chrono::steady_clock::now();
    const bool given = (*plan)->start().ok();
    const auto over = std::chrono::steady_clock::now();
    if (!given || !(*plan)->finish().ok()) return state.SkipWithError("a run failed");
    state.SetIterationTime(std::chrono::duration<double>(over - begun).count());
  }
}

// The same with the wait: from a call to its return.
void cuda_run(benchmark::State& state) {
  const auto provider = hone::runtime::make_provider("cuda");
  if (!provider.ok()) return state.SkipWithError(provider.error().message.c_str());
  auto plan = hone::runtime::Plan::compile(chain("Tanh", static_cast<int>(state.range(0))), **provider);
  if (!plan.ok()) return state.SkipWithError(plan.error().message.c_str());
  for (auto _ : state) {
    if (!(*plan)->run().ok()) return state.SkipWithError("a run failed");
  }
}

BENCHMARK(executor_alone);
BENCHMARK(tiny_relu);
BENCHMARK(tiny_tanh);
BENCHMARK(cuda_given)->Arg(1)->Arg(100)->Arg(1000)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(cuda_run)->Arg(1)->Arg(100)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
