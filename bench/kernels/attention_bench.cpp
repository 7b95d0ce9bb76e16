// Fused attention: GFLOP/s of its two products (2·Tq·Tk·(D + Dv) multiply-adds a head), against the FMA peak
// that a loop of independent multiply-adds reaches on the same cores.
#include <vector>

#include <benchmark/benchmark.h>

#include "core/tensor.h"
#include "kernels/cpu/attention/attention.h"

namespace {

using hone::DType;
using hone::Tensor;

void attention(benchmark::State& state) {
  const int64_t tokens = state.range(0), dim = state.range(1), heads = 12;
  hone::kernels::AttentionDesc desc;
  desc.heads = desc.kv_heads = heads;
  desc.queries = desc.keys = tokens;
  desc.head_dim = desc.value_dim = dim;
  desc.causal = state.range(2) != 0;
  desc.scale = 0.125f;
  desc.q = desc.k = desc.v = desc.out = {tokens * heads * dim, dim, heads * dim, 1};
  auto kernel = hone::kernels::Attention::create(desc);
  if (!kernel) return state.SkipWithError(kernel.error().message.c_str());
  std::vector<Tensor> operands;
  for (int i = 0; i < 4; ++i) {
    operands.push_back(Tensor(DType::kF32, {tokens * heads * dim}));
    float x = 0.1f;
    for (float& v : operands.back().as<float>()) v = x = x > 1 ? x - 2.01f : x + 0.37f;
  }
  Tensor scratch(DType::kU8, {static_cast<int64_t>(kernel->scratch_bytes())});
  const auto p = [&](std::size_t i) { return static_cast<float*>(operands[i].data()); };
  for (auto _ : state) {
    kernel->execute(p(0), p(1), p(2), nullptr, p(3), scratch.data());
    benchmark::ClobberMemory();
  }
  const double flops = 4.0 * static_cast<double>(heads * tokens * tokens * dim) * (desc.causal ? 0.5 : 1.0);
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK(attention)
    ->ArgNames({"T", "D", "causal"})
    ->ArgsProduct({{128, 197, 512}, {32, 64}, {0}})
    ->Args({1024, 64, 1})
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
