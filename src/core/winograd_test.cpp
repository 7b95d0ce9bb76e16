#include "core/winograd.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

double direct_flops(const WinogradProblem& p) {
  return 2.0 * 9 *
         static_cast<double>(p.images * p.in_channels * p.out_channels / p.groups * p.out_height *
                             p.out_width);
}

TEST(Winograd, ApproachesTheArithmeticReductionOfItsTileWithManyChannels) {
  const WinogradProblem many{1, 4096, 4096, 1, 64, 64};
  EXPECT_NEAR(direct_flops(many) / winograd_flops(many, WinogradTile::k2x2), 2.25, 0.02);
  EXPECT_NEAR(direct_flops(many) / winograd_flops(many, WinogradTile::k4x4), 4, 0.04);
  EXPECT_EQ(least_winograd_flops(many), winograd_flops(many, WinogradTile::k4x4));
}

TEST(Winograd, CountsTransformsAndWholeTiles) {
  // One channel, 7 x 5 outputs: 2 x 2 tiles of 6 x 6 inputs.
  const WinogradProblem one{1, 1, 1, 1, 7, 5};
  EXPECT_EQ(winograd_flops(one, WinogradTile::k4x4), 4 * (2 * 36 + 156 + 100));
  EXPECT_EQ(winograd_flops(one, WinogradTile::k2x2), 12 * (2 * 16 + 32 + 24));
}

TEST(Winograd, DoesNotPayWithoutChannelsToSumOver) {
  const WinogradProblem depthwise{1, 64, 64, 64, 56, 56};
  EXPECT_GT(least_winograd_flops(depthwise), direct_flops(depthwise));
}

TEST(Winograd, TakesTheSmallTileWhereTheLargeOneWouldBeMostlyOutside) {
  const WinogradProblem tiny{1, 256, 256, 1, 2, 2};
  EXPECT_EQ(least_winograd_flops(tiny), winograd_flops(tiny, WinogradTile::k2x2));
}

}  // namespace
}  // namespace hone
