// Kernels that are bound by memory: GB/s of compulsory bytes (inputs read once, outputs written once), to be
// held against the machine's copy bandwidth at that size.
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/tensor.h"
#include "kernels/cpu/movement/reorder.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/cpu/normalization/normalization.h"
#include "kernels/cpu/reduction/reduce.h"
#include "kernels/cpu/resize/resize.h"
#include "kernels/cpu/softmax/softmax.h"
#include "kernels/movement/copies.h"

namespace {

using namespace hone;           // NOLINT: a program, not a header
using namespace hone::kernels;  // NOLINT

Tensor filled(int64_t n) {
  Tensor tensor(DType::kF32, {n});
  float x = 0.1f;
  for (float& v : tensor.as<float>()) v = x = x > 1 ? x - 2.01f : x + 0.37f;
  return tensor;
}

// Times kernel(in, out) over tensors of so many floats.
template <typename F>
void measure(benchmark::State& state, int64_t in_floats, int64_t out_floats, const F& kernel) {
  const Tensor in = filled(in_floats);
  Tensor out = filled(out_floats);
  for (auto _ : state) {
    kernel(static_cast<const float*>(in.data()), static_cast<float*>(out.data()));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (in_floats + out_floats) * 4);
}

void copy(benchmark::State& state) {
  const int64_t n = state.range(0);
  measure(state, n, n,
          [&](const float* in, float* out) { std::memcpy(out, in, static_cast<std::size_t>(n) * 4); });
}

void transpose(benchmark::State& state) {
  const int64_t rows = state.range(0), columns = state.range(1);
  const auto kernel = StridedCopy::create(transpose_copy(4, Shape{rows, columns}, Shape{1, 0}));
  measure(state, rows * columns, rows * columns,
          [&](const float* in, float* out) { kernel->execute(in, out); });
}

void attention_heads(benchmark::State& state) {  // [1, T, 12, 64] to [1, 12, T, 64]
  const int64_t tokens = state.range(0), n = tokens * 12 * 64;
  const auto kernel = StridedCopy::create(transpose_copy(4, Shape{1, tokens, 12, 64}, Shape{0, 2, 1, 3}));
  measure(state, n, n, [&](const float* in, float* out) { kernel->execute(in, out); });
}

void reorder(benchmark::State& state, Layout from, Layout to) {
  const int64_t channels = 64, spatial = state.range(0);
  const auto kernel = Reorder::create({1, channels, spatial, from, to});
  measure(state, channels * spatial, channels * spatial,
          [&](const float* in, float* out) { kernel->execute(in, out); });
}

void resize(benchmark::State& state, Layout layout, ResizeMode mode) {
  const int64_t side = state.range(0);
  const auto kernel = Resize::create({.batch = 1,
                                      .channels = 64,
                                      .layout = layout,
                                      .in_spatial = {side, side},
                                      .out_spatial = {2 * side, 2 * side},
                                      .mode = mode});
  Tensor scratch(DType::kU8, {static_cast<int64_t>(kernel->scratch_bytes()) + 64});
  measure(state, 64 * side * side, 256 * side * side,
          [&](const float* in, float* out) { kernel->execute(in, out, scratch.data()); });
}

void softmax(benchmark::State& state) {
  const int64_t length = state.range(0), rows = (1 << 18) / length;
  const auto kernel = Softmax::create({.outer = {rows}, .length = length});
  measure(state, rows * length, rows * length,
          [&](const float* in, float* out) { kernel->execute(in, nullptr, out); });
}

void layer_norm(benchmark::State& state) {
  const int64_t rows = state.range(0), length = 768;
  const auto kernel = LayerNorm::create({rows, length, 1e-5f, false});
  const Tensor scale = filled(length), bias = filled(length);
  measure(state, rows * length, rows * length, [&](const float* in, float* out) {
    kernel->execute({.x = in,
                     .scale = static_cast<const float*>(scale.data()),
                     .bias = static_cast<const float*>(bias.data()),
                     .y = out});
  });
}

void average_pool(benchmark::State& state, bool blocked) {
  const int64_t spatial = state.range(0), channels = 512;
  const auto kernel = blocked ? Reduce::create({{channels / 16, spatial, 16}, {1}, Reduction::kMean})
                              : Reduce::create({{channels, spatial}, {1}, Reduction::kMean});
  measure(state, channels * spatial, channels,
          [&](const float* in, float* out) { kernel->execute(in, out); });
}

BENCHMARK(copy)->Arg(1 << 14)->Arg(1 << 18)->Arg(1 << 22);
BENCHMARK(transpose)->Args({128, 128})->Args({512, 512})->Args({1000, 3000});
BENCHMARK(attention_heads)->Arg(128)->Arg(512);
BENCHMARK_CAPTURE(reorder, plain_to_blocked16, Layout::kPlain, Layout::kBlocked16)->Arg(196)->Arg(3136);
BENCHMARK_CAPTURE(reorder, blocked16_to_plain, Layout::kBlocked16, Layout::kPlain)->Arg(196)->Arg(3136);
BENCHMARK_CAPTURE(reorder, plain_to_channels_last, Layout::kPlain, Layout::kChannelsLast)
    ->Arg(196)
    ->Arg(3136);
BENCHMARK_CAPTURE(resize, nearest_plain, Layout::kPlain, ResizeMode::kNearest)->Arg(16)->Arg(64);
BENCHMARK_CAPTURE(resize, nearest_blocked16, Layout::kBlocked16, ResizeMode::kNearest)->Arg(16)->Arg(64);
BENCHMARK_CAPTURE(resize, linear_plain, Layout::kPlain, ResizeMode::kLinear)->Arg(16)->Arg(64);
BENCHMARK_CAPTURE(resize, linear_blocked16, Layout::kBlocked16, ResizeMode::kLinear)->Arg(16)->Arg(64);
BENCHMARK(softmax)->Arg(128)->Arg(197)->Arg(1000);
BENCHMARK(layer_norm)->Arg(128)->Arg(4096);
BENCHMARK_CAPTURE(average_pool, plain, false)->Arg(49);
BENCHMARK_CAPTURE(average_pool, blocked16, true)->Arg(49);

}  // namespace

BENCHMARK_MAIN();
