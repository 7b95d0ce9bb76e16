// What a plan costs besides its kernels' work: chains of pointwise nodes on four numbers, time a node.
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

hone::graph::Graph chain(const std::string& op) {
  GraphBuilder b("chain");
  ValueId x = b.input("x", hone::graph::tensor_type(DType::kF32, Shape{4}));
  for (int i = 0; i < kNodes; ++i) x = b.add(op, {x});
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

BENCHMARK(executor_alone);
BENCHMARK(tiny_relu);
BENCHMARK(tiny_tanh);

}  // namespace

BENCHMARK_MAIN();
