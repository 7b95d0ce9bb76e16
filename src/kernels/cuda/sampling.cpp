#include "kernels/cuda/sampling.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kChannelsOfThread = 8;  // that share a point's weights

// Mirrored at the borders of an axis until it lies inside.
constexpr std::string_view kGridText = R"cuda(
HONE_FUNCTION double hone_reflected(double x, hone_i64 extent) {
  const double low = kAlign ? 0.0 : -0.5, high = (double)extent - (kAlign ? 1.0 : 0.5), range = high - low;
  if (range <= 0) return 0;
  if (x >= low && x <= high) return x;
  const double away = x < low ? low - x : x - high;
  const double turns = floor(away / range), rest = fmod(away, range);
  const bool even = fmod(turns, 2.0) == 0;
  return (x < low) == even ? low + rest : high - rest;
}
HONE_FUNCTION double hone_clamped(double x, double low, double high) { return x < low ? low : high < x ? high : x; }
// From [-1, 1] to pixels.
HONE_FUNCTION double hone_coordinate(HoneGrid n, hone_i64 extent) {
  const HoneGrid length = (HoneGrid)extent;
  double x = kAlign ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
  if (kTaps == 1) x = rint(x);
  x = x != x ? -1e15 : hone_clamped(x, -1e15, 1e15);  // far away is outside all the same
  if (kPadding == 1) return hone_clamped(x, 0.0, (double)extent - 1);
  return kPadding == 2 ? hone_reflected(x, extent) : x;
}
// A pixel that may lie outside, made one inside, or -1.
HONE_FUNCTION hone_i64 hone_pixel(hone_i64 i, hone_i64 extent) {
  if (i >= 0 && i < extent) return i;
  if (kPadding == 0) return -1;
  const hone_i64 at = kPadding == 2 ? (hone_i64)hone_reflected((double)i, extent) : i;
  return at < 0 ? 0 : at < extent ? at : extent - 1;
}
// Keys 1981, with a = -0.75.
HONE_FUNCTION double hone_near_weight(double x) { return ((1.25 * x) - 2.25) * x * x + 1; }
HONE_FUNCTION double hone_far_weight(double x) { return ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0; }
HONE_FUNCTION double hone_weight(double part, int tap) {
  if (kTaps == 1) return 1.0;
  if (kTaps == 2) return tap == 0 ? 1 - part : part;
  return tap == 0 ? hone_far_weight(part + 1) : tap == 1 ? hone_near_weight(part) : tap == 2 ? hone_near_weight(1 - part)
      : hone_far_weight(2 - part);
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_grid_sample(const HoneElement* images, const HoneGridElement* grid,
    HoneElement* y) {
  const hone_i64 e = (hone_i64)blockIdx.x * 256 + threadIdx.x;
  if (e >= kThreads) return;
  const hone_i64 point = e % kPoints, n = e / (kPoints * kChannelGroups);
  const hone_i64 first = e / kPoints % kChannelGroups * kChannelsOfThread;
  const hone_i64 extents[kAxes] = {kImage};
  // Of the first axis where the point lies, of the others what that comes to: more would not stay in registers.
  double part = 0, weights[kAxes][kTaps];
  hone_i64 before = 0, pixels[kAxes][kTaps];
#pragma unroll
  for (int axis = 0; axis < kAxes; ++axis) {  // the grid names the last axis first
    const HoneGrid given = (HoneGrid)HoneGridForm::held(grid[(n * kPoints + point + 1) * kAxes - 1 - axis]);
    const double x = hone_coordinate(given, extents[axis]);
    const double below = kTaps == 1 ? x : floor(x);
    const hone_i64 first_tap = (hone_i64)below - (kTaps == 4 ? 1 : 0);
    if (axis == 0) {
      part = x - below;
      before = first_tap;
      continue;
    }
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      weights[axis][tap] = hone_weight(x - below, tap);
      pixels[axis][tap] = hone_pixel(first_tap + tap, extents[axis]);
    }
  }
  images += (n * kChannels + first) * kPixels;
  y += (n * kChannels + first) * kPoints + point;
  for (hone_i64 c = 0; c < kChannelsOfThread && first + c < kChannels; ++c) {
    HoneSum sum = 0;
#pragma unroll 1
    for (int tap = 0; tap < kTaps; ++tap) {
      const double along = hone_weight(part, tap);
      const hone_i64 row = hone_pixel(before + tap, extents[0]);
      if (row < 0) continue;
#pragma unroll
      for (int corner = 0; corner < kCorners; ++corner) {
        double weight = along;
        hone_i64 at = row;
        bool inside = true;
        int taps = corner;
#pragma unroll
        for (int axis = 1; axis < kAxes; ++axis) {
          weight *= weights[axis][taps % kTaps];
          const hone_i64 i = pixels[axis][taps % kTaps];
          inside = inside && i >= 0;
          at = at * extents[axis] + i;
          taps /= kTaps;
        }
        if (inside && weight != 0) sum += (HoneSum)(weight * (double)HoneForm::held(images[c * kPixels + at]));
      }
    }
    y[c * kPoints] = HoneForm::stored(sum);
  }
}
)cuda";

constexpr std::string_view kRoiText = R"cuda(
HONE_FUNCTION double hone_larger(double a, double b) { return a < b ? b : a; }
extern "C" __global__ void __launch_bounds__(256, 1) hone_roi_align(const HoneElement* images, const HoneElement* regions,
    const hone_i64* image_of, HoneElement* y, unsigned long long* fault, unsigned long long word) {
  const hone_i64 e = (hone_i64)blockIdx.x * 256 + threadIdx.x;
  if (e >= kResults) return;
  const hone_i64 bin = e % (kOutHeight * kOutWidth), channel = e / (kOutHeight * kOutWidth) % kChannels;
  const hone_i64 region = e / (kOutHeight * kOutWidth * kChannels), image = image_of[region];
  double box[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) box[i] = HoneForm::held(regions[region * 4 + i]);
  const double left = box[0] * kScale - kOffset, top = box[1] * kScale - kOffset;
  double width = box[2] * kScale - kOffset - left, height = box[3] * kScale - kOffset - top;
  if (kOffset == 0.0) {
    width = hone_larger(width, 1.0);
    height = hone_larger(height, 1.0);
  }
  const double bin_h = height / (double)kOutHeight, bin_w = width / (double)kOutWidth;
  if (image < 0 || image >= kImages || !(fabs(bin_h) < 4096.0 && fabs(bin_w) < 4096.0)) {
    if (fault) atomicCAS(fault, 0ull, word);
    y[e] = HoneForm::stored(0);
    return;
  }
  hone_i64 grid_h = kRatio > 0 ? kRatio : (hone_i64)ceil(bin_h), grid_w = kRatio > 0 ? kRatio : (hone_i64)ceil(bin_w);
  if (grid_h < 0) grid_h = 0;
  if (grid_w < 0) grid_w = 0;
  images += (image * kChannels + channel) * (kHeight * kWidth);
  double result = 0;
  bool first = true;
  for (hone_i64 i = 0; i < grid_h * grid_w; ++i) {
    double v = top + ((double)(bin / kOutWidth) + ((double)(i / grid_w) + 0.5) / (double)grid_h) * bin_h;
    double u = left + ((double)(bin % kOutWidth) + ((double)(i % grid_w) + 0.5) / (double)grid_w) * bin_w;
    const bool inside = v >= -1 && v <= (double)kHeight && u >= -1 && u <= (double)kWidth;
    v = v < 0 ? 0 : v > (double)(kHeight - 1) ? (double)(kHeight - 1) : v;
    u = u < 0 ? 0 : u > (double)(kWidth - 1) ? (double)(kWidth - 1) : u;
    const hone_i64 row = inside ? (hone_i64)v : 0, column = inside ? (hone_i64)u : 0;
    const hone_i64 below = inside && row + 1 < kHeight ? row + 1 : row, right = inside && column + 1 < kWidth ? column + 1 : column;
    const double down = v - (double)row, along = u - (double)column;
    // A point outside has no weights.
    const double weights[4] = {inside ? (1 - down) * (1 - along) : 0, inside ? (1 - down) * along : 0,
                               inside ? down * (1 - along) : 0, inside ? down * along : 0};
    const hone_i64 places[4] = {row * kWidth + column, row * kWidth + right, below * kWidth + column, below * kWidth + right};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const double value = weights[k] * (double)HoneForm::held(images[places[k]]);
      result = !kMaximum ? result + value : first ? value : hone_larger(result, value);
      first = false;
    }
  }
  if (!kMaximum && grid_h * grid_w > 0) result /= (double)(grid_h * grid_w);
  y[e] = HoneForm::stored((HoneSum)result);
}
)cuda";

std::string element_text(const NumberForm& number) {
  return fmt::format("typedef {} HoneElement;\ntypedef {} HoneForm;\ntypedef {} HoneSum;\n", number.memory,
                     number.form, number.wide);
}

SamplingKernel sampling_kernel(std::string text, int64_t threads) {
  return {.source = {.name = "sampling.cu", .text = std::move(text), .options = {"--fmad=false"}},
          .blocks = (threads + kSamplingBlock - 1) / kSamplingBlock};
}

}  // namespace

Result<SamplingKernel> generate_grid_sample(const GridSampleProgram& program) {
  using Mode = GridSampleProgram::Mode;
  const auto number = number_form(program.dtype), grid = number_form(program.grid);
  if (!number || !grid || !is_float(program.dtype) || !is_float(program.grid))
    return unsupported(fmt::format("sampling images of {}", dtype_name(program.dtype)));
  const int64_t pixels = element_count(program.image);
  if (program.image.empty() || program.image.size() > 3 || pixels < 1 || program.batch < 1 ||
      program.channels < 1 || program.points < 1)
    return unsupported("sampling images of such extents");
  const int taps = program.mode == Mode::kNearest ? 1 : program.mode == Mode::kLinear ? 2 : 4;
  int corners = 1;
  for (std::size_t axis = 1; axis < program.image.size(); ++axis) corners *= taps;  // of one tap of the first
  const int64_t groups = (program.channels + kChannelsOfThread - 1) / kChannelsOfThread;
  const int64_t threads = program.batch * groups * program.points;
  std::string text = std::string(kBasePrelude) + element_text(*number);
  text += fmt::format(
      "typedef {} HoneGridElement;\ntypedef {} HoneGridForm;\ntypedef {} HoneGrid;\n"
      "constexpr hone_i64 kChannels = {}, kPoints = {}, kPixels = {}, kThreads = {}, kChannelGroups = {}, "
      "kChannelsOfThread = {};\n"
      "constexpr int kAxes = {}, kTaps = {}, kCorners = {}, kPadding = {};\nconstexpr bool kAlign = {};\n"
      "#define kImage {}\n",
      grid->memory, grid->form, grid->wide, program.channels, program.points, pixels, threads, groups,
      kChannelsOfThread, program.image.size(), taps, corners, static_cast<int>(program.padding),
      program.align_corners, fmt::join(program.image, ", "));
  text += kGridText;
  text += "#undef kImage\n";
  return sampling_kernel(std::move(text), threads);
}

Result<SamplingKernel> generate_roi_align(const RoiAlignProgram& program) {
  const auto number = number_form(program.dtype);
  if (!number || !is_float(program.dtype))
    return unsupported(fmt::format("regions of images of {}", dtype_name(program.dtype)));
  const int64_t results = program.regions * program.channels * program.out_height * program.out_width;
  if (results < 1 || program.images < 1 || program.height < 1 || program.width < 1)
    return unsupported("regions of such extents");
  std::string text = std::string(kBasePrelude) + element_text(*number);
  text += fmt::format(
      "constexpr hone_i64 kImages = {}, kChannels = {}, kHeight = {}, kWidth = {}, kOutHeight = {}, "
      "kOutWidth = {}, kRatio = {}, "
      "kResults = {};\nconstexpr double kScale = {:a}, kOffset = {};\nconstexpr bool kMaximum = {};\n",
      program.images, program.channels, program.height, program.width, program.out_height, program.out_width,
      program.ratio, results, program.scale, program.half_pixel ? "0.5" : "0.0", program.maximum);
  text += kRoiText;
  return sampling_kernel(std::move(text), results);
}

}  // namespace hone::kernels::gpu
