// Generated pads without a GPU: run on the host against each result's definition, for every mode and size of element, with
// extents on both sides of every choice of path, into outputs that were filled before; and what NVRTC makes of them.
#include "kernels/cuda/pad.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "cuda/testing/real_nvrtc.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/tensor.h"
#include "kernels/cuda/testing/host_kernels.h"

namespace hone::kernels::gpu {
namespace {

using Mode = PadProgram::Mode;

struct PadTest {
  PadProgram program;
  bool vector_loads = false;  // of the path that it takes
};

std::string pad_name(const PadTest& test) {
  return fmt::format("{} by {} and {}, mode {}, {} bytes", shape_text(test.program.shape),
                     shape_text(test.program.before), shape_text(test.program.after),
                     static_cast<int>(test.program.mode), test.program.element_size);
}

std::vector<PadTest> pad_tests() {
  std::vector<PadTest> tests;
  for (const Mode mode : {Mode::kConstant, Mode::kEdge, Mode::kReflect, Mode::kWrap}) {
    const auto add = [&](std::size_t size, const Shape& shape, const Shape& before, const Shape& after,
                         bool vectors) {
      tests.push_back(
          {{.mode = mode, .element_size = size, .shape = shape, .before = before, .after = after}, vectors});
    };
    // Whole vectors: rows, the axes around them, both; what is left out, too.
    add(2, {5, 64}, {0, 32}, {0, 16}, true);
    add(2, {3, 4, 64}, {1, 2, 8}, {0, 1, 24}, true);
    add(2, {5, 64}, {-1, -8}, {2, 8}, true);
    add(1, {4, 48}, {1, 16}, {0, 32}, true);
    add(4, {2, 5, 12}, {0, 2, 0}, {1, 1, 0}, true);
    add(8, {3, 6, 5}, {1, 2, 1}, {0, 1, 2}, true);
    add(8, {3, 6}, {0, 2}, {0, 4}, true);
    add(2, {3, 12}, {0, 4}, {0, 4}, true);  // half a vector
    // Elements that are looked up: a quarter of a vector, rows and pads that are odd, a result that ends in a vector.
    add(2, {3, 10}, {0, 2}, {0, 4}, false);
    add(2, {7, 33}, {2, 3}, {1, 5}, false);
    add(4, {5, 7}, {0, 1}, {1, 3}, false);
    add(1, {3, 2, 9}, {1, 0, 4}, {1, 1, -2}, false);
    add(2, {1, 3, 6, 7}, {0, 0, 1, 2}, {0, 1, 0, 3}, false);
    add(1, {3}, {1}, {1}, false);
    // Where the axes inside are not padded, constants come in runs.
    add(2, {4, 5, 3}, {1, 0, 0}, {2, 0, 0}, false);
    add(2, {4, 3, 8}, {1, 0, 0}, {2, 0, 0}, true);
  }
  // Several vectors a thread.
  tests.push_back({{.element_size = 8, .shape = {2049, 1024}, .before = {0, 2}, .after = {1, 2}}, true});
  tests.push_back({{.element_size = 8, .shape = {2049, 1023}, .before = {0, 2}, .after = {1, 2}}, true});
  return tests;
}

// Where an axis has what stands at `at`; -1: nowhere.
int64_t defined_place(Mode mode, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  switch (mode) {
    case Mode::kConstant:
      return -1;
    case Mode::kEdge:
      return at < 0 ? 0 : extent - 1;
    case Mode::kReflect:
      for (; at < 0 || at >= extent;) at = at < 0 ? -at : 2 * (extent - 1) - at;
      return at;
    case Mode::kWrap:
      return (at + 100 * extent) % extent;
  }
  return -1;
}

Shape padded_shape(const PadProgram& program) {
  Shape shape = program.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] += program.before[i] + program.after[i];
  return shape;
}

void expect_padded(const PadTest& test, const std::vector<uint8_t>& x, const std::vector<uint8_t>& filling,
                   const std::vector<uint8_t>& y) {
  const PadProgram& program = test.program;
  const Shape shape = padded_shape(program);
  const std::vector<int64_t> steps = row_major_strides(program.shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    int64_t from = 0, rest = i;
    bool inside = true;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
      const int64_t at =
          defined_place(program.mode, rest % shape[axis] - program.before[axis], program.shape[axis]);
      inside = inside && at >= 0;
      from += at * steps[axis];
    }
    const std::size_t size = program.element_size;
    const uint8_t* const wanted = inside ? x.data() + static_cast<std::size_t>(from) * size : filling.data();
    ASSERT_EQ(std::memcmp(y.data() + static_cast<std::size_t>(i) * size, wanted, size), 0)
        << pad_name(test) << ": " << i;
  }
}

std::vector<uint8_t> random_bytes(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(static_cast<std::size_t>(count));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST(GeneratedPad, IsWhatItsDefinitionSaysAndWritesNothingElse) {
  const std::vector<PadTest> tests = pad_tests();
  testing::HostKernels host("hone-pad-kernels");
  std::vector<PadKernel> kernels;
  for (const PadTest& test : tests) {
    kernels.push_back(*generate_pad(test.program));
    EXPECT_EQ(kernels.back().vector_loads, test.vector_loads) << pad_name(test);
    host.add(kernels.back().source, kPadEntry);
  }
  host.compile();
  constexpr int64_t kBehind = 64;  // bytes that stay as they were
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const auto size = static_cast<int64_t>(tests[i].program.element_size);
    const std::vector<uint8_t> x = random_bytes(element_count(tests[i].program.shape) * size, 1),
                               filling = random_bytes(size, 2);
    const int64_t bytes = element_count(padded_shape(tests[i].program)) * size;
    const Tensor in = Tensor::of<uint8_t>(DType::kU8, {static_cast<int64_t>(x.size())}, x);
    Tensor out = Tensor::of<uint8_t>(DType::kU8, {bytes + kBehind}, random_bytes(bytes + kBehind, 3));
    host.run(i, {static_cast<unsigned>(kernels[i].blocks), 1, 1, kPadBlock, 1, 1},
             {in.data(), out.data(), filling.data()});
    std::vector<uint8_t> y(static_cast<std::size_t>(bytes + kBehind));
    std::memcpy(y.data(), out.data(), y.size());
    expect_padded(tests[i], x, filling, y);
    const std::vector<uint8_t> before = random_bytes(bytes + kBehind, 3);
    EXPECT_TRUE(std::equal(y.begin() + bytes, y.end(), before.begin() + bytes)) << pad_name(tests[i]);
  }
}

TEST(GeneratedPad, OfNothingIsRefused) {
  for (const PadProgram& program :
       {PadProgram{.shape = {0, 3}, .before = {1, 0}, .after = {0, 0}},
        PadProgram{.shape = {2, 3}, .before = {-1, 0}, .after = {-1, 0}},
        PadProgram{.element_size = 16, .shape = {2}, .before = {1}, .after = {0}}}) {
    const auto kernel = generate_pad(program);
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().code, ErrorCode::kUnsupported);
  }
}

class RealNvrtcPads : public ::testing::TestWithParam<int> {};

TEST_P(RealNvrtcPads, CompileWithoutSpillsAndLocalMemory) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  std::vector<PadTest> tests = pad_tests();
  // Several loads a thread, and more results than 31 bits count.
  for (const int64_t rows : {int64_t{65536}, int64_t{1} << 22}) {
    for (const int64_t pad : {32, 3})
      tests.push_back(
          {{.element_size = 2, .shape = {rows, 1024}, .before = {0, pad}, .after = {0, pad}}, false});
  }
  std::string text(kBasePrelude);
  for (std::size_t i = 0; i < tests.size(); ++i)
    text += testing::with_number(generate_pad(tests[i].program)->source.text, i, {kPadEntry});
  const auto compiled = nvrtc->compile(text, "pads.cu", {GetParam()}, {});
  cuda::testing::expect_registers_alone(compiled, tests.size());
}

INSTANTIATE_TEST_SUITE_P(Architectures, RealNvrtcPads, ::testing::Values(80, 90, 100, 120),
                         [](const auto& test) { return fmt::format("sm_{}", test.param); });

}  // namespace
}  // namespace hone::kernels::gpu
