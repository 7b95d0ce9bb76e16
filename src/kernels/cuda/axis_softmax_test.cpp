// Softmax along columns without a GPU: run as C++ of the host against sums in double, at extents on both sides of every
// choice of path; and what NVRTC makes of the kernels for each architecture.
#include "kernels/cuda/axis_softmax.h"

#include <cmath>
#include <random>

#include "cuda/testing/real_nvrtc.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/cuda/testing/element_values.h"
#include "kernels/cuda/testing/host_kernels.h"

namespace hone::kernels::gpu {
namespace {

// Lanes of one, two, four and eight; warps that have rows of several lines and lines of several warps; both ways to hold
// a line; blocks whose strip is wider than all lines, or ends within one.
std::vector<AxisSoftmaxProgram> softmax_programs() {
  std::vector<AxisSoftmaxProgram> programs;
  const auto add = [&](int64_t outer, int64_t extent, int64_t inner) {
    constexpr std::array kTypes = {DType::kF16, DType::kF32, DType::kBF16};
    const std::size_t turn = programs.size();
    programs.push_back(
        {.dtype = kTypes[turn % 3], .outer = outer, .extent = extent, .inner = inner, .log = turn % 4 == 3});
  };
  for (const int64_t extent : {1, 2, 8, 9, 21, 64, 65, 150, 257, 512}) {
    add(2, extent, 40);
    add(3, extent, 7);
  }
  add(1, 16, 264);
  add(5, 300, 2);
  for (const int64_t extent : {kMostAxisInRegisters - 1, kMostAxisInRegisters, kMostAxisInRegisters + 1,
                               int64_t{2500}, int64_t{4099}}) {
    add(1, extent, 24);
    add(2, extent, 1);
    add(1, extent, 20);
  }
  return programs;
}

// Numbers of both signs; here and there minus infinity, which begins some lines.
Tensor softmax_input(const AxisSoftmaxProgram& program) {
  const Shape shape{program.outer, program.extent, program.inner};
  std::mt19937 random(static_cast<unsigned>(program.extent));
  Tensor x = testing::normal_values(program.dtype, shape, 1, 3, 4);
  for (int64_t i = 0; i < x.size(); i += 3)
    if (random() % 7 == 0 && program.extent > 8) testing::set_element(x, i, -INFINITY);
  return x;
}

void expect_softmax(const AxisSoftmaxProgram& program, const Tensor& x, const Tensor& y) {
  const double tolerance = program.dtype == DType::kF32 ? 4e-6 : program.dtype == DType::kF16 ? 1e-3 : 8e-3;
  for (int64_t line = 0; line < program.outer * program.inner; ++line) {
    const int64_t begin = line / program.inner * program.extent * program.inner + line % program.inner;
    const auto at = [&](int64_t k) { return begin + k * program.inner; };
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < program.extent; ++k) most = std::max(most, x.at(at(k)));
    for (int64_t k = 0; k < program.extent; ++k) sum += std::exp(x.at(at(k)) - most);
    for (int64_t k = 0; k < program.extent; ++k) {
      const double exponent = x.at(at(k)) - most;
      const double wanted = program.log ? exponent - std::log(sum) : std::exp(exponent) / sum;
      const double found = y.at(at(k));
      if (std::isinf(wanted)) {
        ASSERT_EQ(found, wanted);
      } else {
        ASSERT_NEAR(found, wanted, tolerance * std::max(program.log ? 1.0 : 1e-4, std::abs(wanted)))
            << fmt::format("[{}, {}, {}] {} log {}: line {}, {}", program.outer, program.extent,
                           program.inner, dtype_name(program.dtype), program.log, line, k);
      }
    }
  }
}

TEST(GeneratedAxisSoftmax, IsWhatItsDefinitionSaysInPlaceToo) {
  const std::vector<AxisSoftmaxProgram> programs = softmax_programs();
  testing::HostKernels host("hone-axis-softmax-kernels");
  std::vector<AxisSoftmaxKernel> kernels;
  for (const AxisSoftmaxProgram& program : programs) {
    kernels.push_back(*generate_axis_softmax(program));
    EXPECT_EQ(kernels.back().in_registers, program.extent <= kMostAxisInRegisters);
    host.add(kernels.back().source, kAxisSoftmaxEntry);
  }
  host.compile();
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Tensor x = softmax_input(programs[i]);
    Tensor y = softmax_input(programs[i]);  // in place
    host.run(i, {static_cast<unsigned>(kernels[i].blocks), 1, 1, kAxisSoftmaxBlock, 1, 1},
             {y.data(), y.data()});
    expect_softmax(programs[i], x, y);
  }
}

// A line without any number, of one NaN, and of an infinity are NaN from end to end, on both ways; their neighbours are not.
TEST(GeneratedAxisSoftmax, KeepsWhatIsNoNumberToItsLine) {
  testing::HostKernels host("hone-axis-softmax-nan-kernels");
  std::vector<AxisSoftmaxProgram> programs;
  std::vector<AxisSoftmaxKernel> kernels;
  for (const int64_t extent : {int64_t{70}, kMostAxisInRegisters + 60}) {
    programs.push_back({.dtype = DType::kF32, .extent = extent, .inner = 5});
    kernels.push_back(*generate_axis_softmax(programs.back()));
    host.add(kernels.back().source, kAxisSoftmaxEntry);
  }
  host.compile();
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const int64_t extent = programs[i].extent;
    Tensor x = Tensor::zeros(DType::kF32, {extent, 5}), y = Tensor::zeros(DType::kF32, {extent, 5});
    for (int64_t k = 0; k < extent; ++k) testing::set_element(x, k * 5 + 1, -INFINITY);
    testing::set_element(x, (extent - 3) * 5 + 2, NAN);
    testing::set_element(x, 9 * 5 + 3, INFINITY);
    host.run(i, {static_cast<unsigned>(kernels[i].blocks), 1, 1, kAxisSoftmaxBlock, 1, 1},
             {x.data(), y.data()});
    for (const int64_t k : {int64_t{0}, extent - 3}) {
      for (const int64_t line : {0, 4})
        EXPECT_FLOAT_EQ(static_cast<float>(y.at(k * 5 + line)), 1.0F / static_cast<float>(extent));
      for (const int64_t line : {1, 2}) EXPECT_TRUE(std::isnan(y.at(k * 5 + line))) << line;
    }
    EXPECT_TRUE(std::isnan(y.at(9 * 5 + 3)));
  }
}

TEST(GeneratedAxisSoftmax, OfTypesAndExtentsThatItDoesNotComputeIsRefused) {
  for (const AxisSoftmaxProgram& program :
       {AxisSoftmaxProgram{.dtype = DType::kF64}, AxisSoftmaxProgram{.extent = 0},
        AxisSoftmaxProgram{.extent = int64_t{1} << 31}}) {
    const auto kernel = generate_axis_softmax(program);
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().code, ErrorCode::kUnsupported);
  }
}

class RealNvrtcAxisSoftmax : public ::testing::TestWithParam<int> {};

// What a strip loads hides what another computes only if both fit a multiprocessor.
TEST_P(RealNvrtcAxisSoftmax, CompilesWithoutSpillsAndFitsTwiceWhereItHasTo) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  for (const AxisSoftmaxProgram& program :
       {AxisSoftmaxProgram{.dtype = DType::kF16, .extent = 1024, .inner = 1024},
        AxisSoftmaxProgram{.dtype = DType::kF32, .extent = 1000, .inner = 1024},
        AxisSoftmaxProgram{.dtype = DType::kBF16, .extent = 1000, .inner = 1024, .log = true},
        AxisSoftmaxProgram{.dtype = DType::kF32, .extent = 21, .inner = 262144},
        AxisSoftmaxProgram{.dtype = DType::kF16, .extent = 5000, .inner = 1024},
        AxisSoftmaxProgram{.dtype = DType::kF32, .extent = 5000, .inner = 33}}) {
    const AxisSoftmaxKernel kernel = *generate_axis_softmax(program);
    const auto compiled =
        nvrtc->compile(kernel.source.text, "axis_softmax.cu", {GetParam()}, kernel.source.options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    ASSERT_EQ(compiled->uses.size(), 1U);
    const cuda::KernelUse& use = compiled->uses[0];
    EXPECT_EQ(use.spill_stores + use.spill_loads + use.stack_bytes, 0)
        << program.log << program.extent << " of " << dtype_name(program.dtype) << ", registers "
        << use.registers;
    EXPECT_LE(use.registers * kAxisSoftmaxBlock * 2, 65536) << program.extent;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, RealNvrtcAxisSoftmax, ::testing::Values(80, 90, 100, 120),
                         [](const auto& test) { return fmt::format("sm_{}", test.param); });

}  // namespace
}  // namespace hone::kernels::gpu
