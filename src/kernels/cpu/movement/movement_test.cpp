// Movement kernels against index-by-index loops.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu/movement/gather.h"
#include "kernels/cpu/movement/pad.h"
#include "kernels/cpu/movement/reorder.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/movement/copies.h"

namespace hone::kernels {
namespace {

template <typename T>
std::vector<T> counted(int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), T{1});
  return values;
}

// Runs a copy and compares it with its own definition; returns the output.
template <typename T>
std::vector<T> check_copy(const StridedCopyDesc& desc, int64_t in_size, int64_t out_size) {
  const std::vector<T> in = counted<T>(in_size);
  std::vector<T> out(static_cast<std::size_t>(out_size), T{0}), expected = out;
  const Result<StridedCopy> kernel = StridedCopy::create(desc);
  EXPECT_TRUE(kernel.ok());
  kernel->execute(in.data(), out.data());
  for (int64_t flat = 0; flat < element_count(desc.shape); ++flat) {
    int64_t rest = flat, from = desc.in_offset, to = desc.out_offset;
    for (std::size_t axis = desc.shape.size(); axis-- > 0; rest /= desc.shape[axis]) {
      from += rest % desc.shape[axis] * desc.in_strides[axis];
      to += rest % desc.shape[axis] * desc.out_strides[axis];
    }
    expected[static_cast<std::size_t>(to)] = in[static_cast<std::size_t>(from)];
  }
  EXPECT_EQ(out, expected) << shape_text(desc.shape);
  return out;
}

TEST(StridedCopy, TransposesAnyShapeByAnyPermutation) {
  for (Shape shape : std::vector<Shape>{{5, 7},
                                        {64, 128},
                                        {33, 65},
                                        {2, 3, 4},
                                        {3, 17, 1, 19},
                                        {2, 3, 40, 33},
                                        {2, 5, 3, 4, 6},
                                        {130, 257}}) {
    Shape permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    const int64_t n = element_count(shape);
    do {
      check_copy<float>(transpose_copy(4, shape, permutation), n, n);
      if (shape.size() < 4) {
        check_copy<uint8_t>(transpose_copy(1, shape, permutation), n, n);
        check_copy<double>(transpose_copy(8, shape, permutation), n, n);
      }
    } while (std::next_permutation(permutation.begin(), permutation.end()));
  }
}

TEST(StridedCopy, SlicesConcatenatesExpandsAndTiles) {
  check_copy<float>(slice_copy(4, Shape{5, 9}, Shape{4, 1}, Shape{-2, 3}, Shape{3, 3}), 45, 9);
  check_copy<int16_t>(slice_copy(2, Shape{4, 6, 8}, Shape{1, 0, 2}, Shape{1, 1, 1}, Shape{2, 6, 4}), 192, 48);
  check_copy<float>(concat_copy(4, Shape{2, 3, 5}, 1, 4, Shape{2, 9, 5}), 30, 90);
  check_copy<float>(concat_copy(4, Shape{2, 4, 3}, 2, 1, Shape{2, 4, 5}), 24, 40);
  check_copy<float>(expand_copy(4, Shape{3, 1}, Shape{2, 3, 4}), 3, 24);
  check_copy<float>(expand_copy(4, Shape{}, Shape{70, 70}), 1, 4900);
  const std::vector<float> tiled = check_copy<float>(tile_copy(4, Shape{2, 3}, Shape{2, 2}), 6, 24);
  EXPECT_EQ(std::vector<float>(tiled.begin(), tiled.begin() + 6), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  check_copy<float>(slice_copy(4, Shape{40000}, Shape{0}, Shape{1}, Shape{32768}), 40000, 32768);
}

TEST(StridedCopy, MovesDepthToSpaceAndBack) {
  const Shape shape = {2, 8, 3, 5};
  for (bool crd : {false, true}) {
    const std::vector<float> out = check_copy<float>(depth_to_space_copy(4, shape, 2, crd), 240, 240);
    // ONNX: out[n, c, h·2 + a, w·2 + b] = in[n, (a·2 + b)·2 + c] (DCR) or in[n, c·4 + a·2 + b] (CRD).
    for (int64_t i = 0; i < 240; ++i) {
      const int64_t x = i % 10, y = i / 10 % 6, c = i / 60 % 2, n = i / 120;
      const int64_t a = y % 2, b = x % 2;
      const int64_t channel = crd ? c * 4 + a * 2 + b : (a * 2 + b) * 2 + c;
      const int64_t from = ((n * 8 + channel) * 3 + y / 2) * 5 + x / 2;
      ASSERT_EQ(out[static_cast<std::size_t>(i)], static_cast<float>(from + 1));
    }
  }
  const std::vector<float> in = counted<float>(240);
  std::vector<float> there(240), back(240);
  StridedCopy::create(depth_to_space_copy(4, shape, 2, false))->execute(in.data(), there.data());
  StridedCopy::create(space_to_depth_copy(4, Shape{2, 2, 6, 10}, 2))->execute(there.data(), back.data());
  EXPECT_EQ(in, back);
}

int64_t position(Layout layout, int64_t channels, int64_t spatial, int64_t n, int64_t c, int64_t p) {
  const int64_t block = layout == Layout::kBlocked16 ? 16 : layout == Layout::kBlocked8 ? 8 : 0;
  if (block > 0)
    return ((n * ((channels + block - 1) / block) + c / block) * spatial + p) * block + c % block;
  return layout == Layout::kPlain ? (n * channels + c) * spatial + p : (n * spatial + p) * channels + c;
}

TEST(Reorder, MovesBetweenAllLayoutsAndPadsWithZeros) {
  const std::vector<Layout> layouts = {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked8,
                                       Layout::kBlocked16};
  for (Layout from : layouts) {
    for (Layout to : layouts) {
      for (int64_t channels : {1, 3, 8, 16, 20, 33, 64}) {
        for (int64_t spatial : {1, 7, 49, 1100}) {
          const Shape shape = {2, channels, spatial};
          std::vector<float> in(static_cast<std::size_t>(storage_elements(shape, from)), NAN);
          std::vector<float> out(static_cast<std::size_t>(storage_elements(shape, to)), NAN);
          const auto value = [](int64_t n, int64_t c, int64_t p) {
            return static_cast<float>(n * 1e6 + c * 1e4 + p);
          };
          for (int64_t i = 0; i < 2 * channels * spatial; ++i) {
            const int64_t n = i / spatial / channels, c = i / spatial % channels, p = i % spatial;
            in[static_cast<std::size_t>(position(from, channels, spatial, n, c, p))] = value(n, c, p);
          }
          Reorder::create({2, channels, spatial, from, to})->execute(in.data(), out.data());
          float sum = 0;
          for (int64_t i = 0; i < 2 * channels * spatial; ++i) {
            const int64_t n = i / spatial / channels, c = i / spatial % channels, p = i % spatial;
            float& got = out[static_cast<std::size_t>(position(to, channels, spatial, n, c, p))];
            ASSERT_EQ(got, value(n, c, p))
                << layout_name(from) << " to " << layout_name(to) << " " << channels;
            got = 0;
          }
          for (float rest : out) sum += rest;
          ASSERT_EQ(sum, 0) << "padding of " << layout_name(to);
        }
      }
    }
  }
}

TEST(Gather, TakesRowsAndRefusesIndicesOutOfRange) {
  const std::vector<float> data = counted<float>(2 * 5 * 3);
  const std::vector<int64_t> indices = {4, -1, 0, -5};
  std::vector<float> out(2 * 4 * 3, -1);
  const Result<Gather> kernel = Gather::create({.outer = 2, .axis = 5, .inner = 3, .indices = 4});
  ASSERT_TRUE(kernel.ok());
  EXPECT_TRUE(kernel->execute(data.data(), indices.data(), out.data()));
  for (int64_t o = 0; o < 2; ++o) {
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t index = (indices[static_cast<std::size_t>(k)] + 5) % 5;
      EXPECT_EQ(out[static_cast<std::size_t>((o * 4 + k) * 3 + 1)],
                static_cast<float>((o * 5 + index) * 3 + 2));
    }
  }
  const std::vector<int64_t> hostile = {5, std::numeric_limits<int64_t>::min(), -6, 0};
  EXPECT_FALSE(kernel->execute(data.data(), hostile.data(), out.data()));
  EXPECT_EQ(out[0], 0);
}

TEST(GatherElements, GathersAndScattersAlongAnAxis) {
  const std::vector<float> data = counted<float>(12);
  const std::vector<int32_t> indices = {1, -1, 0, 2, 0, 1};
  std::vector<float> out(6, -1);
  const Result<GatherElements> kernel = GatherElements::create(
      {.data_shape = {3, 4}, .index_shape = {2, 3}, .axis = 0, .index_type = DType::kI32});
  ASSERT_TRUE(kernel.ok());
  EXPECT_TRUE(kernel->gather(data.data(), indices.data(), out.data()));
  EXPECT_EQ(out, (std::vector<float>{5, 10, 3, 9, 2, 7}));
  std::vector<float> target = data;
  EXPECT_TRUE(kernel->scatter(std::vector<float>(6, 50).data(), indices.data(), target.data()));
  EXPECT_EQ(target[4], 50);
  EXPECT_EQ(target[9], 50);
  EXPECT_EQ(target[3], 4);
  EXPECT_FALSE(GatherElements::create({.data_shape = {3, 4}, .index_shape = {2, 5}, .axis = 0}).ok());
}

TEST(GatherND, GathersSlicesByTuplesAndScattersThem) {
  const std::vector<float> data = counted<float>(2 * 3 * 4);
  const std::vector<int64_t> indices = {0, 1, 1, -1};
  const Result<GatherND> kernel = GatherND::create({.indexed_shape = {2, 3}, .tuples = 2, .slice = 4});
  ASSERT_TRUE(kernel.ok());
  std::vector<float> out(8, -1);
  EXPECT_TRUE(kernel->gather(data.data(), indices.data(), out.data()));
  EXPECT_EQ(out, (std::vector<float>{5, 6, 7, 8, 21, 22, 23, 24}));
  const Result<GatherND> batched =
      GatherND::create({.batch = 2, .indexed_shape = {3}, .tuples = 1, .slice = 4});
  const std::vector<int64_t> second = {2, 0};
  EXPECT_TRUE(batched->gather(data.data(), second.data(), out.data()));
  EXPECT_EQ(out, (std::vector<float>{9, 10, 11, 12, 13, 14, 15, 16}));
  const std::vector<int64_t> hostile = {3, 0};
  EXPECT_FALSE(batched->gather(data.data(), hostile.data(), out.data()));
}

TEST(Pad, FillsReflectsRepeatsWrapsAndCrops) {
  const std::vector<float> in = counted<float>(6);
  const float nine = 9;
  const auto run = [&](PadMode mode, std::vector<int64_t> before, std::vector<int64_t> after) {
    const Result<Pad> kernel = Pad::create({.shape = {2, 3}, .before = before, .after = after, .mode = mode});
    EXPECT_TRUE(kernel.ok());
    std::vector<float> out(static_cast<std::size_t>(element_count(kernel->out_shape())), -1);
    kernel->execute(in.data(), &nine, out.data());
    return out;
  };
  EXPECT_EQ(run(PadMode::kConstant, {1, 1}, {0, 1}),
            (std::vector<float>{9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9}));
  EXPECT_EQ(run(PadMode::kEdge, {0, 1}, {1, 0}), (std::vector<float>{1, 1, 2, 3, 4, 4, 5, 6, 4, 4, 5, 6}));
  EXPECT_EQ(run(PadMode::kReflect, {0, 2}, {0, 1}), (std::vector<float>{3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5}));
  EXPECT_EQ(run(PadMode::kWrap, {1, 0}, {0, 2}),
            (std::vector<float>{4, 5, 6, 4, 5, 1, 2, 3, 1, 2, 4, 5, 6, 4, 5}));
  EXPECT_EQ(run(PadMode::kConstant, {-1, -1}, {0, 1}), (std::vector<float>{5, 6, 9}));
}

}  // namespace
}  // namespace hone::kernels
