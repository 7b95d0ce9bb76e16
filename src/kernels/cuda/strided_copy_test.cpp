// Generated strided copies without a GPU: run on the host against the CPU's kernel on random transposes and slices of odd
// extents, into outputs that were filled before; and what NVRTC makes of them for each architecture.
#include "kernels/cuda/strided_copy.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "cuda/testing/real_nvrtc.h"
#include <gtest/gtest.h>

#include "core/tensor.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/cuda/testing/host_kernels.h"

namespace hone::kernels::gpu {
namespace {

struct CopyTest {
  StridedCopyDesc desc;
  int64_t in = 0, out = 0;  // elements of the two tensors
};

// A permutation of a random shape, or a slice of one with steps of either sign, put into a larger output.
CopyTest random_copy(std::mt19937& random) {
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  constexpr std::array<std::size_t, 5> kSizes = {1, 2, 4, 8, 16};
  const std::size_t size = kSizes[static_cast<std::size_t>(below(5))];
  const auto rank = static_cast<std::size_t>(below(4) + 1);
  constexpr std::array<int64_t, 9> kExtents = {1, 2, 3, 8, 16, 17, 32, 37, 70};
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i)
    shape.push_back(kExtents[static_cast<std::size_t>(below(rank > 2 ? 7 : 9))]);
  CopyTest test;
  test.in = test.out = element_count(shape);
  if (below(2) == 0) {
    Shape order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    test.desc = transpose_copy(size, shape, order);
    return test;
  }
  std::vector<int64_t> starts, steps;
  Shape cut;
  for (const int64_t extent : shape) {
    const int64_t step = below(3) - 1;  // back, all of it, on
    steps.push_back(step == 0 ? 1 : step * (below(2) + 1));
    starts.push_back(steps.back() < 0 ? extent - 1 : below(2) * (extent - 1) / 2);
    cut.push_back((steps.back() < 0 ? extent - 1 : extent - 1 - starts.back()) / std::abs(steps.back()) + 1);
  }
  test.desc = slice_copy(size, shape, starts, steps, cut);
  test.out = element_count(cut);
  if (below(2) == 0) {  // a part of something wider
    Shape wide = cut;
    wide.back() += 3;
    test.desc.out_strides = row_major_strides(wide);
    test.desc.out_offset = below(3);
    test.out = element_count(wide);
  }
  return test;
}

std::vector<CopyTest> copy_tests() {
  std::mt19937 random(7);
  std::vector<CopyTest> tests;
  for (int i = 0; i < 60; ++i) tests.push_back(random_copy(random));
  // What models hold: heads of attention both ways, images to channels last and back, a broadcast.
  for (const std::size_t size : {std::size_t{2}, std::size_t{4}}) {
    const Shape heads{1, 40, 3, 64}, image{2, 48, 9, 11}, last{2, 9, 11, 48};
    for (const auto& [shape, order] :
         {std::pair{heads, Shape{0, 2, 1, 3}}, std::pair{heads, Shape{0, 2, 3, 1}},
          std::pair{image, Shape{0, 2, 3, 1}}, std::pair{last, Shape{0, 3, 1, 2}}})
      tests.push_back({transpose_copy(size, shape, order), element_count(shape), element_count(shape)});
    tests.push_back({expand_copy(size, Shape{5, 1, 6}, Shape{3, 5, 4, 6}), 30, 360});
  }
  return tests;
}

// Transposes of matrices, of parts of them and of several, on both sides of what vectors need: whole ones of rows and
// columns, steps and places in memory, tiles that are full and that are not, one turn and two; and the path that each takes.
std::vector<std::pair<CopyTest, CopyPath>> transpose_tests() {
  std::vector<std::pair<CopyTest, CopyPath>> tests;
  const auto add = [&](std::size_t size, const Shape& shape, const Shape& order, CopyPath path) {
    tests.push_back({{transpose_copy(size, shape, order), element_count(shape), element_count(shape)}, path});
  };
  for (const std::size_t size : {std::size_t{2}, std::size_t{4}}) {
    for (const auto& [rows, columns] : {std::pair{64, 64}, {16, 16}, {24, 200}, {136, 72}, {200, 32}})
      add(size, {rows, columns}, {1, 0}, CopyPath::kVectorTiles);
    add(size, {3, 40, 2, 64}, {0, 3, 2, 1}, CopyPath::kVectorTiles);
    for (const auto& [rows, columns] : {std::pair{66, 64}, {64, 49}, {37, 70}})
      add(size, {rows, columns}, {1, 0}, CopyPath::kTiles);
    add(size, {8, 64}, {1, 0}, CopyPath::kDirect);
    add(size, {2, 1024, size == 2 ? 4096 : 2048}, {0, 2, 1}, CopyPath::kVectorTiles);  // two turns
    add(size, {520, size == 2 ? 16000 : 8000}, {1, 0}, CopyPath::kVectorTiles);
    // A part of a wider matrix: at a place that vectors reach, and at one that they do not.
    for (const int64_t at : {16, 2}) {
      CopyTest part{transpose_copy(size, Shape{48, 64}, Shape{1, 0}), 48 * 96, 64 * 48};
      part.desc.in_strides = {1, 96};
      part.desc.in_offset = at;
      tests.push_back({part, at == 16 ? CopyPath::kVectorTiles : CopyPath::kTiles});
    }
  }
  add(1, {64, 64}, {1, 0}, CopyPath::kTiles);
  add(8, {64, 64}, {1, 0}, CopyPath::kTiles);
  return tests;
}

std::vector<uint8_t> bytes_of(int64_t count, std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(static_cast<std::size_t>(count) * size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Memory that is aligned as tensors are.
Tensor tensor_of(const std::vector<uint8_t>& bytes) {
  return Tensor::of<uint8_t>(DType::kU8, {static_cast<int64_t>(bytes.size())}, bytes);
}

TEST(GeneratedStridedCopy, TransposesByVectorsWhereBothSidesHaveThem) {
  for (const auto& [test, path] : transpose_tests())
    EXPECT_EQ(generate_strided_copies(std::span(&test.desc, 1))->paths, std::vector{path})
        << shape_text(test.desc.shape) << ", strides " << shape_text(test.desc.in_strides) << " of "
        << test.desc.element_size << " bytes";
}

TEST(GeneratedStridedCopy, MovesWhatTheKernelOfTheCpuDoesAndNothingElse) {
  std::vector<CopyTest> tests = copy_tests();
  for (const auto& [test, path] : transpose_tests()) tests.push_back(test);
  testing::HostKernels host("hone-copy-kernels");
  std::vector<StridedCopyKernel> kernels;
  for (const CopyTest& test : tests) {
    kernels.push_back(*generate_strided_copies(std::span(&test.desc, 1)));
    host.add(kernels.back().source, kStridedCopyEntry);
  }
  host.compile();
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const CopyTest& test = tests[i];
    const Tensor in = tensor_of(bytes_of(test.in, test.desc.element_size, 1));
    const std::vector<uint8_t> before = bytes_of(test.out, test.desc.element_size, 2);
    Tensor wanted = tensor_of(before), found = tensor_of(before);
    StridedCopy::create(test.desc)->execute(in.data(), wanted.data());
    host.run(i, {static_cast<unsigned>(kernels[i].blocks), 1, 1, kCopyBlock, 1, 1},
             {in.data(), found.data()});
    EXPECT_TRUE(same_tensor(found, wanted))
        << i << ": " << shape_text(test.desc.shape) << ", strides " << shape_text(test.desc.in_strides)
        << " of " << test.desc.element_size << " bytes";
  }
}

TEST(GeneratedStridedCopy, RefusesMorePartsThanAKernelHas) {
  const std::vector<StridedCopyDesc> many(kMostCopyParts + 1, expand_copy(4, Shape{4}, Shape{4}));
  const auto kernel = generate_strided_copies(many);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kUnsupported);
}

class RealNvrtcCopies : public ::testing::TestWithParam<int> {};

TEST_P(RealNvrtcCopies, CompileWithoutSpillsAndLocalMemory) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  std::string text(kBasePrelude);
  std::vector<CopyTest> tests = copy_tests();
  for (const auto& [test, path] : transpose_tests()) tests.push_back(test);
  tests.push_back({expand_copy(2, Shape{1 << 23}, Shape{1 << 23}), 0, 0});  // four loads a thread
  for (std::size_t i = 0; i < tests.size(); ++i)
    text += testing::with_number(generate_strided_copies(std::span(&tests[i].desc, 1))->source.text, i,
                                 {kStridedCopyEntry});
  const auto compiled = nvrtc->compile(text, "copies.cu", {GetParam()}, {});
  cuda::testing::expect_registers_alone(compiled, tests.size());
}

INSTANTIATE_TEST_SUITE_P(Architectures, RealNvrtcCopies, ::testing::Values(80, 90, 100, 120),
                         [](const auto& test) { return fmt::format("sm_{}", test.param); });

}  // namespace
}  // namespace hone::kernels::gpu
