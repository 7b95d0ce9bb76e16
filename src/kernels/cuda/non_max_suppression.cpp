#include "kernels/cuda/non_max_suppression.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kMostMarked = 64;    // boxes of a thread: bits of one word
constexpr int64_t kWantedMarked = 16;  // where there are enough threads
constexpr int64_t kMostLines = 16384;  // each block adds up how many boxes those before it have kept
constexpr int64_t kMostSuppressors = 1024;

// Comparisons as std::min and std::max have them, which the reference calls: of a NaN, the other operand or the first.
constexpr std::string_view kBoxes = R"cuda(
struct HoneBox { double y0, x0, y1, x1; };
HONE_FUNCTION double hone_lower(double a, double b) { return b < a ? b : a; }
HONE_FUNCTION double hone_upper(double a, double b) { return a < b ? b : a; }
HONE_FUNCTION HoneBox hone_box(const HoneElement* boxes, int at) {
  double v[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) v[i] = HoneForm::held(boxes[(hone_i64)at * 4 + i]);
  if (kCentre) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {hone_lower(v[0], v[2]), hone_lower(v[1], v[3]), hone_upper(v[0], v[2]), hone_upper(v[1], v[3])};
}
HONE_FUNCTION double hone_area(const HoneBox& a) { return (a.y1 - a.y0) * (a.x1 - a.x0); }
HONE_FUNCTION double hone_overlap(const HoneBox& a, const HoneBox& b) {
  const double height = hone_lower(a.y1, b.y1) - hone_upper(a.y0, b.y0);
  const double width = hone_lower(a.x1, b.x1) - hone_upper(a.x0, b.x0);
  if (height <= 0 || width <= 0) return 0;
  const double one = hone_area(a), other = hone_area(b);
  if (one <= 0 || other <= 0) return 0;
  return height * width / (one + other - height * width);
}
)cuda";

// A thread looks after every kThreads-th box and marks in a word which of them are gone. Of equal scores the first box is
// better.
constexpr std::string_view kSuppression = R"cuda(
struct HoneBest { HoneSum score; int at; };
HONE_FUNCTION HoneBest hone_better(HoneBest a, HoneBest b) {
  if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
  if (a.score > b.score) return a;
  if (b.score > a.score) return b;
  return a.at < b.at ? a : b;
}
HONE_FUNCTION HoneBest hone_best_of_block(HoneBest own, HoneSum* scores, int* places) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    HoneBest other;
    other.score = __shfl_xor_sync(0xffffffffu, own.score, mask);
    other.at = __shfl_xor_sync(0xffffffffu, own.at, mask);
    own = hone_better(own, other);
  }
  __syncthreads();  // the last round has been read
  if (threadIdx.x % 32 == 0) {
    scores[threadIdx.x / 32] = own.score;
    places[threadIdx.x / 32] = own.at;
  }
  __syncthreads();
  own = {scores[0], places[0]};
  for (int i = 1; i < kThreads / 32; ++i) own = hone_better(own, {scores[i], places[i]});
  return own;
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) hone_suppress(const HoneElement* boxes, const HoneElement* scores,
    const float* iou_threshold, const float* score_threshold, int* kept, int* counts) {
  __shared__ HoneSum scores_of_warps[kThreads / 32];
  __shared__ int places_of_warps[kThreads / 32];
  const hone_i64 line = blockIdx.x;
  boxes += line / kClasses * (kBoxes * 4);
  scores += line * kBoxes;
  kept += line * kMost;
  const double most_overlap = iou_threshold ? (double)*iou_threshold : 0.0;
  unsigned long long gone = 0;
  for (int j = 0; j < kEach; ++j) {
    const int i = j * kThreads + (int)threadIdx.x;
    const bool out = i >= kBoxes || (score_threshold && !((double)HoneForm::held(scores[i]) > (double)*score_threshold));
    if (out) gone |= 1ull << j;
  }
  int count = 0, last = -1;
  for (; count < kMost; ++count) {
    const HoneBox taken = hone_box(boxes, last < 0 ? 0 : last);
    HoneBest best = {(HoneSum)0, -1};
    for (int j = 0; j < kEach; ++j) {
      if (gone >> j & 1) continue;
      const int i = j * kThreads + (int)threadIdx.x;
      if (last >= 0 && (i == last || hone_overlap(hone_box(boxes, i), taken) > most_overlap)) {
        gone |= 1ull << j;
        continue;
      }
      best = hone_better(best, {HoneForm::held(scores[i]), i});
    }
    last = hone_best_of_block(best, scores_of_warps, places_of_warps).at;
    if (last < 0) break;
    if (threadIdx.x == 0) kept[count] = last;
  }
  if (threadIdx.x == 0) counts[line] = count;
}
)cuda";

constexpr std::string_view kPlacement = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_place_rows(const int* kept, const int* counts, hone_i64* rows,
    hone_i64* count) {
  __shared__ int before[256], all[256];
  const int t = (int)threadIdx.x, line = (int)blockIdx.x;
  int own_before = 0, own_all = 0;
  for (int i = t; i < kLines; i += 256) {
    own_all += counts[i];
    if (i < line) own_before += counts[i];
  }
  before[t] = own_before;
  all[t] = own_all;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) {
      before[t] += before[t + half];
      all[t] += all[t + half];
    }
  }
  __syncthreads();
  const int first = before[0], total = all[0], mine = counts[line];
  for (int k = t; k < mine; k += 256) {
    hone_i64* const row = rows + (hone_i64)(first + k) * 3;
    row[0] = line / kClasses;
    row[1] = line % kClasses;
    row[2] = kept[(hone_i64)line * kMost + k];
  }
  const hone_i64 end = (hone_i64)kLines * kMost * 3;
  for (hone_i64 e = (hone_i64)total * 3 + (hone_i64)line * 256 + t; e < end; e += (hone_i64)kLines * 256) rows[e] = 0;
  if (line == 0 && t == 0) *count = total;
}
)cuda";

}  // namespace

Result<SuppressionKernels> generate_suppression(const SuppressionProgram& program) {
  const auto number = number_form(program.dtype);
  if (!number || !is_float(program.dtype))
    return unsupported(fmt::format("suppression by scores of {}", dtype_name(program.dtype)));
  const int64_t lines = program.batch * program.classes;
  if (lines < 1 || lines > kMostLines || program.boxes < 1 ||
      program.boxes > kMostMarked * kMostSuppressors || program.most < 1 || program.most > program.boxes ||
      lines * program.most > std::numeric_limits<int32_t>::max())
    return unsupported(fmt::format("suppression of {} boxes in {} classes", program.boxes, lines));
  SuppressionKernels kernels;
  const auto wanted = static_cast<uint64_t>((program.boxes + kWantedMarked - 1) / kWantedMarked);
  const auto threads = std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(wanted)), 32, kMostSuppressors);
  kernels.blocks = lines;
  kernels.threads = static_cast<int>(threads);
  kernels.kept = lines * program.most;
  kernels.counts = lines;
  std::string text = std::string(kBasePrelude);
  text += kWideForms;
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneForm;\ntypedef {} HoneSum;\n"
      "constexpr int kClasses = {}, kLines = {}, kBoxes = {}, kMost = {}, kThreads = {}, kEach = {};\n"
      "constexpr bool kCentre = {};\n",
      number->memory, number->form, number->wide, program.classes, lines, program.boxes, program.most,
      threads, (program.boxes + threads - 1) / threads, program.centre);
  text += kBoxes;
  text += kSuppression;
  text += kPlacement;
  kernels.source = {.name = "non_max_suppression.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernels;
}

}  // namespace hone::kernels::gpu
