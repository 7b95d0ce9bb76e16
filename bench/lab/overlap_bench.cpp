// What running operators side by side gains: graphs with branches, compiled to run in order and as measured,
// both in paired interleaved runs; and recurrent layers with all threads in each product against the kernel
// that was measured fastest. Prints a JSON object a line.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "graph/builder.h"
#include "lab/gate/paired.h"
#include "lab/prepared.h"
#include "runtime/make_provider.h"

namespace {

using namespace hone;
using graph::GraphBuilder;
using graph::ValueId;

struct Case {
  std::string name;
  graph::Graph graph;
  bool kernel_alone = false;  // one node: what is compared is its kernel, not the plan's order
};

ValueId weights(GraphBuilder& b, const Shape& shape, float scale = 0.05F) {
  Tensor tensor(DType::kF32, shape);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.as<float>()[static_cast<std::size_t>(i)] = scale * std::sin(static_cast<float>(i) * 0.7F + 1);
  return b.constant("w", std::move(tensor));
}

ValueId recurrent(GraphBuilder& b, const std::string& op, ValueId x, int64_t units,
                  const std::string& direction) {
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const int64_t rows = (op == "LSTM" ? 4 : 3) * units;
  return b.add(op,
               {x, weights(b, {directions, rows, units}), weights(b, {directions, rows, units}),
                weights(b, {directions, 2 * rows})},
               {{"hidden_size", units}, {"direction", direction}});
}

template <typename F>
Case two_branches(const std::string& name, const Shape& shape, F branch) {
  GraphBuilder b("branches");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, shape));
  b.set_outputs({branch(b, x, 0), branch(b, x, 1)});
  return {name, *std::move(b).finish()};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (int64_t units : {64, 128, 256})
    all.push_back(two_branches(fmt::format("LSTM forward and reverse, {} units, 32 steps", units),
                               {32, 1, units}, [&](GraphBuilder& b, ValueId x, int i) {
                                 return recurrent(b, "LSTM", x, units, i == 0 ? "forward" : "reverse");
                               }));
  for (int64_t extent : {8, 14, 28})
    all.push_back(two_branches(
        fmt::format("towers of four 3x3 convolutions, 64 channels, {0}x{0}", extent), {1, 64, extent, extent},
        [](GraphBuilder& b, ValueId x, int) {
          for (int i = 0; i < 4; ++i)
            x = b.add("Relu", {b.add("Conv", {x, weights(b, {64, 64, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}})});
          return x;
        }));
  for (int64_t rows : {1, 16})
    for (int64_t width : {64, 128, 256, 512})
      all.push_back(two_branches(fmt::format("towers of four dense layers, {} rows, {} wide", rows, width),
                                 {rows, width}, [&](GraphBuilder& b, ValueId x, int) {
                                   for (int i = 0; i < 4; ++i)
                                     x = b.add("Relu", {b.add("MatMul", {x, weights(b, {width, width})})});
                                   return x;
                                 }));
  for (const char* op : {"LSTM", "GRU"}) {
    for (const char* direction : {"forward", "bidirectional"}) {
      for (int64_t units : {64, 128, 256, 512}) {
        GraphBuilder b("layer");
        const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{32, 1, units}));
        b.output(recurrent(b, op, x, units, direction));
        all.push_back(
            {fmt::format("{} {}, {} units, 32 steps", direction, op, units), *std::move(b).finish(), true});
      }
    }
  }
  return all;
}

Status measure(const Case& item, const runtime::Provider& provider, runtime::TimingCache& cache) {
  HONE_ASSIGN(const graph::Graph graph, lab::optimise(item.graph, provider, {}));
  HONE_ASSIGN(const lab::Inputs inputs, lab::make_inputs(graph, 1));
  std::unique_ptr<runtime::Plan> plans[2];
  for (int i = 0; i < 2; ++i) {
    runtime::PlanOptions options;
    options.cache = &cache;
    if (i == 0) options.overlap = runtime::Overlap::kNever;
    if (i == 0 && item.kernel_alone) options.autotune = false;
    HONE_ASSIGN(plans[i], runtime::Plan::compile(graph, provider, options));
    HONE_CHECK(plans[i]->write(0, inputs.tensors[0]));
  }
  lab::PairedOptions paired;
  paired.budget_ns = 600'000'000;
  HONE_ASSIGN(const lab::PairedResult result,
              lab::run_paired([&] { return plans[0]->run(); }, [&] { return plans[1]->run(); }, paired));
  const auto steps = plans[1]->steps();
  const auto beside =
      std::count_if(steps.begin(), steps.end(), [](const auto& step) { return step.lanes > 1; });
  fmt::print("{{\"case\": \"{}\", \"speedup\": {{\"median\": {:.3f}, \"low\": {:.3f}, \"high\": {:.3f}}}, ",
             item.name, result.ratio.median, result.ratio.low, result.ratio.high);
  fmt::print("\"ms\": [{:.4f}, {:.4f}], ", median(result.a_ms), median(result.b_ms));
  fmt::print("\"operators\": {}, \"side_by_side\": {}, \"arena_bytes\": [{}, {}], \"last\": \"{}\"}}\n",
             steps.size(), beside, plans[0]->memory().arena_bytes, plans[1]->memory().arena_bytes,
             steps.back().implementation);
  return {};
}

}  // namespace

int main() {
  const auto provider = runtime::make_provider("cpu");
  if (!provider.ok()) return 1;
  const std::unique_ptr<runtime::Hold> hold = (*provider)->hold();
  runtime::TimingCache cache;
  for (const Case& item : cases()) {
    const Status measured = measure(item, **provider, cache);
    if (measured.ok()) continue;
    fmt::print(stderr, "bench_overlap: {}: {}\n", item.name, measured.error().message);
    return 1;
  }
  return 0;
}
