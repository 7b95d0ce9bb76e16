// Pooling gives what its definition gives.
#include "kernels/cpu/dnnl/pooling.h"

#include "kernels/cpu/dnnl/test_support.h"

namespace hone::kernels {
namespace {

using namespace hone::kernels::testing;
using PoolingKind = PoolingDesc::Kind;

void expect_right(PoolingDesc desc) {
  for (const Layout layout : all_layouts()) {
    desc.layout = layout;
    SCOPED_TRACE(shape_text(desc.src_shape()) + " kernel " + shape_text(desc.kernel) + " " +
                 std::string(layout_name(layout)));
    auto kernel = Pooling::create(desc);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    const Tensor src = random_tensor(desc.src_shape(), 5);
    const Tensor input = stored(src, desc.src_shape(), layout);
    Tensor dst = poisoned(storage_elements(desc.dst_shape(), layout));
    Tensor scratch = poisoned(static_cast<int64_t>((*kernel)->scratch_bytes() / 4 + 16));
    ASSERT_TRUE((*kernel)->execute(input.data(), dst.data(), {}, scratch.data()).ok());
    Values want = pool(desc, src);
    apply_epilogue(desc.post_ops, desc.dst_shape(), {}, {}, want);
    expect_stored(dst, want, desc.dst_shape(), layout, 1e-6);
  }
}

PoolingDesc square(PoolingKind kind, int64_t channels, int64_t side, int64_t kernel, int64_t stride,
                   int64_t pad) {
  PoolingDesc desc;
  desc.kind = kind;
  desc.channels = channels;
  desc.input = {side, side};
  desc.kernel = {kernel, kernel};
  desc.strides = {stride, stride};
  desc.pads_begin = {pad, pad};
  desc.pads_end = {pad, pad};
  return desc;
}

TEST(Pooling, EveryKindIsRightInEveryLayout) {
  for (const PoolingKind kind :
       {PoolingKind::kMax, PoolingKind::kAverageIncludePad, PoolingKind::kAverageExcludePad}) {
    expect_right(square(kind, 19, 11, 3, 2, 1));
    expect_right(square(kind, 16, 8, 2, 2, 0));
    expect_right(square(kind, 20, 7, 7, 1, 0));
  }
}

// A number larger than all others, and NaN in its place: where the one is the maximum, the other must be.
void expect_nan_wherever_a_window_holds_one(PoolingDesc desc) {
  desc.batch = 2;
  Tensor huge = random_tensor(desc.src_shape(), 6);
  Tensor src = huge.clone();
  for (int64_t i = 3; i < src.size(); i += 37) {
    huge.as<float>()[static_cast<std::size_t>(i)] = 1e30F;
    src.as<float>()[static_cast<std::size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
  }
  const Values want = pool(desc, huge);
  for (const Layout layout : all_layouts()) {
    desc.layout = layout;
    auto kernel = Pooling::create(desc);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    const Tensor input = stored(src, desc.src_shape(), layout);
    Tensor dst = poisoned(storage_elements(desc.dst_shape(), layout));
    Tensor scratch = poisoned(static_cast<int64_t>((*kernel)->scratch_bytes() / 4 + 16));
    ASSERT_TRUE((*kernel)->execute(input.data(), dst.data(), {}, scratch.data()).ok());
    for_each_element(desc.dst_shape(), layout, [&](int64_t plain, int64_t at) {
      const double wanted = want[static_cast<std::size_t>(plain)];
      const float got = dst.as<float>()[static_cast<std::size_t>(at)];
      if (wanted == 1e30F)
        EXPECT_TRUE(std::isnan(got)) << layout_name(layout) << " " << plain;
      else
        EXPECT_EQ(got, wanted) << layout_name(layout) << " " << plain;
    });
  }
}

TEST(Pooling, AMaximumIsNanWhereverItsWindowHoldsOne) {
  expect_nan_wherever_a_window_holds_one(square(PoolingKind::kMax, 19, 11, 3, 2, 1));
  expect_nan_wherever_a_window_holds_one(square(PoolingKind::kMax, 16, 7, 7, 1, 0));
  PoolingDesc dilated = square(PoolingKind::kMax, 5, 12, 3, 2, 0);
  dilated.dilations = {2, 2};
  dilated.ceil_mode = true;
  expect_nan_wherever_a_window_holds_one(dilated);
  PoolingDesc volume;
  volume.channels = 3;
  volume.input = {4, 5, 6};
  volume.kernel = {2, 3, 2};
  volume.strides = {2, 1, 2};
  expect_nan_wherever_a_window_holds_one(volume);
}

TEST(Pooling, CeilModeDilationAndOtherRanksAreRight) {
  for (const PoolingKind kind : {PoolingKind::kMax, PoolingKind::kAverageExcludePad}) {
    PoolingDesc desc = square(kind, 5, 12, 3, 2, 0);
    desc.ceil_mode = true;
    expect_right(desc);
    EXPECT_EQ(desc.output(), (Shape{6, 6}));
    PoolingDesc line;
    line.kind = kind;
    line.batch = 2;
    line.channels = 3;
    line.input = {13};
    line.kernel = {4};
    line.strides = {3};
    line.pads_begin = {2};
    expect_right(line);
    PoolingDesc volume = line;
    volume.input = {4, 5, 6};
    volume.kernel = {2, 3, 2};
    volume.strides = {2, 1, 2};
    volume.pads_begin = {};
    expect_right(volume);
  }
  PoolingDesc dilated = square(PoolingKind::kMax, 17, 12, 3, 1, 0);
  dilated.dilations = {2, 3};
  expect_right(dilated);
}

TEST(Pooling, EpilogueIsFused) {
  PoolingDesc desc = square(PoolingKind::kAverageIncludePad, 16, 8, 2, 2, 0);
  desc.post_ops = {PostOp::relu()};
  expect_right(desc);
}

TEST(Pooling, AnAverageThatWouldCountBeyondItsPaddingIsRefused) {
  PoolingDesc desc = square(PoolingKind::kAverageIncludePad, 5, 12, 3, 2, 0);
  desc.ceil_mode = true;
  EXPECT_FALSE(Pooling::create(desc).ok());
}

TEST(Pooling, BadDescriptionsAreErrorsAndNotCrashes) {
  EXPECT_FALSE(Pooling::create(square(PoolingKind::kMax, 4, 3, 9, 1, 0)).ok());
  EXPECT_FALSE(Pooling::create(square(PoolingKind::kMax, 0, 8, 2, 1, 0)).ok());
  PoolingDesc desc = square(PoolingKind::kMax, 4, 8, 2, 1, 0);
  desc.strides = {0, 0};
  EXPECT_FALSE(Pooling::create(desc).ok());
}

}  // namespace
}  // namespace hone::kernels
