#include "kernels/cuda/sampling.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kChannelsOfThread = 8;  // that share a point's weights
constexpr int64_t kPieceOfPixel = 64;     // taps that one thread adds up

// Mirrored at the borders of an axis until it lies inside.
constexpr std::string_view kPlaceText = R"cuda(
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
// From [-1, 1] to pixels; far away is outside all the same.
HONE_FUNCTION double hone_in_pixels(HoneGrid n, hone_i64 extent) {
  const HoneGrid length = (HoneGrid)extent;
  double x = kAlign ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
  if (kTaps == 1) x = rint(x);
  return x != x ? -1e15 : hone_clamped(x, -1e15, 1e15);
}
// The same, brought inside as the padding says.
HONE_FUNCTION double hone_placed(double x, hone_i64 extent) {
  if (kPadding == 1 && kTaps != 4) return hone_clamped(x, 0.0, (double)extent - 1);  // a cubic clamps each of its pixels
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

)cuda";

constexpr std::string_view kGridText = R"cuda(
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
    const double x = hone_placed(hone_in_pixels(given, extents[axis]), extents[axis]);
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

// How results change where their point moves, as the reference has it: at a pixel to the right, at a border as inside for
// cubics and not at all else.
constexpr std::string_view kGridGradientText = R"cuda(
HONE_FUNCTION double hone_near_slope(double x) { return (3.75 * x - 4.5) * x; }
HONE_FUNCTION double hone_far_slope(double x) { return (-2.25 * x + 7.5) * x - 6.0; }
HONE_FUNCTION double hone_slope(double part, int tap) {
  if (kTaps == 1) return 0.0;
  if (kTaps == 2) return tap == 0 ? -1.0 : 1.0;
  return tap == 0 ? hone_far_slope(part + 1) : tap == 1 ? hone_near_slope(part) : tap == 2 ? -hone_near_slope(1 - part)
      : -hone_far_slope(2 - part);
}
// Of hone_placed() by the grid's number.
HONE_FUNCTION double hone_place_slope(double x, double placed, hone_i64 extent) {
  const double last = (double)extent - 1, step = (kAlign ? last : (double)extent) / 2;
  if (!(fabs(x) < 1e15)) return 0;
  if (kPadding == 0) return step;
  if (kPadding == 1) return kTaps == 4 || (x > 0 && x < last) ? step : 0;
  const double low = kAlign ? 0.0 : -0.5, high = kAlign ? last : last + 0.5;
  if (high <= low || (kTaps != 4 && (placed <= 0 || placed >= last))) return 0;
  if (x >= low && x <= high) return step;
  return fmod(floor((x < low ? low - x : x - high) / (high - low)), 2.0) == 0 ? -step : step;
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_grid_gradient(const HoneElement* g, const HoneElement* images,
    const HoneGridElement* grid, HoneGridElement* moved) {
  const hone_i64 e = (hone_i64)blockIdx.x * 256 + threadIdx.x;
  if (e >= kThreads) return;
  const hone_i64 point = e % kPoints, n = e / kPoints;
  const hone_i64 extents[kAxes] = {kImage};
  double part[kAxes], steps[kAxes], sums[kAxes];
  hone_i64 before[kAxes];
#pragma unroll
  for (int axis = 0; axis < kAxes; ++axis) {  // the grid names the last axis first
    const double x = hone_in_pixels((HoneGrid)HoneGridForm::held(grid[(e + 1) * kAxes - 1 - axis]), extents[axis]);
    const double placed = hone_placed(x, extents[axis]), below = kTaps == 1 ? placed : floor(placed);
    part[axis] = placed - below;
    before[axis] = (hone_i64)below - (kTaps == 4 ? 1 : 0);
    steps[axis] = hone_place_slope(x, placed, extents[axis]);
    sums[axis] = 0;
  }
  images += n * kChannels * kPixels;
  g += n * kChannels * kPoints + point;
#pragma unroll 1
  for (int corner = 0; corner < kCorners; ++corner) {
    double change[kAxes];
    hone_i64 at = 0;
    bool inside = true;
    int taps = corner;
#pragma unroll
    for (int axis = 0; axis < kAxes; ++axis) change[axis] = 1;
#pragma unroll
    for (int axis = 0; axis < kAxes; ++axis) {
      const int tap = taps % kTaps;
      taps /= kTaps;
      const hone_i64 i = hone_pixel(before[axis] + tap, extents[axis]);
      inside = inside && i >= 0;
      at = at * extents[axis] + i;
      const double weight = hone_weight(part[axis], tap);
#pragma unroll
      for (int other = 0; other < kAxes; ++other) change[other] *= other == axis ? hone_slope(part[axis], tap) : weight;
    }
    if (!inside) continue;
    double flowing = 0;
    for (hone_i64 c = 0; c < kChannels; ++c)
      flowing += (double)HoneForm::held(images[c * kPixels + at]) * (double)HoneForm::held(g[c * kPoints]);
#pragma unroll
    for (int axis = 0; axis < kAxes; ++axis) sums[axis] += change[axis] * flowing;
  }
#pragma unroll
  for (int axis = 0; axis < kAxes; ++axis)
    moved[(e + 1) * kAxes - 1 - axis] = HoneGridForm::stored((HoneGrid)(sums[axis] * steps[axis]));
}
)cuda";

// Keys are pixel and tap in one word. A piece begins where a pixel's taps begin, and at every kPiece-th key.
constexpr std::string_view kImageGradientText = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_image_zero(HoneElement* dx) {
  const hone_i64 e = hone_thread();
  if (e < kThreads) dx[e] = HoneForm::stored((HoneSum)0);
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_image_keys(const HoneGridElement* grid, HoneKey* keys,
    double* weights) {
  const hone_i64 item = hone_thread();
  if (item >= kSorted) return;
  HoneKey key = kNoKey;
  if (item < kItems) {
    const hone_i64 extents[kAxes] = {kImage};
    const hone_i64 point = item / kCorners;  // of all images
    hone_i64 at = point / kPoints;
    double weight = 1;
    bool inside = true;
    int taps = (int)(item % kCorners);
#pragma unroll
    for (int axis = 0; axis < kAxes; ++axis) {  // the grid names the last axis first
      const HoneGrid given = (HoneGrid)HoneGridForm::held(grid[(point + 1) * kAxes - 1 - axis]);
      const double x = hone_placed(hone_in_pixels(given, extents[axis]), extents[axis]);
      const double below = kTaps == 1 ? x : floor(x);
      const int tap = taps % kTaps;
      taps /= kTaps;
      const hone_i64 i = hone_pixel((hone_i64)below - (kTaps == 4 ? 1 : 0) + tap, extents[axis]);
      inside = inside && i >= 0;
      at = at * extents[axis] + i;
      weight *= hone_weight(x - below, tap);
    }
    weights[item] = weight;
    if (inside) key = (HoneKey)at << 32 | (HoneKey)item;
  }
  keys[item] = key;
}

HONE_FUNCTION hone_i64 hone_pixel_of(HoneKey key) { return (hone_i64)(key >> 32); }
// Of channel `channel` of the image that pixel `pixel` of all images is in.
HONE_FUNCTION hone_i64 hone_place_in_images(hone_i64 pixel, hone_i64 channel) {
  return (pixel / kPixels * kChannels + channel) * kPixels + pixel % kPixels;
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_image_pieces(const HoneElement* g, const HoneKey* keys,
    const double* weights, HoneElement* dx, HoneSum* partial) {
  const hone_i64 at = (hone_i64)blockIdx.x * blockDim.y + threadIdx.y;
  const hone_i64 channel = (hone_i64)blockIdx.y * blockDim.x + threadIdx.x;
  if (at >= kItems || channel >= kChannels || keys[at] == kNoKey) return;
  const hone_i64 pixel = hone_pixel_of(keys[at]);
  const bool begins = at == 0 || hone_pixel_of(keys[at - 1]) != pixel;
  if (!begins && at % kPiece != 0) return;
  hone_i64 end = (at / kPiece + 1) * kPiece;
  if (end > kItems) end = kItems;
  g += (pixel / kPixels * kChannels + channel) * kPoints;
  HoneSum sum = 0;
  for (hone_i64 k = at; k < end; ++k) {
    const HoneKey key = keys[k];
    if (hone_pixel_of(key) != pixel) break;
    const hone_i64 item = (hone_i64)(key & 0xffffffffull);
    sum += (HoneSum)(weights[item] * (double)HoneForm::held(g[item / kCorners % kPoints]));
  }
  if (begins) dx[hone_place_in_images(pixel, channel)] = HoneForm::stored(sum);
  else partial[at / kPiece * kChannels + channel] = sum;
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_image_join(const HoneKey* keys, const HoneSum* partial,
    HoneElement* dx) {
  const hone_i64 at = (hone_i64)blockIdx.x * blockDim.y + threadIdx.y;
  const hone_i64 channel = (hone_i64)blockIdx.y * blockDim.x + threadIdx.x;
  if (at >= kItems || channel >= kChannels || keys[at] == kNoKey) return;
  const hone_i64 pixel = hone_pixel_of(keys[at]);
  if (at > 0 && hone_pixel_of(keys[at - 1]) == pixel) return;
  hone_i64 k = (at / kPiece + 1) * kPiece;
  if (k >= kItems || hone_pixel_of(keys[k]) != pixel) return;
  HoneElement* const to = dx + hone_place_in_images(pixel, channel);
  HoneSum sum = HoneForm::held(*to);
  for (; k < kItems && hone_pixel_of(keys[k]) == pixel; k += kPiece) sum += partial[k / kPiece * kChannels + channel];
  *to = HoneForm::stored(sum);
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

int64_t grid_taps(const GridSampleProgram& program) {
  using Mode = GridSampleProgram::Mode;
  return program.mode == Mode::kNearest ? 1 : program.mode == Mode::kLinear ? 2 : 4;
}

// Combinations of taps of the axes from `first` on.
int64_t grid_corners(const GridSampleProgram& program, std::size_t first) {
  int64_t corners = 1;
  for (std::size_t axis = first; axis < program.image.size(); ++axis) corners *= grid_taps(program);
  return corners;
}

// Types, constants and kPlaceText; kImage is defined.
Result<std::string> grid_prelude(const GridSampleProgram& program, int64_t threads, int64_t corners) {
  const auto number = number_form(program.dtype), grid = number_form(program.grid);
  if (!number || !grid || !is_float(program.dtype) || !is_float(program.grid))
    return unsupported(fmt::format("sampling images of {}", dtype_name(program.dtype)));
  const int64_t pixels = element_count(program.image);
  if (program.image.empty() || program.image.size() > 3 || pixels < 1 || program.batch < 1 ||
      program.channels < 1 || program.points < 1)
    return unsupported("sampling images of such extents");
  const int64_t groups = (program.channels + kChannelsOfThread - 1) / kChannelsOfThread;
  std::string text = std::string(kBasePrelude) + element_text(*number);
  text += fmt::format(
      "typedef {} HoneGridElement;\ntypedef {} HoneGridForm;\ntypedef {} HoneGrid;\n"
      "constexpr hone_i64 kChannels = {}, kPoints = {}, kPixels = {}, kThreads = {}, kChannelGroups = {}, "
      "kChannelsOfThread = {};\n"
      "constexpr int kAxes = {}, kTaps = {}, kCorners = {}, kPadding = {};\nconstexpr bool kAlign = {};\n"
      "#define kImage {}\n",
      grid->memory, grid->form, grid->wide, program.channels, program.points, pixels, threads, groups,
      kChannelsOfThread, program.image.size(), grid_taps(program), corners, static_cast<int>(program.padding),
      program.align_corners, fmt::join(program.image, ", "));
  return text + std::string(kPlaceText);
}

Result<SamplingKernel> grid_kernel(const GridSampleProgram& program, std::string_view kernel, int64_t threads,
                                   int64_t corners) {
  HONE_ASSIGN(std::string text, grid_prelude(program, threads, corners));
  text += kernel;
  text += "#undef kImage\n";
  return sampling_kernel(std::move(text), threads);
}

}  // namespace

Result<SamplingKernel> generate_grid_sample(const GridSampleProgram& program) {
  const int64_t groups = (program.channels + kChannelsOfThread - 1) / kChannelsOfThread;
  // A thread takes the taps of the first axis one by one.
  return grid_kernel(program, kGridText, program.batch * groups * program.points, grid_corners(program, 1));
}

Result<SamplingKernel> generate_grid_gradient(const GridSampleProgram& program) {
  return grid_kernel(program, kGridGradientText, program.batch * program.points, grid_corners(program, 0));
}

Result<ImageGradientKernels> generate_image_gradient(const GridSampleProgram& program) {
  constexpr int64_t kMostPlaces =
      0xffffffff;                            // a place beside a number in one word, and the word that is none
  constexpr int64_t kMostPieceRows = 65535;  // of a grid's y
  const int64_t corners = grid_corners(program, 0), items = program.batch * program.points * corners;
  const int64_t places = program.batch * element_count(program.image);
  HONE_ASSIGN(std::string text, grid_prelude(program, places * program.channels, corners));
  ImageGradientKernels kernels;
  HONE_ASSIGN(kernels.sort, plan_key_sort(items));
  const auto blocks = [](int64_t threads) { return (threads + kSamplingBlock - 1) / kSamplingBlock; };
  kernels.piece_threads_x =
      static_cast<int>(std::min<uint64_t>(32, std::bit_ceil(static_cast<uint64_t>(program.channels))));
  kernels.piece_threads_y = kSamplingBlock / kernels.piece_threads_x;
  kernels.piece_blocks_x = (items + kernels.piece_threads_y - 1) / kernels.piece_threads_y;
  kernels.piece_blocks_y = (program.channels + kernels.piece_threads_x - 1) / kernels.piece_threads_x;
  if (places >= kMostPlaces || kernels.piece_blocks_y > kMostPieceRows)
    return unsupported("the gradient of so many pixels");
  kernels.weight_bytes = static_cast<std::size_t>(items) * 8;
  kernels.partial_bytes =
      static_cast<std::size_t>((items + kPieceOfPixel - 1) / kPieceOfPixel * program.channels) * 8;
  kernels.zero_blocks = blocks(places * program.channels);
  kernels.key_blocks = blocks(kernels.sort.sorted);
  text += fmt::format("constexpr hone_i64 kItems = {}, kPiece = {};\n", items, kPieceOfPixel);
  text +=
      "HONE_FUNCTION hone_i64 hone_thread() { return (hone_i64)blockIdx.x * blockDim.x + threadIdx.x; }\n";
  text += key_sort_text(kernels.sort);
  text += kImageGradientText;
  text += "#undef kImage\n";
  kernels.source = {.name = "sampling_gradient.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernels;
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
