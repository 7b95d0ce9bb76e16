// Generated resizes without a GPU: run on the host against the CPU's tables read one result at a time, at extents on both
// sides of every choice of path, into outputs that were filled before; and what NVRTC makes of them.
#include "kernels/cuda/resize.h"

#include <random>

#include "cuda/testing/real_nvrtc.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/cuda/testing/element_values.h"
#include "kernels/cuda/testing/host_kernels.h"

namespace hone::kernels::gpu {
namespace {

struct ResizeTest {
  ResizeDesc desc;
  DType dtype = DType::kF16;
  int64_t lanes = 1, repeated_rows = 1;  // of the path that it takes
  bool vector_loads = false;
};

ResizeTest resize_test(DType dtype, int64_t batch, Shape in, Shape out, ResizeMode mode, bool last,
                       int64_t channels = 3) {
  return {.desc = {.batch = batch,
                   .channels = channels,
                   .layout = last ? Layout::kChannelsLast : Layout::kPlain,
                   .in_spatial = std::move(in),
                   .out_spatial = std::move(out),
                   .mode = mode,
                   .coordinates = mode == ResizeMode::kNearest ? ResizeCoordinates::kAsymmetric
                                                               : ResizeCoordinates::kHalfPixel,
                   .rounding = ResizeRounding::kFloor},
          .dtype = dtype};
}

std::vector<ResizeTest> resize_tests() {
  std::vector<ResizeTest> tests;
  const auto add = [&](ResizeTest test, int64_t lanes, int64_t rows, bool vectors) {
    test.lanes = lanes;
    test.repeated_rows = rows;
    test.vector_loads = vectors;
    tests.push_back(std::move(test));
  };
  using enum ResizeMode;
  // Large ones by vectors: repeated by two, by four, by more than a vector holds, not at all; rows that end in the middle
  // of one; scales that are no integers, up and down; by three, which divides no vector.
  add(resize_test(DType::kF16, 17, {72, 80}, {144, 160}, kNearest, false), 8, 2, true);
  add(resize_test(DType::kF32, 9, {72, 80}, {144, 160}, kNearest, false), 4, 2, true);
  add(resize_test(DType::kF16, 33, {21, 44}, {84, 176}, kNearest, false), 8, 1, true);
  add(resize_test(DType::kBF16, 30, {96, 6}, {96, 96}, kNearest, false), 8, 1, true);
  add(resize_test(DType::kF16, 24, {90, 82}, {180, 82}, kNearest, false), 2, 2, true);
  add(resize_test(DType::kF16, 42, {50, 100}, {70, 96}, kNearest, false), 8, 1, false);
  add(resize_test(DType::kBF16, 26, {40, 40}, {120, 120}, kNearest, false), 8, 1, false);
  add(resize_test(DType::kF32, 2, {40, 36, 23}, {40, 72, 46}, kNearest, false), 2, 2, true);
  add(resize_test(DType::kF32, 1, {700, 500}, {1025, 1025}, kNearest, false, 1), 1, 1,
      false);  // several a thread
  // Small ones: threads come first.
  add(resize_test(DType::kF16, 1, {8, 8}, {16, 16}, kNearest, false), 1, 1, true);
  add(resize_test(DType::kF32, 1, {5, 7}, {9, 4}, kNearest, false), 1, 1, false);
  add(resize_test(DType::kF32, 2, {9}, {27}, kNearest, false), 1, 1, true);
  // Channels last.
  add(resize_test(DType::kF16, 9, {40, 40}, {80, 80}, kNearest, true, 40), 8, 2, true);
  add(resize_test(DType::kF16, 1, {9, 7}, {14, 21}, kNearest, true, 24), 8, 1, true);
  add(resize_test(DType::kF32, 1, {9, 7}, {18, 14}, kNearest, true, 5), 1, 1, true);
  // Linear: rows by vectors, or by one; channels.
  add(resize_test(DType::kF16, 20, {70, 80}, {144, 160}, kLinear, false), 8, 1, false);
  add(resize_test(DType::kF32, 7, {70, 44}, {144, 90}, kLinear, false), 2, 1, false);
  add(resize_test(DType::kF32, 2, {5, 7}, {10, 9}, kLinear, false), 1, 1, false);
  add(resize_test(DType::kBF16, 2, {5, 4, 7}, {7, 8, 9}, kLinear, true, 16), 8, 1, true);
  return tests;
}

// Result `i` of one image and channel by the CPU's tables.
double resized(const ResizeTest& test, const std::vector<ResizeTable>& tables, const Tensor& x, int64_t begin,
               int64_t step, int64_t i) {
  const std::size_t rank = tables.size();
  std::vector<std::size_t> at(rank);
  for (std::size_t axis = rank; axis-- > 0; i /= test.desc.out_spatial[axis])
    at[axis] = static_cast<std::size_t>(i % test.desc.out_spatial[axis]);
  double sum = 0;
  for (int corner = 0; corner < 1 << rank; ++corner) {
    double weight = 1;
    int64_t from = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const bool high = (corner >> axis & 1) != 0;
      const auto of_high = static_cast<double>(tables[axis].weight[at[axis]]);
      weight *= high ? of_high : 1 - of_high;
      from = from * test.desc.in_spatial[axis] + (high ? tables[axis].high : tables[axis].low)[at[axis]];
    }
    if (test.desc.mode == ResizeMode::kNearest) weight = corner == 0 ? 1 : 0;
    if (weight != 0) sum += weight * x.at(begin + from * step);
  }
  return sum;
}

void expect_resized(const ResizeTest& test, const Tensor& x, const Tensor& y) {
  const auto tables = *resize_tables(test.desc);
  const bool last = test.desc.layout == Layout::kChannelsLast;
  const int64_t in = element_count(test.desc.in_spatial), out = element_count(test.desc.out_spatial);
  const double tolerance = test.desc.mode == ResizeMode::kNearest ? 0
                           : test.dtype == DType::kF32            ? 4e-6
                           : test.dtype == DType::kF16            ? 2e-3
                                                                  : 1.6e-2;
  const int64_t channels = test.desc.channels;
  for (int64_t image = 0; image < test.desc.batch * channels; ++image) {
    const int64_t sample = image / channels, channel = image % channels, step = last ? channels : 1;
    for (int64_t i = 0; i < out; ++i) {
      const int64_t begin = last ? sample * in * channels + channel : image * in;
      const double wanted = resized(test, tables, x, begin, step, i);
      const double found = y.at((last ? sample * out * channels + channel : image * out) + i * step);
      ASSERT_NEAR(found, wanted, tolerance * std::max(1.0, std::abs(wanted)))
          << shape_text(test.desc.in_spatial) << " to " << shape_text(test.desc.out_spatial) << " of "
          << dtype_name(test.dtype) << ", image " << image << ", " << i;
    }
  }
}

TEST(GeneratedResize, PutsWhatTheTablesSayOnEveryPath) {
  const std::vector<ResizeTest> tests = resize_tests();
  testing::HostKernels host("hone-resize-kernels");
  std::vector<ResizeKernel> kernels;
  for (const ResizeTest& test : tests) {
    kernels.push_back(*generate_resize(test.desc, test.dtype));
    const std::string name = fmt::format("{} to {} of {}", shape_text(test.desc.in_spatial),
                                         shape_text(test.desc.out_spatial), dtype_name(test.dtype));
    EXPECT_EQ(kernels.back().lanes, test.lanes) << name;
    EXPECT_EQ(kernels.back().repeated_rows, test.repeated_rows) << name;
    EXPECT_EQ(kernels.back().vector_loads, test.vector_loads) << name;
    host.add(kernels.back().source, kResizeEntry);
  }
  host.compile();
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const auto& [desc, dtype, lanes, rows, vectors] = tests[i];
    const int64_t images = desc.batch * desc.channels;
    const Tensor x = testing::normal_values(dtype, {images * element_count(desc.in_spatial)}, 1, 0, 2);
    Tensor y = testing::normal_values(dtype, {images * element_count(desc.out_spatial)}, 2, 100, 2);
    host.run(i, {static_cast<unsigned>(kernels[i].blocks), 1, 1, kResizeBlock, 1, 1}, {x.data(), y.data()});
    expect_resized(tests[i], x, y);
  }
}

class RealNvrtcResize : public ::testing::TestWithParam<int> {};

TEST_P(RealNvrtcResize, CompilesWithoutSpillsAndLocalMemory) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  std::vector<ResizeTest> tests = resize_tests();
  // Four loads a thread, and more results than 31 bits count.
  tests.push_back(resize_test(DType::kF16, 64, {64, 64}, {128, 128}, ResizeMode::kNearest, false, 128));
  tests.push_back(resize_test(DType::kF16, 64, {64, 64}, {96, 128}, ResizeMode::kNearest, false, 4096));
  std::string text(kBasePrelude);
  for (std::size_t i = 0; i < tests.size(); ++i)
    text +=
        testing::with_number(generate_resize(tests[i].desc, tests[i].dtype)->source.text, i, {kResizeEntry});
  const auto compiled =
      nvrtc->compile(text, "resizes.cu", {GetParam()}, std::array{std::string("--fmad=false")});
  cuda::testing::expect_registers_alone(compiled, tests.size());
}

INSTANTIATE_TEST_SUITE_P(Architectures, RealNvrtcResize, ::testing::Values(80, 90, 100, 120),
                         [](const auto& test) { return fmt::format("sm_{}", test.param); });

}  // namespace
}  // namespace hone::kernels::gpu
