#include "core/winograd.h"

#include <algorithm>

namespace hone {
namespace {

// Two-dimensional transforms nest one-dimensional ones, so their counts are (the 1-D count) x (rows +
// columns).
struct TileCost {
  int64_t output;           // outputs along an edge
  int64_t input;            // inputs along an edge, output + 2
  double data_transform;    // instructions a tile of one input channel: 4 x 8 and 13 x 12
  double result_transform;  // instructions a tile of one output channel: 4 x 6 and 10 x 10
};

TileCost cost_of(WinogradTile tile) {
  return tile == WinogradTile::k2x2 ? TileCost{2, 4, 32, 24} : TileCost{4, 6, 156, 100};
}

double tiles_along(int64_t outputs, const TileCost& cost) {
  return static_cast<double>((outputs + cost.output - 1) / cost.output);
}

}  // namespace

double winograd_flops(const WinogradProblem& problem, WinogradTile tile) {
  const TileCost cost = cost_of(tile);
  const double tiles = static_cast<double>(problem.images) * tiles_along(problem.out_height, cost) *
                       tiles_along(problem.out_width, cost);
  const auto in = static_cast<double>(problem.in_channels);
  const auto out = static_cast<double>(problem.out_channels);
  const double products = 2 * static_cast<double>(cost.input * cost.input) * in * out /
                          static_cast<double>(std::max<int64_t>(1, problem.groups));
  return tiles * (products + cost.data_transform * in + cost.result_transform * out);
}

double least_winograd_flops(const WinogradProblem& problem) {
  return std::min(winograd_flops(problem, WinogradTile::k2x2), winograd_flops(problem, WinogradTile::k4x4));
}

std::string_view winograd_name(WinogradTile tile) {
  return tile == WinogradTile::k2x2 ? "Winograd F(2x2,3x3)" : "Winograd F(4x4,3x3)";
}

}  // namespace hone
