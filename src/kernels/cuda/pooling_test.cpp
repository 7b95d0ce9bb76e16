// Generated poolings without a GPU: run on the host against each window's definition, on every path and on both sides of
// what each of them needs, into outputs that were filled before; and what NVRTC makes of them.
#include "kernels/cuda/pooling.h"

#include <cmath>

#include "cuda/testing/real_nvrtc.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/cuda/testing/element_values.h"
#include "kernels/cuda/testing/host_kernels.h"

namespace hone::kernels::gpu {
namespace {

struct PoolTest {
  PoolProgram program;
  PoolPath path = PoolPath::kResults;
  int64_t lanes = 1;
};

std::string pool_name(const PoolTest& test) {
  const Window& w = test.program.windows.back();
  return fmt::format("{} to {} of {}, kind {}, last window {} by {}, dilation {}, pads {} and {}",
                     shape_text(test.program.in), shape_text(test.program.out),
                     dtype_name(test.program.dtype), static_cast<int>(test.program.kind), w.kernel, w.stride,
                     w.dilation, w.pad_begin, w.pad_end);
}

std::vector<PoolTest> pool_tests() {
  std::vector<PoolTest> tests;
  using Kind = PoolProgram::Kind;
  const auto add = [&](DType dtype, const Window& window, const Shape& in, PoolPath path, int64_t lanes,
                       int64_t channels = 3) {
    for (const Kind kind : {Kind::kMax, Kind::kAverage, Kind::kAverageWithPadding}) {
      PoolProgram program{.kind = kind,
                          .dtype = dtype,
                          .batch = 2,
                          .channels = channels,
                          .channels_last = path == PoolPath::kChannels,
                          .windows = std::vector<Window>(in.size(), window),
                          .in = in,
                          .out = {}};
      for (const int64_t extent : in)
        program.out.push_back((extent + window.pad_begin + window.pad_end - window.reach()) / window.stride +
                              1);
      tests.push_back({program, path, lanes});
    }
  };
  const Window two{.kernel = 2, .stride = 2}, three{.kernel = 3, .stride = 2, .pad_begin = 1, .pad_end = 1};
  const Window same{.kernel = 3, .stride = 1, .pad_begin = 1, .pad_end = 1};
  // Rows by whole vectors, by what of one is left, and not at all; windows beside each other and over each other.
  add(DType::kF16, two, {6, 32}, PoolPath::kRows, 4);
  add(DType::kF32, two, {6, 8}, PoolPath::kRows, 2);
  add(DType::kF16, two, {6, 12}, PoolPath::kRows, 2);
  add(DType::kBF16, two, {4, 14}, PoolPath::kRows, 1);
  add(DType::kF16, two, {6, 9}, PoolPath::kResults, 1);
  add(DType::kF16, three, {9, 32}, PoolPath::kRows, 4);
  add(DType::kBF16, three, {7, 33}, PoolPath::kResults, 1);
  add(DType::kF16, same, {5, 24}, PoolPath::kRows, 8);
  add(DType::kF32, same, {5, 12}, PoolPath::kRows, 4);
  add(DType::kF16, same, {5, 7}, PoolPath::kResults, 1);
  add(DType::kF16, {.kernel = 4, .stride = 4}, {8, 32}, PoolPath::kRows, 2);
  add(DType::kF16, {.kernel = 3, .stride = 3}, {6, 24}, PoolPath::kResults, 1);
  add(DType::kF16, {.kernel = 1, .stride = 2}, {5, 16}, PoolPath::kRows, 4);
  add(DType::kF16, {.kernel = 1, .stride = 2, .pad_end = 1}, {4, 16}, PoolPath::kResults,
      1);  // empty windows
  add(DType::kF16, {.kernel = 5, .stride = 1, .pad_begin = 2, .pad_end = 2}, {9, 16}, PoolPath::kRows, 8);
  add(DType::kF16, {.kernel = 13, .stride = 1, .pad_begin = 6, .pad_end = 6}, {14, 16}, PoolPath::kResults,
      1);
  add(DType::kF16, {.kernel = 2, .stride = 2, .dilation = 2, .pad_begin = 1, .pad_end = 1}, {8, 16},
      PoolPath::kResults, 1);
  // One axis and three.
  add(DType::kF16, three, {64}, PoolPath::kRows, 4);
  add(DType::kF32, same, {4, 5, 8}, PoolPath::kRows, 4);
  add(DType::kBF16, two, {4, 6, 7}, PoolPath::kResults, 1);
  // Channels last.
  add(DType::kF16, three, {9, 10}, PoolPath::kChannels, 8, 24);
  add(DType::kF32, two, {6, 8}, PoolPath::kChannels, 4, 12);
  add(DType::kBF16, same, {5, 6}, PoolPath::kChannels, 1, 5);
  return tests;
}

// The result at `place` of the image whose element `i` is at(i).
template <typename At>
double pooled(const PoolProgram& program, const Shape& place, const At& at) {
  using Kind = PoolProgram::Kind;
  double most = -INFINITY, sum = 0, inside = 0, padded = 0;
  int64_t taps = 1;
  for (const Window& w : program.windows) taps *= w.kernel;
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t from = 0, rest = tap, step = 1;
    bool in_image = true, in_padding = true;
    for (std::size_t axis = place.size(); axis-- > 0;) {
      const Window& w = program.windows[axis];
      const int64_t p = place[axis] * w.stride + rest % w.kernel * w.dilation - w.pad_begin;
      rest /= w.kernel;
      in_image = in_image && p >= 0 && p < program.in[axis];
      in_padding = in_padding && p < program.in[axis] + w.pad_end;
      from += p * step;
      step *= program.in[axis];
    }
    padded += in_padding ? 1 : 0;
    if (!in_image) continue;
    inside += 1;
    sum += at(from);
    most = std::isnan(most) || at(from) <= most ? most : at(from);
  }
  const double count = program.kind == Kind::kAverage ? inside : padded;
  return program.kind == Kind::kMax ? most : count == 0 ? 0 : sum / count;
}

void expect_pooled(const PoolTest& test, const Tensor& x, const Tensor& y) {
  const PoolProgram& program = test.program;
  const int64_t in = element_count(program.in), out = element_count(program.out), channels = program.channels;
  const double tolerance = program.kind == PoolProgram::Kind::kMax ? 0
                           : program.dtype == DType::kF32          ? 1e-6
                           : program.dtype == DType::kF16          ? 1e-3
                                                                   : 8e-3;
  for (int64_t image = 0; image < program.batch * channels; ++image) {
    const int64_t step = program.channels_last ? channels : 1;
    const auto begin = [&](int64_t positions) {
      return program.channels_last ? image / channels * positions * channels + image % channels
                                   : image * positions;
    };
    for (int64_t i = 0; i < out; ++i) {
      Shape place(program.out.size());
      int64_t rest = i;
      for (std::size_t axis = place.size(); axis-- > 0; rest /= program.out[axis])
        place[axis] = rest % program.out[axis];
      const double wanted =
          pooled(program, place, [&](int64_t from) { return x.at(begin(in) + from * step); });
      const double found = y.at(begin(out) + i * step);
      if (!std::isfinite(wanted)) {
        ASSERT_TRUE(std::isnan(wanted) ? std::isnan(found) : found == wanted)
            << pool_name(test) << ": " << image << ", " << i;
      } else {
        ASSERT_NEAR(found, wanted, tolerance * std::max(1.0, std::abs(wanted)))
            << pool_name(test) << ": " << image << ", " << i;
      }
    }
  }
}

TEST(GeneratedPooling, IsWhatItsWindowsSayOnEveryPathAndKeepsNan) {
  const std::vector<PoolTest> tests = pool_tests();
  testing::HostKernels host("hone-pool-kernels");
  std::vector<PoolKernel> kernels;
  for (const PoolTest& test : tests) {
    kernels.push_back(*generate_pooling(test.program));
    EXPECT_EQ(kernels.back().path, test.path) << pool_name(test);
    EXPECT_EQ(kernels.back().lanes, test.lanes) << pool_name(test);
    host.add(kernels.back().source, kPoolEntry);
  }
  host.compile();
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const PoolProgram& program = tests[i].program;
    const int64_t images = program.batch * program.channels;
    Tensor x = testing::normal_values(program.dtype, {images * element_count(program.in)}, 1, -2, 3);
    testing::set_element(x, x.size() / 3, NAN);
    Tensor y = testing::normal_values(program.dtype, {images * element_count(program.out)}, 2, 100, 3);
    host.run(i, {static_cast<unsigned>(kernels[i].blocks), 1, 1, kPoolBlock, 1, 1}, {x.data(), y.data()});
    expect_pooled(tests[i], x, y);
  }
}

class RealNvrtcPooling : public ::testing::TestWithParam<int> {};

TEST_P(RealNvrtcPooling, CompilesWithoutSpillsAndLocalMemory) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  const std::vector<PoolTest> tests = pool_tests();
  std::string text(kBasePrelude);
  for (std::size_t i = 0; i < tests.size(); ++i)
    text += testing::with_number(generate_pooling(tests[i].program)->source.text, i, {kPoolEntry});
  const auto compiled =
      nvrtc->compile(text, "poolings.cu", {GetParam()}, std::array{std::string("--fmad=false")});
  cuda::testing::expect_registers_alone(compiled, tests.size());
}

INSTANTIATE_TEST_SUITE_P(Architectures, RealNvrtcPooling, ::testing::Values(80, 90, 100, 120),
                         [](const auto& test) { return fmt::format("sm_{}", test.param); });

}  // namespace
}  // namespace hone::kernels::gpu
