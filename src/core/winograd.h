// How many operations Winograd's minimal filtering takes for a 3x3 convolution of stride 1, after A. Lavin
// and S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, sections 4.1 and 5.1. What an
// operator must cost at least (graph) and what a kernel does execute (runtime) are counted by the same rule.
// No convolution is computed here.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone {

// The two tiles that libraries use in f32. Larger ones save more and lose digits with every step.
enum class WinogradTile : uint8_t {
  k2x2,  // F(2x2,3x3)
  k4x4,  // F(4x4,3x3)
};

struct WinogradProblem {
  int64_t images = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t groups = 1;
  int64_t out_height = 0;
  int64_t out_width = 0;
};

// FLOPs of one execution: the products in the transformed domain (a multiply-add counts two) and the
// transforms of data and result (each instruction counts one). Weights are transformed once, ahead of time.
double winograd_flops(const WinogradProblem& problem, WinogradTile tile);

// The FLOPs of the cheapest tile.
double least_winograd_flops(const WinogradProblem& problem);

std::string_view winograd_name(WinogradTile tile);  // "Winograd F(4x4,3x3)"

}  // namespace hone
