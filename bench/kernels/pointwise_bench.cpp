// Pointwise groups against the memory they must move: GB/s of compulsory bytes (inputs once, outputs once).
#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/tensor.h"
#include "kernels/cpu/pointwise/pointwise.h"

namespace {

using hone::DType;
using hone::Tensor;
using hone::kernels::Pointwise;
using hone::kernels::PointwiseOp;
using hone::kernels::PointwiseProgram;

void run(benchmark::State& state, const PointwiseProgram& program, int64_t bytes) {
  auto kernel = Pointwise::create(program);
  if (!kernel) return state.SkipWithError(kernel.error().message.c_str());
  Tensor scratch(DType::kU8, {static_cast<int64_t>(kernel->scratch_bytes())});
  const int64_t n = hone::element_count(program.shape);
  std::vector<Tensor> inputs(program.inputs.size(), Tensor{});
  std::vector<const void*> in;
  for (Tensor& input : inputs) {
    input = Tensor::zeros(DType::kF32, {n});
    for (float& v : input.as<float>()) v = 0.5f;
    in.push_back(input.data());
  }
  Tensor output = Tensor::zeros(DType::kF32, {n});  // its pages are there before the clock starts
  const std::vector<void*> out = {output.data()};
  for (auto _ : state) {
    kernel->execute(in, out, scratch.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

void add_relu(benchmark::State& state) {
  PointwiseProgram program;
  program.shape = {state.range(0)};
  const int a = program.input(DType::kF32, {1}), b = program.input(DType::kF32, {1});
  program.output(program.apply(PointwiseOp::kRelu, program.apply(PointwiseOp::kAdd, a, b)), DType::kF32);
  run(state, program, 12 * state.range(0));
}

void function(benchmark::State& state, PointwiseOp op) {
  PointwiseProgram program;
  program.shape = {state.range(0)};
  program.output(program.apply(op, program.input(DType::kF32, {1}), -1, -1, 1, 1), DType::kF32);
  run(state, program, 8 * state.range(0));
}

void channel_bias_relu(benchmark::State& state) {
  PointwiseProgram program;
  const int64_t pixels = state.range(0);
  program.shape = {64, pixels};
  const int a = program.input(DType::kF32, {pixels, 1}), b = program.input(DType::kF32, {1, 0});
  program.output(program.apply(PointwiseOp::kRelu, program.apply(PointwiseOp::kAdd, a, b)), DType::kF32);
  run(state, program, 8 * 64 * pixels);
}

BENCHMARK(add_relu)->Arg(1 << 8)->Arg(1 << 12)->Arg(1 << 16)->Arg(1 << 20)->Arg(1 << 24)->UseRealTime();
BENCHMARK_CAPTURE(function, exp, PointwiseOp::kExp)->Arg(1 << 14)->Arg(1 << 20)->UseRealTime();
BENCHMARK_CAPTURE(function, tanh, PointwiseOp::kTanh)->Arg(1 << 14)->Arg(1 << 20)->UseRealTime();
BENCHMARK_CAPTURE(function, gelu_erf, PointwiseOp::kGeluErf)->Arg(1 << 14)->Arg(1 << 20)->UseRealTime();
BENCHMARK_CAPTURE(function, gelu_tanh, PointwiseOp::kGeluTanh)->Arg(1 << 14)->Arg(1 << 20)->UseRealTime();
BENCHMARK_CAPTURE(function, sigmoid, PointwiseOp::kSigmoid)->Arg(1 << 14)->Arg(1 << 20)->UseRealTime();
BENCHMARK(channel_bias_relu)->Arg(49)->Arg(196)->Arg(3136)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
