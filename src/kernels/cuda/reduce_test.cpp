// Generated reductions without a GPU: run on the host against sums in double, with rows and columns of lengths around all
// that a thread, a warp, a block and a part have; and what NVRTC makes of them. Those of nodes: runtime/cuda.
#include "kernels/cuda/reduce.h"

#include <algorithm>
#include <cmath>

#include "cuda/testing/real_nvrtc.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/cuda/testing/element_values.h"
#include "kernels/cuda/testing/host_kernels.h"
#include "kernels/reduction/testing/definition.h"

namespace hone::kernels::gpu {
namespace {

// Reductions and types take turns. Products are of few numbers alone: of many they are 0 or infinite.
std::vector<ReduceProgram> reduce_programs() {
  std::vector<ReduceProgram> programs;
  constexpr std::array kTypes = {DType::kF32, DType::kF16, DType::kBF16};
  constexpr std::array kOps = {Reduction::kSum,       Reduction::kMean,      Reduction::kMax, Reduction::kL1,
                               Reduction::kLogSumExp, Reduction::kSumSquare, Reduction::kMin, Reduction::kL2};
  const auto add = [&](const Shape& shape, std::vector<int64_t> axes) {
    const std::size_t turn = programs.size();
    programs.push_back({.desc = {.shape = shape, .axes = std::move(axes), .op = kOps[turn % kOps.size()]},
                        .dtype = kTypes[turn % 3],
                        .f32_results = turn % 5 == 0,
                        .arg = {}});
  };
  for (const int64_t length : {1, 2, 7, 31, 32, 33, 255, 256, 257, 1024, 2056, 9000}) {
    add({5, length}, {1});
    add({length, 40}, {0});
    add({length, 3}, {0});
  }
  for (const int64_t length : {40001, 131072}) {  // in parts
    add({2, length}, {1});
    add({length, 24}, {0});
    add({length, 1, 3}, {0});
  }
  add({70, 9, 50}, {0, 2});
  add({6, 50, 7, 16}, {0, 2});
  add({3000, 8}, {0, 1});
  programs.push_back({.desc = {.shape = {5, 9}, .axes = {1}, .op = Reduction::kProd}, .arg = {}});
  for (const int64_t length : {1, 40, 700, 40001}) {
    for (const bool min : {false, true}) {
      programs.push_back({.desc = {.shape = {3, length}, .axes = {1}},
                          .dtype = DType::kF16,
                          .arg = ArgExtremumForm{.min = min, .last = min}});
      programs.push_back(
          {.desc = {.shape = {length, 24}, .axes = {0}}, .arg = ArgExtremumForm{.min = min, .last = !min}});
    }
  }
  return programs;
}

std::string reduce_name(const ReduceProgram& program) {
  return fmt::format("{} along {} of {}, reduction {}{}", shape_text(program.desc.shape),
                     shape_text(program.desc.axes), dtype_name(program.dtype),
                     static_cast<int>(program.desc.op), program.arg ? ", place" : "");
}

double reduced(const ReduceProgram& program, const std::vector<double>& values) {
  if (program.arg) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < values.size(); ++i) {
      const bool better = program.arg->min ? values[i] < values[best] : values[i] > values[best];
      if (better || (program.arg->last && values[i] == values[best])) best = i;
    }
    return static_cast<double>(best);
  }
  return reduced_by_definition(program.desc.op, values);
}

void expect_reduced(const ReduceProgram& program, const Tensor& x, const Tensor& y) {
  const Shape& shape = program.desc.shape;
  std::vector<std::vector<double>> values(static_cast<std::size_t>(y.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t result = 0, step = 1, rest = i;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
      const auto& axes = program.desc.axes;
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end()) continue;
      result += rest % shape[axis] * step;
      step *= shape[axis];
    }
    values[static_cast<std::size_t>(result)].push_back(x.at(i));
  }
  const double tolerance = y.dtype() == DType::kF16 ? 1e-3 : y.dtype() == DType::kBF16 ? 8e-3 : 1e-5;
  for (int64_t i = 0; i < y.size(); ++i) {
    const auto& own = values[static_cast<std::size_t>(i)];
    const double wanted = reduced(program, own);
    ASSERT_NEAR(y.at(i), wanted, program.arg ? 0 : tolerance * std::max(1.0, std::abs(wanted)))
        << reduce_name(program) << ": " << i;
  }
}

DType type_of_results(const ReduceProgram& program) {
  return program.arg ? DType::kI64 : program.f32_results ? DType::kF32 : program.dtype;
}

TEST(GeneratedReductionsOnTheHost, AreWhatTheirDefinitionsSayTheSameEachTime) {
  const std::vector<ReduceProgram> programs = reduce_programs();
  testing::HostKernels host("hone-reduce-kernels");
  std::vector<ReduceKernel> kernels;
  std::vector<std::array<std::size_t, 2>> numbers;
  for (const ReduceProgram& program : programs) {
    kernels.push_back(*generate_reduce(program));
    const ReduceKernel& kernel = kernels.back();
    numbers.push_back({host.add(kernel.source, kReduceEntry),
                       kernel.parts > 1 ? host.add(kernel.source, kJoinPartsEntry) : 0});
  }
  host.compile();
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const ReduceKernel& kernel = kernels[i];
    const ReduceProgram& program = programs[i];
    // Means of about one half: sums of many stay within f16.
    const Tensor x = testing::normal_values(program.dtype, program.desc.shape, 1,
                                            program.desc.op == Reduction::kSum ? 0 : 0.5F, 0.5F);
    int64_t results = x.size();
    for (const int64_t axis : program.desc.axes)
      results /= program.desc.shape[static_cast<std::size_t>(axis)];
    std::vector<std::vector<std::byte>> found;
    for (int time = 0; time < 2; ++time) {
      Tensor y = Tensor::zeros(type_of_results(program), {results});
      std::vector<std::byte> scratch(kernel.scratch_bytes + 16, static_cast<std::byte>(0x7f));
      const bool parts = kernel.parts > 1;
      host.run(numbers[i][0],
               {static_cast<unsigned>(kernel.blocks), static_cast<unsigned>(kernel.parts), 1,
                static_cast<unsigned>(kernel.threads_x), static_cast<unsigned>(kernel.threads_y), 1},
               {x.data(), parts ? static_cast<void*>(scratch.data()) : y.data()});
      if (parts)
        host.run(numbers[i][1], {static_cast<unsigned>(kernel.join_blocks), 1, 1, 256, 1, 1},
                 {scratch.data(), y.data()});
      expect_reduced(program, x, y);
      const auto* const bytes = static_cast<const std::byte*>(y.data());
      found.emplace_back(bytes, bytes + static_cast<std::size_t>(y.size()) * dtype_size(y.dtype()));
    }
    EXPECT_EQ(found[0], found[1]) << reduce_name(program);
  }
}

class RealNvrtcReductions : public ::testing::TestWithParam<int> {};

// Loads on their way take registers, of which four blocks have to have enough.
TEST_P(RealNvrtcReductions, CompileWithoutSpillsAndLocalMemory) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const Reduction op : {Reduction::kSum, Reduction::kMax, Reduction::kL2, Reduction::kProd}) {
      for (const int64_t axis : {0, 1}) {
        const ReduceKernel kernel = *generate_reduce(
            {.desc = {.shape = {65536, 1024}, .axes = {axis}, .op = op}, .dtype = dtype, .arg = {}});
        const auto compiled =
            nvrtc->compile(kernel.source.text, "reduce.cu", {GetParam()}, kernel.source.options);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message;
        for (const cuda::KernelUse& use : compiled->uses) {
          EXPECT_EQ(use.spill_stores + use.spill_loads + use.stack_bytes, 0) << use.name << ", axis " << axis;
          EXPECT_LE(use.registers, 64) << use.name << ", axis " << axis;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, RealNvrtcReductions, ::testing::Values(80, 90, 100, 120),
                         [](const auto& test) { return fmt::format("sm_{}", test.param); });

}  // namespace
}  // namespace hone::kernels::gpu
